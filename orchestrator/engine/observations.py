"""What came back of a trial, as the event that is written down."""

import math
import time

from objectives import Objective
from orchestrator.campaign.study import Study
from orchestrator.engine.events import AdversaryReported, Observation
from orchestrator.engine.trial import Evaluation, Try, true_value_or_nan


def observation_of(trial: Try, evaluation: Evaluation) -> Observation:
    """The observation of a trial that returned."""
    return Observation(
        number=trial.number,
        x=trial.x,
        y=evaluation.y,
        y_true=evaluation.y_true,
        value=evaluation.value,
        corrupted=evaluation.corrupted,
        seconds=evaluation.seconds,
        node=evaluation.node,
        attempt=trial.attempt,
        at=time.time(),
        progress=evaluation.progress,
        reporter=evaluation.reporter,
        standard_error=evaluation.standard_error,
        stopped=evaluation.stopped,
        replicate_of=trial.replicate_of,
    )


def failed_observation(study: Study, objective: Objective, trial: Try, report: AdversaryReported | None) -> Observation:
    """The observation of a trial that failed for good: it gets what a failure is worth in this study."""
    y_true = math.nan if report is None else report.y_true
    return Observation(
        number=trial.number,
        x=trial.x,
        y=math.nan if study.crash_value is None else study.crash_value,
        y_true=y_true,
        value=true_value_or_nan(objective, trial, y_true),
        corrupted=report is not None,
        failed=True,
        attempt=trial.attempt - 1,
        at=time.time(),
        replicate_of=trial.replicate_of,
    )
