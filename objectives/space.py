"""The search space: the unit cube on one side, named values in their own units on the other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """One named axis: `low <= value <= high`, spread evenly or, with `log`, evenly in the logarithm."""

    name: str
    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("A parameter needs a name.")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"Parameter {self.name!r} needs finite bounds, low < high; got [{self.low}, {self.high}].")
        if self.log and self.low <= 0:
            raise ValueError(f"Parameter {self.name!r} is on a log scale, so low must be positive; got {self.low}.")

    def value_at(self, u: float) -> float:
        """The value at position `u` in [0, 1]."""
        value = self.low * (self.high / self.low) ** u if self.log else self.low + u * (self.high - self.low)
        return min(max(value, self.low), self.high)  # rounding must not leave the bounds

    def position_of(self, value: float) -> float:
        """The position in [0, 1] of `value`."""
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name} must lie in [{self.low}, {self.high}], got {value}.")
        if not self.log:
            u = (value - self.low) / (self.high - self.low)
        else:
            u = math.log(value / self.low) / math.log(self.high / self.low)
        return min(max(u, 0.0), 1.0)


@dataclass(frozen=True)
class Space:
    """A box of named parameters; inside the project its points are arrays of shape `d` in the unit cube."""

    parameters: tuple[Parameter, ...]

    def __post_init__(self) -> None:
        if not self.parameters:
            raise ValueError("A space needs at least one parameter.")
        repeated = sorted({n for n in self.names if self.names.count(n) > 1})
        if repeated:
            raise ValueError(f"Parameter names must differ; repeated: {', '.join(repeated)}.")

    @property
    def dim(self) -> int:
        """The number of parameters, d."""
        return len(self.parameters)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameter names, in the order of the axes."""
        return tuple(p.name for p in self.parameters)

    def check(self, x: ArrayLike) -> Point:
        """`x` as a float64 array of shape `d`; a ValueError when it is not a point of the unit cube."""
        point = np.asarray(x, dtype=np.float64)
        if point.shape != (self.dim,):
            raise ValueError(f"x must have shape ({self.dim},) for {', '.join(self.names)}; got shape {point.shape}.")
        outside = ~((point >= 0.0) & (point <= 1.0))  # NaN is outside too
        if outside.any():
            i = int(np.argmax(outside))
            raise ValueError(f"x must lie in the unit cube; coordinate {i} ({self.names[i]}) is {point[i]}.")
        return point

    def to_units(self, x: ArrayLike) -> dict[str, float]:
        """The named values of a point of the unit cube."""
        return {p.name: p.value_at(float(u)) for p, u in zip(self.parameters, self.check(x), strict=True)}

    def from_units(self, values: Mapping[str, float]) -> Point:
        """The point of the unit cube with these named values, all of them and no others."""
        unknown, missing = sorted(set(values) - set(self.names)), sorted(set(self.names) - set(values))
        if unknown or missing:
            wrong = f"unknown: {unknown or 'none'}, missing: {missing or 'none'}"
            raise ValueError(f"Values must name exactly {', '.join(self.names)}; {wrong}.")
        return np.array([p.position_of(float(values[p.name])) for p in self.parameters])
