"""The answer at the end: which row is handed over, how sure that is, and whose report decides it.

A *place* is a row with all rows that correlate with it by `SAME_PLACE` or more. Its trusted reports say one thing, its suspects
(where there are any) another, and the rows further away expect N(m, v) there. So one of three is true of a place:

    its trusted reports are right    weight exp(T),  T = a log((1 - p)/p) + log t(z | m, v) - log q(z)
    its suspects are right           weight exp(S),  the same of their b reports
    all of them are lies             weight 1

with a trusted reports and b suspects, p the learned share of lies, t a Student-t density and q that of a lie (`rcgp.lies.score`).
What the reports of one side say counts once, because lies agree with each other as well as truths do; that there are more of them
counts each time. A report decides the answer as far as another row would be handed over if it were a lie.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import logsumexp, ndtr

from rcgp.acquisition import taken
from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, Rows, cholesky, diagonal_of, squared_distance
from rcgp.lies.score import SHARE_PRIOR, log_lie, log_student

SAME_PLACE = 0.9
"""Correlation from which on two rows report on one place."""

AROUND = 0.5
"""Correlation up to which rows are far enough away to say what to expect: lies nearer by would vouch for each other (with 0.9
instead, five looks mended none of the wrong answers of Forrester under moderate lies; with 0.5 all of them)."""

FURTHER = 0.2
"""The same for looks at the end, as a second view: two lies further apart hold each other up, and whoever leaves out one sees the
other. Alone it loses what `AROUND` finds, for it knows less of every place."""

CERTAIN = 12
"""So many trusted reports at one place are never all lies."""

CONVINCED = 0.95
"""How probable it must be that the suspects of a place are right before their claim is handed over. Three lies against two truths
reached 0.88, three truths against one lie 0.97."""

SETTLED, LOOKS = 5, 2.0
"""From so many reports at the best place on a search may have settled there; and how many trials go elsewhere then, times the
root of the number of reports there."""

EARLIEST = 30
"""Fewer reports than this are better followed by new ones: nobody has settled so soon, whatever it looks like."""

MOST_AROUND = 60
"""So many of the rows around a place are left out at most: a matter of time where there are thousands."""

SAMPLES, RIVALS, JITTER = 1000, 200, 1e-6


@dataclass(frozen=True)
class Recommendation:
    """The observation to hand over: what is believed of it, in units of `y`, and what that rests on.

    `support` counts the believed reports at its place, itself included. `probability_best` is that of no observed point being
    better by more than the noise of one report, of the reports at its place being true, and of no better place being thought
    worse because of lies.
    """

    index: int
    mean: float
    std: float
    support: int
    probability_best: float

    @property
    def unsupported(self) -> bool:
        """Whether it rests on one report that nobody repeated."""
        return self.support < 2


@dataclass(frozen=True)
class Hypotheses:
    """Of some places (`m`): reports of the trusted and of the suspects, `log_p` (`m x 3`) of the trusted, the suspects or nobody
    being right, what the suspects claim, and what to expect (`m` each) where nobody is."""

    trusted: Rows
    suspects: Rows
    log_p: Array
    claim: Array
    mean: Array
    deviation: Array

    @property
    def p(self) -> Array:
        """The three probabilities (`m x 3`)."""
        return np.exp(self.log_p)


@dataclass(frozen=True)
class Answer:
    """All rows `X` (`n x d`) with scaled reports `z` (`n`), who is trusted, the posterior on the `kept` ones, and how much of
    every row's value the others support (`n`)."""

    X: Array
    z: Array
    trusted: Mask
    kept: Mask
    posterior: GaussianPosterior
    supported: Array

    @cached_property
    def value(self) -> Array:
        """What every row (`n`) is worth: what is supported, or what several suspects convincingly claim."""
        value, doubted = self.supported.copy(), np.flatnonzero(~self.trusted & np.isfinite(self.z))
        may_convince = self._may_convince(doubted)
        if not may_convince.any():
            return value
        p = self.hypotheses(doubted).p
        convinced = may_convince & (p[:, 1] >= CONVINCED) & np.isfinite(value[doubted])
        rows = doubted[convinced]
        value[rows] = p[convinced, 1] * self.z[rows] + p[convinced, 0] * value[rows]
        return value

    def _may_convince(self, rows: Rows) -> Mask:
        """Which of these suspects (`m`, boolean) do not stand alone at their place.

        Where nobody but suspects reports from a place, or the last who was asked there is believed, they may be lies that agree
        with each other.
        """
        if len(rows) < 2:
            return np.zeros(len(rows), dtype=bool)
        there = (self._correlation(rows, np.arange(len(self.z))) >= SAME_PLACE) & np.isfinite(self.z)
        latest = len(self.z) - 1 - np.argmax(there[:, ::-1], axis=1)
        several = (there & ~self.trusted).sum(axis=1) > 1
        may: Mask = several & (there & self.trusted).any(axis=1) & ~self.trusted[latest]
        return may

    @cached_property
    def index(self) -> int:
        """The row to hand over: not a suspect that itself says worse of its place than is expected there, if there is another.

        A wall that was doubted four times was handed over, because the model that doubted it expected something good there.
        """
        said = self.trusted | (self.z >= self.supported) | (self.value != self.supported)
        value = np.where(said, self.value, -np.inf)
        return int(np.argmax(value if np.isfinite(value).any() else self.value))

    def recommendation(self) -> Recommendation:
        """The row to hand over and what it rests on, in scaled units."""
        row = self.index
        found = self.hypotheses(np.array([row]))
        side = int(self.value[row] != self.supported[row])
        reports = int((found.trusted, found.suspects)[side][0])
        mean, variance = self.posterior.mean_and_variance(self.X[[row]])
        p = float(found.p[0, side]) if reports else 1.0
        value = float(mean[0]) if side == 0 else float(self.value[row])
        p *= self._none_is_better(row) * (1.0 - self._held_down(row))
        return Recommendation(row, value, math.sqrt(variance[0]), reports, p)

    def _held_down(self, row: int) -> float:
        """How probable it is that a better place is thought worse because of lies: of the likeliest."""
        found, height = self._elsewhere(row), float(self.value[row])
        better = ndtr((found.mean - height) / found.deviation)
        risk = found.p[:, 2] * better + found.p[:, 1] * (found.claim > height)
        return float(np.max(risk, initial=0.0))

    def _elsewhere(self, row: int) -> Hypotheses:
        """What may be true of the places of all other rows."""
        rows = np.flatnonzero(np.isfinite(self.z))
        near = self._correlation(rows, np.array([row]))[:, 0]
        return self.hypotheses(rows[near < SAME_PLACE])

    def _none_is_better(self, row: int) -> float:
        """How probable it is that no row is better than this one by more than a report's noise: samples of all, jointly."""
        mean, variance = self.posterior.mean_and_variance(self.X)
        rivals = np.argsort(-(mean + 3.0 * np.sqrt(variance)), kind="stable")[:RIVALS]
        points = self.X[np.append(rivals[rivals != row], row)]
        mean, root = self._joint(points)
        drawn = mean + np.random.default_rng(0).standard_normal((SAMPLES, len(points))) @ root.T
        drawn[:, -1] += max(float(self.value[row] - mean[-1]), 0.0)
        return float(np.mean(drawn[:, -1] + math.sqrt(self.posterior.noise) >= drawn.max(axis=1)))

    def _joint(self, points: Array) -> tuple[Array, Array]:
        """Mean (`m`) and a root of the covariance (`m x m`) of the objective at `points` (`m x d`)."""
        own = self.posterior
        k = VALUES[own.kernel](squared_distance(points, own.X, own.lengthscale))
        prior = VALUES[own.kernel](squared_distance(points, points, own.lengthscale))
        covariance = own.covariance_scale * (prior - k @ own.inverse @ k.T)
        diagonal_of(covariance)[:] += JITTER
        return k @ own.alpha, cholesky(covariance)

    def to_confirm(self, candidates: int, pending: Array) -> int | None:
        """The row to repeat at the end: what would be handed over as long as that was run only once, then what decides it."""
        best = self.index
        once = self._runs(best) < 2 and np.isfinite(self.z[best]) and not taken(self.X[[best]], pending)[0]
        return best if once else self.decisive(candidates, pending)

    def _runs(self, row: int) -> int:
        """How many reports there are of this very point, or of points that differ from it by less than the noise of a report."""
        k = self._correlation(np.arange(len(self.z)), np.array([row]))[:, 0]
        return int((np.isfinite(self.z) & (2.0 * (1.0 - k) <= self.posterior.noise)).sum())

    def decisive(self, candidates: int, pending: Array, views: Sequence[float] = (AROUND, FURTHER)) -> int | None:
        """The row to repeat: the one whose truth decides most what is handed over, or else the least repeated of the best.

        Of several `views` (see `AROUND`) the most hopeful one counts.
        """
        open_rows = np.isfinite(self.z) & np.isfinite(self.value) & ~taken(self.X, pending)
        if not open_rows.any():
            return None
        gain = np.where(open_rows, np.max([self.gain(view) for view in views], axis=0), 0.0)
        return int(np.argmax(gain)) if gain.max() > 1e-9 else self._least_repeated(candidates, open_rows)

    def instead_of(self, point: Array, pending: Array) -> int | None:
        """The row to repeat in place of asking at `point` (`d`), if nothing is left to learn there; None: none.

        A claim that convinces is repeated until the model believes it. Where the search has settled, the rows that decide the
        answer are looked at again: at once as often as the first reports allow, then ever more seldom.
        """
        best = self.index
        if self.value[best] != self.supported[best]:
            return best
        if len(self.z) < EARLIEST or not self.has_settled_at(point):
            return None
        near, reports = self._reports_at(best)
        elsewhere = int((~near[reports[SETTLED - 1] :]).sum())
        return None if elsewhere >= LOOKS * math.sqrt(len(reports)) else self.decisive(1, pending, (AROUND,))

    def has_settled_at(self, point: Array) -> bool:
        """Whether `point` (`d`) is at the place of the answer, of which there is nothing left to learn."""
        best = self.index
        return len(self._reports_at(best)[1]) >= SETTLED and self._is_known(point, best)

    def _reports_at(self, row: int) -> tuple[Mask, Rows]:
        """Which rows are at the place of this one (`n`, boolean), and those of them that reported a number."""
        near = self._correlation(np.arange(len(self.z)), np.array([row]))[:, 0] >= SAME_PLACE
        return near, np.flatnonzero(near & np.isfinite(self.z))

    def _is_known(self, point: Array, best: int) -> bool:
        """Whether `point` (`d`) is at the place of the `best` row, and known to half of the noise."""
        k = VALUES[self.posterior.kernel](squared_distance(point[None], self.X[[best]], self.posterior.lengthscale))
        _, variance = self.posterior.mean_and_variance(point[None])
        return bool(k[0, 0] >= SAME_PLACE and variance[0] <= 0.25 * self.posterior.noise)

    def gain(self, view: float = AROUND) -> Array:
        """What the answer is expected to gain, in scaled units, from knowing whether the reports at each row's place (`n`) are
        true: of the row handed over, and of those that would be handed over instead."""
        best, gain = self.index, np.zeros(len(self.z))
        rows = np.flatnonzero(np.isfinite(self.z))
        found = self.hypotheses(rows, view)
        p, height = found.p, float(self.value[best])
        mine = self._correlation(rows, np.array([best]))[:, 0] >= SAME_PLACE
        others = np.isfinite(self.value[rows]) & ~mine
        gain[rows] = p[:, 1] * np.maximum(found.claim - height, 0.0)
        gain[rows] += p[:, 2] * expected_excess(found.mean - height, found.deviation)
        gain[rows[mine]] = 0.0
        if mine.any() and others.any() and best in rows:
            own, second = int(np.flatnonzero(rows == best)[0]), float(np.max(self.value[rows[others]]))
            gain[best] = p[own, 2] * expected_excess(second - found.mean[own], found.deviation[own])
            gain[best] += p[own, 1] * max(second - float(found.claim[own]), 0.0)
        return gain

    def _least_repeated(self, candidates: int, open_rows: Mask) -> int:
        """Of the best `candidates` points the one with the fewest reports."""
        best: list[int] = []
        for row in np.flatnonzero(open_rows)[np.argsort(-self.value[open_rows], kind="stable")]:
            if len(best) < candidates and not taken(self.X[[row]], self.X[best])[0]:
                best.append(int(row))
        return min(best, key=lambda row: int(taken(self.X, self.X[[row]]).sum()))

    def hypotheses(self, rows: Rows, view: float = AROUND) -> Hypotheses:
        """What may be true of the places of these rows (`m`); rows that correlate by `view` say nothing of what to expect."""
        finite = np.isfinite(self.z)
        near = self._correlation(rows, np.arange(len(self.z)))
        same = (near >= SAME_PLACE) & finite
        trusted, suspects = same & self.trusted, same & ~self.trusted
        mean, variance = self._from_further_away(near[:, self.kept], trusted.sum(axis=1) > CERTAIN, view)
        z, own = np.where(finite, self.z, 0.0), self.trusted[rows]
        truth = np.where(own, z[rows], _mean_of(z, trusted))
        claim = np.where(own | ~finite[rows], _mean_of(z, suspects), z[rows])
        weights = np.zeros((len(rows), 3))
        for side, (said, value) in enumerate(((trusted, truth), (suspects, claim))):
            weights[:, side] = self._log_weight(said.sum(axis=1), value, mean, variance)
        log_p = weights - logsumexp(weights, axis=1, keepdims=True)
        return Hypotheses(trusted.sum(axis=1), suspects.sum(axis=1), log_p, claim, mean, np.sqrt(variance))

    def _log_weight(self, reports: Rows, value: Array, mean: Array, variance: Array) -> Array:
        """T or S of some places (`m`), where so many reports say `value`."""
        a, b = SHARE_PRIOR
        lies, n = int((~self.trusted & np.isfinite(self.z)).sum()), int(np.isfinite(self.z).sum())
        spread = variance + self.posterior.noise
        with np.errstate(over="ignore"):  # beyond 1e154: as unlikely as can be
            density = log_student((value - mean) ** 2 / spread) - 0.5 * np.log(spread)
        odds = math.log((b + n - lies) / (a + lies))
        return np.where(reports > 0, reports * odds + density - log_lie(value), -np.inf)

    def _from_further_away(self, k: Array, certain: Mask, view: float) -> tuple[Array, Array]:
        """Mean and variance (`m` each) without the rows around (`view`), from the correlations `k` (`m x kept`) by the block form
        of the inverse; with them where it is `certain` anyway."""
        B, alpha = self.posterior.inverse, self.posterior.alpha
        kB = k @ B
        mean, variance = k @ alpha, 1.0 - np.einsum("ij,ij->i", kB, k)
        for i in np.flatnonzero(~certain):
            around = np.argsort(-k[i], kind="stable")[:MOST_AROUND]
            around = around[k[i, around] >= view]
            if len(around):
                pulled = np.linalg.solve(B[np.ix_(around, around)], np.stack([alpha[around], kB[i, around]], axis=1))
                mean[i] -= kB[i, around] @ pulled[:, 0]
                variance[i] += kB[i, around] @ pulled[:, 1]
        return mean, np.clip(variance, 1e-12, 1.0)

    def _correlation(self, rows: Rows, with_rows: Rows) -> Array:
        distance = squared_distance(self.X[rows], self.X[with_rows], self.posterior.lengthscale)
        return VALUES[self.posterior.kernel](distance)


def _mean_of(z: Array, rows: Mask) -> Array:
    """The mean report (`m`) of each set of rows (`m x n`, boolean); 0 of none."""
    mean: Array = rows @ z / np.maximum(rows.sum(axis=1), 1)
    return mean


def reproduced(X: Array, z: Array, trusted: Mask) -> Array:
    """The most that every row (`n`) is worth where its very point was run again: infinite, unless one of the runs is a suspect.

    Then it is what half of the runs reached. A point is handed over for its best report, so of two that contradict each
    other the better one is the lie more often than not, whatever the model expected there.
    """
    most = np.full(len(z), np.inf)
    for row in np.flatnonzero(~trusted & np.isfinite(z)):
        runs = np.flatnonzero((X[row] == X).all(axis=1) & np.isfinite(z))
        if len(runs) > 1:
            most[runs] = np.sort(z[runs])[(len(runs) - 1) // 2]
    return most


def expected_excess(mean: Array, deviation: Array) -> Array:
    """E max(f, 0) of Gaussians, all of shape `m`."""
    ratio = mean / np.maximum(deviation, 1e-9)
    excess: Array = np.maximum(deviation, 1e-9) * (
        ratio * ndtr(ratio) + np.exp(-(ratio**2) / 2.0) / math.sqrt(2.0 * math.pi)
    )
    return excess
