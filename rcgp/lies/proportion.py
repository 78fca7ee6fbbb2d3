"""Reports out of all proportion: bad beyond everything else, however early they came.

Whoever reports second sets the scale for all who follow: beside a loss of 10,000 every difference that is to be found is noise,
and nobody who comes later is far out. So as places become many, a report that is worse than all others by many times their range
is doubted by now, if not at first. Where such reports have a place in common - a cliff, a learning rate that diverges - they are
believed.
"""

from __future__ import annotations

import numpy as np

from rcgp.acquisition import as_bytes
from rcgp.gaussian import Array, Mask, Rows
from rcgp.lies.believable import believable
from rcgp.lies.challenge import NOWHERE
from rcgp.random_failures import probability_of_region

PLACE, FEWEST_PLACES = 0.05, 8
"""The side of the cubes that count as one place each; fewer places say too little of the scale."""


def out_of_proportion(X: Array, y: Array, gap: float, kernel: str) -> Mask:
    """Which of the reports `y` (`n`) from `X` (`n x d`) are worse than all others by `gap` times their range, here and there."""
    far, said = _far_below(X, y, gap), np.isfinite(y)
    region = far.any() and probability_of_region(X[said], ~far[said], kernel) >= NOWHERE
    return far & (not region)


def _far_below(X: Array, y: Array, gap: float) -> Mask:
    """The same (`n`, boolean), wherever they are: with fewer than 20 places the gap is larger, as in `believable`.

    A place counts once, however often it was asked, because a search settles where values hardly differ.
    """
    rows = np.flatnonzero(np.isfinite(y))
    places = rows[one_of_each_place(X[rows])]
    if len(places) < FEWEST_PLACES:
        return np.zeros(len(y), dtype=bool)
    said = y[places]
    believed = said[believable(said, gap)]
    with np.errstate(over="ignore"):  # beyond 1e308 nothing is further below
        reach = gap * max(1.0, 20.0 / len(places)) ** 3 * (np.max(believed) - np.min(believed))
        far: Mask = np.isfinite(y) & (y < np.min(believed) - reach)
    return far


def one_of_each_place(X: Array) -> Rows:
    """The first row of every place of `X` (`n x d`), in order: what a settled search resolves in one place does not count."""
    first: dict[bytes, int] = {}
    for row, cube in enumerate(as_bytes(np.floor(X / PLACE))):
        first.setdefault(cube, row)
    return np.array(list(first.values()), dtype=np.intp)
