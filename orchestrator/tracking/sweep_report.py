"""The report of a sweep: that of an experiment which others filled, with the searcher's own beliefs where it has said them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from pandas import DataFrame

from orchestrator.experiments import ABOUT, PARAMETER
from orchestrator.review.foreign import Array, ForeignReport, Judge
from orchestrator.tracking.sweep import Sweep, SweepTrial


def in_order(sweep: Sweep) -> list[SweepTrial]:
    """The trials as the report counts them: in the order they were started."""
    return sorted(sweep.trials.values(), key=lambda t: t.started)


def sweep_report(sweep: Sweep, folder: Path) -> ForeignReport | None:
    """The report of what there is; None while no trial has reported the metric."""
    session = sweep.session
    assert session is not None
    trials = in_order(sweep)
    values = [sweep.value(t.id) for t in trials]
    if all(value is None for value in values):
        return None
    runs = DataFrame([_row(t) for t in trials]).assign(**{session.metric: np.array(values, dtype=float)})
    spoken = None if sweep.best is None else _spoken(sweep, trials)
    judge: Judge | None = None if spoken is None else lambda frame, dimensions, sign: spoken
    return ForeignReport.of(session.name, runs, session.metric, session.mode, folder, judge)


def _row(trial: SweepTrial) -> dict[str, object]:
    about = {"name": trial.name, "started": trial.started, "status": trial.status}
    return {f"{PARAMETER}{k}": v for k, v in trial.params.items()} | {f"{ABOUT}{k}": v for k, v in about.items()}


def _spoken(sweep: Sweep, trials: Sequence[SweepTrial]) -> tuple[Array, Array, int | None]:
    """Weights, expectations and the best, as the searcher said them when it was asked last."""
    weights, expected = np.full(len(trials), np.nan), np.full(len(trials), np.nan)
    for row, trial in enumerate(trials):
        belief = sweep.belief(trial.id)
        if belief is not None and sweep.value(trial.id) is not None:
            weights[row] = belief.weight
            expected[row] = np.nan if belief.expected is None else belief.expected
    best = [row for row, trial in enumerate(trials) if sweep.best is not None and trial.id == sweep.best.id]
    return weights, expected, best[0] if best else None
