"""A quadratic on the unit square: what the misbehaving objectives of the tests have in common."""

from typing import Any

import numpy as np

from objectives import Optimum, Parameter, Resources, Space

TOP = (0.3, 0.7)


def quadratic(x: Any) -> float:
    """0 at the top, less elsewhere."""
    return float(-np.sum((np.asarray(x) - TOP) ** 2))


class Square:
    """All of an objective but its evaluation; whether its maximum is `known` is for subclasses to say."""

    known: bool
    dim = 2
    resources = Resources()

    @property
    def space(self) -> Space:
        """The unit square."""
        return Space((Parameter("a", 0.0, 1.0), Parameter("b", 0.0, 1.0)))

    @property
    def optimum(self) -> Optimum | None:
        """The top, where it is known."""
        return Optimum(TOP, 0.0) if self.known else None

    def noiseless(self, x: Any) -> float | None:
        """The quadratic, where it is known."""
        return quadratic(x) if self.known else None
