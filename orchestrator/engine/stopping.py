"""Early stopping of a study: its rungs, who was there with what, and what was decided. Every decision is made once."""

import time
from collections.abc import Callable

from objectives import Objective, full_steps
from orchestrator.campaign.study import Study
from orchestrator.engine.events import RungReached
from orchestrator.errors import UserError
from orchestrator.halving import Ladder, Mercy


def full_resource(study: Study, objective: Objective) -> int | None:
    """The steps of a whole trial where the study has a scheduler; refuses an objective that reports none, or too few."""
    if study.scheduler is None:
        return None
    name, steps, grace = study.scheduler.name, full_steps(objective), study.scheduler.grace
    if steps is None:
        raise UserError(
            f"scheduler {name}: {study.objective.name} reports no progress that a trial could be stopped by; leave it out,"
            " or call report(step, value) in your objective and say how many with its member `steps`."
        )
    if grace >= steps:
        raise UserError(f"scheduler.grace must be less than the {steps} steps of a whole trial, got {grace}.")
    return steps


def ladder_of(study: Study, objective: Objective) -> Ladder | None:
    """The rungs of a study's trials; None where nobody is stopped."""
    full = full_resource(study, objective)
    return (
        None
        if study.scheduler is None or full is None
        else Ladder(full, study.scheduler.grace, study.scheduler.reduction)
    )


class Stopping:
    """What was decided at the rungs of one study, and who decides next. Without a scheduler nobody is stopped."""

    def __init__(self, study: Study, objective: Objective) -> None:
        self._ladder, scheduler = ladder_of(study, objective), study.scheduler
        self._mercy = Mercy() if scheduler is None else Mercy(scheduler.witnesses, scheduler.chance)
        self._decided: dict[tuple[int, float], bool] = {}

    def decided(self, number: int, step: int) -> bool | None:
        """What was decided for a trial at its last rung by that step; None where it has just come there."""
        rung = None if self._ladder is None else self._ladder.rung(step)
        return False if rung is None else self._decided.get((number, rung))

    def decide(self, number: int, step: int, value: float, promise: Callable[[], float], exempt: bool) -> RungReached:
        """Whether a trial is stopped at the rung where it has just come; those `exempt` are only there for the others."""
        stopped = self._behind(number, step, value) and not exempt and not self._mercy.spares(number, promise)
        event = RungReached(number, step, value, stopped, time.time())
        self._note(event)
        return event

    def take(self, event: RungReached) -> None:
        """Learn what was decided earlier."""
        self._behind(event.number, event.step, event.value)
        self._note(event)

    def _behind(self, number: int, step: int, value: float) -> bool:
        return self._ladder is not None and self._ladder.behind(number, step, value)

    def _note(self, event: RungReached) -> None:
        rung = None if self._ladder is None else self._ladder.rung(event.step)
        if rung is not None:
            self._decided[event.number, rung] = event.stopped
