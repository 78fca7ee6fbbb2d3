"""What people read of a search - doubted trials, the best one - and what is read of a report."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real

from orchestrator.search.dimensions import Config
from orchestrator.trial_records import Status

Result = Mapping[str, object]
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
    reporter: str | None = None
    """The machine it came from, where Tune knows it."""
    reason: str = ""
    """Why, where the model alone does not say it: its place was asked again, it is beyond belief, its curve contradicts it; and
    the record of its machine, where that stands out."""


@dataclass(frozen=True)
class JudgedTrial:
    """A trial, how far its report is believed (1 is full trust), and what the model expects in its place."""

    trial_id: str | None
    number: int | None
    status: Status
    config: Config
    reported: float
    expected: float
    weight: float


@dataclass(frozen=True)
class BestTrial:
    """A configuration, what it reported, and what the model expects of it."""

    trial_id: str | None
    number: int | None
    config: Config
    reported: float
    expected: float


def as_number(value: object) -> float | None:
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


def maximised(value: float | None, sign: float) -> float | None:
    """The report, maximised; None if it says that the trial failed. An infinitely good one is a lie, not a failure."""
    y = math.nan if value is None else sign * value
    return None if math.isnan(y) or y == -math.inf else y


def config_in(result: Result) -> Config:
    """The configuration that Tune adds to the results of a trial."""
    return {key.removeprefix("config/"): value for key, value in result.items() if str(key).startswith("config/")}


def host_in(result: Result) -> str | None:
    """The machine that Tune says a result came from."""
    host = result.get("hostname")
    return host if isinstance(host, str) else None


def resource_in(result: Result, time_attr: str | None) -> float | None:
    """How much of its resource the trial has spent, as it reports itself; None where it does not say, or nobody asks."""
    spent = None if time_attr is None else as_number(result.get(time_attr))
    return spent if spent is not None and 0.0 < spent < math.inf else None
