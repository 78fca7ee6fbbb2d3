"""The trials of a study as one space sees them: rebuilt from any storage, and extended as it grows."""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from optuna.trial import FrozenTrial

from orchestrator.sampler.reports import (
    Ending,
    Key,
    ending_of,
    key_of,
    last_report,
    parameters_of,
    provenance,
    reported,
    retried,
    started,
)
from orchestrator.sampler.space import Distributions, OptunaSpace
from orchestrator.search import trust
from orchestrator.search.records import BestTrial, SuspectTrial
from orchestrator.search.settings import Settings
from orchestrator.trial_records import is_time_to_update
from orchestrator.trials import Point, Suggestion, Trial, Trials
from rcgp import SUSPECT_WEIGHT

log = logging.getLogger(__name__)

FORGET_AFTER = 10
"""A running trial is forgotten when this many times the trials in flight ended without a sign of it: its process died."""
Happening = Callable[[FrozenTrial], None]


class SpaceModel:
    """What is known about one space, a function of the storage: trials are learned one by one, in the order they ended.

    `sign` is -1 where the value is minimised.
    """

    def __init__(self, distributions: Distributions, settings: Settings, sign: float) -> None:
        self.distributions, self.sign, self._settings = dict(distributions), sign, settings
        self.space = OptunaSpace.parse(distributions)
        self.trials = Trials(
            partial(settings.optimizer, self.space.cube),
            partial(settings.fallback, self.space.cube),
            failure_value=settings.failure_value(sign),
            forget_after=FORGET_AFTER,
        )
        self._ended: dict[Key, Ending] = {}
        self.noted: set[str | None] = set()
        """The suspects that were written down on the study."""
        self._warned = False
        self._more = False  # whether trials have other parameters that differ: branches, changing ranges

    def __len__(self) -> int:
        return len(self._ended)

    def is_about(self, distributions: Distributions, sign: float) -> bool:
        """Whether it is of that space and direction."""
        return sign == self.sign and distributions == self.distributions

    def is_true(self, shown: Mapping[Key, FrozenTrial]) -> bool:
        """Whether everything it knows is so in the storage: not of another study, nor an ending that was not stored."""
        return all(key in shown and ending_of(shown[key]) == ending for key, ending in self._ended.items())

    # Learning

    def catch_up(self, shown: Mapping[Key, FrozenTrial]) -> None:
        """Learn what happened since the last time, in the order in which it happened."""
        news = [trial for key, trial in shown.items() if key not in self._ended]
        starts = [(started(trial), trial.number, self._begin, trial) for trial in news]
        ends = [
            (trial.datetime_complete, trial.number, self._end, trial) for trial in news if trial.state.is_finished()
        ]
        for *_, happen, trial in sorted([*starts, *ends], key=lambda event: event[:2]):
            happen(trial)
        names = {str(trial.number) for trial in news}
        for pending in self.trials.pending.values():
            if pending.trial_id not in names:
                self.trials.withdraw(pending.number)

    def _begin(self, trial: FrozenTrial) -> None:
        """A trial runs at a point that is known by now, perhaps another one than was known before."""
        x, before = self.space.locate(parameters_of(trial, self.distributions)), self._pending(trial)
        if before is not None and before.x == x:
            if last_report(trial) != before.last_report:
                self.trials.report(before.number, last_report(trial))
            return
        if before is not None:
            self.trials.withdraw(before.number)
        if x is not None:
            self.trials.start(Suggestion(x), str(trial.number))

    def _end(self, trial: FrozenTrial) -> None:
        """A trial ended; if it has a point in this space, something was learned."""
        self._ended[key_of(trial)] = ending_of(trial)
        pending = self._pending(trial)
        if pending is None:
            return
        self._more = self._more or self._has_more(trial)
        number, y, by = self._in_the_place_of(trial, pending.number), reported(trial, self.sign), provenance(trial)
        if y is None:
            self.trials.fail(number, reporter=by.reporter)
        else:
            self.trials.complete(number, y, standard_error=by.standard_error, reporter=by.reporter)
        self._learn()

    def _has_more(self, trial: FrozenTrial) -> bool:
        return any(name not in self.distributions and not d.single() for name, d in trial.distributions.items())

    def _pending(self, trial: FrozenTrial) -> Trial | None:
        number = self.trials.number_of(str(trial.number))
        return None if number is None else self.trials.pending.get(number)

    def _in_the_place_of(self, trial: FrozenTrial, number: int) -> int:
        """The number in the bookkeeping under which it ends: a retry goes by that of the failure."""
        failed = retried(trial)
        original = None if failed is None else self.trials.number_of(str(failed))
        if original is None:
            return number
        self.trials.withdraw(number)
        self.trials.rename(original, str(trial.number))
        return original

    def _learn(self) -> None:
        """One after the other, as if they had been lived: told all at once, several lies would vouch for each other."""
        try:
            self.trials.tell()
            if is_time_to_update(self.trials.optimizer.n):
                self.trials.optimizer.update()
        except Exception as error:  # the next suggestion tries again, and is quasi-random if it fails too
            log.warning("The model could not be updated.", exc_info=error)

    # Asking

    def ask(self) -> Point:
        """The next point to try; the model's or, if the model fails, a quasi-random one."""
        x = self.trials.ask().x
        share, look = self._settings.suspect_share, "sampler.suspects(study)"
        self._warned = trust.many_doubted(self.trials, share, warned=self._warned, who="RCGPSampler", ask=look)
        return x

    def knows_enough(self) -> bool:
        """Whether there is a model to ask."""
        return self.trials.optimizer.n >= self.trials.optimizer.n_initial

    def running(self) -> dict[str, Point]:
        """The points of the trials in flight, by their numbers."""
        return {str(trial.trial_id): trial.x for trial in self.trials.in_flight()}

    def points(self) -> dict[str, Point]:
        """The points that a suggestion knows of, by the numbers of their trials."""
        return {**{str(row.trial_id): row.x for row in self.trials.rows}, **self.running()}

    # Looking

    def suspects(self) -> list[SuspectTrial]:
        """The trials whose reports are doubted, least believed first."""
        return trust.suspects(self.trials, self.space, self.sign)

    def best(self, *, robust: bool) -> BestTrial:
        """The trial that the model believes best or, without `robust`, the one that reported the best value.

        Where trials differ in more than this space, its model knows only their mean: then the best report that is believed.
        """
        believed = self._believed() if robust and self._more else []
        if not believed:
            return trust.best(self.trials, self.space, self.sign, robust=robust)
        index = max(believed, key=lambda i: self.trials.rows[i].y)
        row, expected = self.trials.rows[index], self.sign * float(self.trials.optimizer.expected()[index])
        return BestTrial(row.trial_id, row.number, self.space.config(row.x), self.sign * row.y, expected)

    def _believed(self) -> list[int]:
        """The rows of finite reports that are not doubted."""
        rows, weights = self.trials.rows, self.trials.optimizer.weights()
        return [i for i, weight in enumerate(weights) if weight >= SUSPECT_WEIGHT and rows[i].finite]

    def belief(self, number: int) -> tuple[float, float] | None:
        """Weight and expectation of what that trial reported; None before there is a model, and for what failed."""
        names = [row.trial_id if row.status == "completed" else None for row in self.trials.rows]
        if str(number) not in names or not self.knows_enough():
            return None
        row, optimizer = names.index(str(number)), self.trials.optimizer
        return float(optimizer.weights()[row]), self.sign * float(optimizer.expected()[row])


def are_close(a: Point, others: Sequence[Point], distance: float) -> bool:
    """Whether one of the others is nearer than that in every coordinate."""
    return bool(len(others)) and bool((np.abs(np.array(others) - np.array(a)).max(axis=1) < distance).any())
