"""Rival explanations: some of the suspects are right, and the few trusted rows that contradict them are not.

Where lies have the best place to themselves, the truths beside them become suspects, the search settles elsewhere, and no report
from there will ever mend that. Nor can the rows say which side lies. But a single trial can, at the place that a believer of the
suspects would ask next: if they are right it is a good place, and whoever agrees with them is one more. If not, one more
contradicts them, and once those are too many to be lies the rival is out. Without suspects there is no rival: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rcgp.agreement import Agreement
from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, squared_distance
from rcgp.state import SurrogateState, mask_of

SETTLED = 5
"""From so many trusted reports at the place where it would ask again on, a search has settled there."""

SAME_PLACE = 0.9
"""Correlation from which on two points are one place, as in `rcgp.answer`."""


def at_the_place_of(posterior: GaussianPosterior, point: Array, others: Array) -> Mask:
    """Which of `others` (`m x d`) are at the place of `point` (`d`), as booleans of shape `m`."""
    distance = squared_distance(others, point[None], posterior.lengthscale)
    same: Mask = VALUES[posterior.kernel](distance)[:, 0] >= SAME_PLACE
    return same


def has_settled(posterior: GaussianPosterior, point: Array, believed: Array) -> bool:
    """Whether enough of the rows that are `believed` (`m x d`) are at the place of `point` (`d`)."""
    return int(at_the_place_of(posterior, point, believed).sum()) >= SETTLED


def honest_by_rivals(state: SurrogateState, agreement: Agreement, vouched: Mask, allowed: int) -> Iterator[Mask]:
    """Who is honest (`n`, boolean) by every rival explanation that calls at most `allowed` of the trusted rows lies.

    Suspects that are further from the trusted values than these reach are lies by themselves.
    """
    z, n = agreement.z, state.n
    trusted, seen = state.trusted & np.isfinite(z), set[bytes]()
    low, high = float(np.min(z, where=trusted, initial=0.0)), float(np.max(z, where=trusted, initial=0.0))
    doubted = ~state.trusted & np.isfinite(state.noise_inflation) & np.isfinite(z)
    suspects = np.flatnonzero(doubted & (z >= 2.0 * low - high) & (z <= 2.0 * high - low))
    for row in suspects:
        group = agreement.agreeing(int(row), suspects)
        against = agreement.contradicting(np.flatnonzero(trusted), group)
        if len(against) > allowed or vouched[against].any() or group.tobytes() in seen:
            continue
        seen.add(group.tobytes())
        yield (trusted | mask_of(group, n)) & ~mask_of(against, n)
