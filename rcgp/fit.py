"""Hyper-parameters: by weighted leave-one-out prediction for the RCGP, by marginal likelihood for the plain GP.

Notation (beside that of `gaussian`)
    theta    log length-scales (d), then log sigma^2
    rho_i    weight of observation i in the leave-one-out score, u_i^power
    score    sum_i rho_i [-1/2 log(2 pi v_i) - res_i^2 / (2 v_i)] + log priors

Every objective here is one function of A, so that its gradient is -sum(M * dA) for one matrix M:
    leave-one-out        M = sym(a (B g)^T) + B diag(g_d) B,   g, g_d = slopes of the score in a and diag(B)
    marginal likelihood  M = (B - a a^T) / 2
    Student-t            M = (B - (nu + n)/(nu - 2 + t^T a) a a^T) / 2
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Self

import numpy as np

from rcgp.ascent import Box, Effort, ascend
from rcgp.gaussian import (
    KERNELS,
    Array,
    Mask,
    NotPositiveDefiniteError,
    Rows,
    apart,
    cholesky,
    diagonal_of,
    inverse_from,
    latent_variance,
)
from rcgp.weights import pseudo_data

log = logging.getLogger(__name__)

LENGTHSCALE_BOUNDS = (0.025, 50.0)
NOISE_BOUNDS = (1e-4, 4.0)
NOISE_PRIOR = (-4.0, 1.0)  # mean and deviation of log sigma^2
LENGTHSCALE_PRIOR_DEVIATION = math.sqrt(3.0)
REMEMBERED_FITS = 16
"""So many of the last ascents are kept, a few kilobytes each."""
FAILED = -1e10
"""The objective where the kernel matrix cannot be factorised."""
POWERS = {"robust": 2.0, "paper": 1.0}
"""Exponent of u in the leave-one-out score. The paper's first power lets w * res^2 grow without bound."""


def lengthscale_prior_mean(dim: int) -> float:
    """Mean of the log length-scale: sqrt 2 + 1/2 log d, so that typical distances stay within reach as d grows."""
    return math.sqrt(2.0) + 0.5 * math.log(dim)


@dataclass(frozen=True)
class Hyperparameters:
    """Length-scales (`d`) and noise variance of a unit-variance kernel."""

    lengthscale: Array
    noise: float

    @classmethod
    def default(cls, dim: int) -> Self:
        """Where a fit starts: length-scales of sqrt(d)/2, and the prior's median noise."""
        return cls(np.full(dim, 0.5 * math.sqrt(dim)), math.exp(NOISE_PRIOR[0]))

    @classmethod
    def from_theta(cls, theta: Array) -> Self:
        return cls(np.exp(theta[:-1]), float(np.exp(theta[-1])))

    @property
    def theta(self) -> Array:
        return np.append(np.log(self.lengthscale), math.log(self.noise))


@dataclass(frozen=True)
class Data:
    """What a fit sees: inputs `X` (`n x d`), scaled outcomes `z` (`n`), noise inflations J and target shifts m_w/sigma^2.

    `own_noise` (`n`) is the variance that a report brings itself, beside the sigma^2 of all.
    """

    X: Array
    z: Array
    noise_inflation: Array
    target_shift: Array
    own_noise: Array

    def rows(self, rows: Mask | Rows) -> Data:
        """Some of the rows: a mask or indices."""
        columns = (self.X, self.z, self.noise_inflation, self.target_shift, self.own_noise)
        return Data(*(column[rows] for column in columns))

    @classmethod
    def trusted(cls, X: Array, z: Array, own_noise: Array | None = None) -> Self:
        """Observations that are all believed: J = 1, no target shift."""
        return cls(X, z, np.ones(len(z)), np.zeros(len(z)), np.zeros(len(z)) if own_noise is None else own_noise)


@dataclass(frozen=True)
class _Slope:
    """Value of an objective, the matrix M of its gradient and what else depends on log sigma^2."""

    value: float
    M: Array
    noise_slope: float


@dataclass(frozen=True)
class _Solved:
    """The kernel matrix K and B, the inverse of A = K + sigma^2 J, both `n x n`; and log |A| / 2.

    `room` (`n x n`) may be written to.
    """

    K: Array
    B: Array
    half_log_determinant: float
    room: Array


Score = Callable[[_Solved, Data, float], _Slope]


@cache
def leave_one_out_score(power: float) -> Score:
    """Weighted leave-one-out log predictive density; observation i counts u_i^power."""

    def score(solved: _Solved, data: Data, noise: float) -> _Slope:
        weight = data.noise_inflation ** (-0.5 * power)
        targets, _ = pseudo_data(data.z, noise + data.own_noise, data.noise_inflation, data.target_shift)
        alpha = solved.B @ targets
        diagonal = solved.B.diagonal()
        residual = (noise + data.own_noise) * data.target_shift + alpha / diagonal
        variance = latent_variance(solved.K, solved.B) + noise + data.own_noise
        value = float(np.sum(weight * (-0.5 * np.log(2 * np.pi * variance) - residual**2 / (2 * variance))))
        by_residual = -weight * residual / variance
        by_variance = weight * (-0.5 / variance + residual**2 / (2 * variance**2))
        by_diagonal = -(by_residual * alpha + by_variance) / diagonal**2
        pulled = solved.B @ (by_residual / diagonal)
        outer = np.outer(alpha, pulled)
        M = outer + outer.T
        M *= 0.5
        M += (solved.B * by_diagonal) @ solved.B
        explicit = data.target_shift @ (by_residual - pulled) + by_variance @ (1.0 - data.noise_inflation)
        return _Slope(value, M, noise * float(explicit))

    return score


def marginal_likelihood(solved: _Solved, data: Data, noise: float) -> _Slope:
    """Log marginal likelihood of the Gaussian process with the noise of each row times its J (no target shift)."""
    alpha = solved.B @ data.z
    value = -0.5 * float(data.z @ alpha) - solved.half_log_determinant - 0.5 * len(data.z) * math.log(2 * np.pi)
    M = np.multiply(alpha[:, None], alpha, out=solved.room)
    np.subtract(solved.B, M, out=M)
    M *= 0.5
    return _Slope(value, M, 0.0)


@cache
def student_t_likelihood(nu: float) -> Score:
    """Log marginal likelihood of the Student-t process with `nu` degrees of freedom (constants left out)."""

    def score(solved: _Solved, data: Data, noise: float) -> _Slope:
        alpha = solved.B @ data.z
        distance, degrees = float(data.z @ alpha), nu + len(data.z)
        value = -solved.half_log_determinant - 0.5 * degrees * math.log1p(distance / (nu - 2.0))
        spread = degrees / (nu - 2.0 + distance)
        return _Slope(value, 0.5 * (solved.B - spread * np.outer(alpha, alpha)), 0.0)

    return score


class _Objective:
    """The score of `data` plus log priors as a function of theta (`d + 1`), and its gradient.

    Its matrices are written to the same place at every evaluation: at 200 rows new pages took longer than what is computed.
    """

    def __init__(self, data: Data, kernel: str, score: Score) -> None:
        n = len(data.z)
        self._data, self._kernel, self._score = data, KERNELS[kernel], score
        self._centred = data.X - 0.5  # halves the cancellation in the distances
        self._squares = self._centred**2
        self._A, self._B = np.empty((n, n), order="F"), np.empty((n, n), order="F")  # as LAPACK wants them
        self._diagonal = diagonal_of(self._A)
        self._distance, *self._room = np.empty((5, n, n))

    def __call__(self, theta: Array) -> tuple[float, Array]:
        data, scales = self._data, np.exp(theta)
        lengthscale, noise = scales[:-1], float(scales[-1])
        gram, slope = self._kernel(self._distances(lengthscale), self._room)
        half = self._inverted(gram, (noise + data.own_noise) * data.noise_inflation)
        # the distances have served, and what is left of the kernel's steps
        result = self._score(_Solved(gram, self._B, half, self._distance), data, noise)
        # dK/d log ell_k = h (x_k - x'_k)^2 / ell_k^2, summed against M without an n x n x d array
        G, centred = result.M, self._centred
        by_noise = result.noise_slope - noise * float(G.diagonal() @ data.noise_inflation)
        G *= slope
        spread = 2.0 * (G.sum(axis=1) @ self._squares - np.einsum("ik,ik->k", centred, G @ centred)) / lengthscale**2
        prior, gradient = log_prior(theta)
        gradient[:-1] -= spread
        gradient[-1] += by_noise
        return result.value + prior, gradient

    def _distances(self, lengthscale: Array) -> Array:
        """The squared scaled distances of the rows from each other (`n x n`)."""
        scaled = self._centred / lengthscale
        lengths = np.einsum("ij,ij->i", scaled, scaled)
        return apart(scaled, lengths, (-2.0 * scaled).T, lengths, out=self._distance)

    def _inverted(self, gram: Array, noises: Array) -> float:
        """Write B, and give log |A| / 2."""
        A = self._A
        A[...] = gram
        np.add(1.0, noises, out=self._diagonal)
        lower = cholesky(A, overwrite=True)
        half = float(np.log(self._diagonal).sum())
        inverse_from(lower, out=self._B)
        return half


def objective_and_gradient(theta: Array, data: Data, kernel: str, score: Score) -> tuple[float, Array]:
    """The score plus log priors, and its gradient (`d + 1`), at `theta` (`d + 1`)."""
    return _Objective(data, kernel, score)(theta)


def log_prior(theta: Array) -> tuple[float, Array]:
    """Log density of the log-normal priors (on the length-scales and on sigma^2) and its gradient in theta."""
    mean, deviation, log_deviation = _priors(len(theta) - 1)
    standard = (theta - mean) / deviation
    density = -theta - log_deviation - 0.5 * math.log(2 * np.pi) - 0.5 * standard**2
    return float(density.sum()), -1.0 - standard / deviation


@cache
def _priors(dim: int) -> tuple[Array, Array, Array]:
    """Mean, deviation and its logarithm of the priors on theta, `d + 1` each."""
    mean = np.append(np.full(dim, lengthscale_prior_mean(dim)), NOISE_PRIOR[0])
    deviation = np.append(np.full(dim, LENGTHSCALE_PRIOR_DEVIATION), NOISE_PRIOR[1])
    return mean, deviation, np.log(deviation)


@dataclass(frozen=True)
class Fit:
    """Fitted hyper-parameters, the objective they reach, and whether the fit succeeded."""

    hyper: Hyperparameters
    value: float
    ok: bool


def fit(
    data: Data,
    starts: list[Hyperparameters],
    kernel: str,
    score: Score,
    max_iterations: int = 50,
    needed: float = -math.inf,
) -> Fit:
    """The best of a bounded quasi-Newton ascent from each start; a failed fit keeps the first start and says so.

    A value below `needed` is of no use: an ascent is given up when it will not get there.
    """
    effort, best = Effort(max_iterations, gain=1e-7, slope=1e-4, needed=needed), None
    for start in starts:
        attempt = _ascend(data, start, kernel, score, effort)
        if attempt and (best is None or attempt.value > best.value):
            best = attempt
    if best is None:
        log.warning(
            "Fit of %d observations failed from %d starts: the last good parameters stay.", len(data.z), len(starts)
        )
        return Fit(starts[0], -math.inf, ok=False)
    return best


def _ascend(data: Data, start: Hyperparameters, kernel: str, score: Score, effort: Effort) -> Fit | None:
    columns = (data.X, data.z, data.noise_inflation, data.target_shift, data.own_noise)
    return _ascended(tuple(column.tobytes() for column in columns), start.theta.tobytes(), kernel, score, effort)


@lru_cache(maxsize=REMEMBERED_FITS)
def _ascended(data: tuple[bytes, ...], start: bytes, kernel: str, score: Score, effort: Effort) -> Fit | None:
    """The way up of data given as bytes: whoever challenges, reconsiders and fits the same rows goes it once."""
    (X, *columns), theta = (np.frombuffer(column) for column in data), np.frombuffer(start)
    evaluate = _Objective(Data(X.reshape(-1, len(theta) - 1), *columns), kernel, score)

    def objective(theta: Array) -> tuple[float, Array]:
        try:
            return evaluate(theta)
        except NotPositiveDefiniteError:
            return FAILED, np.zeros_like(theta)

    theta, value = ascend(objective, theta, _bounds(len(theta) - 1), effort)
    return Fit(Hyperparameters.from_theta(theta), value, ok=True) if FAILED < value < math.inf else None


@cache
def _bounds(dim: int) -> Box:
    """The bounds of theta."""
    low, high = np.log([*[LENGTHSCALE_BOUNDS] * dim, NOISE_BOUNDS]).T.copy()
    return Box(low, high)
