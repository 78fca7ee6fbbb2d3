"""One evaluation of a trial: the objective first, then whoever may lie about it. Whatever goes wrong is a failed try."""

import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from objectives import Objective
from orchestrator.campaign.study import NOISE, Study, stream
from orchestrator.engine.adversary import AdversaryClient
from orchestrator.engine.deadline import OverTimeError
from orchestrator.engine.events import AdversaryReported, Point
from orchestrator.engine.journal import JournalError
from orchestrator.engine.process_state import restored

REASON_LENGTH = 500


class KilledError(RuntimeError):
    """The adversary asked for the evaluating process to die, and it cannot: the caller lives in it."""


@dataclass(frozen=True)
class Try:
    """One attempt at a trial: its number, its point in the unit cube, and which attempt this is (from 0)."""

    number: int
    x: Point
    attempt: int = 0


@dataclass(frozen=True)
class Evaluation:
    """What one try gave, before anyone wrote it down."""

    y: float
    y_true: float
    value: float
    corrupted: bool
    seconds: float
    node: str
    progress: tuple[tuple[int, float], ...] = ()
    report: AdversaryReported | None = None


@dataclass(frozen=True)
class FailedTry:
    """Why a try gave nothing."""

    reason: str


def attempt(
    study: Study,
    objective: Objective,
    adversary: AdversaryClient,
    trial: Try,
    die: Callable[[], None],
    *,
    node: str = "",
    limit: AbstractContextManager[None] | None = None,
    interruptible: bool = False,
) -> Evaluation | FailedTry:
    """Evaluate one trial once; `die` is called when the adversary says so, `limit` is a block that ends in time.

    An objective may raise anything, `SystemExit` included. A journal that cannot be written ends the study, and with
    `interruptible` so does Ctrl-C.
    """
    try:
        with limit or nullcontext():
            return evaluate(study, objective, adversary, trial, die, node)
    except JournalError:
        raise
    except (KilledError, OverTimeError) as error:
        return FailedTry(str(error))
    except KeyboardInterrupt as error:
        if interruptible:
            raise
        return FailedTry(reason(error))
    except BaseException as error:
        return FailedTry(reason(error))


def evaluate(
    study: Study, objective: Objective, adversary: AdversaryClient, trial: Try, die: Callable[[], None], node: str = ""
) -> Evaluation:
    """Evaluate one trial; raises whatever the objective or the adversary raises."""
    progress: list[tuple[int, float]] = []
    x = np.array(trial.x, dtype=np.float64)
    start = time.perf_counter()
    with restored():
        rng = stream(study.seed, NOISE, trial.number)
        returned = objective.evaluate(x, rng, report=lambda step, value: progress.append(_reported(step, value)))
    y_true, seconds = measurement(returned, "the objective returned"), time.perf_counter() - start
    value = true_value(objective, trial, y_true)
    if trial.number < study.initial:  # nobody lies about the initial trials
        return Evaluation(y_true, y_true, value, False, seconds, node, tuple(progress))
    report = adversary.report(trial.number, trial.attempt, trial.x, y_true)
    if report.kill and report.attempt == trial.attempt:
        die()
    lied = report.corrupted and not report.kill
    return Evaluation(report.y if lied else y_true, y_true, value, lied, seconds, node, tuple(progress), report)


def true_value(objective: Objective, trial: Try, y_true: float) -> float:
    """The noise-free value where the objective knows it, else `y_true`."""
    with restored():
        known = objective.noiseless(np.array(trial.x, dtype=np.float64))
    return y_true if known is None else measurement(known, "the objective's noiseless() returned")


def true_value_or_nan(objective: Objective, trial: Try, y_true: float) -> float:
    """The same for a trial that failed, whose objective may fail here too."""
    try:
        return true_value(objective, trial, y_true)
    except Exception:  # a report without a regret is better than a study that ends here
        return math.nan


def measurement(value: Any, what: str) -> float:
    """`value` as a float; NaN and infinities are measurements, words and lists are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{what} {_shown(value)}, not a number")
    return float(value)


def _reported(step: Any, value: Any) -> tuple[int, float]:
    """A pair for the curve of a trial, checked where the objective's own traceback can point to it."""
    return int(measurement(step, "report() was given the step")), measurement(value, "report() was given")


def _shown(value: Any) -> str:
    try:
        return f"{value!r:.80} ({type(value).__name__})"
    except Exception:  # a repr may be anybody's code
        return f"a {type(value).__name__}"


def reason(error: BaseException) -> str:
    """Type and message of an error in one short line, even of one whose message cannot be formed."""
    name = type(error).__name__
    try:
        text = " ".join(str(error).split())
    except BaseException:
        text = "its message cannot be shown"
    return f"{name}: {text}"[:REASON_LENGTH] if text else name


def die_now() -> None:
    """End this process the way a lost machine does."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse_to_die() -> None:
    """For evaluations in the caller's own process: a crash as an error, for the engine to handle like one."""
    raise KilledError("killed by the adversary")
