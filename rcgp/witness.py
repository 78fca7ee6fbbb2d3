"""Curves as witnesses: rises that no neighbour shows, curves that stand still, curves that are another trial's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from rcgp.gaussian import Array

FEWEST = 8
"""Among fewer trials nobody is out of line."""

NEIGHBOURS = 9
LIMIT = 6.0
"""In robust deviations of the neighbours' rises: beyond it a rise is doubted."""


def out_of_line(inputs: Array, rise: Array) -> tuple[Array, Array]:
    """Weight in [0, 1] of every rise (`n`) by those of its neighbours in `inputs` (`n x d`), and how far it is from theirs.

    Median and spread are those of the neighbours: where honest curves differ, much is allowed. Lies may have any share that
    is no majority anywhere.
    """
    n = len(rise)
    if n < FEWEST:
        return np.ones(n), np.zeros(n)
    distance = cdist(inputs, inputs)
    np.fill_diagonal(distance, np.inf)
    near = rise[np.argsort(distance, axis=1, kind="stable")[:, : min(NEIGHBOURS, n - 1)]]
    middle = np.median(near, axis=1)
    spread = 1.4826 * np.median(np.abs(near - middle[:, None]), axis=1)
    residual = rise - middle
    deviation = np.hypot(spread, np.median(spread)) + 1e-9 * np.max(np.abs(rise))
    distance_in_line = np.abs(residual) / np.maximum(deviation, 1e-300)
    doubted = distance_in_line > LIMIT
    return np.where(doubted, 0.5 * (LIMIT / np.maximum(distance_in_line, LIMIT)) ** 2, 1.0), residual


def remarks(curves: Sequence[Sequence[float]]) -> dict[int, str]:
    """What is peculiar about curves, in words, by number: standing still, or equal to another's to the last digit."""
    found, owner = dict[int, str](), dict[tuple[float, ...], int]()
    for number, values in enumerate(curves):
        if len(values) >= 3 and len(set(values)) == 1:
            found[number] = f"its curve stands still at {values[0]:.6g}"
        elif len(values) >= 3 and tuple(values) in owner:
            found[number] = f"its curve is that of row {owner[tuple(values)]} to the last digit"
        owner.setdefault(tuple(values), number)
    return found
