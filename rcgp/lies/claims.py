"""Claims far beyond everything else: asked again before they decide anything, and what the repeats say of them.

No model can tell an early lie from a steep objective where nothing is near enough to contradict it: on a grid, among
categories, in the first rows. But whoever is asked twice rarely lies twice. The *bulk* of the reports is the shortest interval
that holds `BULK` of them, grown by whatever follows within `REACH` of its own width; a report beyond it is far out, and

- contradicted, if somebody at the same place reports from within the bulk: a lie, however early it came;
- supported, if enough others at the same place say the same: then the bulk reaches there too;
- unchecked, if neither: its place is worth asking again, where nothing can be tried beside it or it is far below the bulk;
- scattered, if it is a value that was not measured at all (`rcgp.lies.sentinels`), wherever that lies;
- discredited, if who reported it says little of the objective (`rcgp.lies.reporters`);
- beyond belief, if it is better than all others by orders of magnitude, or by one and the same at several places: an overflow, an
  empty validation set. A deterministic fault repeats itself, so no repeat can confirm such a claim; a person can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from rcgp.acquisition import as_bytes, taken
from rcgp.evidence import Evidence
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.challenge import last_due
from rcgp.lies.reporters import Convicted, convicted
from rcgp.lies.sentinels import not_measured
from rcgp.state import Scaling, SurrogateState

BULK, REACH = 0.75, 1.0
"""The share of the reports that cannot be far out, and the gap behind which one is, in widths of the bulk."""

SETTLING = 16
"""The bulk of so many first reports shows how wide the values of the objective are, before the search settles somewhere."""

FEWEST, FEWEST_PLACES = 8, 4
"""Fewer reports than this have no bulk to speak of; fewer places are not outdone by orders of magnitude."""

CONFIRMATIONS, RARE_LIES = 2, 20
"""So many repeats must say the same before a far too good report is believed: one in twenty lies, one in four hundred twice.
Where more were caught the share is learned, and it takes as many as lie together as rarely (`_repeats_needed`)."""

UNHEARD, STUCK = 1000.0, 100.0
"""In units of the largest absolute value of the bulk: better than this is beyond belief; better than that if places share it."""

APART = 5.0
"""The gap, in widths of all that is better, below which reports set the scale of all; no search returns there by itself. (46
functions, three seeds, regret of the answer: with a tenth of the reports off by ten ranges 0.169 without asking again and 0.138
with, the difference 0.032 ±0.010; without lies 0.105 both. Asking good claims again too, to which a search returns anyway, gained
nothing.)"""

CONTRADICTED = "asked again, its place said otherwise"
BEYOND_BELIEF = "better than all others by orders of magnitude, as a fault would be"
SCATTERED = "the very same value comes from places that have nothing in common, so it was not measured there"
DISCREDITED = "without the reports of its machine all others agree far better"


@dataclass(frozen=True)
class Claims:
    """What repeats and the scale of all others say of the reports; all masks have shape `n`."""

    contradicted: Mask
    beyond_belief: Mask
    supported: Mask
    unchecked: Mask
    far_below: Mask
    scattered: Mask
    discredited: Mask

    @classmethod
    def none(cls, n: int) -> Self:
        """Nothing is said of any report."""
        return cls(*(np.zeros(n, dtype=bool) for _ in range(7)))

    @classmethod
    def judged(cls, X: Array, y: Array, evidence: Evidence) -> Self:
        """The verdicts on the reports `y` (`n`, any floats) at `X` (`n x d`)."""
        said, places = np.isfinite(y) & ~evidence.condemned, _places(X)
        beyond = said & ~evidence.vouched & _beyond_belief(np.where(said, y, np.nan), places)
        said = said & ~beyond
        scattered = not_measured(X, y, said & ~evidence.vouched)
        said = said & ~scattered
        if said.sum() < FEWEST:
            return replace(cls.none(len(y)), beyond_belief=beyond, scattered=scattered)
        far, confirmed = _far_out(y, said, places, evidence)
        against, alike = _count(said & ~far, places), _count(far, places)
        contradicted = far & (against > 0) & (alike <= 2 * against)
        needed = _repeats_needed(int(contradicted.sum()), int(said.sum()))
        unchecked = far & ~contradicted & (alike + against <= needed)
        below = said & (y < _bulk_of_all(y[said], APART)[0])
        return cls(contradicted, beyond, confirmed, unchecked, below, scattered, np.zeros(len(y), dtype=bool))

    @property
    def condemned(self) -> Mask:
        """Which rows are not to be believed."""
        return self.contradicted | self.beyond_belief | self.scattered | self.discredited

    def added_to(self, evidence: Evidence) -> Evidence:
        """The evidence (`n`) with these verdicts, where no person has ruled."""
        verdict = np.where(self.condemned, -1, np.where(self.supported, 1, 0))
        return replace(evidence, ruling=np.where(evidence.ruling == 0, verdict, evidence.ruling))

    def to_ask(self, X: Array, trusted: Mask, waiting: Array) -> Rows:
        """The unchecked reports that are `trusted` (`n`) so far and not asked again already."""
        rows = np.flatnonzero(self.unchecked & trusted)
        return rows[~taken(X[rows], waiting)]

    def useless(self, y: Array) -> Mask:
        """Which rows (`n`, boolean) say no more than a failure: what was not measured, and lies beyond belief that several tell.

        The second is a region, where a single spike is a mishap.
        """
        if not self.beyond_belief.any():  # as a rule, and it is asked several times a suggestion
            return self.scattered | self.discredited
        values = y[self.beyond_belief]
        alike = np.isclose(y[:, None], values, rtol=1e-6, atol=0.0).sum(axis=1) > 1
        return self.scattered | self.discredited | (self.beyond_belief & alike)

    def reason(self, row: int) -> str:
        """Why a row is not to be believed; nothing if it is not for these reasons."""
        reasons = {
            SCATTERED: self.scattered,
            DISCREDITED: self.discredited,
            CONTRADICTED: self.contradicted,
            BEYOND_BELIEF: self.beyond_belief,
        }
        return next((reason for reason, rows in reasons.items() if rows[row]), "")


class Judge:
    """The verdicts on whatever is told, each computed once.

    Without `verify` repeats and the scale of all others say nothing of any report, without `compare` who reported it does not.
    """

    def __init__(self, *, verify: bool, compare: bool) -> None:
        self.verify, self._compare = verify, compare
        self._last: tuple[Evidence, Claims] | None = None
        self._compared: tuple[bytes, list[Convicted]] | None = None

    def __call__(self, X: Array, y: Array, evidence: Evidence) -> Claims:
        """The verdicts on the reports `y` (`n`) at `X` (`n x d`)."""
        if self._last is None or self._last[0] is not evidence:  # which every row and ruling replaces
            claims = Claims.judged(X, y, evidence) if self.verify else Claims.none(len(y))
            if self._compare and len(np.unique(evidence.reporter)) > 1:
                claims = replace(claims, discredited=self._discredited(X, y, evidence, claims.condemned))
            self._last = evidence, claims
        return self._last[1]

    def _discredited(self, X: Array, y: Array, evidence: Evidence, condemned: Mask) -> Mask:
        """Which rows (`n`, boolean) are lies of convicted reporters; who they are is asked from time to time."""
        rows = np.flatnonzero(np.isfinite(y) & ~condemned & ~evidence.condemned)
        judged = rows[rows < last_due(len(y))]
        lies, asked = np.zeros(len(y), dtype=bool), judged.tobytes() + y[judged].tobytes()
        if not len(judged):
            return lies
        low, high = bulk(y[judged], reach=0.5)
        scaling = Scaling.of(np.clip(y[judged], low, high))
        z = scaling.to_scaled(np.clip(y, low, high))
        if self._compared is None or self._compared[0] != asked:
            self._compared = asked, convicted(X[judged], z[judged], evidence.reporter[judged])
        for found in self._compared[1]:
            mine = rows[evidence.reporter[rows] == found.reporter]
            lies[mine] = found.lies(X[mine], z[mine])
        return lies & ~evidence.vouched


def without_condemned(state: SurrogateState | None, evidence: Evidence) -> SurrogateState | None:
    """The state once the rows that are condemned by now have no say in it."""
    if state is not None:
        for row in np.flatnonzero(evidence.condemned[: state.n] & np.isfinite(state.noise_inflation)):
            state = state.with_trust(int(row), np.inf)
    return state


def second_look(X: Array, y: Array, trusted: Mask, waiting: Array) -> Array | None:
    """The place (`d`) of a suspect that is worth asking again, if there is one.

    It matters: its report would make it the best point, yet is no further above the trusted ones than they reach down.
    And nothing contradicted it: no later report from the same place is trusted, and none is on its way.
    """
    trusted = trusted & np.isfinite(y)
    if not trusted.any():
        return None
    low, high = np.min(y[trusted]), np.max(y[trusted])
    for row in np.flatnonzero(~trusted & (y > high) & (y <= 2.0 * high - low)):
        later = X[row + 1 :][trusted[row + 1 :]]
        if not taken(X[[row]], np.concatenate([later, waiting]))[0]:
            place: Array = X[row]
            return place
    return None


def bulk(values: Array, share: float = BULK, width: float = 0.0, reach: float = REACH) -> tuple[float, float]:
    """The ends of the bulk of `values` (`n`, finite, at least one): the shortest interval with that share of them, grown.

    It grows by what follows within `reach` times its own width, or the `width` that is known otherwise.
    """
    ordered = np.sort(values)
    n, count = len(ordered), math.ceil(share * len(ordered))
    while count < n and np.min(ordered[count - 1 :] - ordered[: n - count + 1]) == 0.0:
        count += 1  # most say exactly the same: there is no width yet
    first = int(np.argmin(ordered[count - 1 :] - ordered[: n - count + 1]))
    last = first + count - 1
    while True:
        step = reach * max(width, ordered[last] - ordered[first])
        up = last + 1 < n and ordered[last + 1] - ordered[last] <= step
        down = first > 0 and ordered[first] - ordered[first - 1] <= step
        if not (up or down):
            return float(ordered[first]), float(ordered[last])
        last, first = last + up, first - down


def _beyond_belief(y: Array, places: Rows) -> Mask:
    """Which rows (`n`, boolean) are better than half of all places by orders of magnitude; `y` is NaN where nothing was said."""
    _, first = np.unique(places[np.isfinite(y)], return_index=True)
    if len(first) < FEWEST_PLACES:
        return np.zeros(len(y), dtype=bool)
    low, high = bulk(y[np.isfinite(y)][first], 0.5)
    better, scale = np.nan_to_num(y, nan=high) - high, max(abs(low), abs(high))
    if not (better > STUCK * scale).any():
        return np.zeros(len(y), dtype=bool)
    shared = np.array([len(np.unique(places[np.isclose(y, value, rtol=1e-6, atol=0.0)])) > 1 for value in y])
    return (better > UNHEARD * scale) | (shared & (better > STUCK * scale))


def _far_out(y: Array, said: Mask, places: Rows, evidence: Evidence) -> tuple[Mask, Mask]:
    """Which rows (`n`, boolean) lie beyond the bulk, and which were as good but are confirmed by others at their place.

    The bulk reaches to whatever is confirmed, so that a group of honest rows is asked once. A bad report may be true and yet no
    measure of the others: how much it counts is left to the model.
    """
    low, high = _bulk_of_all(y[said])
    sure, top = said & evidence.vouched, high
    while True:
        ends = min(low, np.min(y[sure], initial=low)), max(high, np.max(y[sure], initial=high))
        reach = REACH * (ends[1] - ends[0]) if sure.any() else 0.0
        far = said & ~sure & ((y < ends[0] - reach) | (y > ends[1] + reach))
        caught = int((far & (_count(said & ~far, places) > 0)).sum())
        more = far & _confirmed(y, far, places, (low, high), _repeats_needed(caught, int(said.sum())))
        if not more.any():
            return far, sure & (y > top) & ~evidence.vouched
        sure = sure | more


def _bulk_of_all(values: Array, reach: float = REACH) -> tuple[float, float]:
    """The ends of the bulk of all reports (`n`): a search settles, and the first values that were tried are no lies for that."""
    first = bulk(values[:SETTLING])
    return bulk(values, width=first[1] - first[0], reach=reach)


def _repeats_needed(caught: int, n: int) -> int:
    """How many must confirm a far too good report, if so many of `n` were caught lying: `CONFIRMATIONS` as a rule."""
    share = (1 + caught) / (RARE_LIES + n)
    return max(CONFIRMATIONS, math.ceil(CONFIRMATIONS * math.log(RARE_LIES) / -math.log(share) - 1e-9))


def _confirmed(y: Array, far: Mask, places: Rows, ends: tuple[float, float], needed: int) -> Mask:
    """Which far rows (`n`, boolean) enough others at their place agree with: `needed` on a good one, one on a bad one."""
    low, high = ends
    here = far[:, None] & far & (places[:, None] == places)
    said = np.where(far, y, 0.0)
    agree = here & (np.abs(said[:, None] - said) <= np.maximum(high - low, 0.1 * np.abs(said - high))[:, None])
    return agree.sum(axis=1) >= np.where(said > high, 1 + needed, 2)


def _places(X: Array) -> Rows:
    """The number of its place of every row (`n`): equal rows of `X` share one."""
    numbers: dict[bytes, int] = {}
    return np.array([numbers.setdefault(row, len(numbers)) for row in as_bytes(X)], dtype=np.intp)


def _count(mask: Mask, places: Rows) -> Rows:
    """How many rows of the mask share the place of every row (`n`)."""
    return np.bincount(places, weights=mask, minlength=int(places.max()) + 1)[places].astype(int)
