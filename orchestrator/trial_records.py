"""What is written down of a trial: the suggestion, the trial while it is pending, and the row that came of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.rungs import Rungs
from rcgp import Ruling

Array = npt.NDArray[np.float64]
Point = tuple[float, ...]
Status = Literal["completed", "failed"]
FailureRule = Literal["region", "pessimistic", "ignore"] | float


@dataclass(frozen=True)
class Suggestion:
    """A point to try; `model_failure` says why it is quasi-random where the model could not suggest one."""

    x: Point
    model_failure: str = ""
    replicate_of: int | None = None
    """The trial whose point is tried again, where that is why it is tried."""


@dataclass(frozen=True)
class Trial:
    """A suggested trial that has not ended."""

    number: int
    x: Point
    trial_id: str | None = None
    """What the front end calls it."""
    attempt: int = 0
    last_report: float | None = None
    rows_at_last_sign: int = 0
    """How many rows there were when it was last heard of."""
    model_failure: str = ""
    replicate_of: int | None = None
    rungs: Rungs = ()


@dataclass(frozen=True)
class Row:
    """What came of one trial: `y` is what it reported, NaN if it failed. One that ran elsewhere has no number.

    `reporter` is the machine or device it came from, `ruling` what a person says of it. `rungs` are the reports of its curve that
    were kept, the last one included; one that was stopped on its way is not `whole`.
    """

    number: int | None
    x: Point
    y: float
    status: Status
    trial_id: str | None = None
    standard_error: float | None = None
    reporter: str | None = None
    ruling: Ruling | None = None
    replicate_of: int | None = None
    rungs: Rungs = ()
    whole: bool = True

    @property
    def finite(self) -> bool:
        """Whether it says anything about the scale of the objective."""
        return self.status == "completed" and math.isfinite(self.y)


@dataclass(frozen=True)
class ModelFailure:
    """A suggestion that the model could not make; a quasi-random point took its place."""

    number: int
    error: str


def record_to_json(record: Row | Trial) -> Json:
    """A record as strict JSON."""
    return {key: list(value) if key == "x" else to_plain(value) for key, value in vars(record).items()}


def record_from_json(data: Json) -> Json:
    """The members that `record_to_json` wrote."""
    return {key: tuple(value) if key == "x" else from_plain(value) for key, value in data.items()}


def point_of(x: Array) -> Point:
    """An array of shape `d` as a point."""
    return tuple(map(float, x))


def stacked(points: Sequence[Point]) -> Array | None:
    """The points as rows, `m x d`; None if there are none."""
    return np.array(points) if points else None


def is_time_to_update(told: int) -> bool:
    """Whether to update a model after so many earlier results: with each of the first fifty, then in growing pieces."""
    return told % max(1, told // 25) == 0
