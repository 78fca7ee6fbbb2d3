"""Whether failures have a place, or strike at random: how far a model of where trials fail is to be believed.

Two things tell. How well each label is foreseen by all others: by one rate, or by a process over the space. A fitted process
foresees anything in many dimensions, so a few fixed ones are averaged - smooth in all coordinates, or a function of one of them -
and nothing is fitted. And how many fail: crashes that strike at random are rare, a region may have any size.

    log odds = log mean_h prod_i p_h(l_i | l_-i) / prod_i p_rate(l_i | l_-i) + log P(k of n | a region) / P(k of n | at random)
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, expit, logsumexp, ndtr

from rcgp.gaussian import VALUES, Array, Mask, Rows, cholesky, diagonal_of, inverse_from, squared_distance
from rcgp.state import Scaling

SMOOTH, SINGLE, ABSENT = (0.25, 0.5, 1.0), 0.3, 50.0
"""Length-scales of the processes: in all coordinates, in units of sqrt(d); of the only coordinate that tells; of the others."""

SHARE_OF_NOISE = 0.2
"""The share of the labels' variance that has no place even where failures have one."""

RARE = 9.0
"""The rate of failures at random has the density of Beta(1, RARE): a tenth of all trials on average."""

SURE = 1e-3
"""No label is foreseen with more certainty than this leaves."""


def probability_of_region(X: Array, useful: Mask, kernel: str) -> float:
    """The probability that failures have a place, given which of the trials at `X` (`n x d`) were `useful` (`n`, some not)."""
    return float(expit(log_odds_of_a_place(X, useful, kernel) + _by_number(int((~useful).sum()), len(X))))


def log_odds_of_a_place(X: Array, useful: Mask, kernel: str) -> float:
    """How much better a process over the space foresees who is `useful` (`n`, some not) at `X` (`n x d`) than their rate does."""
    labels = np.where(useful, 1.0, -1.0)
    scaling = Scaling.of(labels)
    z, even = scaling.to_scaled(labels), float(scaling.to_scaled(np.zeros(1))[0])
    scores = [_foreseen(_by_others(X, z, scale, kernel, even), useful) for scale in _processes(X.shape[1])]
    weights = [1.0 / len(SMOOTH)] * len(SMOOTH) + [1.0 / X.shape[1]] * X.shape[1]
    regions = float(logsumexp(scores, b=np.array(weights) / 2.0))
    return regions - _foreseen(_rate_of_others(useful), useful)


def _processes(dim: int) -> list[Array]:
    """The length-scales (`d` each) of every process: of the smooth ones, then of those of one coordinate."""
    single = np.where(np.eye(dim, dtype=bool), SINGLE, ABSENT)
    return [np.full(dim, share * math.sqrt(dim)) for share in SMOOTH] + list(single)


def _by_others(X: Array, z: Array, lengthscale: Array, kernel: str, even: float) -> Array:
    """The probability (`n`) that a trial is useful, by the labels `z` (`n`, standardised) of the others."""
    gram = VALUES[kernel](squared_distance(X, X, lengthscale))
    gram *= 1.0 - SHARE_OF_NOISE
    diagonal_of(gram)[:] = 1.0
    inverse = inverse_from(cholesky(gram))
    diagonal = inverse.diagonal()
    p: Array = ndtr((z - inverse @ z / diagonal - even) * np.sqrt(diagonal))
    return p


def _rate_of_others(useful: Mask) -> Array:
    """The same by the rate of the others (`n`) alone, with one success and one failure that nobody saw."""
    return (useful.sum() - useful + 1.0) / (len(useful) + 1.0)


def _foreseen(p: Array, useful: Mask) -> float:
    """Log probability of the labels, given that of a success (`n`)."""
    p = np.clip(p, SURE, 1.0 - SURE)
    return float(np.log(np.where(useful, p, 1.0 - p)).sum())


def _by_number(failed: int, n: int) -> float:
    """Log odds of a region by the number of failures alone."""
    at_random = betaln(1.0 + failed, RARE + n - failed) - betaln(1.0, RARE)
    return float(betaln(1.0 + failed, 1.0 + n - failed) - at_random)


def evenly_spread(n: int, most: int) -> Rows:
    """Indices of at most so many of `n` rows, evenly spread: of more than that nothing else is to be learned of a region."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.intp)
