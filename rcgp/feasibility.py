"""Where trials give something useful: a model of which of them did, multiplied into the acquisition.

Notation (beside that of `gaussian`)
    l_i  +1 where trial i gave a useful number, -1 where it failed          z_i  l_i, standardised
    t    where the two are even, 0 in the units of z                        p    probability that a trial at x is useful

    p(x) = w Phi((mean(x) - t) / sqrt(variance(x) + noise)) + (1 - w) rate

The process is fitted to the z_i as any other. Far from all trials p is the share of useful ones, so that nothing is presumed of
a region that nobody has seen; the noise is at least `FORGIVING`, so that one crash among good neighbours is a mishap and several
are a region. w is the probability that failures have a place at all (see `random_failures`): where they strike at random only
their rate is known, which is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import ndtr

from rcgp.acquisition import Acquisition
from rcgp.fit import Data, Hyperparameters, fit, marginal_likelihood
from rcgp.gaussian import Array, GaussianPosterior, Mask
from rcgp.random_failures import evenly_spread, probability_of_region
from rcgp.state import Scaling, SurrogateState

FORGIVING = 0.1
"""The least noise variance of the standardised labels."""

COARSE = 0.2
"""The least length-scale. A sharp border fits a short one, and then nothing is learned of the far side of a region: with this
floor the regret where a tenth of the space works is 0.002."""

HANDFUL = 4
"""Fewer useful trials than this say little of where others are."""

FIT_ROWS, MODEL_ROWS = 150, 600
"""So many rows, evenly spread, are fitted and modelled: a region is a coarse thing."""


@dataclass(frozen=True)
class Feasibility:
    """The probability that a trial gives something useful."""

    posterior: GaussianPosterior
    even: float
    placed: float
    rate: float

    @classmethod
    def learned(cls, X: Array, useful: Mask, kernel: str) -> Self:
        """From which of the trials at `X` (`n x d`) were `useful` (`n`, boolean; some were and some were not)."""
        kept = evenly_spread(len(X), MODEL_ROWS)
        scaling = Scaling.of(np.where(useful, 1.0, -1.0))
        z = scaling.to_scaled(np.where(useful, 1.0, -1.0))
        few, start = evenly_spread(len(X), FIT_ROWS), Hyperparameters.default(X.shape[1])
        hyper = fit(Data.trusted(X[few], z[few]), [start], kernel, marginal_likelihood).hyper
        noise, lengthscale = max(hyper.noise, FORGIVING), np.maximum(hyper.lengthscale, COARSE)
        noises = np.full(len(kept), noise)
        posterior = GaussianPosterior.condition(X[kept], z[kept], noises, lengthscale, kernel, noise)
        even = float(scaling.to_scaled(np.zeros(1))[0])
        return cls(posterior, even, probability_of_region(X[few], useful[few], kernel), float(useful.mean()))

    def probability(self, points: Array) -> Array:
        """p at `points` (`m x d`), shape `m`."""
        mean, variance = self.posterior.mean_and_variance(points)
        p: Array = ndtr((mean - self.even) / np.sqrt(variance + self.posterior.noise))
        return self.placed * p + (1.0 - self.placed) * self.rate

    def probability_and_gradient(self, points: Array) -> tuple[Array, Array]:
        """p (`m`) and its gradient (`m x d`) at `points` (`m x d`)."""
        at = self.posterior.differentiable(points)
        spread = np.sqrt(at.deviation**2 + self.posterior.noise)
        standard = (at.mean - self.even) / spread
        density = self.placed * np.exp(-0.5 * standard**2) / np.sqrt(2.0 * np.pi) / spread
        p = self.placed * ndtr(standard) + (1.0 - self.placed) * self.rate
        return p, at.gradient(density, -density * standard * at.deviation / spread)


@dataclass(frozen=True)
class Feasible:
    """What an acquisition promises beyond the `usual` value, times the probability of success.

    Counted from the worst value the search clings to what is known to work; counted from the median, which rises as the search
    settles, it goes where nothing works (77 in 100 late trials beyond a cliff, with the middle of the range 7 to 20).
    """

    acquisition: Acquisition
    feasibility: Feasibility
    usual: float

    @property
    def posterior(self) -> GaussianPosterior:
        return self.acquisition.posterior

    def value(self, points: Array) -> Array:
        gain = np.maximum(self.acquisition.value(points) - self.usual, 0.0)
        return self.feasibility.probability(points) * gain

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        value, by_value = self.acquisition.value_and_gradient(points)
        p, by_p = self.feasibility.probability_and_gradient(points)
        gain = np.maximum(value - self.usual, 0.0)
        return p * gain, np.where(gain > 0.0, p, 0.0)[:, None] * by_value + gain[:, None] * by_p


def fills_space(useful: Mask) -> bool:
    """Whether the next trial fills space instead of following the model, knowing which trials were `useful` (`n`).

    Failures alone say where not to go and no more: a bound that is flat elsewhere visits corner after corner. While a few were
    useful, every third trial still fills space.
    """
    found = int(useful.sum())
    return found == 0 or (found < min(HANDFUL, len(useful)) and len(useful) % 3 == 0)


class Regions:
    """What failures do to a search: nothing, or (`learned`) a model of them, computed once for as many rows."""

    def __init__(self, learned: bool) -> None:
        self.learned = learned
        self._last: tuple[bytes, Feasibility] | None = None

    def fill_space(self, useful: Mask) -> bool:
        """Whether the next trial fills space, given which were `useful` (`n`)."""
        return self.learned and fills_space(useful)

    def may_repeat(self, X: Array, useful: Mask, kernel: str) -> Mask:
        """Which rows (`n`, boolean) of `X` (`n x d`) may be asked again: they failed once, and failures strike at random."""
        if not self.learned or useful.all() or not useful.any() or self._model(X, useful, kernel).placed > 0.5:
            return np.zeros(len(X), dtype=bool)
        _, place, count = np.unique(X + 0.0, axis=0, return_inverse=True, return_counts=True)
        return ~useful & (count[place.reshape(-1)] == 1)

    def within(self, acquisition: Acquisition, X: Array, y: Array, useful: Mask, state: SurrogateState) -> Acquisition:
        """The acquisition times the probability of success, given which of the rows `X` (`n x d`), `y` (`n`) were `useful`."""
        if not self.learned or useful.all():
            return acquisition
        usual = middle(state.scaling.to_scaled(y[state.trusted & useful]))
        return Feasible(acquisition, self._model(X, useful, acquisition.posterior.kernel), usual)

    def _model(self, X: Array, useful: Mask, kernel: str) -> Feasibility:
        if self._last is None or self._last[0] != useful.tobytes():
            self._last = useful.tobytes(), Feasibility.learned(X, useful, kernel)
        return self._last[1]


def middle(reports: Array) -> float:
    """The middle of the range of the believed reports (`n`), 0 without any."""
    return 0.5 * float(np.min(reports) + np.max(reports)) if len(reports) else 0.0
