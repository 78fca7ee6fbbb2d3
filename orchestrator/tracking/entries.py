"""What MLflow is told of a run, as plain data: parameters, tags, and one dated number after the other.

Everything here is a function of the journals. The dates are the journals' too, so that telling MLflow twice changes
nothing: it keeps equal rows once.
"""

import getpass
import hashlib
import json
import math
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Observation, Study
from orchestrator.engine.build import build_adversary
from orchestrator.engine.journal import Record, observations
from orchestrator.experiments import KIND
from orchestrator.review.report import best_so_far, regret_curves

RUN, STUDY, TRIAL = "orchestrate.run", "orchestrate.study", "orchestrate.trial"
"""Tags that say what an MLflow run is: whose, and which study or trial."""
DEFINITION = "orchestrate.definition"
"""Tag with everything that defines the study, so that it can be understood without its journal."""
WRITTEN, STAGE = "orchestrate.written", "orchestrate.stage"
"""Tags that say how far it is: the number of trials it holds, and running, paused, ended or complete."""
VERSIONS = ("rcgp-orchestrator", "ray", "torch", "botorch", "mlflow", "numpy")


@dataclass(frozen=True)
class Entry:
    """One number: its name, its trial, and when it was written down (milliseconds since 1970)."""

    key: str
    value: float
    step: int
    at: int


@dataclass(frozen=True)
class Judged:
    """A trial, what the optimizer thought of it when it came in, and how many suspects there were then."""

    observation: Observation
    first_weight: float
    suspects: int


def judged(records: Sequence[Record]) -> list[Judged]:
    """The trials by number, up to the first that is not settled or not judged yet."""
    settled = {o.number: o for o in observations(list(records))}
    weights: dict[str, float] = {}
    waiting: list[int] = []
    found: dict[int, Judged] = {}
    for record in records:
        if record["kind"] == "observation":
            waiting.append(record["number"])
        if "weights" in record:
            weights |= record["weights"]
            suspects = sum(w < 1.0 for w in weights.values())
            found |= {n: Judged(settled[n], weights.get(str(n), 1.0), suspects) for n in waiting}
            waiting.clear()
    return [found[n] for n in range(_first_gap(found))]


def _first_gap(found: Mapping[int, Judged]) -> int:
    return next(n for n in range(len(found) + 1) if n not in found)


def number(key: str, value: float) -> Iterator[tuple[str, float]]:
    """A value under its name; what is not finite becomes a flag, because MLflow would store infinity as 1.8e308."""
    if math.isfinite(value):
        yield key, value
    elif math.isnan(value):
        yield f"{key}_nan", 1.0
    else:
        yield f"{key}_inf", math.copysign(1.0, value)


def trial_entries(trials: Sequence[Judged], start: int) -> list[Entry]:
    """The numbers of the trials from `start` on that are known as soon as they are judged."""
    best = best_so_far(np.array([t.observation.value for t in trials]))
    return [
        Entry(key, value, trial.observation.number, milliseconds(trial.observation.at))
        for trial, top in zip(trials[start:], best[start:], strict=True)
        for key, value in _trial_numbers(trial, float(top))
    ]


def _trial_numbers(trial: Judged, best: float) -> Iterator[tuple[str, float]]:
    o = trial.observation
    yield from number("observed", o.y)
    yield from number("true_value", o.y_true)
    yield "corrupted", float(o.corrupted)
    yield "failed", float(o.failed)
    yield "first_weight", trial.first_weight
    yield "suspects", float(trial.suspects)
    yield from number("best_so_far", best)


def regret_entries(seen: Sequence[Observation], best: float, worst: float, initial: int, start: int = 0) -> list[Entry]:
    """Simple and cumulative regret of the trials from `start` on; `seen` are all trials, by number."""
    numbers, values = np.array([o.number for o in seen]), np.array([o.value for o in seen])
    curves = regret_curves(numbers, values, best, worst, initial)
    return [
        Entry(key, value, o.number, milliseconds(o.at))
        for name in ("simple_regret", "cumulative_regret")
        for o, point in zip(seen[start:], curves[name][start:], strict=True)
        for key, value in number(name, float(point))
    ]


def weight_entries(seen: Sequence[Observation]) -> list[Entry]:
    """What the optimizer believes of each trial in the end."""
    return [Entry("weight", o.weight, o.number, milliseconds(o.at)) for o in seen]


def final_entries(seen: Sequence[Observation], records: Sequence[Record]) -> list[Entry]:
    """What a complete study came to, in a few numbers."""
    end = next(r for r in records if r["kind"] == "end")
    recommended = next(o for o in seen if o.number == end["recommended"])
    figures = {
        "final_best_value": float(best_so_far(np.array([o.value for o in seen]))[-1]),
        "final_recommended_value": recommended.value,
        "final_recommended_trial": float(recommended.number),
        "final_corrupted": float(sum(o.corrupted for o in seen)),
        "final_suspects": float(sum(o.weight < 1.0 for o in seen)),
        "final_failed": float(sum(o.failed for o in seen)),
        "final_fallbacks": float(sum("fallback" in r for r in records)),
        "final_seconds": sum(o.seconds for o in seen),
    }
    at = milliseconds(end["at"])
    return [Entry(k, v, 0, at) for key, value in figures.items() for k, v in number(key, value)]


def final_regret_entries(regrets: Sequence[Entry]) -> list[Entry]:
    """The last of each regret, under its final name."""
    last = {entry.key: entry for entry in regrets}
    return [Entry(f"final_{key}", e.value, 0, e.at) for key, e in last.items()]


def child_entries(o: Observation) -> list[Entry]:
    """The numbers of an expensive trial's own run, its curve of epochs or episodes included."""
    at = milliseconds(o.at)
    pairs = [*number("observed", o.y), *number("true_value", o.y_true), ("corrupted", float(o.corrupted))]
    scalars = [Entry(key, value, 0, at) for key, value in (*pairs, ("failed", float(o.failed)), ("seconds", o.seconds))]
    curve = [(step, key, value) for step, v in o.progress for key, value in number("progress", v)]
    return scalars + [Entry(key, value, step, at) for step, key, value in curve]


def milliseconds(seconds: float) -> int:
    """MLflow's clock."""
    return round(seconds * 1000)


# --- parameters and tags ----------------------------------------------------------------------------------------------


def study_params(study: Study, objective: Objective) -> dict[str, str]:
    """What the study is, all options included; MLflow's pages group by these."""
    budget = build_adversary(study, objective).allowance
    params: dict[str, Any] = {
        "algorithm": study.algorithm.label,
        "objective": study.objective.label,
        "adversary": study.adversary.label,
        "seed": study.seed,
        "trials": study.trials,
        "initial": study.initial,
        "workers": study.workers,
        "budget": budget,
    }
    for part in ("algorithm", "objective", "adversary"):
        params |= {f"{part}.{k}": v for k, v in getattr(study, part).options.items()}
    return {clean(key): _text(value)[:6000] for key, value in params.items()}


def trial_params(o: Observation, objective: Objective) -> dict[str, str]:
    """A trial's point in its own units."""
    return {clean(name): str(value) for name, value in objective.space.to_units(np.array(o.x)).items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def clean(name: str) -> str:
    """A name MLflow takes."""
    return re.sub(r"[^\w\-. /]", "_", name)[:250]


def study_tags(run: Run, study: Study) -> dict[str, str]:
    """Whose study this is, and with what it was made."""
    described = json.dumps(study.to_dict())
    fits = {DEFINITION: described} if len(described) <= 8000 else {}
    return run_tags(run) | {KIND: "study", STUDY: study.key, "orchestrate.fingerprint": study.fingerprint()} | fits


def run_tags(run: Run) -> dict[str, str]:
    """Whose campaign this is, and with what it was made."""
    return {RUN: run.id, "orchestrate.campaign": campaign_hash(run)} | provenance()


def campaign_hash(run: Run) -> str:
    """Changes with anything in the campaign."""
    return hashlib.sha256(json.dumps(run.campaign.to_dict(), sort_keys=True).encode()).hexdigest()[:16]


@cache
def provenance() -> dict[str, str]:
    """Who, with which code."""
    versions = {f"version.{name}": version for name in VERSIONS if (version := _version(name))}
    commit = _commit()
    return {
        "mlflow.user": getpass.getuser(),
        "mlflow.source.name": "orchestrate",
        "mlflow.source.type": "LOCAL",
        **({"mlflow.source.git.commit": commit} if commit else {}),
        **versions,
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _commit() -> str:
    """The commit of this code, where it runs from a git checkout."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, capture_output=True, timeout=5)
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


# --- what a reviewer sees first ---------------------------------------------------------------------------------------


VIEW = "regret"
CHARTS = (
    ("cumulative_regret", "Cumulative regret (mean over seeds, range shaded)"),
    ("simple_regret", "Simple regret"),
    ("best_so_far", "Best true value so far"),
    ("suspects", "Observations under suspicion"),
    ("observed", "What was reported"),
    ("weight", "Trust in each trial, in the end"),
)


def chart_view(adversaries: int) -> str:
    """MLflow's saved view of the charts: grouped by algorithm, cumulative regret first. The form is MLflow's own."""
    keys = ["algorithm", *(["adversary"] if adversaries > 1 else [])]
    group = {"aggregateFunction": "average", "groupByKeys": [{"mode": "param", "groupByData": key} for key in keys]}
    section = {"uuid": "regret", "name": "Regret and trust", "display": True, "isReordered": True, "columns": 2}
    state = {
        "searchFilter": f"tags.`{KIND}` = 'study'",
        "orderByKey": "attributes.start_time",
        "orderByAsc": True,
        "runsHiddenMode": "SHOW_ALL",
        "groupBy": group,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "isAccordionReordered": True,
        "autoRefreshEnabled": True,
        "selectedColumns": ["attributes.`Source`", "metrics.`final_cumulative_regret`", "params.`seed`"],
        "compareRunSections": [section],
        "compareRunCharts": [_chart(key, title) for key, title in CHARTS],
    }
    return json.dumps(state)


def _chart(key: str, title: str) -> dict[str, Any]:
    return {
        "uuid": f"chart-{key}",
        "type": "LINE",
        "metricKey": key,
        "selectedMetricKeys": [key],
        "displayName": title,
        "metricSectionId": "regret",
        "runsCountToCompare": 100,
        "deleted": False,
        "isGenerated": False,
        "lineSmoothness": 0,
        "scaleType": "linear",
        "xAxisScaleType": "linear",
        "xAxisKey": "step",
        "selectedXAxisMetricKey": "",
        "yAxisKey": "metric",
        "yAxisExpressions": [],
        "useGlobalXaxisKey": True,
        "useGlobalLineSmoothing": True,
    }
