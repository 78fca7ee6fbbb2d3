"""Results that people already have - a ResultGrid, a table, an MLflow experiment - as (configuration, value) pairs."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from ray.tune import ResultGrid
from ray.tune.utils.util import unflatten_dict

from orchestrator.experiments import PARAMETER, experiment_frame
from orchestrator.search.space import Array, Choice, TuneSpace


@dataclass(frozen=True)
class Past:
    """One earlier result: what was tried, and what it reported (anything, or nothing after a crash)."""

    config: Mapping[Any, Any]
    value: Any
    error: bool = False


def read_results(results: Any, metric: str, tracking_uri: str | None = None) -> list[Past]:
    """Earlier results from a ResultGrid, from a table with columns `config/<parameter>`, or from an MLflow experiment."""
    if isinstance(results, ResultGrid):
        return [Past(r.config or {}, (r.metrics or {}).get(metric), r.error is not None) for r in results]
    if isinstance(results, str):
        return read_results(experiment_frame(results, tracking_uri), metric)
    if not isinstance(results, pd.DataFrame):
        kind = type(results).__name__
        raise ValueError(f"from_results takes a ResultGrid, a DataFrame or an MLflow experiment's name, got a {kind}.")
    if metric not in results.columns:
        raise ValueError(f"The table has no column {metric!r}: it has {', '.join(map(str, results.columns))}.")
    return [_from_row(row, metric) for row in results.to_dict(orient="records")]


def _from_row(row: Mapping[Any, Any], metric: str) -> Past:
    cells = {k.removeprefix(PARAMETER): v for k, v in row.items() if isinstance(k, str) and k.startswith(PARAMETER)}
    filled = {name: value for name, value in cells.items() if not is_blank(value)}
    return Past(unflatten_dict(filled), row[metric])


def is_blank(cell: Any) -> bool:
    """Whether a table's cell holds nothing."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def is_time_to_judge(told: int) -> bool:
    """Whether to update the model after so many earlier results: with each of the first fifty, then in growing pieces.

    Judged all at once, several lies vouch for each other; one after the other they are seen, as if they had been lived.
    """
    return told % max(1, told // 25) == 0


def locate(space: TuneSpace, past: Past) -> Array:
    """The point of an earlier result; a category is also found by its text, and None in an empty cell."""
    config = dict(past.config)
    for dimension, path in zip(space.dimensions, space.paths, strict=True):
        if isinstance(dimension, Choice):
            config.update(_category(dimension, path, config))
    return space.encode(config)


def _category(dimension: Choice, path: tuple[Any, ...], config: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Tables lose the kind of a category: '16', 16.0 and 16 look alike in a column, and None is blank."""
    cell: Any = config
    for key in path:
        cell = cell.get(key) if isinstance(cell, Mapping) else cell[key] if isinstance(cell, list | tuple) else None
    if cell is None and dimension.name not in config and None in dimension.values:
        yield dimension.name, None
    elif isinstance(cell, str) and cell not in dimension.values:
        yield from ((dimension.name, value) for value in dimension.values if str(value) == cell)
