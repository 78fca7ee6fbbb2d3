"""Parameters side by side as a unit cube that only holds points that can be tried; in branches only some are active.

A parameter of a branch has coordinates of its own, but for those of the same name and values in other branches, of which one is
active at most: they are one parameter to the model, so that what is learned of it in one branch is known in the next. Where no
branch with it is taken it rests at one neutral place, so that among the trials of other branches it makes no difference. Nothing
here knows a front end.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from orchestrator.search.dimensions import Choice, Dimension, Number
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

    @classmethod
    def of(cls, dimensions: Iterable[Dimension]) -> Self:
        """A cube without branches."""
        listed = tuple(dimensions)
        return cls(listed, (None,) * len(listed))

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return max(where.stop for _, where in self.slices())

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

    @property
    def continuous(self) -> bool:
        """Whether any parameter has values between every two others."""
        return any(isinstance(dimension, Number) and dimension.step is None for dimension in self.dimensions)

    @property
    def shared(self) -> tuple[str, ...]:
        """The names of the parameters of several branches that share their coordinates."""
        names = [dimension.name for dimension in self.dimensions]
        kept = [dimension.name for dimension, _ in self.distinct]
        return tuple(name for name in dict.fromkeys(names) if names.count(name) > kept.count(name))

    def project(self, points: Array) -> Array:
        """The nearest points that can be tried; `points` and the result have shape `m x dim`."""
        slices = list(self.slices())
        parts = [dimension.project(points[:, where]) for dimension, where in slices]
        projected = np.concatenate([np.full((len(points), d.width), d.neutral) for d, _ in self.distinct], axis=1)
        for part, active, (_, where) in zip(parts, self._active(parts), slices, strict=True):
            projected[:, where] = part if active is None else np.where(active[:, None], part, projected[:, where])
        return projected

    def neighbours(self, x: Array) -> Array:
        """The points (`m x dim`) that differ from `x` (shape `dim`) in one parameter: any value of a choice, the next steps."""
        moved = [np.empty((0, len(x)))]
        for dimension, where in self.distinct:
            coordinates = dimension.beside(x[where])
            points = np.tile(x, (len(coordinates), 1))
            points[:, where] = coordinates
            moved.append(points)
        return self.project(np.concatenate(moved))

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

    def decode(self, x: Sequence[float] | Array) -> dict[int, object]:
        """The values at `x` (shape `dim`) of the parameters that are active there, by number."""
        point = np.asarray(x)[None]
        parts = [point[:, where] for _, where in self.slices()]
        return {
            index: self.dimensions[index].decode(parts[index][0])
            for index, active in enumerate(self._active(parts))
            if active is None or active[0]
        }

    def encode(self, values: Mapping[int, object]) -> Array:
        """The point (shape `dim`) of the values of the parameters, by number; those of inactive ones are not looked at."""
        point = np.concatenate([np.full(dimension.width, dimension.neutral) for dimension, _ in self.distinct])
        slices = [where for _, where in self.slices()]
        for index in self.active_among(values):
            if index not in values:
                raise ValueError(f"{self.dimensions[index].name} is missing")
            point[slices[index]] = self.dimensions[index].encode(values[index])
        return point

    def active_among(self, values: Mapping[int, object]) -> Iterator[int]:
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
        """Every parameter and the place of its coordinates, which parameters of the same name and values share."""
        return zip(self.dimensions, self._places, strict=True)

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        places: dict[tuple[str, str], slice] = {}
        start = 0
        for dimension in self.dimensions:
            where = places.setdefault(_identity(dimension), slice(start, start + dimension.width))
            start = max(start, where.stop)
        return tuple(places[_identity(dimension)] for dimension in self.dimensions)

    @cached_property
    def distinct(self) -> tuple[tuple[Dimension, slice], ...]:
        """One parameter for every place of coordinates, in their order."""
        return tuple({where.start: (dimension, where) for dimension, where in self.slices()}.values())


def _identity(dimension: Dimension) -> tuple[str, str]:
    """What parameters that share their coordinates have in common."""
    return dimension.name, dimension.describe()
