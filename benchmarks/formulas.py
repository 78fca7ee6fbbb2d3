"""Test functions that no rule was tuned on: walls, needles, ridges, cusps and steps in 1 to 8 dimensions, all to be maximised."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from objectives import ObjectiveBase, Optimum, Parameter, Space
from rcgp.gaussian import Array


def michalewicz(x: Array) -> float:
    steepness = np.sin(np.arange(1, len(x) + 1) * x**2 / math.pi) ** 20
    return float(np.sum(np.sin(x) * steepness))


def styblinski_tang(x: Array) -> float:
    return -0.5 * float(np.sum(x**4 - 16.0 * x**2 + 5.0 * x))


def griewank(x: Array) -> float:
    return float(np.prod(np.cos(x / np.sqrt(np.arange(1, len(x) + 1)))) - np.sum(x**2) / 4000.0 - 1.0)


def camel(x: Array) -> float:
    a, b = x
    return -float((4.0 - 2.1 * a**2 + a**4 / 3.0) * a**2 + a * b + (4.0 * b**2 - 4.0) * b**2)


def rastrigin(x: Array) -> float:
    return -float(np.sum(x**2 - 10.0 * np.cos(2.0 * math.pi * x) + 10.0))


def drop_wave(x: Array) -> float:
    squared = float(np.sum(x**2))
    return (1.0 + math.cos(12.0 * math.sqrt(squared))) / (0.5 * squared + 2.0)


FOXHOLES = np.array(
    [[4] * 4, [1] * 4, [8] * 4, [6] * 4, [3, 7] * 2, [2, 9] * 2, [5, 5, 3, 3], [8, 1] * 2, [6, 2] * 2, [7, 3.6] * 2]
)
DEPTHS = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10.0


def shekel(x: Array) -> float:
    return float(np.sum(1.0 / (np.sum((x - FOXHOLES) ** 2, axis=1) + DEPTHS)))


def goldstein_price(x: Array) -> float:
    a, b = x
    first = 1.0 + (a + b + 1.0) ** 2 * (19.0 - 14.0 * (a + b) + 3.0 * (a + b) ** 2)
    second = 30.0 + (2.0 * a - 3.0 * b) ** 2 * (18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2)
    return -float(first * second)


def alpine(x: Array) -> float:
    return -float(np.sum(np.abs(x * np.sin(x) + 0.1 * x)))


def cosine_mixture(x: Array) -> float:
    return float(0.1 * np.sum(np.cos(5.0 * math.pi * x)) - np.sum(x**2))


def powell(x: Array) -> float:
    a, b, c, d = x
    return -float((a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4)


def gramacy_lee(x: Array) -> float:
    return -float(math.sin(10.0 * math.pi * x[0]) / (2.0 * x[0]) + (x[0] - 1.0) ** 4)


def zhou(x: Array) -> float:
    def bump(centre: float) -> float:
        return math.exp(-50.0 * float(np.sum((x - centre) ** 2)))

    return bump(1.0 / 3.0) + bump(2.0 / 3.0)


def cusp(x: Array) -> float:
    return math.exp(-3.0 * float(np.sum(np.abs(x - 0.97))))


def steps(x: Array) -> float:
    return float(np.sum(np.minimum(np.floor(5.0 * x), 4.0)) - 0.3 * np.sum((x - 0.9) ** 2))


@dataclass(frozen=True)
class Known:
    """A formula, its box, and where it is largest in the box's own units."""

    formula: Callable[[Array], float]
    low: float
    high: float
    best: tuple[float, ...]


FORMULAS = {
    "michalewicz2": Known(michalewicz, 0.0, math.pi, (2.202906, 1.570796)),
    "michalewicz5": Known(michalewicz, 0.0, math.pi, (2.202906, 1.570796, 1.284992, 1.923058, 1.720470)),
    "styblinski-tang3": Known(styblinski_tang, -5.0, 5.0, (-2.903534,) * 3),
    "griewank4": Known(griewank, -60.0, 50.0, (0.0,) * 4),
    "camel": Known(camel, -2.0, 2.0, (0.089842, -0.712656)),
    "rastrigin3": Known(rastrigin, -2.5, 3.0, (0.0,) * 3),
    "drop-wave": Known(drop_wave, -2.0, 2.4, (0.0, 0.0)),
    "shekel4": Known(shekel, 0.0, 10.0, (4.000747, 4.000593, 3.999663, 3.999510)),
    "goldstein-price": Known(goldstein_price, -2.0, 2.0, (0.0, -1.0)),
    "alpine6": Known(alpine, -8.0, 10.0, (0.0,) * 6),
    "cosine8": Known(cosine_mixture, -1.0, 1.2, (0.0,) * 8),
    "powell4": Known(powell, -4.0, 5.0, (0.0,) * 4),
    "gramacy-lee": Known(gramacy_lee, 0.5, 2.5, (0.548563,)),
    "zhou2": Known(zhou, 0.0, 1.0, (1.0 / 3.0, 1.0 / 3.0)),
    "cusp3": Known(cusp, 0.0, 1.0, (0.97,) * 3),
    "steps3": Known(steps, 0.0, 1.0, (0.9,) * 3),
}


@dataclass(frozen=True)
class Formula(ObjectiveBase):
    """One of `FORMULAS`, with Gaussian noise."""

    formula: str
    noise_std: float = 0.0

    @property
    def known(self) -> Known:
        return FORMULAS[self.formula]

    @property
    def space(self) -> Space:
        return Space(
            tuple(Parameter(f"x{i + 1}", self.known.low, self.known.high) for i in range(len(self.known.best)))
        )

    @property
    def optimum(self) -> Optimum:
        low, high, best = self.known.low, self.known.high, np.array(self.known.best)
        return Optimum(tuple(((best - low) / (high - low)).tolist()), self.known.formula(best))

    def noiseless(self, x: Any) -> float:
        return self.known.formula(self.known.low + (self.known.high - self.known.low) * np.asarray(x))

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        return self.noiseless(x) + self.noise_std * float(rng.standard_normal())
