"""The objective of the run folders kept here: a parabola with a hole, a pole and an error in it."""

import math
import time
from typing import Any

import numpy as np

from objectives import Optimum, Parameter, Resources, Space


class Holey:
    """NaN near one end of the interval, infinite near the other, an error at every first try in a strip between."""

    name, dim, resources = "holey", 1, Resources()
    space = Space((Parameter("a", 0.0, 1.0),))
    optimum = Optimum((0.6,), 0.0)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self._tried: set[float] = set()

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    def noiseless(self, x: Any) -> float:
        return -((float(x[0]) - 0.6) ** 2)

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        time.sleep(self.seconds)
        a = float(x[0])
        if 0.3 < a < 0.4 and a not in self._tried:
            self._tried.add(a)
            raise ZeroDivisionError("on cue")
        if report is not None:
            report(1, a)
        return (
            math.nan if a < 0.08 else -math.inf if a > 0.95 else self.noiseless(x) + 0.01 * float(rng.standard_normal())
        )
