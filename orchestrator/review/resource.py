"""What trials spent - epochs, episodes - and regret over it: where some are stopped on their way, trials are not equal."""

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from orchestrator.engine.events import Observation
from orchestrator.review.scale import Array, short
from orchestrator.rungs import Told, rungs_of, told_as
from orchestrator.trial_records import Row

POINTS = 200
"""Of a curve over resource."""
CHARTS = {
    "recommended_regret": ("Recommended regret by resource", "maximum - recommended true value"),
    "simple_regret": ("Best tried regret by resource", "maximum - best true value so far"),
}
UNIT = "steps spent"


def columns_of(o: Observation, scheduled: bool) -> dict[str, object]:
    """What a trial's row says of its way: its steps, whether it was stopped, and the curve that its optimizer was told."""
    curve = json.dumps(rungs_of(o.progress, o.y)) if scheduled and o.progress and not o.failed else ""
    spent = float(max(step for step, _ in o.progress)) if o.progress else np.nan
    return {"resource": spent, "stopped": o.stopped, "curve": curve}


def told_of(row: Mapping[Hashable, Any], full: int | None) -> Told:
    """What an optimizer is told of a trial's way besides its end; nothing where nobody is stopped."""
    if full is None or not row["curve"]:
        return {}
    rungs = tuple((step, value) for step, value in json.loads(row["curve"]))
    return told_as(Row(None, (), row["y"], "completed", rungs=rungs, whole=not row["stopped"]), full)


def spent_so_far(resource: Array) -> Array:
    """The steps (`n`) of a study's trials up to each of them; NaN where none reports any."""
    return resource if np.isnan(resource).all() else np.cumsum(np.nan_to_num(resource))


def is_known(frame: DataFrame) -> bool:
    """Whether regret over resource says anything that regret over trials does not."""
    return "stopped" in frame and bool(frame["stopped"].astype(bool).any())


def resource_curves(frame: DataFrame, initial: int, column: str) -> Iterator[tuple[str, DataFrame]]:
    """Mean and standard error over seeds by steps spent, for each algorithm (and adversary, where there are several).

    From where every seed is past its initial trials to where the first of them ends.
    """
    several = frame["adversary"].nunique() > 1
    for (adversary, algorithm), rows in frame.groupby(["adversary", "algorithm"], sort=False):
        chosen = [mine[mine["number"] >= initial] for _, mine in rows.groupby("seed")]
        seeds = [(mine["resource_spent"].to_numpy(), mine[column].to_numpy()) for mine in chosen if len(mine)]
        if not seeds or not all(np.isfinite(spent).all() for spent, _ in seeds):
            continue
        band = _band(seeds)
        yield (f"{algorithm} ({adversary})" if several else str(algorithm)), band


def _band(seeds: list[tuple[Array, Array]]) -> DataFrame:
    low, high = max(spent[0] for spent, _ in seeds), min(spent[-1] for spent, _ in seeds)
    grid = np.unique(np.linspace(low, max(low, high), POINTS).round())
    values = np.stack([known[np.searchsorted(spent, grid, side="right") - 1] for spent, known in seeds])
    mean = values.mean(axis=0)
    sem = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.zeros(len(grid))
    curves = {"mean": mean, "sem": sem, "low": mean - sem, "high": mean + sem}
    return DataFrame(curves, index=pd.Index(grid.astype(int), name="resource_spent"))


def resource_charts(frame: DataFrame, initial: int) -> list[dict[str, object]]:
    """Charts for the page; none where no trial was stopped."""
    known = [name for name in CHARTS if frame[name].notna().any()][:1] if is_known(frame) else []
    return [
        {"title": CHARTS[n][0], "axis": CHARTS[n][1], "unit": UNIT, "curves": _drawn(frame, initial, n)} for n in known
    ]


def _drawn(frame: DataFrame, initial: int, column: str) -> list[dict[str, Sequence[object]]]:
    return [
        {"label": label, "x": band.index.tolist()}
        | {name: short(band[name]) for name in ("mean", "low", "high", "sem")}
        for label, band in resource_curves(frame, initial, column)
    ]
