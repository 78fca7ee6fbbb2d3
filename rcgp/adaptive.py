"""A2-RCGP: an anchor model says what to expect of every row, and the plateau of the adaptive model is centred there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, stdtrit

from rcgp.evidence import Evidence
from rcgp.fit import Data, Hyperparameters, marginal_likelihood
from rcgp.fixed_center import RobustSurrogate, Told
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.agreement import Agreement, are_most, is_crowd, most_lies, most_lies_after, within_budget
from rcgp.lies.anchor import expectations, overconfidence
from rcgp.lies.believable import believable
from rcgp.lies.challenge import challenged, is_due
from rcgp.lies.insistence import insisting
from rcgp.lies.proportion import out_of_proportion
from rcgp.lies.reconsider import FEWEST, simplest_explanation
from rcgp.lies.repeated import Records, inflation, likelier_a_lie, repeated_values
from rcgp.lies.rival import Rival, honest_by_rivals
from rcgp.lies.score import Reports, explain
from rcgp.paper_adaptive import paper_update
from rcgp.state import Scaling, SurrogateState, mask_of, trusted_rows
from rcgp.surrogates import fitted_at, hyper_of, if_any
from rcgp.weights import SUSPECT_WEIGHT, PlateauIMQ

MANY_AT_ONCE = 16
"""More first rows than this are explained as a whole: among many, a lie hides behind the scale that it sets itself."""

LONGEST = 0.25
"""In units of sqrt(d): the longest length-scale of the second opinion. A handful of rows may look flat along a coordinate, and a
model that takes this for knowledge doubts the first honest drop (clean Branin 1.3 x GP-UCB)."""

UNKNOWN_SHARE = 0.1
"""How much of what the anchor does not know softens A2's decay. All of it leaves a rejected lie of a few ranges a say where
nothing else was measured (early crashes 1.9 x the oracle), none of it forgets honest surprises (clean data 1.3 x GP-UCB)."""

RECONSIDERED = 150
"""Up to so many rows the trusted ones are asked which of them make all others hard to explain. A matter of time: it takes as many
fits as there may be lies. That is also why, while every row brings a fit, only every third brings this."""


@dataclass(frozen=True)
class AdaptiveSurrogate(RobustSurrogate):
    """A2-RCGP: an anchor model centres the plateau of the adaptive one.

    Robust recipe. The anchor is the GP on the trusted rows (weight at least 1/2). It expects mu_-i +- s_i of every row, without
    that row: in closed form for its own, as a prediction for the others, so that no lie supports itself. The adaptive model is
    the RCGP with centre mu_-i, a plateau of about `width` deviations s_i and a decay of `decay` of them: A2's plateau, with
    x-dependent centre, width and decay. Four things keep honest data on it:

    - where nothing was measured the anchor only knows its own scale, which a few rows estimate badly. There the plateau reaches
      beyond the range of the trusted values, by `margin` times that range below it and by `ceiling` times above it: an honest
      drop that is doubted costs its regret again and again, an honest peak that is doubted is asked again for nothing;
    - of plausible suspects there are at most `budget` (default 1 + n^(1/3), or as many as there were): when there are more,
      those that agree with each other, or else the least suspicious, are believed again, and the fewer that contradict them
      are suspects;
    - an anchor that is wrong about its own rows more often than it thinks suspects less;
    - a row that an objective of shorter length-scales would explain is trusted: few rows in many dimensions say little of them.

    Two things find lies that were believed when there was nothing to contradict them: a few by `rcgp.lies.reconsider`, any number
    by `rcgp.lies.challenge`. And many rows told at once are explained as a whole, whatever the share of lies: `rcgp.lies.score`.
    """

    width: float = 3.0
    decay: float = 0.3
    margin: float = 1.7
    ceiling: float = 0.5
    budget: int | None = None
    gap: float = 20.0
    rounds: int = 4
    ask_rivals: bool = True
    bend: bool = True
    compare_reporters: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.width > 0.0 and self.decay > 0.0):
            raise ValueError(f"width and decay must be positive, got {self.width} and {self.decay}.")
        if not (self.margin >= 0.0 and self.ceiling >= 0.0):
            raise ValueError(f"margin and ceiling must be at least 0, got {self.margin} and {self.ceiling}.")
        if not self.rounds >= 1:
            raise ValueError(f"rounds must be at least 1, got {self.rounds}.")

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        n, evidence = len(y), evidence or Evidence.none(len(y))
        if self.recipe == "paper":
            return paper_update(self, X, y, previous, evidence)
        if previous is not None and are_most(~previous.trusted, y[: previous.n]):
            previous = None  # lies are fewer: all rows are looked at anew
        if previous is None and believable(y[: self.fit_rows], self.gap).sum() > MANY_AT_ONCE:
            first = slice(self.fit_rows)
            previous = self._told_at_once(X[first], y[first], evidence.rows(first))
            if n <= self.fit_rows:
                return previous
        due, hyper = self.fit_is_due(n, previous), hyper_of(previous)
        records = self._records(X, y, previous, evidence)
        doubted = self._doubted(X, y, previous, evidence)
        trusted = self._first_look(X, y, previous, evidence) & ~doubted
        allowed = self._allowed(y, previous, records.bad | doubted)
        if due and self._reconsiders(n, previous) and trusted.sum() >= FEWEST:
            suspects = np.append(~previous.trusted, np.zeros(n - previous.n, dtype=bool)) if previous else ~trusted
            if suspects.any() or is_due(n, previous.n if previous else 0):
                start = hyper or Hyperparameters.default(X.shape[1])
                trusted, doubted, hyper = self._challenged(X, y, trusted, (suspects, doubted), start, evidence)
            trusted, hyper = self._reconsidered(X, y, trusted, hyper, evidence)
        for _ in range(self.rounds):
            scaling = Scaling.of(y[trusted])
            told = Told.of(X, y, scaling, evidence)
            data = Data.trusted(X[trusted], told.z[trusted], told.own_noise[trusted])
            hyper = self.refit(data, marginal_likelihood, hyper, due=due)
            noise_inflation, target_shift, concluded = self._tested(told, trusted, hyper, allowed, records, doubted)
            if np.array_equal(concluded, trusted):
                break
            trusted, due = concluded, True
        assert hyper is not None
        readmitted = trusted & ~trusted_rows(noise_inflation)
        noise_inflation[readmitted], target_shift[readmitted] = 1.0, 0.0
        at, own, lies = fitted_at(n, due, previous), if_any(told.own_noise), if_any(doubted)
        return SurrogateState(scaling, hyper, noise_inflation, target_shift, at, own_noise=own, doubted=lies)

    def rivals(self, X: Array, y: Array, state: SurrogateState, evidence: Evidence) -> Iterator[Rival]:
        """The explanations that some suspects are right and what contradicts them is not: see `rcgp.lies.rival`."""
        if self.recipe == "paper" or not self.ask_rivals:
            return
        told = Told.of(X, y, state.scaling, evidence)
        agreement = self._agreement(told, told.z, state.hyper)
        for honest in honest_by_rivals(state, agreement, told.vouched, self.budget):
            yield Rival.of(honest, agreement)

    def insisting(self, X: Array, y: Array, state: SurrogateState) -> Mask:
        """Which suspects (`n`, boolean) say nothing new by saying it again: see `rcgp.lies.insistence`."""
        if self.recipe == "paper":
            return super().insisting(X, y, state)
        return insisting(X, state.scaling.to_scaled(y), state, self.kernel, self.budget)

    def _told_at_once(self, X: Array, y: Array, evidence: Evidence) -> SurrogateState:
        """The first state of many rows: who lies is what explains them best, and a row that lies has no plateau."""
        n, rows = len(y), np.flatnonzero(believable(y, self.gap) | evidence.vouched)
        most = (len(rows) - 1) // 2 if self.budget is None else self.budget
        told = Told.of(X, y, Scaling.of(y[rows]), evidence)
        reports = Reports(X[rows], told.z[rows], told.own_noise[rows], told.vouched[rows])
        explanation = explain(reports, most, self.kernel)
        trusted = mask_of(rows[explanation.honest], n)
        scaling = Scaling.of(y[trusted])
        told = Told.of(X, y, scaling, evidence)
        data = Data.trusted(X[trusted], told.z[trusted], told.own_noise[trusted])
        hyper = self.refit(data, marginal_likelihood, explanation.hyper)
        expected, latent = expectations(X, told.z, trusted, hyper, self.kernel, told.own_noise)
        believed, own, noise = (np.ones(n), np.zeros(n)), if_any(told.own_noise), hyper.noise + told.own_noise
        noise_inflation, target_shift = self._without_plateau(~trusted, told.z - expected, latent, noise, believed)
        return SurrogateState(scaling, hyper, noise_inflation, target_shift, n, own_noise=own)

    def _records(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> Records:
        """What the rows of the state before say of values that several places report."""
        known, value = 0 if previous is None else previous.n, repeated_values(X, y)
        if previous is None or not (previous.trusted.any() and (value[:known] != value[:1]).any()):
            return Records.clean(len(y))
        told = Told.of(X[:known], y[:known], previous.scaling, evidence.rows(slice(known)))
        finite = previous.trusted & np.isfinite(told.z)
        expected, latent = expectations(told.X, told.z, finite, previous.hyper, self.kernel, told.own_noise)
        variance = latent + previous.hyper.noise + told.own_noise
        likelier = likelier_a_lie(told.z, expected, variance)
        return Records.of(likelier, value)

    def _doubted(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> Mask:
        """Which rows (`n`, boolean) the last challenge took for lies, or are out of proportion; none where rows are too many."""
        asked = len(y) <= RECONSIDERED
        doubted = out_of_proportion(X, y, self.gap, self.kernel) if asked else np.zeros(len(y), dtype=bool)
        if asked and previous is not None and previous.doubted is not None:
            doubted[: previous.n] |= previous.doubted
        return doubted & np.isfinite(y) & ~evidence.vouched

    def _allowed(self, y: Array, previous: SurrogateState | None, free: Mask) -> int:
        """How many plausible suspects there may be: the budget, or else what is usual, or as many as there were.

        The `free` (`n`, boolean) need no budget: those of a bad value, and lies without which all others are explained better.
        """
        if self.budget is not None or previous is None:
            return most_lies(len(y), self.budget)
        z = previous.scaling.to_scaled(y[: previous.n])
        low, high = self._believable_range(z[previous.trusted])
        found = int((~previous.trusted & (z >= low) & (z <= high) & ~free[: previous.n]).sum())
        return most_lies_after(found, previous.n, len(y))

    def _first_look(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> Mask:
        """Which rows (`n`, boolean) are trusted at first: the old ones as before, new ones by the old model's prediction."""
        if previous is None or not previous.kept.any():
            return believable(y, self.gap) | evidence.vouched
        seen = previous.n
        trusted = np.concatenate([previous.trusted, np.isfinite(y[seen:])])
        if seen < len(y):
            posterior = previous.posterior(X[:seen], y[:seen], self.kernel)
            mean, variance = posterior.mean_and_variance(X[seen:])
            known = previous.scaling.to_scaled(y[:seen][trusted[:seen]])
            z = previous.scaling.to_scaled(y[seen:])
            noise = posterior.noise + evidence.own_noise(previous.scaling.deviation)[seen:]
            noise_inflation, _ = self._plateau(z, mean, variance, noise, known)(z - mean)
            trusted[seen:] &= trusted_rows(noise_inflation)
        return trusted | evidence.vouched

    def _reconsiders(self, n: int, previous: SurrogateState | None) -> bool:
        """Whether the trusted rows are reconsidered with the fit to `n` rows: when a multiple of three was passed.

        So it happens at the same rows however many of them arrive at a time.
        """
        known = 0 if previous is None else previous.n
        return n <= RECONSIDERED and (n > self.eager or n // 3 > known // 3)

    def _challenged(
        self, X: Array, y: Array, trusted: Mask, lies: tuple[Mask, Mask], start: Hyperparameters, evidence: Evidence
    ) -> tuple[Mask, Mask, Hyperparameters]:
        """The trusted rows and the lies after a challenge (`n`, boolean), and where the fit starts.

        Of the `lies` so far are known who was suspected and who was taken for one (`n`, boolean). Confirmed are only the first:
        who is suspected since now may be pardoned in a moment. More than there may be cannot be confirmed. What is far out is no
        part of it: that is a lie by itself, and stays one that was taken for one.
        """
        suspects, doubted = lies
        rows, crowd = self._in_question(X, y, trusted, start, evidence)
        told = Told.of(X[rows], y[rows], Scaling.of(y[rows]), evidence.rows(rows))
        reports = Reports(told.X, told.z, told.own_noise, told.vouched)
        most = len(rows) // 3 if self.budget is None else self.budget
        verdict = challenged(reports, trusted[rows], start, self.kernel, most, crowd)
        found, far_out = mask_of(rows[~verdict.honest], len(y)), doubted & ~mask_of(rows, len(y))
        if verdict.hyper is None:
            confirmed = found & suspects & ~trusted
            return trusted, far_out | (confirmed & (confirmed.sum() <= most)), start
        return mask_of(rows[verdict.honest], len(y)), far_out | found, verdict.hyper

    def _in_question(
        self, X: Array, y: Array, trusted: Mask, hyper: Hyperparameters, evidence: Evidence
    ) -> tuple[Rows, Mask | None]:
        """The rows of a challenge, and the crowd of suspects among them (boolean, one a row) if there is one.

        Beyond the believable range only a crowd is in question that was reached step by step, as an honest climb is.
        """
        z = Scaling.of(y[trusted]).to_scaled(y)
        low, high = self._believable_range(z[trusted])
        plausible = trusted | ((z >= low) & (z <= high))
        reached = plausible | believable(z, self.ceiling, trusted)
        if is_crowd(int((reached & ~trusted).sum()), len(y), self.budget):
            return np.flatnonzero(reached), ~trusted[reached]
        rows = np.flatnonzero(plausible)
        told = Told.of(X[rows], y[rows], Scaling.of(y[rows]), evidence.rows(rows))
        agreement = self._agreement(told, told.z, hyper)
        return rows, agreement.crowd(np.flatnonzero(~trusted[rows]), self.budget)

    def _reconsidered(
        self, X: Array, y: Array, trusted: Mask, hyper: Hyperparameters | None, evidence: Evidence
    ) -> tuple[Mask, Hyperparameters | None]:
        """The trusted rows (`n`, boolean) without those that make all others hard to explain, and where their fit starts."""
        allowed = most_lies(len(y), self.budget) - int((~trusted & np.isfinite(y)).sum())
        if allowed < 1:
            return trusted, hyper
        scaling = Scaling.of(y[trusted])
        own = evidence.own_noise(scaling.deviation)[trusted]
        data = Data.trusted(X[trusted], scaling.to_scaled(y[trusted]), own)
        whole = self.refit(data, marginal_likelihood, hyper)
        return simplest_explanation(X, y, trusted, whole, self.kernel, allowed, evidence) or (trusted, hyper)

    def _tested(
        self, told: Told, trusted: Mask, hyper: Hyperparameters, allowed: int, records: Records, doubted: Mask
    ) -> tuple[Array, Array, Mask]:
        """Noise inflation and target shift of every row by what the trusted ones expect, and who is trusted then (`n` each).

        The `doubted` (`n`, boolean) have no plateau.
        """
        z, noise = told.z, hyper.noise + told.own_noise
        expected, latent = expectations(told.X, z, trusted, hyper, self.kernel, told.own_noise)
        excess = overconfidence((z - expected)[trusted], (latent + noise)[trusted])
        plateau = self._plateau(z, expected, latent, noise, z[trusted], excess)
        noise_inflation, target_shift = told.weighed(plateau, z - expected)
        if not trusted_rows(noise_inflation).all():
            explained = self._explained_by_a_rougher(told, trusted, hyper, excess) & ~doubted
            noise_inflation = np.where(explained, 1.0, noise_inflation)
            target_shift = np.where(explained, 0.0, target_shift)
        if records.bad.any():
            p = records.probability(likelier_a_lie(z, expected, latent + noise)) * ~told.vouched
            noise_inflation = np.maximum(noise_inflation, inflation(p, latent, noise))
        noise_inflation, target_shift = self._without_plateau(
            doubted, z - expected, latent, noise, (noise_inflation, target_shift)
        )
        held = trusted_rows(noise_inflation)
        concluded = within_budget(
            # doubted for who says it, or by an explanation of all: no matter of how many there may be
            self._agreement(told, np.where((records.bad | doubted) & ~held, np.nan, z), hyper),
            held,
            suspicion=np.abs(z - expected) / plateau.width,
            allowed=allowed,
            believable=self._believable_range(z[held]),
            vouched=told.vouched,
        )
        return noise_inflation, target_shift, concluded

    def _agreement(self, told: Told, z: Array, hyper: Hyperparameters) -> Agreement:
        return Agreement(told.X, z, hyper, self.kernel, self.width, told.own_noise)

    def _plateau(
        self, z: Array, expected: Array, latent: Array, noise: Array, known: Array, overconfidence: float = 1.0
    ) -> PlateauIMQ:
        """The plateau of rows that say `z` where `expected` (+- root of `latent` + noise) was; the trusted ones say `known`.

        A model that is wrong about the trusted rows has no ground to suspect others: `overconfidence` times wider.
        """
        spread = np.sqrt(latent + noise)
        # few rows estimate the spread badly: Student-t tails instead of Gaussian ones
        near = overconfidence * float(stdtrit(max(2, len(known) - 2), ndtr(self.width))) * spread
        low, high = self._believable_range(known)
        far = np.maximum(np.where(z < expected, expected - low, high - expected), near)
        share = np.minimum(latent, 1.0)  # of the prior in what is unknown here
        return PlateauIMQ((1.0 - share) * near + share * far, self._decay(latent, noise))

    def _without_plateau(
        self, lies: Mask, residual: Array, latent: Array, noise: Array, others: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Noise inflation and target shift (`n` each) of `lies`, suspects however well they fit; of all others as given."""
        if not lies.any():
            return others
        noise_inflation, target_shift = PlateauIMQ(0.0, self._decay(latent, noise))(residual)
        noise_inflation = np.maximum(noise_inflation, 2.0 / SUSPECT_WEIGHT)
        return np.where(lies, noise_inflation, others[0]), np.where(lies, target_shift, others[1])

    def _decay(self, latent: Array, noise: Array) -> Array:
        """How fast trust falls beyond the plateau, for every row (`n`)."""
        decay: Array = self.decay * np.sqrt(noise + UNKNOWN_SHARE * latent)
        return decay

    def _believable_range(self, z: Array) -> tuple[float, float]:
        """Values that need no explanation where nothing was measured, given those of the trusted rows."""
        low, high = float(np.min(z, initial=-1.0)), float(np.max(z, initial=1.0))
        return low - self.margin * (high - low), high + self.ceiling * (high - low)

    def _explained_by_a_rougher(self, told: Told, trusted: Mask, hyper: Hyperparameters, overconfidence: float) -> Mask:
        """Rows (`n`, boolean) that a rougher objective would explain: few rows in many dimensions say little of roughness."""
        z, root = told.z, math.sqrt(told.X.shape[1])
        shorter = replace(hyper, lengthscale=np.minimum(hyper.lengthscale * max(0.5, 1.0 / root), LONGEST * root))
        expected, latent = expectations(told.X, z, trusted, shorter, self.kernel, told.own_noise)
        plateau = self._plateau(z, expected, latent, hyper.noise + told.own_noise, z[trusted], overconfidence)
        return trusted_rows(plateau(z - expected)[0])
