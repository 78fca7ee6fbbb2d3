"""What the regret benchmark searches: test functions, one in 20 dimensions of which six matter, real trainings, LunarLander.

No rule of the algorithms was tuned on the formulas, of which `UNSEEN` are those of `regret.py --unseen`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, ClassVar

import numpy as np
from formulas import CLASSICS, FORMULAS, Formula
from scipy.interpolate import RegularGridInterpolator
from surface import SURFACE

from objectives import ObjectiveBase, Optimum, Parameter, Space, make_objective
from rcgp.gaussian import Array


@dataclass(frozen=True)
class FewActive(ObjectiveBase):
    """Hartmann-6 on six of twenty coordinates; the others do nothing."""

    space: ClassVar[Space] = Space(tuple(Parameter(f"x{i + 1}", 0.0, 1.0) for i in range(20)))
    active: tuple[int, ...] = (2, 5, 9, 12, 15, 18)
    noise_std: float = 0.05

    @property
    def optimum(self) -> Optimum:
        inner = make_objective("hartmann6").optimum
        x = np.full(20, 0.5)
        x[list(self.active)] = inner.x
        return Optimum(tuple(x.tolist()), inner.value)

    def noiseless(self, x: Any) -> float:
        value: float = make_objective("hartmann6").noiseless(np.asarray(x)[list(self.active)])
        return value

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        return self.noiseless(x) + self.noise_std * float(rng.standard_normal())


@lru_cache
def _surface() -> tuple[tuple[Array, Array], Array]:
    """Learning rates and weight decays of the grid, and its accuracies (rates x decays x repeats)."""
    data = json.loads(SURFACE.read_text())
    return (np.array(data["learning_rate"]), np.array(data["weight_decay"])), np.array(data["accuracy"])


@dataclass(frozen=True)
class Digits(ObjectiveBase):
    """Accuracy of the digits ResNet by learning rate and weight decay: the trainings of `surface.py`, interpolated."""

    space: ClassVar[Space] = Space(
        (Parameter("learning_rate", 1e-5, 1e-1, log=True), Parameter("weight_decay", 1e-6, 1e-2, log=True))
    )

    @property
    def optimum(self) -> Optimum:
        """The best grid point: linear interpolation has its maximum there."""
        (rates, decays), accuracy = _surface()
        mean = accuracy.mean(axis=2)
        row, column = np.unravel_index(np.argmax(mean), mean.shape)
        return Optimum((float(rates[row]), float(decays[column])), float(mean.max()))

    def noiseless(self, x: Any) -> float:
        axes, accuracy = _surface()
        return float(RegularGridInterpolator(axes, accuracy.mean(axis=2))(np.asarray(x)[None])[0])

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        axes, accuracy = _surface()
        repeat = rng.integers(accuracy.shape[2], size=(*accuracy.shape[:2], 1))
        drawn = np.take_along_axis(accuracy, repeat, axis=2)[:, :, 0]
        return float(RegularGridInterpolator(axes, drawn)(np.asarray(x)[None])[0])


@dataclass(frozen=True)
class Lander(ObjectiveBase):
    """The 36-parameter LunarLander policy. Regret is counted from 200, where the task is solved, and on four fixed episodes."""

    space: ClassVar[Space] = make_objective("lander").space

    @property
    def optimum(self) -> Optimum:
        return Optimum((0.5,) * 36, 200.0)  # nobody knows where

    def noiseless(self, x: Any) -> float:
        return make_objective("lander").evaluate(x, np.random.default_rng(0))

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> float:
        return make_objective("lander").evaluate(x, rng)


@dataclass(frozen=True)
class Problem:
    """An objective, how many trials it gets, and the range [low, high] of its values that an adversary would know."""

    objective: str
    options: dict[str, Any]
    trials: int
    initial: int
    low: float
    high: float

    @property
    def reach(self) -> float:
        return self.high - self.low

    @cached_property
    def typical_regret(self) -> float:
        """The mean regret of a random point."""
        objective = self.make()
        points = np.random.default_rng(0).random((1000, objective.dim))
        return float(objective.optimum.value - np.mean([objective.noiseless(x) for x in points]))

    def make(self) -> Any:
        own = {"few-active": FewActive, "digits": Digits, "lander": Lander, "formula": Formula}
        return own.get(self.objective, partial(make_objective, self.objective))(**self.options)


PROBLEMS = {
    "forrester": Problem("forrester", {}, 60, 5, -6.0, 15.8),
    "neg-forrester": Problem("forrester", {"negate": True}, 60, 5, -15.8, 6.0),
    "branin": Problem("branin", {"noise_std": 1.0}, 60, 6, -308.0, -0.4),
    "digits": Problem("digits", {}, 60, 6, 0.1, 0.99),
    "levy4": Problem("levy", {"dim": 4, "noise_std": 0.5}, 80, 8, -255.0, 0.0),
    "ackley5": Problem("ackley", {"dim": 5, "noise_std": 0.1}, 100, 10, -22.0, 0.0),
    "hartmann6": Problem("hartmann6", {"noise_std": 0.05}, 100, 10, 0.0, 3.32),
    "hartmann6-in-20": Problem("few-active", {}, 100, 10, 0.0, 3.32),
    "forrester-100": Problem("forrester", {}, 100, 5, -6.0, 15.8),
    "lander": Problem("lander", {}, 300, 10, -1000.0, 200.0),
}

LEVELS = {
    "michalewicz2": (0.0, 1.8),
    "michalewicz5": (0.0, 4.7),
    "styblinski-tang3": (-128.0, 117.0),
    "griewank4": (-3.2, 0.0),
    "camel": (-45.0, 1.0),
    "rastrigin3": (-64.0, 0.0),
    "drop-wave": (0.0, 1.0),
    "shekel4": (0.1, 10.5),
    "goldstein-price": (-5.5e5, -3.0),
    "alpine6": (-30.0, 0.0),
    "cosine8": (-5.8, 0.8),
    "powell4": (-4e4, 0.0),
    "gramacy-lee": (-4.7, 0.9),
    "zhou2": (0.0, 1.0),
    "cusp3": (0.0, 1.0),
    "steps3": (0.5, 12.0),
    "beale": (-8.8e4, 0.0),
    "bukin": (-258.0, 0.0),
    "eggholder": (-610.0, 959.6),
    "holder-table": (0.0, 19.2),
    "mccormick": (-31.0, 1.9),
    "schwefel2": (-1407.0, 0.0),
    "zakharov4": (-1.6e6, 0.0),
    "dixon-price6": (-4e5, 0.0),
    "sum-of-squares8": (-678.0, 0.0),
    "rosenbrock3": (-3580.0, 0.0),
    "rosenbrock6": (-6020.0, 0.0),
    "easom": (0.0, 1.0),
    "bohachevsky": (-2.26e4, 0.0),
    "colville": (-9500.0, 0.0),
    "learning-rate3": (-0.05, 1.0),
    "plateau4": (0.0, 1.0),
    "hills1": (-1.1, 1.9),
    "hills2": (-1.4, 3.2),
    "hills2-rough": (-1.9, 3.0),
    "hills3": (-1.8, 2.4),
    "hills5": (-2.0, 2.7),
}
"""From what all but a fiftieth of the values of the formulas reach to their maxima."""


def _formula(name: str) -> Problem:
    """A formula with noise of a fiftieth of its range; more dimensions get more trials."""
    (low, high), dim = LEVELS[name], len(FORMULAS[name].best)
    options = {"formula": name, "noise_std": 0.02 * (high - low)}
    return Problem("formula", options, 80 if dim > 3 else 60, max(5, dim + 3), low, high)


PROBLEMS |= {name: _formula(name) for name in LEVELS}
UNSEEN = [name for name in LEVELS if name not in CLASSICS]
