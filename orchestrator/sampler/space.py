"""Optuna's distributions <-> unit cube, parameter by parameter. Nothing else in the project knows both.

Inside, every parameter is a number: a float or an integer as it is, of steps and of categories their index.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from orchestrator.search.cube import Cube
from orchestrator.search.dimensions import Choice, Config, Dimension, Number, is_number
from orchestrator.trial_records import Array, Point

Distributions = Mapping[str, BaseDistribution]


@dataclass(frozen=True)
class Parameter:
    """A distribution, and the coordinates of its values."""

    distribution: BaseDistribution
    dimension: Dimension

    @classmethod
    def of(cls, name: str, distribution: BaseDistribution) -> "Parameter":
        """The parameter of that name; its distribution leaves a choice."""
        if isinstance(distribution, CategoricalDistribution):
            return cls(distribution, _choice(name, distribution.choices))
        if not isinstance(distribution, FloatDistribution | IntDistribution):
            kind = type(distribution).__name__
            raise ValueError(f"{name} is a {kind}: use suggest_float, suggest_int or suggest_categorical.")
        low, high, step = distribution.low, distribution.high, distribution.step
        if _counted(distribution):  # steps are counted from `low`, whatever they are multiples of
            return cls(distribution, Number(name, 0, round((high - low) / step), 1.0, integer=True))
        integer = isinstance(distribution, IntDistribution)
        return cls(distribution, Number(name, low, high, 1.0 if integer else None, distribution.log, integer))

    def decode(self, u: Array) -> object:
        """The value at coordinates `u` (shape `width`)."""
        distribution, dimension = self.distribution, self.dimension
        if isinstance(dimension, Choice):
            return distribution.choices[dimension.decode(u)]
        inside = dimension.decode(u)
        if not _counted(distribution):
            return inside
        value = distribution.low + inside * distribution.step
        return value if isinstance(distribution, IntDistribution) else min(round(value, 12), distribution.high)

    def encode(self, value: object) -> Array:
        """The coordinates (shape `width`) of a value; a ValueError if the distribution does not hold it."""
        inside = self.distribution.to_internal_repr(value)
        if _counted(self.distribution):
            inside = (inside - self.distribution.low) / self.distribution.step
        return self.dimension.encode(round(inside) if isinstance(self.dimension, Choice) else inside)


@dataclass(frozen=True)
class OptunaSpace:
    """Distributions as a unit cube of `dim` coordinates that only holds points that can be tried."""

    parameters: tuple[Parameter, ...]

    @classmethod
    def parse(cls, distributions: Distributions) -> "OptunaSpace":
        """Read the distributions of parameters by name; each leaves a choice."""
        return cls(tuple(Parameter.of(name, distribution) for name, distribution in distributions.items()))

    @cached_property
    def cube(self) -> Cube:
        """The parameters as coordinates."""
        return Cube.of(parameter.dimension for parameter in self.parameters)

    @property
    def dim(self) -> int:
        """The number of coordinates of the cube."""
        return self.cube.dim

    def project(self, points: Array) -> Array:
        """The nearest points that can be tried; `points` and the result have shape `m x dim`."""
        return self.cube.project(points)

    def config(self, x: Point) -> Config:
        """The parameters at `x` by name."""
        point = np.asarray(x)
        return {parameter.dimension.name: parameter.decode(point[where]) for parameter, where in self._slices()}

    def locate(self, params: Mapping[str, object]) -> Point | None:
        """The point of these parameters, or None: one is missing, or was sampled from another range."""
        if any(parameter.dimension.name not in params for parameter in self.parameters):
            return None
        try:
            parts = [parameter.encode(params[parameter.dimension.name]) for parameter in self.parameters]
        except ValueError:
            return None
        return tuple(map(float, np.concatenate(parts)))

    def _slices(self) -> Iterator[tuple[Parameter, slice]]:
        return zip(self.parameters, (where for _, where in self.cube.slices()), strict=True)


def _counted(distribution: BaseDistribution) -> bool:
    """Whether its values lie at whole steps from `low` that are not just the integers."""
    step = getattr(distribution, "step", None)
    return step is not None and not (step == 1 and isinstance(distribution, IntDistribution))


def _choice(name: str, choices: tuple[object, ...]) -> Choice:
    """The indices of the categories: in the order of numbers, which share what is learned; else in Optuna's."""
    indexed = list(enumerate(choices))
    ordered = len(indexed) > 2 and all(is_number(category) for category in choices)
    if ordered:
        indexed.sort(key=itemgetter(1))
    return Choice(name, tuple(index for index, _ in indexed), ordered)
