"""What the benchmark of learning curves searches: synthetic curves, harmless and misleading, and real trainings epoch by epoch.

Every problem has a unit cube and `EPOCHS` epochs. `curve(x, rng)` is one training; `final(x)` the mean of its last value.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
from curve_table import EPOCHS, TABLE
from scipy.interpolate import RegularGridInterpolator

from rcgp.gaussian import Array

STEPS = np.arange(1, EPOCHS + 1)


def hump(x: Array, centre: float, width: float) -> float:
    """1 at the centre of the cube's diagonal place `centre`, falling to 0 over `width`."""
    return float(np.exp(-0.5 * np.mean((np.asarray(x) - centre) ** 2) / width**2))


def harmless(x: Array) -> Array:
    """All learn equally fast: early ranks are final ranks."""
    return (0.1 + 0.9 * hump(x, 0.7, 0.2)) * (1.0 - np.exp(-STEPS / 6.0))


def slow(x: Array) -> Array:
    """The better the end, the slower: the best of the end are the worst of the beginning."""
    end = hump(x, 0.7, 0.2)
    return 0.3 * (1.0 - end) * (1.0 - np.exp(-STEPS / 1.5)) + end / (1.0 + np.exp(-(STEPS - 8.0 - 4.0 * end) / 2.0))


def crossing(x: Array) -> Array:
    """A broad hill that is climbed at once and ends at 0.6, a narrower one that is climbed late and ends at 1."""
    fast, late = 0.6 * hump(x, 0.25, 0.25), hump(x, 0.75, 0.15)
    return np.maximum(fast * (1.0 - np.exp(-STEPS / 1.5)), late * (1.0 - np.exp(-STEPS / 12.0)) * 1.118)


@dataclass(frozen=True)
class Synthetic:
    """A formula, with noise that is shared by all epochs of a training and noise of every epoch."""

    mean_curve: Callable[[Array], Array]
    dim: int
    low: float = 0.0
    high: float = 1.0
    shared: float = 0.02
    noise: float = 0.01

    def curve(self, x: Array, rng: np.random.Generator) -> Array:
        level = self.shared * rng.standard_normal()
        return self.mean_curve(x) + level * STEPS / EPOCHS + self.noise * rng.standard_normal(EPOCHS)

    def final(self, x: Array) -> float:
        return float(self.mean_curve(x)[-1])

    @cached_property
    def best(self) -> float:
        grid = np.random.default_rng(0).random((20000, self.dim))
        near = np.repeat(np.linspace(0, 1, 401)[:, None], self.dim, axis=1)
        return max(self.final(x) for x in np.concatenate([grid, near]))


@lru_cache
def _table(name: str) -> tuple[tuple[Array, Array], Array]:
    """Learning rates and weight decays of the grid, and accuracies (rates x decays x repeats x epochs)."""
    data = json.loads(TABLE.read_text())[name]
    return (np.array(data["learning_rate"]), np.array(data["weight_decay"])), np.array(data["accuracy"])


@dataclass(frozen=True)
class Trained:
    """The digits ResNet: `curve_table.py`'s trainings, interpolated."""

    name: str
    dim: int = 2
    low: float = 0.05
    high: float = 0.99
    _cache: dict[str, RegularGridInterpolator] = field(default_factory=dict, compare=False, hash=False)

    def curve(self, x: Array, rng: np.random.Generator) -> Array:
        axes, accuracy = _table(self.name)
        repeat = int(rng.integers(accuracy.shape[2]))
        return self._at(str(repeat), axes, accuracy[:, :, repeat], x)

    def final(self, x: Array) -> float:
        axes, accuracy = _table(self.name)
        return float(self._at("mean", axes, accuracy.mean(axis=2), x)[-1])

    def _at(self, key: str, axes: tuple[Array, Array], values: Array, x: Array) -> Array:
        if key not in self._cache:
            self._cache[key] = RegularGridInterpolator(axes, values)
        found: Array = self._cache[key](np.asarray(x)[None])[0]
        return found

    @cached_property
    def best(self) -> float:
        return float(_table(self.name)[1].mean(axis=2)[..., -1].max())


PROBLEMS: dict[str, Synthetic | Trained] = {
    "harmless": Synthetic(harmless, 3),
    "slow": Synthetic(slow, 3),
    "crossing": Synthetic(crossing, 3),
    "digits": Trained("digits"),
    "noisy-digits": Trained("noisy-digits"),
}


@lru_cache
def typical_regret(name: str) -> float:
    """The mean regret of a random point."""
    problem = PROBLEMS[name]
    points = np.random.default_rng(1).random((2000, problem.dim))
    return problem.best - float(np.mean([problem.final(x) for x in points]))
