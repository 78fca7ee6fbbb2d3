"""The sequential engine: a study in one process, one trial after the other."""

import os
import time
from collections.abc import Callable, Sequence

from objectives import prepare
from orchestrator.campaign.study import Study
from orchestrator.engine.adversary import LocalAdversary
from orchestrator.engine.build import build_objective, simulated_machines
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.deadline import alarm
from orchestrator.engine.events import Event
from orchestrator.engine.journal import Journal
from orchestrator.engine.trial import Evaluation, attempt, die_now, refuse_to_die


def run_sequential(
    study: Study,
    journal: Journal,
    *,
    ledger: Sequence[Event] = (),
    node: str = "",
    lost: str = "",
    until: float = float("inf"),
    in_caller: bool = False,
    on_failure: Callable[[], None] = lambda: None,
) -> bool:
    """Run a study in this process, from where its journal ends; returns whether it is finished.

    `lost` says why the process that had the study before is gone, `until` (seconds since 1970) when to stop. With
    `in_caller` the process is not the study's own: it is not killed, and the time limit works by a signal.
    `on_failure` is called after every try that failed here.
    """
    objective = build_objective(study)
    prepare(objective)
    conductor = Conductor(study, objective, journal)
    adversary = LocalAdversary(study, objective, conductor.record_report)
    adversary.restore([*ledger, *journal.events])
    conductor.begin(node, os.getpid())
    if lost:
        conductor.fail_pending(lost)
    die, machines = refuse_to_die if in_caller else die_now, simulated_machines(study, objective)
    while time.time() < until and (trial := conductor.next()) is not None:
        limit = alarm(study.trial_seconds if in_caller else None)
        outcome = attempt(
            study,
            objective,
            adversary,
            trial,
            die,
            node=node,
            machines=machines,
            limit=limit,
            interruptible=in_caller,
            stops=conductor.stops,
        )
        if isinstance(outcome, Evaluation):
            conductor.observe(trial, outcome)
        else:
            conductor.fail(trial, outcome.reason)
            on_failure()
    conductor.close()
    return conductor.finished
