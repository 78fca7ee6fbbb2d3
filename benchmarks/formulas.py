"""Test functions in 1 to 8 dimensions, all to be maximised: walls, needles, ridges, cusps, steps, and many hills.

No rule of the algorithms was tuned on the first sixteen; the classics behind them are for `answers.py`.
"""

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


def beale(x: Array) -> float:
    a, b = x
    return -float((1.5 - a + a * b) ** 2 + (2.25 - a + a * b**2) ** 2 + (2.625 - a + a * b**3) ** 2)


def bukin(x: Array) -> float:
    a, b = 5.0 * x[0] - 5.0, 3.0 * x[1]
    return -float(100.0 * math.sqrt(abs(b - 0.01 * a**2)) + 0.01 * abs(a + 10.0))


def eggholder(x: Array) -> float:
    a, b = x[0], x[1] + 47.0
    return float(b * math.sin(math.sqrt(abs(b + a / 2.0))) + a * math.sin(math.sqrt(abs(a - b))))


def holder_table(x: Array) -> float:
    a, b = x
    return abs(math.sin(a) * math.cos(b) * math.exp(abs(1.0 - math.hypot(a, b) / math.pi)))


def mccormick(x: Array) -> float:
    a, b = x
    return -float(math.sin(a + b) + (a - b) ** 2 - 1.5 * a + 2.5 * b + 1.0)


def schwefel(x: Array) -> float:
    return float(np.sum(x * np.sin(np.sqrt(np.abs(x))))) - 418.9829 * len(x)


def zakharov(x: Array) -> float:
    along = 0.5 * float(np.sum(np.arange(1, len(x) + 1) * x))
    return -float(np.sum(x**2) + along**2 + along**4)


def dixon_price(x: Array) -> float:
    return -float((x[0] - 1.0) ** 2 + np.sum(np.arange(2, len(x) + 1) * (2.0 * x[1:] ** 2 - x[:-1]) ** 2))


def sum_of_squares(x: Array) -> float:
    return -float(np.sum(np.arange(1, len(x) + 1) * x**2))


def rosenbrock(x: Array) -> float:
    return -float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def easom(x: Array) -> float:
    a, b = x
    return math.cos(a) * math.cos(b) * math.exp(-((a - math.pi) ** 2) - (b - math.pi) ** 2)


def bohachevsky(x: Array) -> float:
    a, b = x
    return -float(a**2 + 2 * b**2 - 0.3 * math.cos(3 * math.pi * a) - 0.4 * math.cos(4 * math.pi * b) + 0.7)


def colville(x: Array) -> float:
    a, b, c, d = x
    valleys = 100.0 * (a**2 - b) ** 2 + (a - 1.0) ** 2 + (c - 1.0) ** 2 + 90.0 * (c**2 - d) ** 2
    return -float(valleys + 10.1 * ((b - 1.0) ** 2 + (d - 1.0) ** 2) + 19.8 * (b - 1.0) * (d - 1.0))


def learning_rate(x: Array) -> float:
    """Better and better along the first coordinate, until it breaks down."""
    learned = 1.0 / (1.0 + math.exp(-12.0 * (x[0] - 0.35))) if x[0] < 0.8 else 0.1
    return float(learned - 0.3 * np.sum((x[1:] - 0.5) ** 2))


def plateau(x: Array) -> float:
    """Most of what is good is equally good."""
    squared = float(np.sum((x - 0.7) ** 2))
    return min(1.2 * math.exp(-6.0 * squared), 0.9) + 0.1 * math.exp(-20.0 * squared)


def hills(seed: int, dim: int, length: float) -> Callable[[Array], float]:
    """A draw of a smooth process with that length-scale: as many hills as there is room for."""
    rng = np.random.default_rng(seed)
    waves, phases, heights = rng.standard_normal((300, dim)) / length, rng.random(300), rng.standard_normal(300)
    return lambda x: float(math.sqrt(2.0 / 300.0) * np.sum(heights * np.cos(waves @ x + 2.0 * math.pi * phases)))


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
CLASSICS = {
    "beale": Known(beale, -4.5, 4.5, (3.0, 0.5)),
    "bukin": Known(bukin, -2.0, 2.0, (-1.0, 1.0 / 3.0)),
    "eggholder": Known(eggholder, -512.0, 512.0, (512.0, 404.231805)),
    "holder-table": Known(holder_table, -10.0, 10.0, (8.055023, 9.66459)),
    "mccormick": Known(mccormick, -1.5, 4.0, (-0.528883, -1.5)),
    "schwefel2": Known(schwefel, -500.0, 500.0, (420.968746,) * 2),
    "zakharov4": Known(zakharov, -5.0, 10.0, (0.0,) * 4),
    "dixon-price6": Known(dixon_price, -10.0, 10.0, tuple(2.0 ** -(1.0 - 0.5**i) for i in range(6))),
    "sum-of-squares8": Known(sum_of_squares, -5.0, 6.0, (0.0,) * 8),
    "rosenbrock3": Known(rosenbrock, -2.0, 2.0, (1.0,) * 3),
    "rosenbrock6": Known(rosenbrock, -2.0, 2.0, (1.0,) * 6),
    "easom": Known(easom, -2.0, 8.0, (math.pi,) * 2),
    "bohachevsky": Known(bohachevsky, -100.0, 80.0, (0.0,) * 2),
    "colville": Known(colville, -2.0, 3.0, (1.0,) * 4),
    "learning-rate3": Known(learning_rate, 0.0, 1.0, (math.nextafter(0.8, 0.0), 0.5, 0.5)),
    "plateau4": Known(plateau, 0.0, 1.0, (0.7,) * 4),
    "hills1": Known(hills(1, 1, 0.08), 0.0, 1.0, (0.530719,)),
    "hills2": Known(hills(2, 2, 0.15), 0.0, 1.0, (0.392125, 0.490602)),
    "hills2-rough": Known(hills(5, 2, 0.08), 0.0, 1.0, (0.927845, 0.1961)),
    "hills3": Known(hills(3, 3, 0.25), 0.0, 1.0, (0.663426, 0.123384, 0.941382)),
    "hills5": Known(hills(4, 5, 0.5), 0.0, 1.0, (1.0, 0.376154, 0.855557, 0.055256, 1.0)),
}
FORMULAS |= CLASSICS


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
