"""Rival explanations: some of the suspects are right, and the few trusted rows that contradict them are not.

Where lies have the best place to themselves, the truths beside them become suspects, the search settles elsewhere, and no report
from there will ever mend that. Nor can the rows say which side lies. But a single trial can, at the place that a believer of the
suspects would ask next: if they are right it is a good place, and whoever agrees with them is one more. If not, the rival is
out. Without suspects there is no rival: it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from rcgp.gaussian import VALUES, Array, GaussianPosterior, Mask, squared_distance
from rcgp.lies.agreement import Agreement, most_lies
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


@dataclass(frozen=True)
class Rival:
    """Who is honest by a rival explanation (`n`, boolean), and its posterior."""

    honest: Mask
    posterior: GaussianPosterior

    @classmethod
    def of(cls, honest: Mask, told: Agreement) -> Self:
        """The explanation that these are honest (`n`, boolean) of the rows `told`, and nobody else."""
        hyper, noises = told.hyper, told.hyper.noise + told.own_noise[honest]
        scales = hyper.lengthscale, told.kernel, hyper.noise
        return cls(honest, GaussianPosterior.condition(told.X[honest], told.z[honest], noises, *scales))

    def was_refuted(self, point: Array, X: Array, since: int) -> bool:
        """Whether somebody at the place of `point` (`d`) whom it must call a liar was asked `since` that row of `X` (`n x d`)."""
        return bool(at_the_place_of(self.posterior, point, X[since:][~self.honest[since:]]).any())


def settled_since(posterior: GaussianPosterior, point: Array, X: Array, trusted: Mask) -> int | None:
    """The first row after enough `trusted` ones (`n`, boolean) of `X` (`n x d`) at the place of `point` (`d`); None: too few."""
    there = np.flatnonzero(at_the_place_of(posterior, point, X) & trusted)
    return None if len(there) < SETTLED else int(there[SETTLED - 1]) + 1


def honest_by_rivals(state: SurrogateState, agreement: Agreement, vouched: Mask, budget: int | None) -> Iterator[Mask]:
    """Who is honest (`n`, boolean) by every rival explanation that calls few enough of the trusted rows lies.

    One more than could be lies when the last of them came: a rival is asked, not believed. By all rows that came since, rivals
    long refuted would return. Suspects that are further from the trusted values than these reach are lies by themselves.
    """
    z, n = agreement.z, state.n
    trusted, seen = state.trusted & np.isfinite(z), set[bytes]()
    low, high = float(np.min(z, where=trusted, initial=0.0)), float(np.max(z, where=trusted, initial=0.0))
    doubted = ~state.trusted & np.isfinite(state.noise_inflation) & np.isfinite(z)
    suspects = np.flatnonzero(doubted & (z >= 2.0 * low - high) & (z <= 2.0 * high - low))
    for row in suspects:
        group = agreement.agreeing(int(row), suspects)
        against = agreement.contradicting(np.flatnonzero(trusted), group)
        allowed = 1 + most_lies(int(np.max(against, initial=0)) + 1, budget)
        if len(against) > allowed or vouched[against].any() or group.tobytes() in seen:
            continue
        seen.add(group.tobytes())
        yield (trusted | mask_of(group, n)) & ~mask_of(against, n)
