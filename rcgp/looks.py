"""Looking again: which row is repeated, because whether it is true decides the answer.

A report decides the answer as far as another row would be handed over if it were a lie.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr

from rcgp.acquisition import taken
from rcgp.answer import Answer
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.places import AROUND, SAME_PLACE

FURTHER = 0.2
"""As `AROUND`, for looks at the end, as a second view: two lies further apart hold each other up, and whoever leaves out one sees
the other. Alone it loses what `AROUND` finds, for it knows less of every place."""

SAME_POINT = 0.01
"""The most by which two points may differ for one to be a second run of the other: the variance of their difference, in units of
the noise. With 1, neighbours on a grid counted as second runs where lies passed for noise, and the winner was not run again."""

SETTLED, LOOKS = 5, 2.0
"""From so many reports at the best place on a search may have settled there; and how many trials go elsewhere then, times the
root of the number of reports there."""

WORTH_SEEING = 0.1
"""A look promises so much of a report's noise at least. (Six problems, five tuning seeds, regret of the answer without a limit
and with it: no lies 0.015, 0.014, moderate ones 0.012, 0.014, in range 0.021, 0.029 where one search of thirty differs, flipped
signs 0.036, 0.018. Without one, settled searches ran again what is far below the best: 8 of 50 trials on a bowl.)"""

EARLIEST = 30
"""Fewer reports than this are better followed by new ones: nobody has settled so soon, whatever it looks like."""


@dataclass(frozen=True)
class Looks:
    """What may be looked at again for the sake of an `answer`, while `pending` points (`m x d`) are being tried."""

    answer: Answer
    pending: Array

    def to_confirm(self, candidates: int) -> int | None:
        """The row to repeat at the end: what would be handed over as long as that was run only once, then what decides it.

        Where nothing decides it is the least repeated of the best `candidates` points. None: nothing can be repeated.
        """
        once = self.run_once()
        if once is not None or not self._open.any():
            return once
        gain = np.where(self._open, np.maximum(self.gain(AROUND), self.gain(FURTHER)), 0.0)
        return int(np.argmax(gain)) if gain.max() > 1e-9 else self._least_repeated(candidates)

    def run_once(self) -> int | None:
        """The row that would be handed over, if it was run only once and is not being run again."""
        best = self.answer.index
        return best if self._open[best] and self._runs(best) < 2 else None

    def to_convince(self) -> int | None:
        """The row whose claim convinces: it is repeated until the model believes it. None: the model believes the answer."""
        best = self.answer.index
        return best if self.answer.claimed[best] else None

    def instead_of(self, point: Array, new: Array) -> int | None:
        """The row to repeat where the search would ask at `point` (`d`) but has settled there, so that a `new` one comes next.

        None if the new point promises more, or there were looks enough: often at first, then ever more seldom.
        """
        if len(self.answer.places.z) < EARLIEST or not self.has_settled_at(point):
            return None
        near, reports = self._reports_at(self.answer.index)
        if int((~near[reports[SETTLED - 1] :]).sum()) >= LOOKS * math.sqrt(len(reports)):
            return None
        gain, noise = np.where(self._open, self.gain(), 0.0), math.sqrt(self.answer.places.posterior.noise)
        row = int(np.argmax(gain))
        return row if gain[row] > max(self.improvement(new), WORTH_SEEING * noise) else None

    def has_settled_at(self, point: Array) -> bool:
        """Whether `point` (`d`) is at the place of the answer, and known there to half of the noise: nothing is left to learn."""
        best, places = self.answer.index, self.answer.places
        if len(self._reports_at(best)[1]) < SETTLED:
            return False
        _, variance = places.posterior.mean_and_variance(point[None])
        there = places.correlation_with(point[None], np.array([best]))[0, 0] >= SAME_PLACE
        return bool(there and variance[0] <= 0.25 * places.posterior.noise)

    def improvement(self, point: Array) -> float:
        """By how much a report from `point` (`d`) may be expected to improve the answer, in scaled units."""
        mean, variance = self.answer.places.posterior.mean_and_variance(point[None])
        return float(expected_excess(mean - self.answer.value[self.answer.index], np.sqrt(variance))[0])

    def gain(self, view: float = AROUND) -> Array:
        """What the answer is expected to gain, in scaled units, from knowing whether the reports at each row's place (`n`) are
        true: of the row handed over, and of those that would be handed over instead. What to expect there, if they are not, is
        asked of rows that correlate with it by less than `view`."""
        best, value, places = self.answer.index, self.answer.value, self.answer.places
        gain, rows = np.zeros(len(places.z)), places.reporting
        found, mine = places.hypotheses(rows, view), places.near(best)[rows]
        p, height, others = found.p, float(value[best]), np.isfinite(value[rows]) & ~mine
        gain[rows] = p[:, 1] * np.maximum(found.claim - height, 0.0)
        gain[rows] += p[:, 2] * expected_excess(found.mean - height, found.deviation)
        gain[rows[mine]] = 0.0
        if mine.any() and others.any() and best in rows:
            own, second = int(np.flatnonzero(rows == best)[0]), float(np.max(value[rows[others]]))
            gain[best] = p[own, 2] * expected_excess(second - found.mean[own], found.deviation[own])
            gain[best] += p[own, 1] * max(second - float(found.claim[own]), 0.0)
        return gain

    @cached_property
    def _open(self) -> Mask:
        """Which rows (`n`, boolean) can be repeated: those that said something, and are not being run again."""
        places = self.answer.places
        return places.said & np.isfinite(self.answer.value) & ~taken(places.X, self.pending)

    def _runs(self, row: int) -> int:
        """How many reports there are of this very point, or of points that are as good as the same beside a report's noise."""
        places = self.answer.places
        k = places.correlation(np.arange(len(places.z)), np.array([row]))[:, 0]
        return int((places.said & (2.0 * (1.0 - k) <= SAME_POINT * places.posterior.noise)).sum())

    def _reports_at(self, row: int) -> tuple[Mask, Rows]:
        """Which rows are at the place of this one (`n`, boolean), and those of them that reported a number."""
        near = self.answer.places.near(row)
        return near, np.flatnonzero(near & self.answer.places.said)

    def _least_repeated(self, candidates: int) -> int:
        """Of the best `candidates` points the one with the fewest reports."""
        best, X, value = list[int](), self.answer.places.X, self.answer.value
        for row in np.flatnonzero(self._open)[np.argsort(-value[self._open], kind="stable")]:
            if len(best) < candidates and not taken(X[[row]], X[best])[0]:
                best.append(int(row))
        return min(best, key=lambda row: int(taken(X, X[[row]]).sum()))


def expected_excess(mean: Array, deviation: Array) -> Array:
    """E max(f, 0) of Gaussians, all of shape `m`."""
    ratio = mean / np.maximum(deviation, 1e-9)
    excess: Array = np.maximum(deviation, 1e-9) * (
        ratio * ndtr(ratio) + np.exp(-(ratio**2) / 2.0) / math.sqrt(2.0 * math.pi)
    )
    return excess
