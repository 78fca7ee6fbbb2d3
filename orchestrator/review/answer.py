"""What a run is for: the configuration to use, what is believed of it and why."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import yaml
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.conclusion import Conclusion, conclude
from orchestrator.engine.history import ending, events_of
from orchestrator.review.posterior import points_of, replay, rows_of, states_of
from rcgp import SUSPECT_WEIGHT

SURE = 1.96
"""Deviations to either side that make an interval of 95 %."""
NEAR = 0.1
"""Reports within this share of every parameter's range speak of the same place."""


@dataclass(frozen=True)
class Recommendation:
    """The trial that a study hands over now: its parameters, what is believed of it, and what supports that."""

    study: Study
    number: int
    parameters: Mapping[str, object]
    reported: float
    true: float
    """The noise-free value where the objective knows it, else what was measured before anyone could lie; NaN if lost."""
    mean: float
    std: float
    support: int
    """Trusted reports from its neighbourhood, its own included."""
    done: int
    """Trials of the study so far."""
    runs: int = 1
    """How often its very point was run."""
    machines: int = 0
    """On how many machines; 0 where nobody knows."""
    probability: float | None = None
    """That none of those tried is better."""
    disbelieved: str = ""
    """Why the best report is not the answer, where it is not."""

    @property
    def believed(self) -> str:
        """What its value is thought to be."""
        if not math.isfinite(self.mean + self.std):
            return f"{self.reported:.4g}, as reported (no model)"
        return f"{self.mean:.4g} ± {self.std:.2g}"

    @property
    def stands_on(self) -> str:
        """How sure that is: its interval, its runs and machines, and that nothing tried is better."""
        if not math.isfinite(self.mean + self.std):
            return ""
        low, high = self.mean - SURE * self.std, self.mean + SURE * self.std
        where = f" on {self.machines} machine{'' if self.machines == 1 else 's'}" if self.machines else ""
        runs = f"{self.runs} run{'' if self.runs == 1 else 's'}{where}"
        best = "" if self.probability is None else f"; with probability {self.probability:.2g} the best of those tried"
        return f"95 %: {low:.4g} to {high:.4g}, from {runs}{best}."

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
        said = f"Use {short}: believed {use.believed} ({study.key}, trial {use.number}, {use.supported}{left})."
        return " ".join(part for part in (said, use.stands_on, use.disbelieved) if part)

    def yaml(self) -> str:
        """The parameters to use, as YAML."""
        return self.use.yaml()

    def python(self) -> str:
        """The parameters to use, as a Python dict."""
        return self.use.python()


def _short(value: object) -> str:
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
    same = _runs_of(rows, conclusion.recommended)
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
        runs=len(same),
        machines=int(same["reporter"].replace("", np.nan).nunique()),
        probability=conclusion.probability,
        disbelieved=_disbelieved(rows, conclusion),
    )


def _runs_of(rows: DataFrame, number: int) -> DataFrame:
    """The runs of a trial's point: itself, what it repeats, and what repeats that."""
    first = rows.loc[rows["number"] == number, "replicate_of"].fillna(number).iloc[0]
    return rows[((rows["number"] == first) | (rows["replicate_of"] == first)) & ~rows["failed"]]


def _disbelieved(rows: DataFrame, conclusion: Conclusion) -> str:
    """That the best report is not believed, and why; empty where it is, or where it is the answer's."""
    finite = rows[np.isfinite(rows["y"]) & ~rows["failed"]]
    if finite.empty:
        return ""
    best = finite.loc[finite["y"].idxmax()]
    if best["number"] == conclusion.recommended or best["weight"] >= SUSPECT_WEIGHT:
        return ""
    on = f" on {best['reporter']}" if best["reporter"] else ""
    told = f"The best reported value, {best['y']:.4g} of trial {best['number']}{on}, is not believed"
    if best["ruling"] == "lie":
        return f"{told}: it was ruled a lie."
    expected = conclusion.expected.get(int(best["number"]))
    why = "" if expected is None else f" the others expect {expected:.4g} there,"
    return f"{told}:{why} its weight is {best['weight']:.2g}."


def concluded(run: Run | None, study: Study) -> Conclusion | None:
    """What the journal of an ended study says of it, where it says more than which trial it was."""
    end = ending(events_of(run, study)) if run else None
    if end is None or end.mean is None:
        return None
    return Conclusion(end.recommended, end.mean, end.std, end.expected, end.deviations, end.probability)


def _replayed(study: Study, objective: Objective, rows: DataFrame, run: Run | None) -> Conclusion:
    return conclude(replay(study, objective, rows, states_of(run, study)), rows["number"].tolist())
