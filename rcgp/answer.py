"""The answer at the end: which row is handed over, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import ndtr

from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, Rows, cholesky, diagonal_of, squared_distance
from rcgp.lies.places import SAME_PLACE, Hypotheses, Places
from rcgp.lies.second_runs import SecondRuns
from rcgp.state import SurrogateState

CONVINCED = 0.95
"""How probable it must be that the suspects of a place are right before their claim is handed over. Three lies against two truths
reached 0.88, three truths against one lie 0.97."""

SUPPORTED = 2.0
"""So many deviations above what the other rows expect a report is believed at most: a believed lie is alone with its claim."""

SAMPLES, RIVALS, JITTER = 1000, 200, 1e-6


@dataclass(frozen=True)
class Recommendation:
    """The observation to hand over: what is believed of it, in units of `y`, and what that rests on.

    `support` counts the believed reports at its place, itself included. `probability_best` is that of no observed point being
    better by more than the noise of one report, of the reports at its place being true, and of no better place being thought
    worse because of lies.
    """

    index: int
    mean: float
    std: float
    support: int
    probability_best: float

    @property
    def unsupported(self) -> bool:
        """Whether it rests on one report that nobody repeated."""
        return self.support < 2


@dataclass(frozen=True)
class Answer:
    """The `places` of a search, how much of every row's value the others support (`n`), and which share of its noise is the
    objective's own (`n`: see `rcgp.lies.second_runs`)."""

    places: Places
    supported: Array
    repeatable: Array

    @classmethod
    def of(
        cls,
        X: Array,
        z: Array,
        state: SurrogateState,
        posterior: GaussianPosterior,
        expected: tuple[Array, Array],
        useless: Mask,
        telling: Mask,
    ) -> Self:
        """From all rows `X` (`n x d`) with scaled reports `z` (`n`, NaN: none that counts), what is known of them, what the
        others let one expect of each (mean and deviation, `n`), which are not to be handed over, and which tell by second runs
        what is noise (`n`, boolean)."""
        believed, own_noise = state.trusted & np.isfinite(z), state.own_noise_of(np.ones(state.n, dtype=bool))
        runs = SecondRuns.of(X, z, believed, telling, posterior.noise, own_noise)
        own = runs.repeatable()
        value = posterior.mean(posterior.X if state.kept.all() else X)  # the same, where it knows their correlations
        value[believed] += own[believed] * (z - value)[believed]
        without, deviation = expected
        most = without + SUPPORTED * np.sqrt(deviation**2 + own * (posterior.noise + own_noise))
        supported = np.minimum(np.minimum(value, most), np.where(useless, -np.inf, runs.most()))
        return cls(Places(X, z, believed, state.kept, posterior), supported, own)

    @cached_property
    def value(self) -> Array:
        """What every row (`n`) is worth: what is supported, or what several suspects convincingly claim."""
        value, doubted = self.supported.copy(), np.flatnonzero(~self.places.trusted & self.places.said)
        may_convince = self._may_convince(doubted)
        if not may_convince.any():
            return value
        p = self.places.hypotheses(doubted).p
        convinced = may_convince & (p[:, 1] >= CONVINCED) & np.isfinite(value[doubted])
        rows = doubted[convinced]
        value[rows] = p[convinced, 1] * self.places.z[rows] + p[convinced, 0] * value[rows]
        return value

    def _may_convince(self, rows: Rows) -> Mask:
        """Which of these suspects (`m`, boolean) do not stand alone at their place.

        Where nobody but suspects reports from a place, or the last who was asked there is believed, they may be lies that agree
        with each other.
        """
        if len(rows) < 2:
            return np.zeros(len(rows), dtype=bool)
        n, trusted = len(self.places.z), self.places.trusted
        there = (self.places.correlation(rows, np.arange(n)) >= SAME_PLACE) & self.places.said
        latest = n - 1 - np.argmax(there[:, ::-1], axis=1)
        several = (there & ~trusted).sum(axis=1) > 1
        may: Mask = several & (there & trusted).any(axis=1) & ~trusted[latest]
        return may

    @property
    def claimed(self) -> Mask:
        """Which rows (`n`, boolean) are worth what suspects claim of their place."""
        return self.value != self.supported

    @cached_property
    def index(self) -> int:
        """The row to hand over: not a suspect that itself says worse of its place than is expected there, if there is another.

        A wall that was doubted four times was handed over, because the model that doubted it expected something good there.
        """
        good = self.places.trusted | (self.places.z >= self.supported) | self.claimed
        value = np.where(good, self.value, -np.inf)
        return int(np.argmax(value if np.isfinite(value).any() else self.value))

    def recommendation(self) -> Recommendation:
        """The row to hand over and what it rests on, in scaled units."""
        row = self.index
        found = self.places.hypotheses(np.array([row]))
        side = int(self.claimed[row])
        reports = int((found.trusted, found.suspects)[side][0])
        mean, variance = self._known_of(row)
        p = float(found.p[0, side]) if reports else 1.0
        p *= self._none_is_better(row) * (1.0 - self._held_down(row))
        return Recommendation(row, float(self.value[row]) if side else mean, math.sqrt(variance), reports, p)

    def _known_of(self, row: int) -> tuple[float, float]:
        """Mean and variance of the objective at a row, with what is its own of the noise there."""
        mean, variance = (float(of[0]) for of in self.places.posterior.mean_and_variance(self.places.X[[row]]))
        own = float(self.repeatable[row])
        left = 1.0 - own
        mean += own * (float(self.places.z[row]) - mean) if own else 0.0
        return mean, left * (left * variance + own * self.places.posterior.noise)

    def _held_down(self, row: int) -> float:
        """How probable it is that a better place is thought worse because of lies: of the likeliest."""
        found, height = self._elsewhere(row), float(self.value[row])
        better = ndtr((found.mean - height) / found.deviation)
        risk = found.p[:, 2] * better + found.p[:, 1] * (found.claim > height)
        return float(np.max(risk, initial=0.0))

    def _elsewhere(self, row: int) -> Hypotheses:
        """What may be true of the places of all other rows."""
        return self.places.hypotheses(np.flatnonzero(self.places.said & ~self.places.near(row)))

    def _none_is_better(self, row: int) -> float:
        """How probable it is that no row is better than this one by more than a report's noise: samples of all, jointly."""
        mean, variance = self.places.posterior.mean_and_variance(self.places.X)
        rivals = np.argsort(-(mean + 3.0 * np.sqrt(variance)), kind="stable")[:RIVALS]
        points = self.places.X[np.append(rivals[rivals != row], row)]
        mean, root = self._joint(points)
        drawn = mean + np.random.default_rng(0).standard_normal((SAMPLES, len(points))) @ root.T
        drawn[:, -1] += max(float(self.value[row] - mean[-1]), 0.0)
        return float(np.mean(drawn[:, -1] + math.sqrt(self.places.posterior.noise) >= drawn.max(axis=1)))

    def _joint(self, points: Array) -> tuple[Array, Array]:
        """Mean (`m`) and a root of the covariance (`m x m`) of the objective at `points` (`m x d`)."""
        own = self.places.posterior
        k = VALUES[own.kernel](squared_distance(points, own.X, own.lengthscale))
        prior = VALUES[own.kernel](squared_distance(points, points, own.lengthscale))
        covariance = own.covariance_scale * (prior - k @ own.inverse @ k.T)
        diagonal_of(covariance)[:] += JITTER
        return k @ own.alpha, cholesky(covariance)
