"""Outliers among curves: rises that no neighbour shows, curves that stand still, curves that are another trial's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import cdist

from rcgp.gaussian import Array, Rows

FEWEST = 8
"""Among fewer trials nobody is out of line."""

NEIGHBOURS = 9
LIMIT = 6.0
"""In robust deviations of the neighbours' rises: beyond it a rise is doubted."""

NEAR = 5
"""The neighbour whose distance is near: one there counts half, one at twice that a sixteenth."""
LEAST_NEAR = 0.05
"""Nobody is further away than another within this distance: where a search settles, the nearest would be a matter of luck."""
SAME_PLACE = 4.0
"""Neighbours are in one place, seen from a row, that are nearer to each other than near by this factor."""
SMALL = 0.05
"""Of where most rises are: deviations below this share tell nobody from his neighbours."""


def outlier_weights(inputs: Array, rise: Array, least: float = 0.0) -> tuple[Array, Array]:
    """Weight in [0, 1] of every rise (`n`) by those of its neighbours in `inputs` (`n x d`), and how far it is from theirs.

    Median and spread are those of the neighbours, who count by their nearness, a crowd in another place as one: a search gathers
    where it is best, and those it left behind rise otherwise. Lies may have any share that is no majority anywhere. No deviation
    is below `least`, however alike the neighbours are: where all end within a hair, a late riser would be out of line.
    """
    n = len(rise)
    if n < FEWEST:
        return np.ones(n), np.zeros(n)
    order, counts = _neighbours(inputs)
    near = rise[order]
    middle = _weighted_median(near, counts)
    spread = 1.4826 * _weighted_median(np.abs(near - middle[:, None]), counts)
    residual = rise - middle
    low, high = np.quantile(rise, [0.1, 0.9])
    deviation = np.hypot(np.hypot(spread, np.median(spread)), SMALL * (high - low)) + 1e-9 * np.max(np.abs(rise))
    deviation = np.hypot(deviation, least)
    distance_in_line = np.abs(residual) / np.maximum(deviation, 1e-300)
    doubted = distance_in_line > LIMIT
    return np.where(doubted, 0.5 * (LIMIT / np.maximum(distance_in_line, LIMIT)) ** 2, 1.0), residual


def _neighbours(inputs: Array) -> tuple[Rows, Array]:
    """The neighbours of every row of `inputs` (`n x d`), nearest first, and how much each of them counts (`n x k` both)."""
    distance = cdist(inputs, inputs)
    apart = distance + np.diag(np.full(len(inputs), np.inf))
    count = min(NEIGHBOURS, len(inputs) - 1)
    some = np.sort(np.argpartition(apart, count - 1, axis=1)[:, :count], axis=1)
    order = np.take_along_axis(some, np.argsort(np.take_along_axis(apart, some, axis=1), axis=1, kind="stable"), axis=1)
    apart = np.take_along_axis(apart, order, axis=1)
    scale = np.maximum(apart[:, NEAR - 1], LEAST_NEAR)
    crowd = _nearness(SAME_PLACE * distance[order[:, :, None], order[:, None, :]] / scale[:, None, None]).sum(axis=2)
    here = _nearness(SAME_PLACE * apart / scale[:, None])  # who is in the row's own place knows best, one by one
    return order, _nearness(apart / scale[:, None]) / (here + (1.0 - here) * crowd)


def _nearness(distance: Array) -> Array:
    near: Array = np.exp2(-np.square(distance))
    return near


def _weighted_median(values: Array, weights: Array) -> Array:
    """The median of every row of `values` (`n x k`), shape `n`, where some count for more than others."""
    order = np.argsort(values, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    middle = (total >= 0.5 * total[:, -1:]).argmax(axis=1)
    median: Array = np.take_along_axis(values, np.take_along_axis(order, middle[:, None], axis=1), axis=1)[:, 0]
    return median


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
