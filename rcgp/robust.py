"""The paper's two algorithms, each a rule for who is believed how far: FC-RCGP and A2-RCGP."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from rcgp.fit import (
    NOISE_BOUNDS,
    POWERS,
    Data,
    Hyperparameters,
    fit,
    leave_one_out_score,
    marginal_likelihood,
    objective_and_gradient,
)
from rcgp.gaussian import KERNELS, Array, Belief, Mask, Rows, leave_one_out, squared_distance
from rcgp.judgement import SUSPECT_FACTOR, Judgement, Scaling
from rcgp.surrogates import Surrogate, fitted_at, hyper_of
from rcgp.weights import PlateauIMQ

VANISHED = 1e100
"""Rows with a larger noise factor do not enter a fit: their weight is nothing, and its square would underflow."""

MANY_AT_ONCE = 16
"""More rows than this are not judged all at once: among many, a lie hides behind the scale that it sets itself."""

LONGEST = 0.25
"""In units of sqrt(d): the longest length-scale of the second opinion. A handful of rows may look flat along a coordinate, and a
model that takes this for knowledge doubts the first honest drop (clean Branin 1.3 x GP-UCB)."""

UNKNOWN_SHARE = 0.1
"""How much of what the anchor does not know softens A2's decay. All of it leaves a rejected lie of a few ranges a say where
nothing else was measured (early crashes 1.9 x the oracle), none of it forgets honest surprises (clean data 1.3 x GP-UCB)."""

RECONSIDERED = 150
"""Up to so many rows the trusted ones are asked which of them make all others hard to explain. A matter of time: it takes as many
fits as there may be lies. That is also why, while every row brings a fit, only every third brings this."""

LIE_PRICE, DOUBT_PRICE = 3.0, 4.0
"""What calling one more row a lie must gain in log likelihood of the others, and what doubting any at all must. In 40 clean runs
on five problems a simpler rest gained at most 6.8 by one row and 11.4 by four; with lies among them most gained 9 to 100."""

FAR_OUT = 2
"""So many times the budget must agree before values out of the believable range are believed: who drops a lie asks at the same
place again, and is lied to again."""

Recipe = Literal["robust", "paper"]


@dataclass(frozen=True)
class RobustSurrogate(Surrogate):
    """What FC-RCGP and A2-RCGP share.

    `recipe="paper"` is the authors' own: plain standardising, plateau at the 95 % quantile of the distance from the median,
    decay 1, leave-one-out weighted by the first power of the weights. `recipe="robust"` is the default.
    """

    recipe: Recipe = "robust"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.recipe not in ("robust", "paper"):
            raise ValueError(f"Unknown recipe {self.recipe!r}: choose one of robust, paper.")

    def fixed_center(
        self, z: Array, X: Array, width: float, decay: float, start: Hyperparameters | None, *, due: bool
    ) -> tuple[Hyperparameters, Array, Array]:
        """Hyper-parameters, noise factor and shift (`n`) of the RCGP with centre 0."""
        factor, shift = PlateauIMQ(width, decay)(z)
        kept = factor < VANISHED
        data = Data(X, z, factor, shift).rows(kept)
        return self.refit(data, leave_one_out_score(POWERS[self.recipe]), start, due=due), factor, shift


@dataclass(frozen=True)
class FixedCenterSurrogate(RobustSurrogate):
    """FC-RCGP: centre 0, one plateau for all.

    The robust recipe estimates the bound sqrt(B_f kappa) of |f| from what is believable: values that can be reached from those
    believed before without crossing a gap of more than `gap` times their range. They set the scale and the plateau.
    """

    gap: float = 20.0
    decay: float = 1.0

    def judge(self, X: Array, y: Array, previous: Judgement | None) -> Judgement:
        n, due, start = len(y), self.fit_is_due(len(y), previous), hyper_of(previous)
        trusted = np.isfinite(y) if self.recipe == "paper" else believable(y, self.gap, _trusted_before(n, previous))
        scaling = Scaling.of(y[trusted])
        z = scaling.to_scaled(y)
        width = paper_width(z) if self.recipe == "paper" else float(np.max(np.abs(z[trusted]), initial=1.0))
        hyper, factor, shift = self.fixed_center(z, X, width, self.decay, start, due=due)
        return Judgement(scaling, hyper, factor, shift, fitted_at(n, due, previous))


@dataclass(frozen=True)
class AdaptiveSurrogate(RobustSurrogate):
    """A2-RCGP: an anchor model centres the plateau of the adaptive one.

    Robust recipe. The anchor is the GP on the trusted rows (J < 2). It expects mu_-i +- s_i of every row, without that row:
    in closed form for its own, as a prediction for the others, so that no lie vouches for itself. The adaptive model is the
    RCGP with centre mu_-i, a plateau of about `width` deviations s_i and a decay of `decay` of them: A2's plateau, with
    x-dependent centre, width and decay. Four things keep honest data on it:

    - where nothing was measured the anchor only knows its own scale, which a few rows estimate badly. There the plateau reaches
      beyond the range of the trusted values, by `margin` times that range below it and by `ceiling` times above it: an honest
      drop that is doubted costs its regret again and again, an honest peak that is doubted is asked again for nothing;
    - of plausible suspects there are at most `budget` (default 1 + n^(1/3)): when there are more, those that agree with
      each other, or else the least suspicious, are believed again, and the fewer that contradict them are suspects;
    - an anchor that is wrong about its own rows more often than it thinks suspects less;
    - whoever an objective of shorter length-scales would explain is pardoned: few rows in many dimensions say little of them.

    And one thing finds lies that were believed when there was nothing to contradict them: see `_reconsider`.
    """

    width: float = 3.0
    decay: float = 0.3
    margin: float = 1.7
    ceiling: float = 0.5
    budget: int | None = None
    gap: float = 20.0
    rounds: int = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.width > 0.0 and self.decay > 0.0):
            raise ValueError(f"width and decay must be positive, got {self.width} and {self.decay}.")
        if not (self.margin >= 0.0 and self.ceiling >= 0.0):
            raise ValueError(f"margin and ceiling must be at least 0, got {self.margin} and {self.ceiling}.")

    def judge(self, X: Array, y: Array, previous: Judgement | None) -> Judgement:
        if self.recipe == "paper":
            return self._by_the_paper(X, y, previous)
        if previous is None and len(y) > MANY_AT_ONCE:  # told at once: the first half judges the second
            half = len(y) // 2
            previous = self.judge(X[:half], y[:half], None)
        n, due = len(y), self.fit_is_due(len(y), previous)
        hyper = hyper_of(previous)
        trusted = self._first_look(X, y, previous)
        if due and n <= RECONSIDERED and (n % 3 == 0 or n > self.eager):
            trusted, hyper = self._reconsider(X, y, trusted, hyper)
        scaling, factor, shift = Scaling.of(y[trusted]), np.ones(n), np.zeros(n)
        for _ in range(self.rounds):
            scaling = Scaling.of(y[trusted])
            z = scaling.to_scaled(y)
            hyper = self.refit(Data.trusted(X[trusted], z[trusted]), marginal_likelihood, hyper, due=due)
            expected, latent = self._expectations(X, z, trusted, hyper)
            doubt = _overconfidence((z - expected)[trusted], latent[trusted] + hyper.noise)
            plateau = self._plateau(z, expected, latent, hyper.noise, z[trusted], doubt)
            factor, shift = plateau(z - expected)
            if (factor >= SUSPECT_FACTOR).any():
                pardoned = self._second_opinion(X, z, trusted, hyper, doubt)
                factor, shift = np.where(pardoned, 1.0, factor), np.where(pardoned, 0.0, shift)
            verdict = self._within_budget(X, z, np.abs(z - expected) / plateau.width, factor < SUSPECT_FACTOR, hyper)
            if np.array_equal(verdict, trusted):
                break
            trusted, due = verdict, True
        assert hyper is not None
        readmitted = trusted & (factor >= SUSPECT_FACTOR)
        factor[readmitted], shift[readmitted] = 1.0, 0.0
        return Judgement(scaling, hyper, factor, shift, fitted_at(n, due, previous))

    def _first_look(self, X: Array, y: Array, previous: Judgement | None) -> Mask:
        """Who is trusted before the models speak: the old verdicts, and new rows by the old model's prediction."""
        if previous is None or not previous.kept.any():
            return believable(y, self.gap)
        seen = len(previous.factor)
        trusted = np.concatenate([previous.factor < SUSPECT_FACTOR, np.isfinite(y[seen:])])
        if seen < len(y):
            belief = previous.belief(X[:seen], y[:seen], self.kernel)
            mean, variance = belief.mean_and_variance(X[seen:])
            known = previous.scaling.to_scaled(y[:seen][trusted[:seen]])
            z = previous.scaling.to_scaled(y[seen:])
            factor, _ = self._plateau(z, mean, variance, belief.noise, known)(z - mean)
            trusted[seen:] &= factor < SUSPECT_FACTOR
        return trusted

    def _reconsider(
        self, X: Array, y: Array, trusted: Mask, hyper: Hyperparameters | None
    ) -> tuple[Mask, Hyperparameters | None]:
        """Doubt the few trusted rows without which all others have a much simpler explanation.

        A believed lie is explained by an objective that is rough or noisy everywhere, and then nothing is suspicious any more. So
        the rows that fit a smooth objective worst are left out, one after the other, and the rest is fitted alone. What counts is
        how much better this explains *the rest* than the fit to all does: how a row itself is explained does not, for honest
        extremes are badly explained too. Nor may the rows left out be most of the spread: they would be the objective.
        """
        rows = rest = np.flatnonzero(trusted)
        allowed = self._allowed(len(y)) - int((~trusted & np.isfinite(y)).sum())
        if len(rows) < 10 or allowed < 1:
            return trusted, hyper
        smooth, z = Hyperparameters.default(X.shape[1]), Scaling.of(y[rows]).to_scaled(y)
        whole = self.refit(Data.trusted(X[rows], z[rows]), marginal_likelihood, hyper)
        best, conclusion = DOUBT_PRICE, (trusted, hyper)
        for left_out in range(1, allowed + 1):
            expected, latent = self._expectations(X[rest], z[rest], np.full(len(rest), True), smooth)
            rest = np.delete(rest, np.argmax((z[rest] - expected) ** 2 / (latent + smooth.noise)))
            spread = float(np.std(z[rest], ddof=1))
            if spread < 0.5:
                break
            data = Data.trusted(X[rest], Scaling.of(z[rest]).to_scaled(z[rest]))
            alone = fit(data, [smooth], self.kernel, marginal_likelihood)
            with_all = replace(whole, noise=min(whole.noise / spread**2, NOISE_BOUNDS[1]))
            value, _ = objective_and_gradient(with_all.theta, data, self.kernel, marginal_likelihood)
            gain = alone.value - value - LIE_PRICE * left_out
            smoother = np.mean(np.log(alone.hyper.lengthscale / whole.lengthscale)) > 0.0
            if gain > best and (smoother or alone.hyper.noise * spread**2 < 0.2 * whole.noise):
                best, conclusion = gain, (_mask(rest, len(y)), alone.hyper)
        return conclusion

    def _plateau(
        self, z: Array, expected: Array, latent: Array, noise: float, known: Array, doubt: float = 1.0
    ) -> PlateauIMQ:
        """The plateau of rows that say `z` where `expected` (+- root of `latent` + noise) was; the trusted ones say `known`.

        A model that is wrong about the trusted rows has no ground to suspect others: `doubt` times wider.
        """
        spread = np.sqrt(latent + noise)
        # few rows estimate the spread badly: Student-t tails instead of Gaussian ones
        near = doubt * float(student_t.ppf(norm.cdf(self.width), max(2, len(known) - 2))) * spread
        low, high = self._believable_range(known)
        far = np.maximum(np.where(z < expected, expected - low, high - expected), near)
        share = np.minimum(latent, 1.0)  # of the prior in what is unknown here
        decay = self.decay * np.sqrt(noise + UNKNOWN_SHARE * latent)
        return PlateauIMQ((1.0 - share) * near + share * far, decay)

    def _believable_range(self, z: Array) -> tuple[float, float]:
        """Values that need no explanation where nothing was measured, given those of the trusted rows."""
        low, high = float(np.min(z, initial=-1.0)), float(np.max(z, initial=1.0))
        return low - self.margin * (high - low), high + self.ceiling * (high - low)

    def _second_opinion(self, X: Array, z: Array, trusted: Mask, hyper: Hyperparameters, doubt: float) -> Mask:
        """Rows (`n`, boolean) that a rougher objective would explain: few rows in many dimensions say little of roughness."""
        root = math.sqrt(X.shape[1])
        shorter = np.minimum(hyper.lengthscale * max(0.5, 1.0 / root), LONGEST * root)
        expected, latent = self._expectations(X, z, trusted, replace(hyper, lengthscale=shorter))
        factor, _ = self._plateau(z, expected, latent, hyper.noise, z[trusted], doubt)(z - expected)
        pardoned: Mask = factor < SUSPECT_FACTOR
        return pardoned

    def _within_budget(self, X: Array, z: Array, suspicion: Array, trusted: Mask, hyper: Hyperparameters) -> Mask:
        """Believe some again while there are more suspects than the adversary could afford.

        Those that agree with each other and are too many to be lies, however far out; or else the least suspicious ones. The
        fewer rows that contradict them are suspects then.
        """
        allowed = self._allowed(len(z))
        suspects = np.flatnonzero(~trusted & np.isfinite(z))
        if len(suspects) <= allowed:
            return trusted
        group = suspects[self._largest_agreement(X[suspects], z[suspects], hyper)]
        low, high = self._believable_range(z[trusted])
        plausible = suspects[(z[suspects] >= low) & (z[suspects] <= high)]
        crowd = allowed if np.isin(group, plausible).all() else FAR_OUT * allowed
        if len(group) <= crowd and len(plausible) <= allowed:
            return trusted
        believed = group if len(group) > crowd else group[np.isin(group, plausible)]
        if len(believed) < 2:  # nobody speaks for another
            order = plausible[np.argsort(suspicion[plausible], kind="stable")]
            believed = order[: len(plausible) - allowed]
        verdict = trusted.copy()
        verdict[believed] = True
        opponents = self._opponents(X, z, believed, trusted, hyper)
        if len(opponents) < len(believed):  # both sides cannot be right; a fit on both would call everything noise
            verdict[opponents] = False
        return verdict

    def _allowed(self, n: int) -> int:
        """How many of `n` rows may be plausible lies."""
        return self.budget if self.budget is not None else 1 + math.floor(n ** (1 / 3) + 1e-9)

    def _opponents(self, X: Array, z: Array, group: Rows, trusted: Mask, hyper: Hyperparameters) -> Rows:
        """The trusted rows close to one of the group whose values differ more than the prior and noise allow."""
        rows = np.flatnonzero(trusted)
        near, tolerance = self._tolerance(X[rows], X[group], hyper)
        against = (near > 0.5) & (np.abs(z[rows][:, None] - z[group]) > tolerance)
        return rows[against.any(axis=1)]

    def _largest_agreement(self, X: Array, z: Array, hyper: Hyperparameters) -> Mask:
        """The most rows (`m`, boolean) around one of them whose values differ no more than the prior and noise allow."""
        near, tolerance = self._tolerance(X, X, hyper)
        agree = (near > 0.5) & (np.abs(z[:, None] - z) <= tolerance)
        largest: Mask = agree[np.argmax(agree.sum(axis=1))]
        return largest

    def _tolerance(self, left: Array, right: Array, hyper: Hyperparameters) -> tuple[Array, Array]:
        """Correlation of every pair of points, and how far apart their reports may be, both `m x n`."""
        near, _ = KERNELS[self.kernel](squared_distance(left, right, hyper.lengthscale))
        return near, self.width * np.sqrt(2.0 * (1.0 - near) + 2.0 * hyper.noise)

    def _expectations(self, X: Array, z: Array, trusted: Mask, hyper: Hyperparameters) -> tuple[Array, Array]:
        """What the trusted rows expect of every row without it: mean and latent variance, both `n`."""
        count = int(trusted.sum())
        noises = np.full(count, hyper.noise)
        anchor = Belief.condition(X[trusted], z[trusted], noises, hyper.lengthscale, self.kernel, hyper.noise)
        mean, latent = np.empty(len(z)), np.empty(len(z))
        residual, variance = leave_one_out(anchor, np.zeros(count))
        mean[trusted], latent[trusted] = z[trusted] - residual, variance - hyper.noise
        mean[~trusted], latent[~trusted] = anchor.mean_and_variance(X[~trusted])
        return mean, latent

    def _by_the_paper(self, X: Array, y: Array, previous: Judgement | None) -> Judgement:
        """Anchor with centre 0; the adaptive model is centred on the anchor's posterior mean, with the same plateau."""
        n, due = len(y), self.fit_is_due(len(y), previous)
        scaling = Scaling.of(y[np.isfinite(y)])
        z = scaling.to_scaled(y)
        width = paper_width(z)
        hyper, factor, shift = self.fixed_center(z, X, width, 1.0, previous.anchor if previous else None, due=due)
        anchor = Judgement(scaling, hyper, factor, shift, n)
        mean, _ = anchor.belief(X, y, self.kernel).mean_and_variance(X)
        factor, shift = PlateauIMQ(width, 1.0)(z - mean)
        kept = factor < VANISHED
        data = Data(X, z, factor, shift).rows(kept)
        own = self.refit(data, leave_one_out_score(POWERS["paper"]), hyper_of(previous), due=due)
        return Judgement(scaling, own, factor, shift, fitted_at(n, due, previous), anchor=hyper)


def paper_width(z: Array) -> float:
    """The authors' plateau: the 95 % quantile of |z - median| over the finite rows of `z` (`n`)."""
    finite = z[np.isfinite(z)]
    return float(np.quantile(np.abs(finite - np.median(finite)), 0.95)) if len(finite) else 1.0


def believable(y: Array, gap: float, known: Mask | None = None) -> Mask:
    """Rows (`n`, boolean) that can be reached from trusted ones without a gap of more than `gap` times the range so far.

    Trusted from the start are the `known` rows, or else the central half of `y`. The range of a handful of values says
    little: below 20 rows the gap must be larger, as (20/n)^3.
    """
    finite = np.flatnonzero(np.isfinite(y))
    order = finite[np.argsort(y[finite], kind="stable")]
    values, n = y[order], len(order)
    if n < 3:
        return np.isfinite(y)
    inside = np.flatnonzero(known[order]) if known is not None else np.empty(0, dtype=int)
    low, high = (inside[0], inside[-1]) if len(inside) > 2 else ((n - 1) // 4, n - 1 - (n - 1) // 4)
    gap *= max(1.0, 20.0 / n) ** 3
    with np.errstate(over="ignore"):
        while low > 0 and values[low] - values[low - 1] <= gap * (values[high] - values[low]):
            low -= 1
        while high < n - 1 and values[high + 1] - values[high] <= gap * (values[high] - values[low]):
            high += 1
    return _mask(order[low : high + 1], len(y))


def _overconfidence(residual: Array, variance: Array) -> float:
    """How much too small the deviations are, at least 1: the 90 % quantile of |residual| / deviation against the Gaussian's."""
    if len(residual) < 10:
        return 1.0
    return max(1.0, float(np.quantile(np.abs(residual) / np.sqrt(variance), 0.9)) / float(norm.ppf(0.95)))


def _mask(rows: Rows, n: int) -> Mask:
    """Which of `n` rows are among `rows`, as booleans."""
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def _trusted_before(n: int, previous: Judgement | None) -> Mask | None:
    """The rows (`n`, boolean) that the previous judgement trusted; new ones are not among them."""
    if previous is None:
        return None
    trusted = np.zeros(n, dtype=bool)
    trusted[: len(previous.factor)] = previous.factor < SUSPECT_FACTOR
    return trusted
