"""The report of an MLflow experiment that others filled: runs with parameters and a metric, and nobody knows the truth."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from pathlib import Path
from statistics import median
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame, Series

from orchestrator.errors import UserError, did_you_mean
from orchestrator.experiments import ABOUT, PARAMETER, is_blank
from orchestrator.failures import Coordinate, Failures, failures_of
from orchestrator.review.scale import value_range
from orchestrator.search.cube import Cube
from orchestrator.search.dimensions import Choice, Dimension, Number
from orchestrator.search.settings import Settings
from orchestrator.trial_records import is_time_to_update
from rcgp import SUSPECT_WEIGHT, Optimizer

Array = NDArray[np.float64]
Judge = Callable[[DataFrame, Sequence[Dimension], float], tuple[Array, Array, int | None]]
"""From the runs, what can be learned from and the sign of the goal to weights, expectations and the row believed best."""
SIGNS = {"max": 1.0, "min": -1.0}
OPEN = ("RUNNING", "SCHEDULED", "KILLED")
"""What MLflow says of runs that have not come to an end by themselves."""
CATEGORIES = 10
"""Texts that differ more often than this are names or paths, not choices."""


@dataclass(frozen=True)
class ForeignReport:
    """Runs in the order they were started, and how far a robust model believes them.

    Columns: `number`, `run`, `status`, `value` (the metric), `best_so_far`, `best_believed`, `weight` and `expected` (NaN where
    nothing could be judged), and the parameters under their prefix.
    """

    name: str
    metric: str
    mode: str
    frame: DataFrame
    folder: Path
    dimensions: tuple[Dimension, ...]
    believed: int | None
    """The row that the model believes best, where there is a model."""
    CURVES: ClassVar[dict[str, str]] = {"best_so_far": "best as reported", "best_believed": "best without suspects"}

    @classmethod
    def of(
        cls,
        name: str,
        runs: DataFrame,
        metric: str | None,
        mode: str | None,
        folder: Path,
        judge: "Judge | None" = None,
    ) -> "ForeignReport":
        """Judge the runs of an experiment by one of their metrics; `judge` is whoever knows them better than their table."""
        metric = choose_metric(name, runs, metric)
        sign = _sign(metric, mode)
        frame = _ordered(runs, metric)
        dimensions = tuple(dimensions_of(frame[frame["value"].notna()]))
        frame["weight"], frame["expected"], believed = (judge or judge_runs)(frame, dimensions, sign)
        frame["best_so_far"] = sign * np.fmax.accumulate(sign * _finite(frame["value"]))
        frame["best_believed"] = sign * np.fmax.accumulate(sign * _finite(_trusted(frame)))
        return cls(name, metric, str(mode), frame, folder, dimensions, believed)

    @cached_property
    def suspects(self) -> DataFrame:
        """The runs under suspicion, least trusted first."""
        return self.frame[self.frame["weight"] < SUSPECT_WEIGHT].sort_values("weight", kind="stable")

    @cached_property
    def failures(self) -> Failures | None:
        """How many runs came to nothing, and where; None where none did. Those that run or were interrupted are not counted."""
        ended = self.frame[~self.frame["status"].isin(OPEN)]
        value = SIGNS[self.mode] * ended["value"].to_numpy(dtype=float)
        failed = np.isnan(value) | (value == -math.inf)
        if not failed.any():
            return None
        dimensions = list(dimensions_of(ended))
        kinds = ["crash" if status == "FAILED" else "no number" for status in ended["status"][failed]]
        points = [_point(row, dimensions) for row in ended.to_dict(orient="records")] if dimensions else []
        values = [Coordinate(d.name, ended[PARAMETER + d.name].tolist(), isinstance(d, Number)) for d in dimensions]
        return failures_of(failed, kinds, values, np.array(points).reshape(len(ended), -1))

    @property
    def parameters(self) -> list[str]:
        """Every parameter of any run."""
        return [c.removeprefix(PARAMETER) for c in self.frame.columns if c.startswith(PARAMETER)]

    @property
    def range(self) -> tuple[float, float]:
        """Bounds of the values worth seeing: a lie of a million must not flatten all others."""
        trusted = _finite(_trusted(self.frame))
        return value_range(trusted if np.isfinite(trusted).any() else _finite(self.frame["value"]))

    @property
    def caption(self) -> str:
        """What came out, in one line."""
        return f"{len(self.frame)} runs, {len(self.suspects)} of them suspect by their {self.metric}"

    @property
    def advice(self) -> str:
        """What to use, in one line."""
        if self.believed is None:
            return "The runs share no parameter that varies: there is no model to ask what to use."
        best = self.frame.loc[self.believed]
        told = ", ".join(f"{name}={_text(best[PARAMETER + name])}" for name in self.parameters)
        return f"Use {told}: expected {best['expected']:.4g} (run {best['run']}, which reported {best['value']:.4g})."

    @property
    def shown(self) -> DataFrame:
        """The suspect runs, for people."""
        return self.table(self.suspects).map(_text)

    def table(self, rows: DataFrame) -> DataFrame:
        """Runs with their parameters, what they reported and how far that is believed."""
        titles = {"number": "number", "run": "run"} | {PARAMETER + name: name for name in self.parameters}
        titles |= {"value": self.metric, "expected": "expected", "weight": "weight"}
        return rows[list(titles)].set_axis(list(titles.values()), axis=1)

    def described(self) -> dict[str, object]:
        """What was read, and what the model could learn from."""
        modelled = {
            d.name: list(d.values) if isinstance(d, Choice) else {"from": d.low, "to": d.high, "log": d.log}
            for d in self.dimensions
        }
        left_out = [name for name in self.parameters if name not in modelled]
        return {"metric": self.metric, "mode": self.mode, "modelled": modelled, "left out": left_out}


def choose_metric(name: str, runs: DataFrame, metric: str | None) -> str:
    """The metric to report; refused with what there is when it is missing or one of several."""
    metrics = [c for c in runs.columns if not c.startswith((PARAMETER, ABOUT, "system/", "rcgp/"))]
    if not metrics:
        raise UserError(f"experiment {name!r} holds no run with a metric: there is nothing to report.")
    if metric is None and len(metrics) > 1:
        raise UserError(
            f"experiment {name!r} has several metrics; choose one with --metric: {', '.join(sorted(metrics))}."
        )
    if metric is not None and metric not in metrics:
        raise UserError(f"experiment {name!r} has no metric {metric!r}; {did_you_mean(metric, metrics)}")
    return metric or metrics[0]


def _sign(metric: str, mode: str | None) -> float:
    if mode is None:
        raise UserError(f"is a high or a low {metric!r} better? Say --mode max or --mode min.")
    if mode not in SIGNS:
        raise UserError(f"--mode {mode!r} must be max or min.")
    return SIGNS[mode]


def _ordered(runs: DataFrame, metric: str) -> DataFrame:
    ordered = runs.sort_values(ABOUT + "started", kind="stable").reset_index(drop=True)
    about = {"number": ordered.index, "run": ordered[ABOUT + "name"], "status": ordered[ABOUT + "status"]}
    frame = DataFrame(about | {"value": ordered[metric].astype(float)})
    return frame.join(ordered[sorted(c for c in ordered.columns if c.startswith(PARAMETER))])


def _trusted(frame: DataFrame) -> "Series[float]":
    """The values of the runs that are no suspects; NaN for the others."""
    return frame["value"].where(~(frame["weight"] < SUSPECT_WEIGHT))


def _finite(values: "Series[float]") -> Array:
    numbers = values.to_numpy(dtype=np.float64)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def dimensions_of(measured: DataFrame) -> Iterator[Dimension]:
    """What can be learned from: parameters that every measured run has and that vary, in the box the runs span."""
    for column in (c for c in measured.columns if c.startswith(PARAMETER)):
        values, name = measured[column].tolist(), column.removeprefix(PARAMETER)
        if any(is_blank(v) for v in values):
            continue
        if all(_is_number(v) for v in values):
            yield from _range(name, [float(v) for v in values])
        elif 1 < len(texts := sorted({str(v) for v in values})) <= CATEGORIES:
            yield Choice(name, tuple(texts))


def _range(name: str, values: Sequence[float]) -> Iterator[Number]:
    low, high = min(values), max(values)
    if low < high:
        yield Number(name, low, high, log=_is_logarithmic(values))


def _is_logarithmic(values: Sequence[float]) -> bool:
    """Whether positive numbers span two decades and crowd at the low end: on a linear scale the median is in the middle."""
    return min(values) > 0 and max(values) > 100 * min(values) and median(values) < 0.2 * max(values)


def _is_number(value: object) -> bool:
    return type(value) is not bool and isinstance(value, Real) and math.isfinite(value)


def judge_runs(frame: DataFrame, dimensions: Sequence[Dimension], sign: float) -> tuple[Array, Array, int | None]:
    """Weight and expected value of each run, and the row believed best, as `RCGPSearch` would see them."""
    weights, expected = np.full(len(frame), np.nan), np.full(len(frame), np.nan)
    measured = np.flatnonzero(frame["value"].notna())
    if not dimensions:
        return weights, expected, None
    points = np.array([_point(row, dimensions) for row in frame.iloc[measured].to_dict(orient="records")])
    optimizer = Settings().optimizer(Cube.of(dimensions))
    for told, (x, y) in enumerate(zip(points, frame["value"][measured], strict=True), start=1):
        optimizer.tell(x, sign * y)
        if is_time_to_update(told):
            optimizer.update()
    mean = optimizer.posterior(points).mean
    weights[measured], expected[measured] = optimizer.weights(), sign * mean
    for suspect in optimizer.suspects():
        expected[measured[suspect.index]] = sign * suspect.expected
    return weights, expected, int(measured[_believed_best(optimizer, mean)])


def _believed_best(optimizer: Optimizer, mean: Array) -> int:
    """The optimizer's recommendation, unless that run itself is a suspect: then the best of those that are not."""
    trusted, best = optimizer.weights() >= SUSPECT_WEIGHT, optimizer.recommend()
    return best if trusted[best] or not trusted.any() else int(np.argmax(np.where(trusted, mean, -np.inf)))


def _point(row: Mapping[Hashable, str | float], dimensions: Sequence[Dimension]) -> Array:
    values = [row[PARAMETER + d.name] for d in dimensions]
    pairs = zip(dimensions, values, strict=True)
    return np.concatenate([d.encode(str(v) if isinstance(d, Choice) else float(v)) for d, v in pairs])


def _text(value: object) -> str:
    if is_blank(value):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
