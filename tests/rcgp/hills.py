"""Two hills in one dimension, and an optimizer that was told of them."""

import math

import numpy as np

from rcgp import Optimizer, make_optimizer

TOP = 0.9


def bump(x: float) -> float:
    """A hill at 0.3 and a higher one at `TOP`."""
    return math.exp(-(((x - 0.3) / 0.12) ** 2)) + 2.0 * math.exp(-(((x - TOP) / 0.12) ** 2))


def told(reports: list[tuple[float, float]], algorithm: str = "a2-rcgp-ucb") -> Optimizer:
    """An optimizer that was told these, with an update after each."""
    optimizer = make_optimizer(algorithm, 1, seed=0, n_initial=5)
    for x, y in reports:
        optimizer.update()
        optimizer.tell(np.array([x]), y)
    optimizer.update()
    return optimizer


def grid() -> list[tuple[float, float]]:
    return [(x, bump(x)) for x in np.linspace(0.0, 1.0, 21).tolist()]
