"""The trials of a search as frozen records: pending, ended, doubted, best; and what a report is as a number."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from orchestrator.plain import from_plain, to_plain
from orchestrator.search.space import Array

Status = Literal["completed", "failed"]


@dataclass(frozen=True)
class Pending:
    """A suggested trial that has not ended; `seen` counts the rows at its last sign of life, `value` is its last report."""

    number: int
    x: Array
    seen: int
    value: float | None = None


@dataclass(frozen=True)
class Row:
    """A trial that ended, in the order of arrival: `y` is what it reported, maximised (NaN if it failed)."""

    trial_id: str | None
    number: int | None
    x: Array
    y: float
    status: Status


@dataclass(frozen=True)
class Fault:
    """A suggestion that the model could not make; a quasi-random point took its place."""

    number: int
    error: str


@dataclass(frozen=True)
class SuspectTrial:
    """A report that is doubted: its weight in [0, 1), and by how much it differs from what was expected."""

    trial_id: str | None
    number: int | None
    status: Status
    config: dict[Any, Any]
    reported: float
    expected: float
    residual: float
    weight: float


@dataclass(frozen=True)
class BestTrial:
    """A configuration, what it reported, and what the model expects of it."""

    trial_id: str | None
    number: int | None
    config: dict[Any, Any]
    reported: float
    expected: float


def as_number(value: Any) -> float | None:
    """A report as a float, NaN and infinities included; None if it is no number at all."""
    if hasattr(value, "item"):  # scalars of numpy and torch, and arrays of one
        try:
            value = value.item()
        except (ValueError, RuntimeError):
            return None
    if not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value == abs(value) else -math.inf


def to_json(record: Pending | Row) -> dict[str, Any]:
    """The record as strict JSON."""
    return {key: to_plain(v.tolist() if isinstance(v, np.ndarray) else v) for key, v in vars(record).items()}


def from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """The members of the record that `to_json` wrote."""
    return {key: np.array(value) if key == "x" else from_plain(value) for key, value in data.items()}
