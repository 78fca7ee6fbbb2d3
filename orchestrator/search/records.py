"""What people read of a search - doubted trials, the best one - and what is read of a report."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from orchestrator.search.space import Config
from orchestrator.trials import Status

Result = Mapping[str, Any]
"""What a trial reported, as Tune passes it on."""


@dataclass(frozen=True)
class SuspectTrial:
    """A report that is doubted: its weight below 1/2, and by how much it differs from what was expected."""

    trial_id: str | None
    number: int | None
    status: Status
    config: Config
    reported: float
    expected: float
    residual: float
    weight: float


@dataclass(frozen=True)
class BestTrial:
    """A configuration, what it reported, and what the model expects of it."""

    trial_id: str | None
    number: int | None
    config: Config
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


def config_in(result: Result) -> Config:
    """The configuration that Tune adds to the results of a trial."""
    return {key.removeprefix("config/"): value for key, value in result.items() if key.startswith("config/")}
