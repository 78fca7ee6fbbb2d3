"""A start for objectives: say where to search and how to evaluate; everything else has a default."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from objectives.protocol import Optimum, Progress, Resources
from objectives.space import Space


class ObjectiveBase(ABC):
    """An `Objective` that lacks its `space` and `evaluate`. A frozen dataclass is best: its fields are the options."""

    @property
    @abstractmethod
    def space(self) -> Space:
        """The named parameters; a class attribute will do."""

    @abstractmethod
    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        """One noisy value at `x`, in the unit cube: `self.space.to_units(x)` has the parameters by name."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def dim(self) -> int:
        """The number of parameters."""
        return self.space.dim

    @property
    def optimum(self) -> Optimum | None:
        """Unknown: regret is counted from the best true value of all studies."""
        return None

    @property
    def resources(self) -> Resources:
        """One core."""
        return Resources()

    @property
    def steps(self) -> int | None:
        """How many steps a whole evaluation reports: none."""
        return None

    def noiseless(self, x: ArrayLike) -> float | None:
        """Nobody knows the value without noise."""
        self.space.check(x)
        return None
