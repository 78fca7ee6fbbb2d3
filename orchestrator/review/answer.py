"""What a run is for: the configuration to use, what is believed of it and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import yaml
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.conclusion import Conclusion, conclude
from orchestrator.engine.events import StudyEnded, of_type
from orchestrator.engine.history import events_of
from orchestrator.review.posterior import points_of, replay, rows_of, states_of
from rcgp import SUSPECT_WEIGHT

NEAR = 0.1
"""Reports within this share of every parameter's range speak of the same place."""


@dataclass(frozen=True)
class Recommendation:
    """The trial that a study hands over now: its parameters, what is believed of it, and what supports that."""

    study: Study
    number: int
    parameters: Mapping[str, Any]
    reported: float
    true: float
    """The noise-free value where the objective knows it, else what was measured before anyone could lie; NaN if lost."""
    mean: float
    std: float
    support: int
    """Trusted reports from its neighbourhood, its own included."""
    done: int
    """Trials of the study so far."""

    @property
    def believed(self) -> str:
        """What its value is thought to be."""
        if not math.isfinite(self.mean + self.std):
            return f"{self.reported:.4g}, as reported (no model)"
        return f"{self.mean:.4g} ± {self.std:.2g}"

    @property
    def supported(self) -> str:
        """By how much that is supported, or what to do where it is not."""
        if not self.support:
            return "no trusted report nearby: measure it again"
        return f"{self.support} trusted report{'' if self.support == 1 else 's'} nearby"

    def yaml(self) -> str:
        """The parameters, to be pasted into a YAML file."""
        return yaml.safe_dump(dict(self.parameters), sort_keys=False)

    def python(self) -> str:
        """The parameters, to be pasted into a program."""
        return repr(dict(self.parameters))


@dataclass(frozen=True)
class Answer:
    """The recommendation to use, and what plain GP-UCB would have handed over, where it ran on the same seed."""

    use: Recommendation
    plain: Recommendation | None = None

    def sentence(self) -> str:
        """The answer in one line."""
        use, study = self.use, self.use.study
        short = ", ".join(f"{name}={_short(value)}" for name, value in use.parameters.items())
        left = "" if use.done >= study.total else f", after {use.done} of {study.total} trials"
        return f"Use {short}: believed {use.believed} ({study.key}, trial {use.number}, {use.supported}{left})."

    def yaml(self) -> str:
        """The parameters to use, as YAML."""
        return self.use.yaml()

    def python(self) -> str:
        """The parameters to use, as a Python dict."""
        return self.use.python()


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def best_of(
    candidates: Sequence[Study], objective: Objective, frame: DataFrame, run: Run | None
) -> Recommendation | None:
    """Of several studies that ended the recommendation believed best; before that, of the one that is furthest."""
    done = frame["study"].value_counts()
    started = sorted((s for s in candidates if s.key in done), key=lambda s: -done[s.key])
    asked = [s for s in started if concluded(run, s)] or started[:1]  # a replay of every seed would take too long
    found = [r for s in asked if (r := recommend(s, objective, frame, run))]
    return max(found, key=lambda r: r.mean if math.isfinite(r.std) else r.reported, default=None)


def recommend(study: Study, objective: Objective, frame: DataFrame, run: Run | None) -> Recommendation | None:
    """What a study would hand over now; None before its first trial has come back."""
    rows = rows_of(frame, study)
    if rows.empty:
        return None
    conclusion = concluded(run, study) or _replayed(study, objective, rows, run)
    index, points = rows["number"].tolist().index(conclusion.recommended), points_of(rows, objective)
    near = np.abs(points - points[index]).max(axis=1) <= NEAR
    trusted = (rows["weight"] >= SUSPECT_WEIGHT) & np.isfinite(rows["y"])
    return Recommendation(
        study=study,
        number=conclusion.recommended,
        parameters={name: rows[f"param.{name}"].tolist()[index] for name in objective.space.names},
        reported=float(rows["y"].iloc[index]),
        true=float(rows["value"].iloc[index]),
        mean=math.nan if conclusion.mean is None else conclusion.mean,
        std=math.nan if conclusion.std is None else conclusion.std,
        support=int((near & trusted).sum()),
        done=len(rows),
    )


def concluded(run: Run | None, study: Study) -> Conclusion | None:
    """What the journal of an ended study says of it, where it says more than which trial it was."""
    for end in of_type(events_of(run, study), StudyEnded) if run else ():
        if end.mean is not None:
            return Conclusion(end.recommended, end.mean, end.std, end.expected)
    return None


def _replayed(study: Study, objective: Objective, rows: DataFrame, run: Run | None) -> Conclusion:
    return conclude(replay(study, objective, rows, states_of(run, study)), rows["number"].tolist())
