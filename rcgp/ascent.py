"""Bounded quasi-Newton ascent: SciPy's L-BFGS-B, without what `scipy.optimize.minimize` does around each evaluation.

A fit evaluates its objective a few dozen times in 0.1 ms each, and `minimize` adds half as much again. The routine beneath it is
private, so it is called only in the versions of SciPy whose arguments are known; in others `minimize` itself. Both take the same
steps, bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy.optimize import OptimizeResult, minimize

from rcgp.gaussian import Array

DIRECT = scipy.__version__.startswith(("1.15.", "1.16.", "1.17."))
"""Whether SciPy's own routine takes the arguments that are known here."""

if DIRECT:
    from scipy.optimize._lbfgsb import setulb

Objective = Callable[[Array], tuple[float, Array]]
"""Value and gradient (`k`) at a point (`k`), which it must not keep: it moves on."""

CORRECTIONS, LINE_SEARCH = 10, 20
"""Pairs of steps and gradients remembered, and evaluations along one line, as in `minimize`."""

HOPE = 20.0
"""In 700 fits that were to explain all rows but a few, with 5 two of the eleven that succeed in the end were given up, with 10
none; these took 8 evaluations in place of 19 in six dimensions. Twice that, to be careful."""

EVALUATE, NEW_ITERATION = 3, 1
"""What the routine asks for in the first number of its task."""


@dataclass(frozen=True)
class Box:
    """Lower and upper bounds (`k` each) of what is varied."""

    low: Array
    high: Array


@dataclass(frozen=True)
class Effort:
    """When to stop: after so many iterations, a relative gain of `gain` in one of them, or a gradient of `slope`.

    Or when it is hopeless: `HOPE` times the last gain would not lead to the value `needed`.
    """

    iterations: int
    gain: float
    slope: float
    needed: float = -math.inf

    def is_hopeless(self, before: float, value: float) -> bool:
        """Whether the ascent is given up that led from the one value to the other in one iteration."""
        return value + HOPE * (value - before) < self.needed


def ascend(objective: Objective, start: Array, box: Box, effort: Effort) -> tuple[Array, float]:
    """Where the way up from `start` (`k`) within `box` ends, shape `k`, and the value there."""
    climb = _directly if DIRECT else _by_minimize
    return climb(objective, np.clip(start, box.low, box.high), box, effort)


def _directly(objective: Objective, x: Array, box: Box, effort: Effort) -> tuple[Array, float]:
    """By the routine beneath `minimize`, which works on these arrays in place."""
    k, m = len(x), CORRECTIONS
    bounded, f, g = np.full(k, 2, dtype=np.int32), 0.0, np.zeros(k)
    work, whole_work = np.zeros(2 * m * k + 5 * k + 11 * m * m + 8 * m), np.zeros(3 * k, dtype=np.int32)
    task, line_task, flags, counts = (np.zeros(size, dtype=np.int32) for size in (2, 2, 4, 44))
    numbers, precision, left = np.zeros(29), effort.gain / np.finfo(float).eps, effort.iterations
    tail = (precision, effort.slope, work, whole_work, task, flags, counts, numbers, LINE_SEARCH, line_task)
    before = -math.inf
    while True:
        setulb(m, x, box.low, box.high, bounded, f, g, *tail)
        if task[0] == EVALUATE:
            value, gradient = objective(x)
            f, g = -value, -gradient
        elif task[0] == NEW_ITERATION and left > 1 and not effort.is_hopeless(before, -f):
            before, left = -f, left - 1
        else:
            return x, -f


def _by_minimize(objective: Objective, x: Array, box: Box, effort: Effort) -> tuple[Array, float]:
    """By the public function."""

    def negative(point: Array) -> tuple[float, Array]:
        value, gradient = objective(point)
        return -value, -gradient

    values = [-math.inf]

    def watch(intermediate_result: OptimizeResult) -> None:
        values.append(-float(intermediate_result.fun))
        if effort.is_hopeless(*values[-2:]):
            raise StopIteration

    bounds = list(zip(box.low, box.high, strict=True))
    options = {"maxiter": effort.iterations, "ftol": effort.gain, "gtol": effort.slope}
    result = minimize(negative, x, jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=watch)
    return result.x, -float(result.fun)
