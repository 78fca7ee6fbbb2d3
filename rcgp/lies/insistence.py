"""Suspects that insist: as many from one place as there may be lies, and nobody else from there.

Whoever drops a report asks at its place again, because nothing is known there. If the report was honest - the wall of a ravine
that the first values did not show - every further one costs what the first did, and is dropped as well. Whether they lie cannot
be told from more of them: an adversary picks a place too. But one more teaches nothing. So such a place counts as one that is
being tried: what is expected there stays, what is unknown does not. A search that came on evidence stays, one that was curious
goes elsewhere, and what it finds there tells who was right.
"""

from __future__ import annotations

import numpy as np

from rcgp.gaussian import VALUES, Array, Mask, squared_distance
from rcgp.lies.agreement import most_lies
from rcgp.lies.rival import SAME_PLACE
from rcgp.state import SurrogateState, mask_of

ABSURD = 100.0
"""In ranges of the trusted values: what is further below them is no wall. Without a limit lies of 1e3 ranges, the first three at
the best place, cost 1.12 x the oracle (10 tuning seeds of five problems), with it 1.00."""


def insisting(X: Array, z: Array, state: SurrogateState, kernel: str, budget: int | None) -> Mask:
    """Which suspects (`n`, boolean) insist, of scaled reports `z` (`n`) from `X` (`n x d`).

    As many as may lie say that a place is worse than all that is trusted, and nobody who is trusted was there.
    """
    trusted = np.flatnonzero(state.trusted & np.isfinite(z))
    suspects = np.flatnonzero(~state.trusted & np.isfinite(state.noise_inflation) & np.isfinite(z))
    needed = most_lies(state.n, budget)
    if len(suspects) < needed or not len(trusted):
        return mask_of(suspects[:0], state.n)
    low, high = float(np.min(z[trusted])), float(np.max(z[trusted]))
    below = suspects[(z[suspects] < low) & (z[suspects] > low - ABSURD * (high - low))]
    others = np.concatenate([below, trusted])
    same = VALUES[kernel](squared_distance(X[below], X[others], state.hyper.lengthscale)) >= SAME_PLACE
    enough = same[:, : len(below)].sum(axis=1) >= needed
    return mask_of(below[enough & ~same[:, len(below) :].any(axis=1)], state.n)
