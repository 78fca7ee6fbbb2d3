"""Who reports lies: what share of each reporter's reports are lies, learned beside that of all others.

    l_i    log q(z_i) - log t(z_i | the trusted rows without it): how much likelier row i is as a lie (see `rcgp.lies.score`)
    L_r(s) prod over the rows of reporter r of (1 - s + s exp(l_i)), for a share s of lies with a Beta prior
    own    integral of L_r over the prior; shared: the same over what all other rows make of the prior

A reporter is *bad* when its own share explains its rows `proof` times better than the share of all others does, and is larger.
Its rows are lies with probability p_i. Those that are `likely` to be move the model 1 - p_i of the way that they would:

    J_i = (1 + p_i v_i / sigma^2) / (1 - p_i)     p_i = odds of r's share times exp(l_i), as a probability

with v_i the variance that is left at row i without it. So a report that others confirm keeps its weight, one that they contradict
even a little loses it, and one that nobody can check is believed unless its reporter lies more often than not.

A value that several places report to the last digit - a default, a cache, a frozen sensor - is a reporter of its own, and needs
less proof: measurements seldom repeat themselves. Where they do, in a region that is level, their neighbours confirm them.
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


@dataclass(frozen=True)
class Burden:
    """What it takes to doubt a reporter, and its rows for it."""

    proof: float
    """How many times better a share of its own must explain its rows before the reporter is bad."""
    likely: float
    """How probably one of its rows must be a lie before it is doubted for that."""


MACHINE = Burden(proof=10.0, likely=0.5)
"""Of machines. Where even what nobody can check was doubted by half, knowing who reports cost more than it brought: 1.42 x the
oracle instead of 1.31 (1.30 not told who; six problems, five tuning seeds), at precision 0.80 instead of 0.96; on held-out seeds
1.38 instead of 1.25 (1.26), 0.79 instead of 0.90. With 0.8 it is 1.34, and no more lies are found than by their values."""

REPEATED = Burden(proof=3.0, likely=0.0)
"""Of a value that several places report. Of 127 zeros among the reports of six recorded tables 35 are found without it, 56 with a
proof of 10, 60 with 3, 68 with 1.5; regret of what is handed over 0.126, 0.104, 0.095, 0.095 (seeds 0 to 3; 0.083 clean). Only
what is probably a lie: of 151 zeros of seven tables 85 are found instead of 128."""


@dataclass(frozen=True)
class Records:
    """Which rows (`n`, boolean) come from a bad reporter, and the log odds of that reporter's share of lies (`n`)."""

    bad: Mask
    log_odds: Array
    least: Array
    """How probably a row of it must be a lie before it is doubted for that (`n`)."""

    @classmethod
    def clean(cls, n: int) -> Self:
        """Nobody is known to lie."""
        return cls(np.zeros(n, dtype=bool), np.zeros(n), np.ones(n))

    @classmethod
    def of(cls, likelier: Array, reporter: Rows, burden: Burden = MACHINE) -> Self:
        """From l (the first rows, those that can be judged) and who reported each row (`n`; -1: unknown)."""
        found, known = cls.clean(len(reporter)), reporter[: len(likelier)]
        if (known < 0).all():
            return found
        likelihood = np.log1p(np.outer(np.expm1(np.minimum(likelier, 50.0)), SHARES))
        everybody = likelihood.sum(axis=0)
        for who in np.unique(known[known >= 0]).tolist():
            own = likelihood[known == who].sum(axis=0)
            share = bad_share(own, everybody - own, burden.proof)
            if share is not None:
                mine = reporter == who
                found.bad[mine], found.log_odds[mine], found.least[mine] = True, logit(share), burden.likely
        return found

    def __or__(self, other: Records) -> Records:
        """Bad is who either calls so, with the larger odds, and the lesser need of them."""
        mine, theirs = (np.where(found.bad, found.log_odds, -np.inf) for found in (self, other))
        bad = self.bad | other.bad
        return Records(bad, np.where(bad, np.maximum(mine, theirs), 0.0), np.minimum(self.least, other.least))

    def probability(self, likelier: Array) -> Array:
        """p (`n`): how probably each row is a lie; 0 for those of reporters that are not bad, and where that is not likely."""
        p = expit(self.log_odds + likelier)
        return np.where(self.bad & (p > self.least), p, 0.0)


def bad_share(own: Array, others: Array, needed: float = MACHINE.proof) -> float | None:
    """The share of lies of a reporter, from the log likelihoods of its rows and of all others over `SHARES`, if it is bad."""
    a, b = SHARE_PRIOR
    prior = xlogy(a - 1.0, SHARES) + xlog1py(b - 1.0, -SHARES)  # a Beta density, up to its constant
    prior -= log_sum_exp(prior)
    rest = prior + others - log_sum_exp(prior + others)
    proof = log_sum_exp(prior + own) - log_sum_exp(rest + own)
    mine, theirs = _mean_share(prior + own), _mean_share(rest)
    return mine if proof > math.log(needed) and mine > theirs else None


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
