"""What the page shows of failures: how many and why, and where - along one parameter, on a map of two, or by what tells most."""

import numpy as np
from pandas import DataFrame

from objectives import Choice, Parameter
from orchestrator.failures import Failures, Telling
from orchestrator.review.axes import grid_of, labels, scale_of, ticks
from orchestrator.review.failures import Mask, failed_in, told_reasons
from orchestrator.review.posterior import GRID, points_of
from orchestrator.review.report import Report
from orchestrator.review.scale import Array, short
from orchestrator.review.webpage import Data, table

DRAWN = 1_000
"""Trials of each kind that are drawn."""
REASONS = 12
"""Reasons that are listed; failures.json holds all."""
LINE = 100
"""Letters of a reason."""


def failures_data(report: Report) -> Data | None:
    """The section on failures; None where no trial failed."""
    found = report.failures
    if found is None:
        return None
    failed = failed_in(report.frame)
    return {
        "words": str(found),
        "more": [str(told) for told in found.telling[1:]],
        "hint": _hint(report) if found.telling else "",
        "table": table(_reasons(report.frame[failed]), words=3),
        "lines": [] if failed.all() else _lines(report, found, failed),
        "map": _map(report, failed) if report.objective.dim == 2 and not failed.all() else None,
    }


def _hint(report: Report) -> str:
    """What would keep a search away from there, where nothing did."""
    deaf = [s for s in report.studies if s.crash_value is None and not s.algorithm.options.get("regions")]
    names = dict.fromkeys(s.algorithm.label for s in deaf if s.algorithm.name != "random")
    if not names:
        return ""
    remedy = "the algorithm's option regions: true keeps a search away from there."
    return f"Failed trials had no influence on {' and '.join(names)}: {remedy}"


def _reasons(lost: DataFrame) -> DataFrame:
    """What was written down, the most frequent first, and where it was seen first."""
    kinds, reasons = zip(*told_reasons(lost), strict=True)
    where = [f"{study}, trial {number}" for study, number in zip(lost["study"], lost["number"], strict=True)]
    told = DataFrame({"what": kinds, "reason": [r[:LINE] or "not known here" for r in reasons], "seen first": where})
    counted = told.groupby(["what", "reason"], sort=False)["seen first"].agg(["first", "size"]).reset_index()
    shown = counted.set_axis(["what", "reason", "seen first", "trials"], axis=1)
    return shown.sort_values("trials", ascending=False, kind="stable").head(REASONS)


def _lines(report: Report, found: Failures, failed: Mask) -> list[Data]:
    """The probability of success along the only parameter or, of three and more, along each that tells something."""
    told = {t.rule.name: t for t in found.telling}
    if report.objective.dim == 2:
        return []
    alone = report.objective.dim == 1
    chosen = [(i, p) for i, p in enumerate(report.objective.space.parameters) if alone or p.name in told]
    chosen.sort(key=lambda pair: list(told).index(pair[1].name) if pair[1].name in told else 0)
    return [_line(report, i, p, failed, told.get(p.name)) for i, p in chosen]


def _line(report: Report, axis: int, p: Parameter | Choice, failed: Mask, told: Telling | None) -> Data:
    points = points_of(report.frame, report.objective)[:, [axis]]
    at = np.unique(p.project(np.linspace(0.0, 1.0, GRID[1])))
    success = _shares(points, failed, at) if isinstance(p, Choice) else probability(points, failed, at[:, None])
    return {
        "name": p.name,
        "scale": scale_of(p),
        "title": "" if told is None else str(told),
        "axis": short(ticks(p, at)),
        "success": short(success),
        "failed": _marks(report.frame, [p], failed),
        "passed": _marks(report.frame, [p], ~failed),
    }


def _map(report: Report, failed: Mask) -> Data:
    space, frame = report.objective.space, report.frame
    grid = grid_of(space, GRID[2])
    return {
        "names": list(space.names),
        "scales": [scale_of(p) for p in space.parameters],
        "cells": not space.continuous,
        "axes": [short(ticks(p, np.unique(grid[:, i]))) for i, p in enumerate(space.parameters)],
        "success": short(probability(points_of(frame, report.objective), failed, grid)),
        "failed": _marks(frame, space.parameters, failed),
        "passed": _marks(frame, space.parameters, ~failed),
    }


def probability(points: Array, failed: Mask, at: Array) -> Array:
    """That a trial at each of `at` (`m x d`) succeeds, by which of those at `points` (`n x d`) `failed`; as searches see it."""
    from rcgp.feasibility import Feasibility

    return Feasibility.learned(points, ~failed, "matern52").probability(at)


def _shares(points: Array, failed: Mask, at: Array) -> Array:
    """The share that succeeded of the trials with each choice: choices have no neighbours."""
    chosen = np.abs(points - at[None]).argmin(axis=1)
    counts = np.array([[(chosen == i).sum(), (~failed & (chosen == i)).sum()] for i in range(len(at))])
    with np.errstate(invalid="ignore"):
        shares: Array = counts[:, 1] / counts[:, 0]  # NaN for one that nobody tried
    return shares


def _marks(
    frame: DataFrame, parameters: "tuple[Parameter | Choice, ...] | list[Parameter | Choice]", which: Mask
) -> Data:
    """Where these trials are, and which: evenly thinned out where they are many."""
    every = max(1, -(-int(which.sum()) // DRAWN))
    rows = frame[which].iloc[::every]
    why = [reason for _, reason in told_reasons(rows)] if len(rows) and failed_in(rows).all() else [""] * len(rows)
    named = zip(rows["study"], rows["number"], why, strict=True)
    detail = [f"{study}, trial {n}" + (f": {reason[:LINE]}" if reason else "") for study, n, reason in named]
    return {"x": [short(labels(p, rows[f"param.{p.name}"])) for p in parameters], "detail": detail}
