"""How far from the others a value may be and still be believed, whatever the model says."""

from __future__ import annotations

import numpy as np

from rcgp.gaussian import Array, Mask
from rcgp.state import mask_of


def believable(y: Array, gap: float, known: Mask | None = None) -> Mask:
    """Rows (`n`, boolean) that can be reached from trusted ones without a gap of more than `gap` times the range so far.

    Trusted from the start are the `known` rows, or else the central half of `y`. The range of a handful of values says
    little: below 20 rows the gap must be larger, as (20/n)^3.
    """
    finite = np.flatnonzero(np.isfinite(y))
    order = finite[np.argsort(y[finite], kind="stable")]
    values, n = y[order], len(order)
    if n < 3:
        return np.isfinite(y)
    inside = np.flatnonzero(known[order]) if known is not None else np.empty(0, dtype=int)
    low, high = (inside[0], inside[-1]) if len(inside) > 2 else ((n - 1) // 4, n - 1 - (n - 1) // 4)
    gap *= max(1.0, 20.0 / n) ** 3
    with np.errstate(over="ignore"):
        while low > 0 and values[low] - values[low - 1] <= gap * (values[high] - values[low]):
            low -= 1
        while high < n - 1 and values[high + 1] - values[high] <= gap * (values[high] - values[low]):
            high += 1
    return mask_of(order[low : high + 1], len(y))
