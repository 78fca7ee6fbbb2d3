"""The anchor of A2-RCGP: the ordinary GP on the trusted rows, and what it expects of every row without that row."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array, GaussianPosterior, Mask, leave_one_out

USUAL = float(ndtri(0.95))
"""The 90 % quantile of a Gaussian's |residual| / deviation."""


def expectations(
    X: Array, z: Array, trusted: Mask, hyper: Hyperparameters, kernel: str, own_noise: Array | None = None
) -> tuple[Array, Array]:
    """What the `trusted` rows expect of every row without it: mean and latent variance, both `n`.

    Leave-one-out in closed form for the trusted rows, a prediction for the others: no lie supports itself.
    """
    count = int(trusted.sum())
    own = np.zeros(count) if own_noise is None else own_noise[trusted]
    noises = hyper.noise + own
    anchor = GaussianPosterior.condition(X[trusted], z[trusted], noises, hyper.lengthscale, kernel, hyper.noise)
    mean, latent = np.empty(len(z)), np.empty(len(z))
    residual, variance = leave_one_out(anchor, np.zeros(count))
    mean[trusted], latent[trusted] = z[trusted] - residual, variance - hyper.noise
    mean[~trusted], latent[~trusted] = anchor.mean_and_variance(X[~trusted])
    return mean, latent


def overconfidence(residual: Array, variance: Array) -> float:
    """How much too small the deviations are, at least 1: the 90 % quantile of |residual| / deviation against the Gaussian's."""
    if len(residual) < 10:
        return 1.0
    return max(1.0, float(np.quantile(np.abs(residual) / np.sqrt(variance), 0.9)) / USUAL)
