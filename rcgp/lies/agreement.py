"""How many suspects there can be: rows that agree with each other and are too many to be lies are trusted again."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from rcgp.fit import Hyperparameters
from rcgp.gaussian import VALUES, Array, Mask, Rows, squared_distance

FAR_OUT_BELOW, FAR_OUT_ABOVE = 3, 2
"""So many times the budget must agree before values out of the believable range are believed: who drops a lie asks at the same
place again, and is lied to again. With 2 below, seven lies in a row at the best place of Levy-4 are believed (2.25 x the oracle,
with 3 1.22), though an honest cliff among 30 rows is learned in 9 looks instead of 13; with 3 above, an honest rise on Ackley-5
is doubted for 13 trials."""

CROWD = 2
"""More than so many times the usual number of lies that agree with each other may be the truth: with 1, four lies at one place
outvoted 17 rows of Ackley-5; without, an honest cliff there was asked 29 times, to the end, and doubted every time."""


def most_lies(n: int, budget: int | None) -> int:
    """How many of `n` rows may be plausible lies: the `budget`, or else 1 + n^(1/3)."""
    return budget if budget is not None else 1 + math.floor(n ** (1 / 3) + 1e-9)


def most_lies_after(found: int, known: int, n: int) -> int:
    """How many of `n` rows may be plausible lies, where so many of the first `known` were `found` to be.

    More than usual are found among many told at once, or by challenges: as large a share of what follows, and luck.
    """
    usual = most_lies(n, None)
    return usual if found <= usual else min(found + math.ceil(found / known * (n - known)) + usual, n // 3)


def is_crowd(suspects: int, n: int, budget: int | None) -> bool:
    """Whether so many suspects among `n` rows are many more than could be lies as a rule."""
    return suspects > CROWD * most_lies(n, budget)


def are_most(suspects: Mask, y: Array) -> bool:
    """Whether the `suspects` (`n`, boolean) are more than two thirds of those whose reports `y` (`n`) are numbers."""
    reported = np.isfinite(y)
    return bool(3 * (suspects & reported).sum() > 2 * reported.sum())


@dataclass(frozen=True)
class Agreement:
    """Which rows `X` (`n x d`) with scaled reports `z` (`n`) agree: near each other, and no further apart than is likely.

    Likely is `width` deviations of the difference of two reports under the prior and the noise.
    """

    X: Array
    z: Array
    hyper: Hyperparameters
    kernel: str
    width: float
    own_noise: Array

    def largest_group(self, rows: Rows) -> Rows:
        """The most of `rows` that agree with each other, one leading to the next, as the reports of an honest climb do."""
        _, group = connected_components(self._agree(rows, rows), directed=False)
        return rows[group == np.argmax(np.bincount(group))]

    def crowd(self, rows: Rows, budget: int | None) -> Mask | None:
        """Those of `rows` that agree with each other (`n`, boolean), if they are many more than could be lies as a rule."""
        n = len(self.z)
        group = self.largest_group(rows) if is_crowd(len(rows), n, budget) else rows
        return np.isin(np.arange(n), group) if is_crowd(len(group), n, budget) else None

    def agreeing(self, row: int, rows: Rows) -> Rows:
        """Those of `rows` that agree with that one."""
        return rows[self._agree(rows, np.array([row]))[:, 0]]

    def contradicting(self, rows: Rows, group: Rows) -> Rows:
        """Those of `rows` near to one of the `group` that do not agree with it."""
        near, tolerance = self._tolerance(rows, group)
        against = (near > 0.5) & (np.abs(self.z[rows][:, None] - self.z[group]) > tolerance)
        return rows[against.any(axis=1)]

    def outvoted(self, group: Rows, contradicting: Rows) -> bool:
        """Whether most of the `group` have one of the `contradicting` rows for their nearest neighbour among all of them."""
        if len(group) < 2 or not len(contradicting):
            return False
        distance = squared_distance(self.X[group], self.X[np.append(group, contradicting)], self.hyper.lengthscale)
        distance[np.arange(len(group)), np.arange(len(group))] = np.inf
        return bool(2 * (distance.argmin(axis=1) >= len(group)).sum() >= len(group))

    def _agree(self, left: Rows, right: Rows) -> Mask:
        """Which pairs of rows agree, `m x n`."""
        near, tolerance = self._tolerance(left, right)
        agree: Mask = (near > 0.5) & (np.abs(self.z[left][:, None] - self.z[right]) <= tolerance)
        return agree

    def _tolerance(self, left: Rows, right: Rows) -> tuple[Array, Array]:
        """Correlation of every pair of rows, and how far apart their reports may be, both `m x n`."""
        distance = squared_distance(self.X[left], self.X[right], self.hyper.lengthscale)
        near = VALUES[self.kernel](distance)
        own = self.own_noise[left][:, None] + self.own_noise[right]
        return near, self.width * np.sqrt(2.0 * (1.0 - near) + 2.0 * self.hyper.noise + own)


def within_budget(
    agreement: Agreement,
    trusted: Mask,
    suspicion: Array,
    allowed: int,
    believable: tuple[float, float],
    vouched: Mask,
) -> Mask:
    """The trusted rows (`n`, boolean) once no more suspects are left than the adversary could afford.

    Believed again are those that agree with each other and are too many to be lies, however far out; or else those of the least
    `suspicion` (`n`) within the `believable` range. The fewer trusted rows that contradict them are suspects then, but those that
    a person `vouched` for (`n`, boolean).
    """
    z = agreement.z
    suspects = np.flatnonzero(~trusted & np.isfinite(z))
    if len(suspects) <= allowed:
        return trusted
    low, high = believable
    plausible = suspects[(z[suspects] >= low) & (z[suspects] <= high)]
    group = agreement.largest_group(suspects)
    far_out = FAR_OUT_BELOW if (z[group] < low).any() else FAR_OUT_ABOVE
    readmitted = _readmitted(group, plausible, suspicion, allowed, far_out)
    contradicting = agreement.contradicting(np.flatnonzero(trusted), readmitted)
    if agreement.outvoted(readmitted, contradicting):
        return trusted
    result = trusted.copy()
    result[readmitted] = True
    result[contradicting] = vouched[
        contradicting
    ]  # both sides cannot be right; a fit on both would call everything noise
    return result


def _readmitted(group: Rows, plausible: Rows, suspicion: Array, allowed: int, far_out: int) -> Rows:
    """The suspects to believe again, given the largest `group` that agrees and the `plausible` ones; maybe none."""
    enough = allowed if np.isin(group, plausible).all() else far_out * allowed
    if len(group) <= enough and len(plausible) <= allowed:
        return group[:0]
    believed = group if len(group) > enough else group[np.isin(group, plausible)]
    if len(believed) < 2:  # nobody supports another
        order = plausible[np.argsort(suspicion[plausible], kind="stable")]
        believed = order[: len(plausible) - allowed]
    return believed
