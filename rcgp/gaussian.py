"""The exact Gaussian process in NumPy: what every optimizer evaluates thousands of times a suggestion.

Notation
    X  n x d  inputs in the unit cube            ell  d  length-scales (ARD)
    t  n      targets (an RCGP's pseudo-targets) N    n  noise variances (an RCGP's sigma^2 J)
    K  n x n  kernel matrix, unit variance       A    K + diag(N) = L L^T
    B  n x n  A^-1                               a    A^-1 t
    s         squared scaled distance sum_k (x_k - x'_k)^2 / ell_k^2
    k, h      kernel value and its radial slope: dk/dx_k = -h (x_k - x'_k) / ell_k^2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
MANY_ROWS, GROWTH = 500, 64
"""Of more rows than that the factorisation of the first is kept, and up to so many are added to it."""

BLOCK, LEAST_BLOCK = 32_768, 128
"""Points are evaluated so many kernel values at a time (but not fewer points than that), which stay in the processor's cache and
on pages that are there: half the time at 200 rows. A multiple of 16 points, so that the blocks change the last bit at most."""


Room = Sequence[Array | None]
"""Where the four steps of a kernel are written, each of the shape of its distances; None: to new arrays."""
NEW_ROOM: Room = (None, None, None, None)


def _rbf(s: Array, room: Room = NEW_ROOM) -> tuple[Array, Array]:
    k = np.multiply(-0.5, s, out=room[0])
    np.exp(k, out=k)
    return k, k


def _matern52(s: Array, room: Room = NEW_ROOM) -> tuple[Array, Array]:
    k, decay, polynomial = _matern52_parts(s, room)
    h = np.multiply(5.0 / 3.0, polynomial, out=room[3])
    h *= decay
    return k, h


def _matern52_parts(s: Array, room: Room = NEW_ROOM) -> tuple[Array, Array, Array]:
    """Kernel value, exp(-r) and 1 + r. In place where it can be: new pages for each step took four times as long as the steps."""
    r = np.multiply(5.0, s, out=room[0])
    np.sqrt(r, out=r)
    decay = np.negative(r, out=room[1])
    np.exp(decay, out=decay)
    r += 1.0
    k, far = np.multiply(decay, r, out=room[2]), np.multiply(5.0 / 3.0, s, out=room[3])
    far *= decay
    k += far
    return k, decay, r


class Kernel(Protocol):
    """From the squared scaled distances to the value and the radial slope; the steps are written to `room`."""

    def __call__(self, s: Array, room: Room = NEW_ROOM) -> tuple[Array, Array]: ...


class KernelValues(Protocol):
    """From the squared scaled distances to the value alone."""

    def __call__(self, s: Array, room: Room = NEW_ROOM) -> Array: ...


KERNELS: dict[str, Kernel] = {"rbf": _rbf, "matern52": _matern52}
"""Kernels by name."""
VALUES: dict[str, KernelValues] = {
    "rbf": lambda s, room=NEW_ROOM: _rbf(s, room)[0],
    "matern52": lambda s, room=NEW_ROOM: _matern52_parts(s, room)[0],
}
"""The same without the slope, for those who only evaluate."""


def squared_distance(left: Array, right: Array, lengthscale: Array) -> Array:
    """Squared scaled distances, shape `m x n`, of `left` (`m x d`) from `right` (`n x d`)."""
    return apart(*_scaled(left, lengthscale), *_partners(right, lengthscale))


def _scaled(points: Array, lengthscale: Array) -> tuple[Array, Array]:
    """Scaled `points` (`m x d`) and their squared lengths (`m`), seen from the centre of the cube: half the cancellation."""
    scaled = (points - 0.5) / lengthscale
    return scaled, np.einsum("ij,ij->i", scaled, scaled)


def _partners(points: Array, lengthscale: Array) -> tuple[Array, Array]:
    """What distances from `points` (`m x d`) are made of: the scaled points times -2 (`d x m`), their squared lengths (`m`)."""
    scaled, lengths = _scaled(points, lengthscale)
    scaled *= -2.0  # exact, and once instead of once a pair
    return scaled.T, lengths


def apart(scaled: Array, lengths: Array, partners: Array, partner_lengths: Array, out: Array | None = None) -> Array:
    """Squared distances (`m x n`) of scaled points and their squared lengths (`m x d`, `m`) from their partners."""
    product = np.matmul(scaled, partners, out=out)
    product += lengths[:, None]
    product += partner_lengths
    return np.maximum(product, 0.0, out=product)


class NotPositiveDefiniteError(ArithmeticError):
    """The kernel matrix could not be factorised."""


def cholesky(matrix: Array, *, overwrite: bool = False) -> Array:
    """Lower Cholesky factor of `matrix` (`n x n`), in its place if told so and it is stored by columns."""
    factor, info = lapack.dpotrf(matrix, lower=True, clean=True, overwrite_a=overwrite)
    if info:
        raise NotPositiveDefiniteError(f"Kernel matrix of size {len(matrix)} is not positive definite (row {info}).")
    return factor


def inverse_from(factor: Array, out: Array | None = None) -> Array:
    """Inverse of the matrix (`n x n`) whose lower Cholesky factor is given; with `out` it is written there, over the factor."""
    # the upper triangle stays the factor's: zero
    half, _ = lapack.dpotri(factor, lower=True, overwrite_c=out is not None)
    inverse = np.add(half, half.T, out=out, order="F")
    diagonal_of(inverse)[:] *= 0.5
    return inverse


def diagonal_of(matrix: Array) -> Array:
    """The diagonal of `matrix` (`n x n`), to be written to."""
    diagonal = matrix.diagonal()
    diagonal.setflags(write=True)
    return diagonal


Factorised = tuple[Array, Array]
"""K and B (`n x n` both)."""


@lru_cache(maxsize=2)
def _factorised(kernel: str, lengthscale: bytes, X: bytes, noises: bytes) -> Factorised:
    """K and B of rows given as bytes; the last two are kept, 16 MB each at a thousand rows.

    The anchor of a suggestion is that of the next one's first look, and its posterior while nobody is half trusted; between them
    comes a second opinion.
    """
    variances = np.frombuffer(noises)
    if len(variances) <= MANY_ROWS:
        return _at_once(kernel, lengthscale, X, noises)
    rows = np.frombuffer(X).reshape(len(variances), -1)
    return _from_the_first(kernel, np.frombuffer(lengthscale), rows, variances)


def _at_once(kernel: str, lengthscale: bytes, X: bytes, noises: bytes) -> Factorised:
    scales, variances = np.frombuffer(lengthscale), np.frombuffer(noises)
    rows = np.frombuffer(X).reshape(len(variances), -1)
    gram = VALUES[kernel](squared_distance(rows, rows, scales))
    noisy = gram.copy()
    diagonal_of(noisy)[:] = 1.0 + variances
    return gram, inverse_from(cholesky(noisy))


_first_factorised = lru_cache(maxsize=3)(_at_once)
"""Of the first of many rows: for the anchor, its second opinion and the posterior. 24 MB each at a thousand rows."""


def _from_the_first(kernel: str, lengthscale: Array, X: Array, noises: Array) -> Factorised:
    """K and B of many rows: of the first of them once for as long as they stay, the others are added by the block form.

    First are those of the least noise, a multiple of `GROWTH`: while no fit is due they are the same from one suggestion to the
    next. Which they are depends on the rows alone, so that the last bit does not depend on what was asked before.
    """
    ordinary = noises == noises.min()
    order = np.concatenate([np.flatnonzero(ordinary), np.flatnonzero(~ordinary)])
    count = (int(ordinary.sum()) - 1) // GROWTH * GROWTH  # LAPACK takes no empty matrix: one is left
    if not count:
        return _at_once(kernel, lengthscale.tobytes(), X.tobytes(), noises.tobytes())
    first, rest = order[:count], order[count:]
    known = _first_factorised(kernel, lengthscale.tobytes(), X[first].tobytes(), noises[first].tobytes())
    cross = VALUES[kernel](squared_distance(X[first], X[rest], lengthscale))
    corner = VALUES[kernel](squared_distance(X[rest], X[rest], lengthscale))
    noisy = corner.copy()
    diagonal_of(noisy)[:] = 1.0 + noises[rest]
    gram, inverse = _joined(known[0], cross, corner), _grown(known[1], cross, noisy)
    if ordinary.all():
        return gram, inverse
    place = np.argsort(order)[:, None], np.argsort(order)
    return gram[place], inverse[place]


def _grown(inverse: Array, cross: Array, corner: Array) -> Array:
    """The inverse of [[A, cross], [cross^T, corner]] from that of A: `n x n`, `n x m`, `m x m`."""
    solved = inverse @ cross
    schur = inverse_from(cholesky(corner - cross.T @ solved))
    pulled = -solved @ schur
    first = pulled @ solved.T
    return _joined(np.subtract(inverse, first, out=first), pulled, schur)


def _joined(first: Array, cross: Array, corner: Array) -> Array:
    return np.block([[first, cross], [cross.T, corner]])


@dataclass(frozen=True)
class GaussianPosterior:
    """A Gaussian posterior over the objective, ready for fast evaluation, in the scaled units of its targets.

        mean(x) = k(x)^T a,    variance(x) = covariance_scale (1 - k(x)^T B k(x))

    `covariance_scale` is 1 for a Gaussian process; a Student-t process has its own.
    """

    X: Array
    lengthscale: Array
    kernel: str
    noise: float
    inverse: Array
    alpha: Array
    covariance_scale: float = 1.0
    gram: Array | None = None
    """K, where it is known."""

    @classmethod
    def condition(cls, X: Array, targets: Array, noises: Array, lengthscale: Array, kernel: str, noise: float) -> Self:
        """The posterior given `targets` (`n`) at `X` (`n x d`) with noise variances `noises` (`n`)."""
        if not len(X):  # the prior, which LAPACK would not take
            return cls(X, lengthscale, kernel, noise, np.empty((0, 0)), np.empty(0))
        gram, inverse = _factorised(kernel, lengthscale.tobytes(), X.tobytes(), noises.tobytes())
        return cls(X, lengthscale, kernel, noise, inverse, inverse @ targets, gram=gram)

    def mean(self, points: Array) -> Array:
        """Mean of the latent objective, shape `m`, at `points` (`m x d`)."""
        return (self.own_gram if points is self.X else self._kernel(points)) @ self.alpha

    @property
    def own_gram(self) -> Array:
        """K (`n x n`)."""
        return self._kernel(self.X) if self.gram is None else self.gram

    @cached_property
    def _rows(self) -> tuple[Array, Array]:
        return _partners(self.X, self.lengthscale)

    def _distance(self, points: Array) -> Array:
        """Squared scaled distances (`m x n`) of `points` (`m x d`) from the rows."""
        return apart(*_scaled(points, self.lengthscale), *self._rows)

    def _kernel(self, points: Array) -> Array:
        return VALUES[self.kernel](self._distance(points))

    def mean_and_variance(self, points: Array) -> tuple[Array, Array]:
        """Mean and variance of the latent objective, both of shape `m`, at `points` (`m x d`)."""
        mean, variance = np.empty(len(points)), np.empty(len(points))
        step = max(LEAST_BLOCK, BLOCK // max(1, len(self.X)) // 16 * 16)
        sheets = np.empty((5, min(step, len(points)), len(self.X)))
        for start in range(0, len(points), step):
            block = slice(start, start + step)
            distance, *room = sheets[:, : len(points[block])]
            apart(*_scaled(points[block], self.lengthscale), *self._rows, out=distance)
            k = VALUES[self.kernel](distance, room)
            mean[block] = k @ self.alpha
            solved = np.matmul(k, self.inverse, out=distance)  # the distances have served
            variance[block] = 1.0 - np.einsum("ij,ij->i", solved, k)
        return mean, self.covariance_scale * np.maximum(variance, 1e-12)

    def differentiable(self, points: Array) -> Marginals:
        """Mean and deviation at `points` (`m x d`), with what their gradients are made of."""
        k, h = KERNELS[self.kernel](self._distance(points))
        solved = k @ self.inverse
        variance = np.maximum(1.0 - np.einsum("ij,ij->i", solved, k), 1e-12)
        return Marginals(k @ self.alpha, np.sqrt(self.covariance_scale * variance), self, points, h, solved)

    def with_pending(self, pending: Array) -> Self:
        """The posterior once `pending` (`m x d`) report what it expects: the same mean exactly, less variance there.

        Appending a row with target mean(x) leaves every other coefficient as it was, so only B grows, by its block form.
        """
        if not len(pending):
            return self
        kernel = VALUES[self.kernel]
        cross = kernel(squared_distance(self.X, pending, self.lengthscale))
        gram = kernel(squared_distance(pending, pending, self.lengthscale))
        diagonal_of(gram)[:] = 1.0 + self.noise
        inverse = _grown(self.inverse, cross, gram)
        X, alpha = np.concatenate([self.X, pending]), np.concatenate([self.alpha, np.zeros(len(pending))])
        return type(self)(X, self.lengthscale, self.kernel, self.noise, inverse, alpha, self.covariance_scale)


@dataclass(frozen=True)
class Marginals:
    """Mean and deviation of a posterior at some points, both `m`, and the gradient of any function of the two."""

    mean: Array
    deviation: Array
    posterior: GaussianPosterior
    points: Array
    slope: Array
    solved: Array

    def gradient(self, by_mean: Array | float, by_deviation: Array | float) -> Array:
        """The gradient (`m x d`) of a function of mean and deviation whose partial derivatives (`m`, or numbers) are given.

        d mean = sum a_i dk_i;  d deviation = -covariance_scale / deviation * sum (B k)_i dk_i;  dk_i = -h_i (x - x_i) / ell^2
        """
        own = self.posterior
        pull_of_mean = np.multiply.outer(by_mean, own.alpha)
        pull_of_deviation = (by_deviation * own.covariance_scale / self.deviation)[:, None] * self.solved
        pull = self.slope * (pull_of_mean - pull_of_deviation)
        gradient: Array = (pull @ own.X - pull.sum(axis=1)[:, None] * self.points) / own.lengthscale**2
        return gradient


def latent_variance(gram: Array, inverse: Array) -> Array:
    """Variance of f(x_i) given all rows but i (`n`), from K and B (`n x n`).

    1/d_i - N_i with d = diag(B), written as (K B)_ii / d_i: nothing cancels when a lie's noise N_i is astronomical.
    """
    return np.maximum(np.einsum("ij,ij->i", gram, inverse) / inverse.diagonal(), 1e-12)


def leave_one_out(
    posterior: GaussianPosterior, target_shift: Array, own_noise: Array | float = 0.0
) -> tuple[Array, Array]:
    """Residual y_i - mu_-i and predictive variance of every observation under the model without it, both `n`.

    Closed form with d = diag(B): the residual is m_w,i + a_i / d_i, the variance that of f(x_i) plus that of the report: sigma^2
    and what the report brings itself (`own_noise`, `n`).
    """
    noise = posterior.noise + own_noise
    residual = noise * target_shift + posterior.alpha / posterior.inverse.diagonal()
    return residual, latent_variance(posterior.own_gram, posterior.inverse) + noise
