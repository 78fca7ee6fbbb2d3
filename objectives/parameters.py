"""One named axis of a search space: a number, or one of several values.

| declared as                                         | the objective gets                                         |
|-----------------------------------------------------|------------------------------------------------------------|
| `Parameter("momentum", 0.0, 0.99)`                  | a float                                                    |
| `Parameter("learning_rate", 1e-5, 1e-1, log=True)`  | a float, spread evenly in the logarithm                    |
| `Parameter("dropout", 0.0, 0.5, step=0.1)`          | 0.0, 0.1, 0.2, 0.3, 0.4 or 0.5                             |
| `Parameter("layers", 1, 8, integer=True)`           | an int, both ends included; `step` and `log` work here too |
| `Choice("kernel", ("rbf", "poly", "sigmoid"))`      | one of them                                                |

Every axis is one coordinate of the unit cube. Where only some values can be tried, each has a cell of the interval and a
position in it, which is what an optimizer is told.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Coordinate = TypeVar("Coordinate", float, Array)


@dataclass(frozen=True)
class Parameter:
    """A number, `low <= value <= high`, spread evenly or, with `log`, evenly in the logarithm.

    With a `step` only low, low + step, ..., high can be tried; with `integer` these are ints, one apart unless `step`
    says otherwise.
    """

    name: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    integer: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not (_is_finite(self.low) and _is_finite(self.high) and self.low < self.high):
            bounds = f"[{self.low!r}, {self.high!r}]"
            raise ValueError(f"Parameter {self.name!r} needs finite bounds, low < high; got {bounds}.")
        if self.log and self.low <= 0:
            raise ValueError(f"Parameter {self.name!r} is on a log scale, so low must be positive; got {self.low}.")
        if self.integer and self.step is None:
            object.__setattr__(self, "step", 1)
        if self.step is not None:
            self._check_step(self.step)

    @property
    def count(self) -> int | None:
        """How many values can be tried; None where there is no end to them."""
        return None if self.step is None else round((self.high - self.low) / self.step) + 1

    def value_at(self, u: float) -> float:
        """The value at position `u` in [0, 1]; an int where the parameter is `integer`."""
        if self.step is None:
            return min(max(self._unrounded(u), self.low), self.high)  # rounding must not leave the bounds
        return self._value(int(self._rank(np.array(u), self.step)), self.step)

    def position_of(self, value: object) -> float:
        """The position in [0, 1] of a value that can be tried."""
        if not (_is_finite(value) and self.low <= value <= self.high):
            raise ValueError(f"{self.name} must lie in [{self.low}, {self.high}], got {value!r}.")
        if self.step is not None:
            nearest = self._value(round((value - self.low) / self.step), self.step)
            if not math.isclose(value, nearest, rel_tol=1e-9, abs_tol=1e-9 * self.step):
                raise ValueError(f"{self.name} must be {self.low} plus a multiple of {self.step}, got {value!r}.")
        start, end = self._ends
        u = math.log(value / start) / math.log(end / start) if self.log else (value - start) / (end - start)
        return min(max(u, 0.0), 1.0)

    def project(self, u: Array) -> Array:
        """The positions that are tried when `u`, of any shape, are asked for."""
        if self.step is None:
            return u
        ranks, where = np.unique(self._rank(u, self.step), return_inverse=True)
        positions = np.array([self.position_of(self._value(int(rank), self.step)) for rank in ranks])
        return positions[where].reshape(u.shape)

    def _unrounded(self, u: Coordinate) -> Coordinate:
        start, end = self._ends
        return start * (end / start) ** u if self.log else start + u * (end - start)

    def _rank(self, u: Array, step: float) -> NDArray[np.int64]:
        """Which of the values, counted from 0, has its cell at `u`."""
        last = round((self.high - self.low) / step)
        return np.clip(np.rint((self._unrounded(u) - self.low) / step), 0, last).astype(np.int64)

    def _value(self, rank: int, step: float) -> float:
        if self.integer:
            return int(self.low) + rank * int(step)
        value = round(self.low + rank * step, 12 - math.floor(math.log10(step)))  # 0.3, not 0.30000000000000004
        return min(max(value, self.low), self.high)

    @property
    def _ends(self) -> tuple[float, float]:
        """Half a step beyond both bounds, so that the first and the last value have whole cells."""
        margin = 0.0 if self.step is None else self.step / 2
        return self.low - margin, self.high + margin

    def _check_step(self, step: float) -> None:
        if not (_is_finite(step) and step > 0):
            raise ValueError(f"Parameter {self.name!r} needs a positive step, got {step!r}.")
        if self.integer and any(v != int(v) for v in (self.low, self.high, step)):
            numbers = f"low {self.low}, high {self.high}, step {step}"
            raise ValueError(f"Parameter {self.name!r} is an integer, so its numbers must be whole; got {numbers}.")
        steps = (self.high - self.low) / step
        if round(steps) < 1 or not math.isclose(steps, round(steps), rel_tol=1e-9):
            remedy = f"high = {self.low + max(1, math.floor(steps)) * step:g} would do"
            raise ValueError(f"Parameter {self.name!r}: steps of {step} from {self.low} miss {self.high}; {remedy}.")
        if self.log and self.low <= step / 2:
            numbers = f"low {self.low}, step {step}"
            raise ValueError(f"Parameter {self.name!r} on a log scale needs low > step / 2; got {numbers}.")


@dataclass(frozen=True)
class Choice:
    """One of `values` - texts, numbers or booleans - each with an equal cell of one coordinate, in the order given.

    Neighbours share what is learned: give values that have an order in that order.
    """

    name: str
    values: Sequence[str | float]

    def __post_init__(self) -> None:
        _check_name(self.name)
        if isinstance(self.values, str):
            raise ValueError(f"Choice {self.name!r} needs a list of values, got the text {self.values!r}.")
        object.__setattr__(self, "values", tuple(self.values))
        for value in self.values:
            if not isinstance(value, str | bool) and not _is_finite(value):
                raise ValueError(f"Choice {self.name!r} takes texts, finite numbers and booleans, got {value!r}.")
        if len(set(self.values)) < max(2, len(self.values)):
            raise ValueError(f"Choice {self.name!r} needs two or more different values, got {list(self.values)}.")

    @property
    def count(self) -> int:
        """How many values can be tried."""
        return len(self.values)

    def value_at(self, u: float) -> str | float:
        """The value whose cell holds position `u` in [0, 1]."""
        return self.values[int(self._rank(np.array(u)))]

    def position_of(self, value: object) -> float:
        """The middle of the cell of `value`."""
        if value not in self.values:
            raise ValueError(f"{self.name} must be one of {', '.join(map(repr, self.values))}; got {value!r}.")
        return (self.values.index(value) + 0.5) / self.count

    def project(self, u: Array) -> Array:
        """The positions that are tried when `u`, of any shape, are asked for."""
        return (self._rank(u) + 0.5) / self.count

    def _rank(self, u: Array) -> NDArray[np.int64]:
        return np.clip(np.floor(u * self.count), 0, self.count - 1).astype(np.int64)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"A parameter needs a name, got {name!r}.")


def _is_finite(value: object) -> TypeGuard[float]:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)
