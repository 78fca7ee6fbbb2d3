"""The search space: the unit cube on one side, named values in their own units on the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from objectives.parameters import Choice, Parameter

Point = NDArray[np.float64]


@dataclass(frozen=True)
class Space:
    """A box of named parameters; inside the project its points are arrays of shape `d` in the unit cube."""

    parameters: tuple[Parameter | Choice, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", tuple(self.parameters))
        if not self.parameters:
            raise ValueError("A space needs at least one parameter.")
        for parameter in self.parameters:
            if not isinstance(parameter, Parameter | Choice):
                raise ValueError(f"A space consists of Parameter and Choice, got {parameter!r}.")
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

    @property
    def continuous(self) -> bool:
        """Whether every point of the cube can be tried as it is."""
        return all(p.count is None for p in self.parameters)

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

    def to_units(self, x: ArrayLike) -> dict[str, Any]:
        """The named values of a point of the unit cube: floats, ints or one of the choices, as they were declared."""
        return {p.name: p.value_at(float(u)) for p, u in zip(self.parameters, self.check(x), strict=True)}

    def from_units(self, values: Mapping[str, object]) -> Point:
        """The point of the unit cube with these named values, all of them and no others."""
        unknown, missing = sorted(set(values) - set(self.names)), sorted(set(self.names) - set(values))
        if unknown or missing:
            wrong = f"unknown: {unknown or 'none'}, missing: {missing or 'none'}"
            raise ValueError(f"Values must name exactly {', '.join(self.names)}; {wrong}.")
        return np.array([p.position_of(values[p.name]) for p in self.parameters])

    def project(self, points: Point) -> Point:
        """The points that are tried when `points`, `m x d`, are asked for: integers, steps and choices are rounded."""
        return np.stack([p.project(points[:, i]) for i, p in enumerate(self.parameters)], axis=1)
