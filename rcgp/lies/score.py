"""Which rows are lies: one score for every set of them, and a greedy search for the best.

    F(S) = log p(z without S) + sum over S of log q(z_i) + log pi(|S|)

Notation (beside that of `gaussian` and `fit`)
    S     rows taken for lies, k of n; the others are honest
    z     outcomes in units of all rows: units that moved with S would reward throwing away whatever is far out
    p     Gaussian process with the length-scales of the honest rows or shorter ones (`SHORTER`), averaged: few rows say little
          of them, many rule out the wrong ones
    q     density of a lie: Cauchy of unit width, so that no lie is too large for it
    pi    Beta-binomial, B(a + k, b + n - k) / B(a, b) for each set of k: their share is learned from the rows

Leaving row i out changes log p by its leave-one-out density, in closed form. Honest objectives are steeper here than there, which
no stationary process expects: whether a row moves is therefore decided with Student-t tails around the same mean and variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import betaln, gammaln

from rcgp.fit import Data, Hyperparameters, fit, log_prior, marginal_likelihood
from rcgp.gaussian import VALUES, Array, Mask, cholesky, diagonal_of, inverse_from, squared_distance

SHORTER = (1.0, 0.5, 0.25)
"""Length-scales that p averages over, as shares of the fitted ones."""

SHARE_PRIOR = (1.0, 9.0)
"""a and b of pi: one row in ten is expected to lie, on the strength of ten rows."""

TAIL = 6.0
"""Degrees of freedom of the tails. With 4, a twentieth of lies in six dimensions is missed (1.5 to 1.8 x the error of the honest
rows); with 30, two to seven honest rows of Branin are doubted in most searches."""

ROUGH = 0.25
"""Length-scales of a rough objective, as a share of the smooth one's."""

REACHES = (2.0, 4.0, 8.0, 16.0)
"""In half-widths of the shortest interval that holds half of the values: how far from its middle those reach that the search for
an explanation takes for honest at first."""

ROUNDS = 5


@dataclass(frozen=True)
class Explanation:
    """Who is honest (`n`, boolean), the hyper-parameters of the honest rows, and F."""

    honest: Mask
    hyper: Hyperparameters
    score: float

    @property
    def lies(self) -> int:
        """How many rows are taken for lies."""
        return int((~self.honest).sum())


@dataclass(frozen=True)
class Reports:
    """What is to be explained: `z` (`n`, finite) at `X` (`n x d`), the noise each brings itself, who was vouched for (`n`)."""

    X: Array
    z: Array
    own_noise: Array
    vouched: Mask

    @classmethod
    def plain(cls, X: Array, z: Array) -> Self:
        """Reports of which nothing is known but their values."""
        return cls(X, z, np.zeros(len(z)), np.zeros(len(z), dtype=bool))


def explain(reports: Reports, most: int, kernel: str) -> Explanation:
    """The best explanation of the reports with at most so many lies, none of them by who was vouched for.

    The search starts from everybody, and from the rows in the middle (`central`): a fit to all explains the lies away.
    """
    climb, smooth = Climb(reports, most, kernel), Hyperparameters.default(reports.X.shape[1])
    nobody = climb.fitted(Explanation(np.full(len(reports.z), True), smooth, -math.inf))
    found = [climb.top(nobody), *climb.from_the_middle(REACHES)]
    return max((e for e in (nobody, *found) if e.lies <= most), key=lambda e: e.score)


def central(z: Array, reach: float) -> Mask:
    """Rows (`n`, boolean) within `reach` half-widths of the middle of the shortest interval that holds half of them."""
    values, half = np.sort(z), len(z) // 2 + 1
    widths = values[half - 1 :] - values[: len(z) - half + 1]
    first = int(np.argmin(widths))
    inside: Mask = np.abs(z - (values[first] + 0.5 * widths[first])) <= 0.5 * reach * widths[first]
    return inside


def log_lie(z: Array) -> Array:
    """log q of every outcome (`n`)."""
    return -math.log(math.pi) - 2.0 * np.log(np.hypot(1.0, z))


def log_share(k: int, n: int) -> float:
    """log pi of one set of `k` lies among `n` rows."""
    a, b = SHARE_PRIOR
    return float(betaln(a + k, b + n - k) - betaln(a, b))


def log_sum_exp(logs: Array) -> Array:
    """log of the sum of exp(`logs`) over the first axis, all finite: what scipy's does in a tenth of the time."""
    top = logs.max(axis=0)
    total: Array = top + np.log(np.exp(logs - top).sum(axis=0))
    return total


def log_student(squared: Array) -> Array:
    """Log density of a Student-t with `TAIL` degrees of freedom at squared standard residuals."""
    constant = gammaln((TAIL + 1) / 2) - gammaln(TAIL / 2) - 0.5 * math.log(math.pi * TAIL)
    return constant - 0.5 * (TAIL + 1) * np.log1p(squared / TAIL)


class Climb:
    """The search for the best explanation of `reports` with at most so many lies, uphill from wherever it starts."""

    def __init__(self, reports: Reports, most: int, kernel: str) -> None:
        self._reports, self._most, self.kernel = reports, most, kernel
        self._smooth = Hyperparameters.default(reports.X.shape[1])
        self._tops: dict[bytes, Explanation] = {}

    def from_the_middle(self, reaches: tuple[float, ...]) -> list[Explanation]:
        """The tops above the rows in the middle (`central`)."""
        return [self.from_smooth(central(self._reports.z, reach) | self._reports.vouched) for reach in reaches]

    def from_smooth(self, honest: Mask) -> Explanation:
        """The top above these honest rows (`n`, boolean) of a smooth objective; whatever leads the same way is climbed once."""
        foot = self.moved(Explanation(honest, self._smooth, -math.inf))
        way = foot.honest.tobytes()
        if way not in self._tops:
            self._tops[way] = self._climbed(foot)
        return self._tops[way]

    def rougher(self, explanation: Explanation) -> Explanation:
        """The top above the same honest rows, and their noise, of a rough objective: only who is near can contradict."""
        lengthscale = ROUGH * self._smooth.lengthscale
        return self.top(replace(explanation, hyper=replace(explanation.hyper, lengthscale=lengthscale)))

    def top(self, start: Explanation) -> Explanation:
        """The top above an explanation, which is one itself if nobody moves."""
        foot = self.moved(start)
        return foot if np.array_equal(foot.honest, start.honest) else self._climbed(foot)

    def _climbed(self, foot: Explanation) -> Explanation:
        """Ask in turn for the hyper-parameters of the honest, and who is honest under them, until nobody moves."""
        best = current = foot
        for _ in range(ROUNDS):
            honest = current.honest
            current = self.moved(self._refitted(current))
            best = max(best, current, key=lambda e: e.score)
            if np.array_equal(current.honest, honest):
                break
        return best

    def fitted(self, explanation: Explanation) -> Explanation:
        """The same honest rows, with their own hyper-parameters and F."""
        own = self._refitted(explanation)
        return replace(own, score=_Models.of(self._reports, own.honest, own.hyper, self.kernel).score())

    def _refitted(self, explanation: Explanation) -> Explanation:
        """The same honest rows, with their own hyper-parameters."""
        reports, rows = self._reports, explanation.honest
        known = np.array_equal(explanation.hyper.theta, self._smooth.theta)
        starts = [self._smooth] if known else [explanation.hyper, self._smooth]
        data = Data.trusted(reports.X[rows], reports.z[rows], reports.own_noise[rows])
        return replace(explanation, hyper=fit(data, starts, self.kernel, marginal_likelihood).hyper)

    def moved(self, start: Explanation) -> Explanation:
        """Greedy ascent: the row that gains most changes sides, until none gains."""
        reports = self._reports
        models = _Models.of(reports, start.honest, start.hyper, self.kernel)
        for _ in range(2 * len(reports.z)):
            gain = np.where(reports.vouched, -math.inf, models.gain(self._most))
            best = int(np.argmax(gain))
            if not gain[best] > 0.0:
                break
            models.move(best)
        return Explanation(models.honest, start.hyper, models.score())


class _Models:
    """The honest rows under every length-scale: A, and B its inverse on them (zeros elsewhere), all `m x n x n`.

    Kept beside them for every row: a = B z, A a, and diag(A B A) (all `m x n`), so that moving a row takes O(m n^2).
    """

    def __init__(self, A: Array, z: Array, honest: Mask, log_priors: Array) -> None:
        self.A, self.z, self.honest, self.lie = A, z, honest.copy(), log_lie(z)
        rows = np.flatnonzero(honest)
        self.B, self.log_p = np.zeros_like(A), log_priors - math.log(len(A))
        for m, gram in enumerate(A):
            lower = cholesky(gram[np.ix_(rows, rows)])
            self.B[m][np.ix_(rows, rows)] = inverse_from(lower)
            self.log_p[m] -= float(np.log(lower.diagonal()).sum()) + 0.5 * len(rows) * math.log(2 * math.pi)
        self.alpha = self.B @ z
        self.log_p -= 0.5 * self.alpha @ z
        self.mean = np.einsum("mij,mj->mi", A, self.alpha)
        self.known = np.einsum("mij,mij->mi", A @ self.B, A)

    @classmethod
    def of(cls, reports: Reports, honest: Mask, hyper: Hyperparameters, kernel: str) -> Self:
        """The models of these honest rows (`n`, boolean) around `hyper`."""
        X, z = reports.X, reports.z
        A, log_priors = np.empty((len(SHORTER), len(z), len(z))), np.empty(len(SHORTER))
        distance = squared_distance(X, X, hyper.lengthscale)
        for m, share in enumerate(SHORTER):
            A[m] = VALUES[kernel](
                distance / share**2
            )  # exactly what the shorter ones give: the shares are powers of two
            diagonal_of(A[m])[:] = 1.0 + hyper.noise + reports.own_noise
            log_priors[m], _ = log_prior(replace(hyper, lengthscale=share * hyper.lengthscale).theta)
        return cls(A, z, honest, log_priors)

    def score(self) -> float:
        """F."""
        lies = ~self.honest
        share = log_share(int(lies.sum()), len(self.z))
        return float(log_sum_exp(self.log_p)) + float(self.lie[lies].sum()) + share

    def gain(self, most: int) -> Array:
        """What changing sides would gain, with Student-t tails, of every row (`n`)."""
        n, k = len(self.z), int((~self.honest).sum())
        more = log_share(k + 1, n) - log_share(k, n) if k < most else -math.inf
        fewer = log_share(k - 1, n) - log_share(k, n) if k else -math.inf
        surprise = self.lie - self._log_tail()
        return np.where(self.honest, surprise + more, fewer - surprise)

    def _expected(self) -> tuple[Array, Array]:
        """Residual and variance of every row under the honest ones without it, both `m x n`."""
        diagonal = np.where(self.honest, np.einsum("mii->mi", self.B), 1.0)
        ahead = np.maximum(np.einsum("mii->mi", self.A) - self.known, 1e-9)
        residual = np.where(self.honest, self.alpha / diagonal, self.z - self.mean)
        return residual, np.where(self.honest, 1.0 / diagonal, ahead)

    def _log_tail(self) -> Array:
        """Log density of every row (`n`) given the honest ones without it, which also weigh the length-scales."""
        residual, variance = self._expected()
        squared = residual**2 / variance
        gauss = -0.5 * (np.log(2 * math.pi * variance) + squared)
        weight = self.log_p[:, None] - np.where(self.honest, gauss, 0.0)
        density = log_student(squared) - 0.5 * np.log(variance)
        averaged: Array = log_sum_exp(weight + density) - log_sum_exp(weight)
        return averaged

    def move(self, i: int) -> None:
        """Row i changes sides: B, and what is kept beside it, by the block form of the inverse."""
        residual, variance = self._expected()
        gauss = -0.5 * (np.log(2 * math.pi * variance[:, i]) + residual[:, i] ** 2 / variance[:, i])
        if self.honest[i]:
            w, scale = self.B[:, :, i].copy(), -variance[:, i]
            self.log_p = self.log_p - gauss
        else:
            w, scale = np.einsum("mij,mj->mi", self.B, self.A[:, :, i]), 1.0 / variance[:, i]
            w[:, i] = -1.0
            self.log_p = self.log_p + gauss
        self.B += (scale[:, None] * w)[:, :, None] * w[:, None, :]
        pulled, step = np.einsum("mij,mj->mi", self.A, w), scale * (w @ self.z)
        self.alpha = self.alpha + step[:, None] * w
        self.mean = self.mean + step[:, None] * pulled
        self.known = self.known + scale[:, None] * pulled**2
        self.honest[i] = not self.honest[i]
        if not self.honest[i]:  # exactly nothing, not rounding error
            self.B[:, i], self.B[:, :, i], self.alpha[:, i] = 0.0, 0.0, 0.0
