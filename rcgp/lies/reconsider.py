"""Finding lies that were believed when nothing contradicted them, by what they make of all other rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rcgp.evidence import Evidence
from rcgp.fit import NOISE_BOUNDS, Data, Hyperparameters, fit, marginal_likelihood, objective_and_gradient
from rcgp.gaussian import Array, Mask
from rcgp.lies.anchor import expectations
from rcgp.state import Scaling, mask_of

LIE_PRICE, DOUBT_PRICE = 3.0, 4.0
"""What calling one more row a lie must gain in log likelihood of the others, and what doubting any at all must. In 40 clean runs
on five problems a simpler rest gained at most 6.8 by one row and 11.4 by four; with lies among them most gained 9 to 100."""

FEWEST = 10
"""Fewer trusted rows than this have no simpler explanation to speak of."""


def simplest_explanation(
    X: Array,
    y: Array,
    trusted: Mask,
    whole: Hyperparameters,
    kernel: str,
    allowed: int,
    evidence: Evidence | None = None,
) -> tuple[Mask, Hyperparameters] | None:
    """The rows to trust (`n`, boolean) and their own fit, if up to `allowed` of the `trusted` make all others hard to explain.

    A believed lie is explained by an objective that is rough or noisy everywhere, and then nothing is suspicious any more. So
    the rows that fit a smooth objective worst are left out, one after the other, and the rest is fitted alone. What counts is
    how much better this explains *the rest* than `whole`, the fit to all, does: how a row itself is explained does not, for
    honest extremes are badly explained too. Nor may the rows left out be most of the spread: they would be the objective. Who
    was vouched for by a person is not left out.
    """
    evidence, rest = evidence or Evidence.none(len(y)), np.flatnonzero(trusted)
    smooth, scaling = Hyperparameters.default(X.shape[1]), Scaling.of(y[rest])
    z, own = scaling.to_scaled(y), evidence.own_noise(scaling.deviation)
    best, explanation = DOUBT_PRICE, None
    for left_out in range(1, allowed + 1):
        everybody = np.full(len(rest), True)
        expected, latent = expectations(X[rest], z[rest], everybody, smooth, kernel, own[rest])
        surprise = (z[rest] - expected) ** 2 / (latent + smooth.noise + own[rest])
        rest = np.delete(rest, np.argmax(np.where(evidence.vouched[rest], -1.0, surprise)))
        spread = float(np.std(z[rest], ddof=1))
        if spread < 0.5:
            break
        data = Data.trusted(X[rest], Scaling.of(z[rest]).to_scaled(z[rest]), own[rest] / spread**2)
        with_all = replace(whole, noise=min(whole.noise / spread**2, NOISE_BOUNDS[1]))
        value, _ = objective_and_gradient(with_all.theta, data, kernel, marginal_likelihood)
        price = value + LIE_PRICE * left_out
        alone = fit(data, [smooth], kernel, marginal_likelihood, needed=price + best)
        gain = alone.value - price
        if gain > best and _is_simpler(alone.hyper, whole, spread):
            best, explanation = gain, (mask_of(rest, len(y)), alone.hyper)
    return explanation


def _is_simpler(alone: Hyperparameters, whole: Hyperparameters, spread: float) -> bool:
    """Whether the fit to the rest, whose scale is `spread`, is smoother or much less noisy than that to all."""
    smoother = bool(np.mean(np.log(alone.lengthscale / whole.lengthscale)) > 0.0)
    return smoother or alone.noise * spread**2 < 0.2 * whole.noise
