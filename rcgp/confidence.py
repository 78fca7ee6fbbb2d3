"""How wide to look: the multiplier of the deviation, by measurement, by the authors' runs, or by the paper's regret analysis.

Notation (the paper's)
    delta    failure probability              T, T_c   horizon, number of corruptions
    sigma2   noise variance                   kappa    bound of the kernel
    B_f      bound of the squared RKHS norm, so that |f| <= sqrt(B_f kappa)
    L, c     width and decay of the P-IMQ     beta'    GP-UCB's squared multiplier;  beta the robust one
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from rcgp.choices import unknown


def beta_prime_compact(t: int, delta: float, dim: int, *, a: float = 1.0, b: float = 1.0, r: float = 1.0) -> float:
    """beta'_t, the analysis' case 2 (compact, convex domain of side r); the paper drops the bracket of the first logarithm.

    2 log(t^2 2 pi^2 / (3 delta)) + 2 d log(t^2 d b r sqrt(log(4 d a / delta))).
    """
    first = 2.0 * math.log(t**2 * 2.0 * math.pi**2 / (3.0 * delta))
    return first + 2.0 * dim * math.log(t**2 * dim * b * r * math.sqrt(math.log(4.0 * dim * a / delta)))


def noise_bound(sigma2: float, horizon: int, delta: float) -> float:
    """N_T(delta), cases 1 and 2: sigma sqrt(2 log(T / delta)). In case 3 the noise is bounded by sigma itself."""
    return math.sqrt(sigma2 * 2.0 * math.log(horizon / delta))


def fixed_width(sigma2: float, horizon: int, delta: float, *, B_f: float = 1.0, kappa: float = 1.0) -> float:
    """L_T = sqrt(B_f kappa) + N_T(delta/3): the plateau of FC-RCGP and of A2's anchor."""
    return math.sqrt(B_f * kappa) + noise_bound(sigma2, horizon, delta / 3.0)


def shift_bound(sigma2: float, decay: float) -> float:
    """C_m = 4 sigma^2 / (3 sqrt 3 c): the largest influence of the target shift, in units of W."""
    return 4.0 * sigma2 / (3.0 * math.sqrt(3.0) * decay)


def influence_bound(sigma2: float, width: float, decay: float, center_deviation: float) -> float:
    """C_1 <= W (sqrt(L^2 + c^2) + sup |g - mu_uc| + C_m), W = sigma / sqrt 2: the most one observation can pull."""
    reach = math.hypot(width, decay) + center_deviation + shift_bound(sigma2, decay)
    return math.sqrt(sigma2 / 2.0) * reach


def deviation_constant(sigma2: float, width: float, decay: float, center_deviation: float) -> float:
    """C_w = sqrt 2 C_1 / sigma^2: |mu^R - mu_uc| <= C_w sqrt(T_c) sigma_uc."""
    return math.sqrt(2.0) * influence_bound(sigma2, width, decay, center_deviation) / sigma2


def variance_inflation(corruptions: int, sigma2: float, kappa: float = 1.0) -> float:
    """Psi(t_c) = sqrt(1 + a (1 + a)), a = t_c kappa / sigma^2: sigma_uc <= Psi sigma^R."""
    ratio = corruptions * kappa / sigma2
    return math.sqrt(1.0 + ratio * (1.0 + ratio))


def robust_root_beta(root_beta_prime: float, constant: float, corruptions: int) -> float:
    """sqrt(beta_t) = sqrt(beta'_t) + C_w sqrt(T_c)."""
    return root_beta_prime + constant * math.sqrt(corruptions)


class Schedule(Protocol):
    """The multiplier of the posterior deviation in the acquisition."""

    def __call__(self, n: int, *, dim: int, corruptions: int, sigma2: float, decay: float) -> float: ...


def usual_scale(dim: int) -> float:
    """0.9/d, at least 0.2: what costs least on the way.

    Measured by cumulative regret: in one dimension 0.9 was the best of 0.9, 1.3, 1.8 and 2.4; in 2, 4, 5, 6, 20 and 36 dimensions
    less was better down to 0.4 (d = 2) and 0.2 (the others), by up to five times the regret: most of a high-dimensional cube
    always looks promising to a wide bound. Searches that are judged by their answer look wider (`RCGPSearch`).
    """
    return max(0.2, 0.9 / dim)


@dataclass(frozen=True)
class Practical:
    """b_t = scale sqrt(log(2 (t + 2))), the default: no Psi and no C_w, which at real noise levels only explore.

    `scale` is by default `usual_scale`.
    """

    scale: float | None = None

    def __post_init__(self) -> None:
        if self.scale is not None and not self.scale > 0:
            raise ValueError(f"Practical.scale must be positive, got {self.scale}.")

    def __call__(self, n: int, *, dim: int, corruptions: int, sigma2: float, decay: float) -> float:
        scale = usual_scale(dim) if self.scale is None else self.scale
        return scale * math.sqrt(math.log(2.0 * (n + 2.0)))


@dataclass(frozen=True)
class Paper:
    """b_t = max(1, 1.7 sqrt(2 log(t + 2))): what the authors' own runs use, again without Psi and C_w."""

    def __call__(self, n: int, *, dim: int, corruptions: int, sigma2: float, decay: float) -> float:
        return max(1.0, 1.7 * math.sqrt(2.0 * math.log(n + 2.0)))


@dataclass(frozen=True)
class Theory:
    """sqrt(beta_t) Psi(T_c) with the constants of the analysis (case 2). Sound, and very wide."""

    horizon: int
    delta: float = 0.1
    B_f: float = 1.0
    kappa: float = 1.0

    def __call__(self, n: int, *, dim: int, corruptions: int, sigma2: float, decay: float) -> float:
        root_prime = math.sqrt(beta_prime_compact(n + 1, self.delta / 3.0, dim))
        width = fixed_width(sigma2, self.horizon, self.delta, B_f=self.B_f, kappa=self.kappa)
        # the uncorrupted mean is within sqrt(kappa) (sqrt(beta') + sqrt(B_f)) of the centre 0
        center_deviation = math.sqrt(self.kappa) * (root_prime + math.sqrt(self.B_f))
        constant = deviation_constant(sigma2, width, decay, center_deviation)
        inflation = variance_inflation(corruptions, sigma2, self.kappa)
        return robust_root_beta(root_prime, constant, corruptions) * inflation


SCHEDULES = ("practical", "paper", "theory")


def make_schedule(name: str, *, horizon: int | None, scale: float | None = None) -> Schedule:
    """The schedule of that name; `theory` needs a horizon, `scale` is for `practical` only."""
    if name not in SCHEDULES:
        raise ValueError(unknown("schedule", name, SCHEDULES))
    if name == "theory":
        if horizon is None:
            raise ValueError("schedule='theory' needs the horizon (number of trials): pass horizon=T.")
        return Theory(horizon)
    if name == "paper":
        return Paper()
    return Practical(scale)
