"""Parameters side by side as a unit cube that only holds points that can be tried; in branches only some are active.

A parameter of a branch has coordinates of its own. Where the branch is not taken they rest at one neutral place, so that among
the trials of other branches they make no difference. Nothing here knows a front end.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from orchestrator.search.dimensions import Choice, Dimension
from orchestrator.trial_records import Array


@dataclass(frozen=True)
class Condition:
    """A parameter is active where parameter number `parent`, a choice before it, is active and takes value number `value`."""

    parent: int
    value: int


@dataclass(frozen=True)
class Cube:
    """The parameters, and the condition of each (None: always active)."""

    dimensions: tuple[Dimension, ...]
    conditions: tuple[Condition | None, ...]

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return sum(dimension.width for dimension in self.dimensions)

    @property
    def largest(self) -> int:
        """The most parameters that can be active at once."""
        return self._largest(None)

    def _largest(self, within: Condition | None) -> int:
        count = 0
        for index, (dimension, condition) in enumerate(zip(self.dimensions, self.conditions, strict=True)):
            if condition == within:
                values = len(dimension.values) if isinstance(dimension, Choice) else 0
                count += 1 + max((self._largest(Condition(index, v)) for v in range(values)), default=0)
        return count

    def project(self, points: Array) -> Array:
        """The nearest points that can be tried; `points` and the result have shape `m x dim`."""
        parts = [dimension.project(points[:, where]) for dimension, where in self.slices()]
        for index, active in enumerate(self._active(parts)):
            if active is not None:
                parts[index] = np.where(active[:, None], parts[index], self.dimensions[index].neutral)
        return np.concatenate(parts, axis=1)

    def _active(self, parts: list[Array]) -> list[npt.NDArray[np.bool_] | None]:
        """Where each parameter is active (`m`, boolean; None: everywhere), given the coordinates of all of them."""
        active: list[npt.NDArray[np.bool_] | None] = []
        for condition in self.conditions:
            if condition is None:
                active.append(None)
                continue
            parent, above = self.dimensions[condition.parent], active[condition.parent]
            assert isinstance(parent, Choice)
            taken = parent.indices(parts[condition.parent]) == condition.value
            active.append(taken if above is None else taken & above)
        return active

    def decode(self, x: Sequence[float] | Array) -> dict[int, Any]:
        """The values at `x` (shape `dim`) of the parameters that are active there, by number."""
        point = np.asarray(x)[None]
        parts = [point[:, where] for _, where in self.slices()]
        return {
            index: self.dimensions[index].decode(parts[index][0])
            for index, active in enumerate(self._active(parts))
            if active is None or active[0]
        }

    def encode(self, values: Mapping[int, Any]) -> Array:
        """The point (shape `dim`) of the values of the parameters, by number; those of inactive ones are not looked at."""
        parts = [np.full(dimension.width, dimension.neutral) for dimension in self.dimensions]
        for index in self.active_among(values):
            if index not in values:
                raise ValueError(f"{self.dimensions[index].name} is missing")
            parts[index] = self.dimensions[index].encode(values[index])
        return np.concatenate(parts)

    def active_among(self, values: Mapping[int, Any]) -> Iterator[int]:
        """The numbers of the parameters that are active given these values; those of a branch follow its choice.

        What is found there in between may be added to `values`.
        """
        taken: dict[int, int] = {}
        for index, (dimension, condition) in enumerate(zip(self.dimensions, self.conditions, strict=True)):
            if condition is None or taken.get(condition.parent) == condition.value:
                yield index
                if isinstance(dimension, Choice) and index in values:
                    taken[index] = dimension.index(values[index])

    def slices(self) -> Iterator[tuple[Dimension, slice]]:
        """Every parameter and the place of its coordinates."""
        start = 0
        for dimension in self.dimensions:
            yield dimension, slice(start, start + dimension.width)
            start += dimension.width
