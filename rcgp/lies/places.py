"""What may be true of a place: that its believed reports are right, that its suspects are, or that nobody is.

A *place* is a row with all rows that correlate with it by `SAME_PLACE` or more. Its trusted reports say one thing, its suspects
(where there are any) another, and the rows further away expect N(m, v) there. So one of three is true of a place:

    its trusted reports are right    weight exp(T),  T = a log((1 - p)/p) + log t(z | m, v) - log q(z)
    its suspects are right           weight exp(S),  the same of their b reports
    all of them are lies             weight 1

with a trusted reports and b suspects, p the learned share of lies, t a Student-t density and q that of a lie (`rcgp.lies.score`).
What the reports of one side say counts once, because lies agree with each other as well as truths do; that there are more of them
counts each time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, Rows, squared_distance
from rcgp.lies.score import SHARE_PRIOR, log_lie, log_student

SAME_PLACE = 0.9
"""Correlation from which on two rows report on one place."""

AROUND = 0.5
"""Correlation up to which rows are far enough away to say what to expect: lies nearer by would vouch for each other (with 0.9
instead, five looks mended none of the wrong answers of Forrester under moderate lies; with 0.5 all of them)."""

CERTAIN = 12
"""So many trusted reports at one place are never all lies."""

MOST_AROUND = 60
"""So many of the rows around a place are left out at most: a matter of time where there are thousands."""


@dataclass(frozen=True)
class Hypotheses:
    """Of some places (`m`): reports of the trusted and of the suspects, `log_p` (`m x 3`) of the trusted, the suspects or nobody
    being right, what the suspects claim, and what to expect (`m` each) where nobody is."""

    trusted: Rows
    suspects: Rows
    log_p: Array
    claim: Array
    mean: Array
    deviation: Array

    @property
    def p(self) -> Array:
        """The three probabilities (`m x 3`)."""
        return np.exp(self.log_p)


@dataclass(frozen=True)
class Places:
    """All rows `X` (`n x d`) with scaled reports `z` (`n`), who is trusted, and the posterior on the `kept` ones."""

    X: Array
    z: Array
    trusted: Mask
    kept: Mask
    posterior: GaussianPosterior

    @property
    def said(self) -> Mask:
        """Which rows (`n`, boolean) reported a number that is not known to be a lie."""
        return np.isfinite(self.z)

    @property
    def reporting(self) -> Rows:
        """The same as indices."""
        return np.flatnonzero(self.said)

    def near(self, row: int) -> Mask:
        """Which rows (`n`, boolean) are at the place of this one."""
        same: Mask = self.correlation(np.arange(len(self.z)), np.array([row]))[:, 0] >= SAME_PLACE
        return same

    def correlation(self, rows: Rows, with_rows: Rows) -> Array:
        """Of every pair of rows, `m x k`."""
        return self.correlation_with(self.X[rows], with_rows)

    def correlation_with(self, points: Array, rows: Rows) -> Array:
        """Of `points` (`m x d`) and rows, `m x k`."""
        distance = squared_distance(points, self.X[rows], self.posterior.lengthscale)
        return VALUES[self.posterior.kernel](distance)

    def hypotheses(self, rows: Rows, view: float = AROUND) -> Hypotheses:
        """What may be true of the places of these rows (`m`); rows that correlate by `view` say nothing of what to expect."""
        finite = self.said
        near = self.correlation(rows, np.arange(len(self.z)))
        same = (near >= SAME_PLACE) & finite
        trusted, suspects = same & self.trusted, same & ~self.trusted
        mean, variance = self._from_further_away(near[:, self.kept], trusted.sum(axis=1) > CERTAIN, view)
        z, own = np.where(finite, self.z, 0.0), self.trusted[rows]
        truth = np.where(own, z[rows], _mean_of(z, trusted))
        claim = np.where(own | ~finite[rows], _mean_of(z, suspects), z[rows])
        weights = np.zeros((len(rows), 3))
        for side, (said, value) in enumerate(((trusted, truth), (suspects, claim))):
            weights[:, side] = self._log_weight(said.sum(axis=1), value, mean, variance)
        log_p = weights - logsumexp(weights, axis=1, keepdims=True)
        return Hypotheses(trusted.sum(axis=1), suspects.sum(axis=1), log_p, claim, mean, np.sqrt(variance))

    def _log_weight(self, reports: Rows, value: Array, mean: Array, variance: Array) -> Array:
        """T or S of some places (`m`), where so many reports say `value`."""
        a, b = SHARE_PRIOR
        lies, n = int((~self.trusted & self.said).sum()), int(self.said.sum())
        spread = variance + self.posterior.noise
        with np.errstate(over="ignore"):  # beyond 1e154: as unlikely as can be
            density = log_student((value - mean) ** 2 / spread) - 0.5 * np.log(spread)
        odds = math.log((b + n - lies) / (a + lies))
        return np.where(reports > 0, reports * odds + density - log_lie(value), -np.inf)

    def _from_further_away(self, k: Array, certain: Mask, view: float) -> tuple[Array, Array]:
        """Mean and variance (`m` each) without the rows around (`view`), from the correlations `k` (`m x kept`) by the block form
        of the inverse; with them where it is `certain` anyway."""
        B, alpha = self.posterior.inverse, self.posterior.alpha
        kB = k @ B
        mean, variance = k @ alpha, 1.0 - np.einsum("ij,ij->i", kB, k)
        for i in np.flatnonzero(~certain):
            around = np.argsort(-k[i], kind="stable")[:MOST_AROUND]
            around = around[k[i, around] >= view]
            if len(around):
                pulled = np.linalg.solve(B[np.ix_(around, around)], np.stack([alpha[around], kB[i, around]], axis=1))
                mean[i] -= kB[i, around] @ pulled[:, 0]
                variance[i] += kB[i, around] @ pulled[:, 1]
        return mean, np.clip(variance, 1e-12, 1.0)


def _mean_of(z: Array, rows: Mask) -> Array:
    """The mean report (`m`) of each set of rows (`m x n`, boolean); 0 of none."""
    mean: Array = rows @ z / np.maximum(rows.sum(axis=1), 1)
    return mean
