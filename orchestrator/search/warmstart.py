"""Results that people already have - a ResultGrid, a table, an MLflow experiment - as (configuration, value) pairs."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import pandas as pd
from ray.tune import ResultGrid
from ray.tune.utils.util import unflatten_dict

from orchestrator.experiments import PARAMETER, experiment_frame, is_blank
from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search.dimensions import Choice, Path, parts_of
from orchestrator.search.records import as_number
from orchestrator.search.space import AnyConfig, Config, TuneSpace
from orchestrator.trials import Point

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Past:
    """One earlier result: what was tried, and what it reported (anything, or nothing after a crash)."""

    config: AnyConfig
    value: object
    error: bool = False

    @property
    def reported(self) -> float | None:
        """What it reported; a crashed one nothing, whatever it reported before."""
        return None if self.error else as_number(self.value)


@dataclass
class WarmStart:
    """What is there before a search begins: points that people want tried first, and earlier results."""

    points: list[Config] = field(default_factory=list)
    past: list[Past] = field(default_factory=list)
    lenient: bool = False
    """Whether results outside the space are left out: others left them. Points that a person wrote are refused."""

    @classmethod
    def of(cls, points: Sequence[AnyConfig] | None, rewards: Sequence[float] | None) -> Self:
        """`points_to_evaluate`; with `evaluated_rewards` they ran already."""
        listed = list(points or [])
        for index, point in enumerate(listed):
            if not isinstance(point, Mapping):
                raise ValueError(f"points_to_evaluate[{index}] must be a dictionary, got {point!r}.")
        if rewards is None:
            return cls([dict(point) for point in listed])
        if len(rewards) != len(listed):
            raise ValueError(f"evaluated_rewards has {len(rewards)} values for {len(listed)} points_to_evaluate.")
        return cls(past=[Past(point, reward) for point, reward in zip(listed, rewards, strict=True)])

    def check(self, space: TuneSpace, mode: str | None) -> None:
        """Refuse what is not in the space, and rewards without a direction; points become values by name."""
        self.points = [_named(space, index, point) for index, point in enumerate(self.points)]
        if not self.lenient:
            self._all(space)
        if self.past and not mode:
            raise ValueError(
                "evaluated_rewards has values but no direction: give mode='min' or mode='max' beside them."
            )

    def results(self, space: TuneSpace) -> list[tuple[Point, float | None]]:
        """Points and reports of what ran earlier."""
        return self._inside(space) if self.lenient else self._all(space)

    def _all(self, space: TuneSpace) -> list[tuple[Point, float | None]]:
        values = [_named(space, index, past.config, whole=True) for index, past in enumerate(self.past)]
        return [(space.locate(point), past.reported) for point, past in zip(values, self.past, strict=True)]

    def _inside(self, space: TuneSpace) -> list[tuple[Point, float | None]]:
        found, outside = [], []
        for past in self.past:
            try:
                found.append((locate(space, past), past.reported))
            except ValueError as error:
                outside.append(str(error))
        if outside:
            counts = len(outside), len(self.past)
            log.warning("RCGPSearch left out %d of %d earlier results outside the space (%s).", *counts, outside[0])
        return found

    def state_dict(self) -> Json:
        """Everything, as strict JSON."""
        past = [[dict(past.config), past.value, past.error] for past in self.past]
        return {"points": to_plain(self.points), "past": to_plain(past), "lenient": self.lenient}

    @classmethod
    def from_state(cls, state: Json) -> Self:
        """What `state_dict` described."""
        past = [Past(*past) for past in from_plain(state["past"])]
        return cls(from_plain(state["points"]), past, state["lenient"])


def read_results(results: object, metric: str, tracking_uri: str | None = None) -> list[Past]:
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


def locate(space: TuneSpace, past: Past) -> Point:
    """The point of an earlier result; a category is also found by its text, and None in an empty cell."""
    config = dict(past.config)
    for dimension, path in zip(space.dimensions, space.paths, strict=True):
        if isinstance(dimension, Choice):
            config.update(_category(dimension, path, config))
    return space.locate(config)


def _named(space: TuneSpace, index: int, point: AnyConfig, *, whole: bool = False) -> Config:
    """The values of a point by name; `whole` if none may be left open."""
    try:
        values = space.read_point(point)
        if whole:
            space.encode(values)
    except ValueError as error:
        raise ValueError(f"points_to_evaluate[{index}] is not in the space: {error}.") from None
    return values


def _from_row(row: AnyConfig, metric: str) -> Past:
    cells = {k.removeprefix(PARAMETER): v for k, v in row.items() if isinstance(k, str) and k.startswith(PARAMETER)}
    filled = {name: value for name, value in cells.items() if not is_blank(value)}
    return Past(unflatten_dict(filled), row[metric])


def _category(dimension: Choice, path: Path, config: AnyConfig) -> Iterator[tuple[str, object]]:
    """Tables lose the kind of a category: '16', 16.0 and 16 look alike in a column, and None is blank."""
    cell: object = config
    for key in path:
        cell = (parts_of(cell) or {}).get(key)
    if cell is None and dimension.name not in config and None in dimension.values:
        yield dimension.name, None
    elif isinstance(cell, str) and cell not in dimension.values:
        names = dimension.meanings or dimension.values
        yield from ((dimension.name, value) for value in names if str(value) == cell)
