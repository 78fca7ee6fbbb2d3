"""Values that repeat themselves: a default, a cache, a frozen sensor reports one value from several places, to the last digit.

    l_i    log q(z_i) - log t(z_i | the trusted rows without it): how much likelier row i is as a lie (see `rcgp.lies.score`)
    L_r(s) prod over the rows that share value r of (1 - s + s exp(l_i)), for a share s of lies with a Beta prior
    own    integral of L_r over the prior; shared: the same over what all other rows make of the prior

A value is *bad* when a share of its own explains its rows `PROOF` times better than the share of all others does, and is larger.
Its rows are lies with probability p_i, and move the model 1 - p_i of the way that they would:

    J_i = (1 + p_i v_i / sigma^2) / (1 - p_i)     p_i = odds of r's share times exp(l_i), as a probability

with v_i the variance that is left at row i without it. So a report that others confirm keeps its weight, one that they contradict
even a little loses it, and one that nobody can check is believed as far as that value is usually true. Measurements seldom repeat
themselves; where they do, in a region that is level, their neighbours confirm them. Values that one need not ask the neighbours
about are those of `rcgp.lies.sentinels`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from rcgp.evidence import all_differ
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.score import SHARE_PRIOR, log_lie, log_student, log_sum_exp

SHARES = (np.arange(100) + 0.5) / 100


PROOF = 3.0
"""Of 127 zeros among the reports of six recorded tables 35 are found without the question, 56 with a proof of 10, 60 with 3, 68
with 1.5; regret of what is handed over 0.126, 0.104, 0.095, 0.095 (seeds 0 to 3; 0.083 clean). Only what is probably a lie: of
151 zeros of seven tables 85 are found instead of 128. (Before `rcgp.lies.sentinels`, which finds most where searches verify.)"""


@dataclass(frozen=True)
class Records:
    """Which rows (`n`, boolean) report a bad value, and the log odds of that value's share of lies (`n`)."""

    bad: Mask
    log_odds: Array

    @classmethod
    def clean(cls, n: int) -> Self:
        """No value is known to be bad."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n))

    @classmethod
    def of(cls, likelier: Array, value: Rows) -> Self:
        """From l (the first rows, those that can be judged) and which value each row shares (`n`; -1: one of its own)."""
        found, known = cls.clean(len(value)), value[: len(likelier)]
        likelihood = np.log1p(np.outer(np.expm1(np.minimum(likelier, 50.0)), SHARES))
        everybody = likelihood.sum(axis=0)
        for which in np.unique(known[known >= 0]).tolist():
            own = likelihood[known == which].sum(axis=0)
            share = _bad_share(own, everybody - own)
            if share is not None:
                mine = value == which
                found.bad[mine], found.log_odds[mine] = True, logit(share)
        return found

    def probability(self, likelier: Array) -> Array:
        """p (`n`): how probably each row is a lie; 0 for those of values that are not bad."""
        return np.where(self.bad, expit(self.log_odds + likelier), 0.0)


def _bad_share(own: Array, others: Array) -> float | None:
    """The share of lies of a value, from the log likelihoods of its rows and of all others over `SHARES`, if it is bad."""
    a, b = SHARE_PRIOR
    prior = xlogy(a - 1.0, SHARES) + xlog1py(b - 1.0, -SHARES)  # a Beta density, up to its constant
    prior -= log_sum_exp(prior)
    rest = prior + others - log_sum_exp(prior + others)
    proof = log_sum_exp(prior + own) - log_sum_exp(rest + own)
    mine, theirs = _mean_share(prior + own), _mean_share(rest)
    return mine if proof > math.log(PROOF) and mine > theirs else None


def _mean_share(log_density: Array) -> float:
    return float(np.exp(log_density - log_sum_exp(log_density)) @ SHARES)


def repeated_values(X: Array, y: Array) -> Rows:
    """Which value (`n`, numbered) each row shares, to the last digit, with a row from another place; -1 for one of its own."""
    found = np.full(len(y), -1)
    if all_differ(y):
        return found
    values, value, times = np.unique(y, return_inverse=True, return_counts=True)
    for repeated in np.flatnonzero((times > 1) & np.isfinite(values)).tolist():
        rows = np.flatnonzero(value == repeated)
        if (X[rows] != X[rows[0]]).any():
            found[rows] = repeated
    return found


def repeated_in_words(X: Array, y: Array, row: int) -> str:
    """That other places report the very value of that row, if they do."""
    elsewhere = int(((y == y[row]) & (X[row] != X).any(axis=1)).sum())
    return f"the very same value was reported from elsewhere {elsewhere} times" if elsewhere > 1 else ""


def likelier_a_lie(z: Array, expected: Array, variance: Array) -> Array:
    """l of every row (`n`) that says `z` where `expected` +- root of `variance` was; 0 of a row without a value."""
    with np.errstate(over="ignore", invalid="ignore"):
        honest = log_student((z - expected) ** 2 / variance) - 0.5 * np.log(variance)
        return np.where(np.isfinite(z), np.nan_to_num(log_lie(z) - honest, nan=0.0), 0.0)


def inflation(p: Array, latent: Array, noise: Array) -> Array:
    """J of rows (`n`) that are lies with probability `p`, where the variance `latent` is left without them."""
    with np.errstate(divide="ignore"):
        inflated: Array = (1.0 + p * latent / noise) / (1.0 - p)
    return inflated
