"""Objectives with an integer and a choice; used by import path."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from objectives import Choice, ObjectiveBase, Optimum, Parameter, Progress, Space

BONUS = {"rbf": 1.0, "poly": 0.0, "linear": -1.0}
KERNEL = Choice("kernel", ("linear", "poly", "rbf"))


@dataclass(frozen=True)
class Mixed(ObjectiveBase):
    """Best with four layers and the kernel rbf, where it is 1."""

    space: ClassVar[Space] = Space((Parameter("layers", 1, 6, integer=True), KERNEL))

    @property
    def optimum(self) -> Optimum:
        return Optimum(tuple(self.space.from_units({"layers": 4, "kernel": "rbf"})), 1.0)

    def noiseless(self, x: ArrayLike) -> float:
        values = self.space.to_units(x)
        assert type(values["layers"]) is int
        return BONUS[values["kernel"]] - 0.5 * abs(values["layers"] - 4)

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        return self.noiseless(x) + 0.05 * float(rng.standard_normal())


@dataclass(frozen=True)
class KernelAlone(ObjectiveBase):
    """One choice and nothing else."""

    space: ClassVar[Space] = Space((KERNEL,))

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        return BONUS[self.space.to_units(x)["kernel"]] + 0.05 * float(rng.standard_normal())
