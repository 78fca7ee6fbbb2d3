"""Objectives whose bad values are worse by orders of magnitude: a learning rate that diverges, a loss over six decades.

Beside a loss of 10,000 every difference among good ones is nothing, and a model of all values resolves none of them. How much
worse the worst are does not matter to a search. So values below a knee T are bent, and their order stays:

    b(y) = T - s log(1 + log(1 + (T - y) / s))        T = m - KNEE s        s = best - m

m is the upper quartile of the first reports, one a place, before the search settles where values hardly differ. A few far below
all others may be lies, which bending would make plausible. So nothing is bent unless they have a region in common, are believed
as they are or too many for lies, and all reports are foreseen much better then. Until then nothing changes, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from rcgp.fit import Data, Hyperparameters, fit, marginal_likelihood
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.agreement import FAR_OUT_BELOW, most_lies
from rcgp.lies.challenge import NOWHERE
from rcgp.lies.proportion import one_of_each_place
from rcgp.random_failures import probability_of_region
from rcgp.state import Scaling

KNEE, FAR = 2.0, 10.0
"""In units of s: how far below m the knee is, and how much further below something is worse by orders of magnitude."""

SETTLING, FEWEST = 16, 6
"""So many places, or all initial ones, have the quartile that counts; fewer reports than the second say nothing of it."""

LIKELY = 0.8
"""How probable it must be that what is far below has a region."""

LEAST = 20.0
"""s is at least so many times the noise of a report: what is smaller need not be resolved."""

GAIN = 1.0
"""Bent, the reports must be foreseen so much better, each: by its log density."""

ROWS = 150
"""So many rows, evenly spread, are asked: a region and a scale are coarse things."""


@dataclass(frozen=True)
class Bend:
    """Values below the `knee` are bent, in units of `scale`."""

    knee: float = -math.inf
    scale: float = 1.0

    @classmethod
    def of(cls, X: Array, y: Array, trusted: Mask, initial: int, kernel: str) -> Self:
        """What the reports `y` (`n`, NaN: nothing was said) from `X` (`n x d`) ask for, given whom a search trusts (`n`).

        The first `initial` of them fill space.
        """
        said = np.isfinite(y)
        if said.sum() < FEWEST or not (said & trusted).any():
            return cls()
        X, y, trusted, best = X[said], y[said], trusted[said], float(np.max(y[said & trusted]))
        usual = y[one_of_each_place(X)]
        scale = best - float(np.quantile(usual[usual <= best][: max(initial, SETTLING)], 0.75))
        bend = cls._below(best, scale)
        if scale <= 0.0 or not bend._far(y).any():
            return cls()
        good = _spread(trusted & (y >= bend.knee))
        bend = cls._below(best, max(scale, LEAST * _fitted(X[good], y[good], kernel)[1]))
        far = bend._far(y)
        believed, doubted = _spread(trusted), far & ~trusted
        if bend._explains(X[believed], y[believed], NOWHERE, kernel):
            return bend
        rows = _spread(trusted | far)
        too_many = _too_many(X[doubted], most_lies(len(y), None))
        return bend if too_many and bend._explains(X[rows], y[rows], LIKELY, kernel) else cls()

    @classmethod
    def _below(cls, best: float, scale: float) -> Self:
        """The knee so far below the best."""
        return cls(best - (1.0 + KNEE) * scale, scale)

    def _far(self, y: Array) -> Mask:
        """Which of the reports `y` (`n`) are far below the knee."""
        with np.errstate(over="ignore"):  # of values near 1e308: nothing is further below
            far: Mask = y < self.knee - FAR * self.scale
        return far

    def _explains(self, X: Array, y: Array, likely: float, kernel: str) -> bool:
        """Whether what is far below of reports `y` (`n`) from `X` (`n x d`) probably has a region, and bending gains enough."""
        far, places = self._far(y), one_of_each_place(X)
        if not far.any() or probability_of_region(X, ~far, kernel) < likely:
            return False
        return self._gain(X[places], y[places], kernel) >= GAIN

    def _gain(self, X: Array, y: Array, kernel: str) -> float:
        """How much better the reports `y` (`n`) from `X` (`n x d`) are foreseen when they are bent: the log density of each."""
        bent = _fitted(X, self.bent(y), kernel)[0] + float(np.log(self.slope(y)).sum())
        return (bent - _fitted(X, y, kernel)[0]) / len(y)

    @property
    def is_straight(self) -> bool:
        """Whether it leaves all values as they are."""
        return self.knee == -math.inf

    def bent(self, y: Array) -> Array:
        """b(y), of any shape; what is no number stays as it is."""
        if self.is_straight:
            return y
        below = np.maximum(self.knee - y, 0.0) / self.scale
        return np.where(below > 0.0, self.knee - self.scale * np.log1p(np.log1p(below)), y)

    def straightened(self, b: Array) -> Array:
        """The values that were bent to `b`; beyond the largest numbers those."""
        if self.is_straight:
            return b
        below = np.maximum(self.knee - b, 0.0) / self.scale
        steps = np.expm1(np.minimum(np.expm1(np.minimum(below, 10.0)), 700.0))
        return np.where(below > 0.0, np.maximum(self.knee - self.scale * steps, -np.finfo(float).max), b)

    def slope(self, y: Array) -> Array:
        """b'(y): what a small step at `y` becomes."""
        below = np.zeros_like(y) if self.is_straight else np.maximum(self.knee - y, 0.0) / self.scale
        return 1.0 / ((1.0 + below) * (1.0 + np.log1p(below)))

    def step(self, y: Array, size: Array) -> Array:
        """What a step upwards from `y` of that `size`, small or large, becomes; from what is no number as it is."""
        if self.is_straight:
            return size
        with np.errstate(invalid="ignore"):  # of infinite values, which have no step
            return np.where(np.isfinite(y), self.bent(y + size) - self.bent(y), size)


def _spread(rows: Mask) -> Rows:
    """At most `ROWS` of these rows (`n`, boolean), evenly spread."""
    chosen = np.flatnonzero(rows)
    return chosen[np.linspace(0, len(chosen) - 1, min(len(chosen), ROWS)).astype(np.intp)]


def _too_many(X: Array, lies: int) -> bool:
    """Whether reports from `X` (`n x d`) come from too many places, or are too many, for so many lies."""
    return len(X) > FAR_OUT_BELOW * lies or len(one_of_each_place(X)) > lies


def _fitted(X: Array, y: Array, kernel: str) -> tuple[float, float]:
    """Log density of reports `y` (`n`) from `X` (`n x d`) under the process that fits them best, and its noise's deviation."""
    scaling = Scaling.of(y)
    data = Data.trusted(X, scaling.to_scaled(y))
    best = fit(data, [Hyperparameters.default(X.shape[1])], kernel, marginal_likelihood)
    return best.value - len(y) * math.log(scaling.deviation), math.sqrt(best.hyper.noise) * scaling.deviation
