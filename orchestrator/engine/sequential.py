"""How a study runs: in one process, or on Ray Tune with trial actors. Both drive the same conductor."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from objectives import prepare
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.journal import JournalError, Log, Record
from orchestrator.engine.trial import LocalGuard, die_now, evaluate, refuse_to_die


def run_sequential(
    study: Study,
    journal: Log,
    *,
    ledger: Sequence[Record] = (),
    node: str = "",
    died: str = "",
    until: float = float("inf"),
    in_caller: bool = False,
) -> bool:
    """Run a study in this process, from where its journal ends; returns whether it is finished.

    `died` says why the process that had the study before is gone, `until` (seconds since 1970) when to stop. With
    `in_caller` the process is not the study's own: it is not killed, and the time limit works by a signal.
    """
    objective = build_objective(study)
    prepare(objective)
    conductor = Conductor(study, objective, journal)
    guard = LocalGuard(study, objective, conductor.charge)
    guard.restore([*ledger, *journal.records])
    conductor.begin(node, os.getpid())
    if died:
        conductor.fail_open(died)
    limit = study.trial_seconds if in_caller else None
    while time.time() < until and (suggestion := conductor.next()) is not None:
        try:
            with time_limit(limit):
                outcome = evaluate(study, objective, guard, suggestion, refuse_to_die if in_caller else die_now, node)
        except JournalError:
            raise
        except Exception as error:  # whatever the objective raises is a failed try, and recorded as one
            conductor.fail(suggestion, f"{type(error).__name__}: {error}")
        else:
            conductor.observe(suggestion, outcome)
    conductor.close()
    return conductor.finished


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise TimeoutError after `seconds`, in the main thread only; native code is interrupted when it returns."""
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(signum: int, frame: Any) -> None:
        raise TimeoutError(f"over the time limit of {seconds:g} s")

    previous: Any = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
