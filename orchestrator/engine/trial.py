"""One evaluation of a trial: the objective first, then whoever may lie about it. Whatever goes wrong is a failed try."""

import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from objectives import Objective
from orchestrator.campaign.study import NOISE, Study, stream
from orchestrator.engine.adversary import AdversaryClient
from orchestrator.engine.deadline import OverTimeError
from orchestrator.engine.events import AdversaryReported, Point
from orchestrator.engine.journal import JournalError
from orchestrator.engine.process_state import restored
from orchestrator.engine.progress import StoppedEarlyError, TrialProgress, measurement
from orchestrator.engine.reporter import UNKNOWN, Reporter, here, simulated_reporter
from orchestrator.engine.stopping import ladder_of
from orchestrator.plain import writable

REASON_LENGTH = 500


class KilledError(RuntimeError):
    """The adversary asked for the evaluating process to die, and it cannot: the caller lives in it."""


@dataclass(frozen=True)
class Try:
    """One attempt at a trial: its number, its point in the unit cube, and which attempt this is (from 0)."""

    number: int
    x: Point
    attempt: int = 0
    replicate_of: int | None = None
    """The trial whose point it is, where that is asked again."""
    avoid: tuple[str, ...] = ()
    """The nodes where the same point ran before: another one says more, where there is one."""


Judge = Callable[[Try, int, float], bool]
"""Whether a trial that reports this value after so many steps is stopped there."""


def never(trial: Try, step: int, value: float) -> bool:
    """Nobody is stopped."""
    return False


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
    reporter: Reporter = UNKNOWN
    standard_error: float | None = None
    stopped: bool = False
    """Whether it was stopped on its way: its values are those of the rung where that was."""


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
    machines: int = 0,
    limit: AbstractContextManager[None] | None = None,
    interruptible: bool = False,
    stops: Judge = never,
) -> Evaluation | FailedTry:
    """Evaluate one trial once; `die` is called when the adversary says so, `limit` is a block that ends in time.

    `stops` is asked at the rungs of a study with a scheduler. It is reported from here, or from one of so many simulated
    `machines`.
    An objective may raise anything, `SystemExit` included. A journal that cannot be written ends the study, and with
    `interruptible` so does Ctrl-C.
    """
    try:
        with limit or nullcontext():
            return evaluate(study, objective, adversary, trial, die, node, machines, stops)
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
    study: Study,
    objective: Objective,
    adversary: AdversaryClient,
    trial: Try,
    die: Callable[[], None],
    node: str = "",
    machines: int = 0,
    stops: Judge = never,
) -> Evaluation:
    """Evaluate one trial; raises whatever the objective or the adversary raises."""
    progress = TrialProgress(ladder_of(study, objective), partial(stops, trial))
    start = time.perf_counter()
    returned = _returned(study, objective, trial, progress)
    y_true, seconds = measurement(returned, "the objective returned"), time.perf_counter() - start - progress.waited
    found = Evaluation(
        y=y_true,
        y_true=y_true,
        value=true_value(objective, trial, y_true),
        corrupted=False,
        seconds=seconds,
        node=node,
        progress=tuple(progress.reports),
        reporter=reporter_of(study, objective, trial, machines),
        standard_error=_standard_error(returned),
        stopped=progress.stopped,
    )
    if trial.number < study.initial:  # nobody lies about the initial trials
        return found
    report = adversary.report(trial.number, trial.attempt, trial.x, y_true, trial.replicate_of)
    if report.kill and report.attempt == trial.attempt:
        die()
    lied = report.corrupted and not report.kill
    return replace(found, y=report.y if lied else y_true, corrupted=lied, report=report)


def _returned(study: Study, objective: Objective, trial: Try, progress: TrialProgress) -> object:
    """What the objective returned or, of a trial that was stopped, what it reported last."""
    x, rng = np.array(trial.x, dtype=np.float64), stream(study.seed, NOISE, trial.number)
    with restored():
        try:
            returned: object = objective.evaluate(x, rng, report=progress.report)
        except StoppedEarlyError:
            returned = None
    return progress.reports[-1][1] if progress.stopped else returned


def reporter_of(study: Study, objective: Objective, trial: Try, machines: int) -> Reporter:
    """The machine that evaluates a trial: this one, or one of so many that the adversary stands for."""
    if machines:
        return simulated_reporter(study.seed, trial.number, machines, trial.replicate_of)
    return here((objective.resources.gpus if study.gpus is None else study.gpus) > 0)


def _standard_error(returned: object) -> float | None:
    """What the objective knows of its own precision."""
    error = getattr(returned, "standard_error", None)
    return float(error) if isinstance(error, int | float) and math.isfinite(error) and error > 0 else None


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


def reason(error: BaseException) -> str:
    """Type and message of an error in one short line, even of one whose message cannot be formed."""
    name = type(error).__name__
    try:
        text = writable(" ".join(str(error).split()))
    except BaseException:
        text = "its message cannot be shown"
    return f"{name}: {text}"[:REASON_LENGTH] if text else name


def die_now() -> None:
    """End this process the way a lost machine does."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse_to_die() -> None:
    """For evaluations in the caller's own process: a crash as an error, for the engine to handle like one."""
    raise KilledError("killed by the adversary")
