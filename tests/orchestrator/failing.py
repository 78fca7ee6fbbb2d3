"""Objectives that fail in a part of their space; used by import path."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from objectives import Choice, ObjectiveBase, Parameter, Progress, Space

RATE = Parameter("rate", 1e-4, 1.0, log=True)
SPACES = {
    1: Space((RATE,)),
    2: Space((RATE, Parameter("momentum", 0.0, 1.0))),
    4: Space(
        (
            Parameter("momentum", 0.0, 1.0),
            RATE,
            Parameter("layers", 1, 6, integer=True),
            Choice("kernel", ("a", "b", "c")),
        )
    ),
}


@dataclass(frozen=True)
class Failing(ObjectiveBase):
    """Diverges above a learning rate of 0.1, runs out of memory above 0.5 - or, `at_random`, now and then and anywhere."""

    parameters: int = 1
    at_random: bool = False

    @property
    def space(self) -> Space:
        return SPACES[self.parameters]

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        rate = self.space.to_units(x)["rate"]
        if self.at_random:
            if rng.random() < 0.2:
                raise RuntimeError("a cable came loose")
        elif rate > 0.5:
            raise MemoryError("the batch did not fit")
        elif rate > 0.1:
            return float("nan")
        return -float(np.sum((np.asarray(x) - 0.6) ** 2))
