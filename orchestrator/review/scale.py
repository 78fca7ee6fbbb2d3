"""What can be drawn: numbers that axes can bear, and the part of them that is worth seeing."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LARGEST = 1e150
"""Beyond this the arithmetic of axes and averages overflows."""


def drawable(values: Array) -> Array:
    """The values, NaN for what is not finite or too large to be drawn."""
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def short(values: Iterable[str | float]) -> list[float | str | None]:
    """Five digits are enough to draw; what cannot be drawn is left out, text stays."""
    return [v if isinstance(v, str) else float(f"{v:.5g}") if abs(v) < LARGEST else None for v in values]


def value_range(values: Array, edge: float = 0.25) -> tuple[float, float]:
    """Bounds of the values that can be drawn, with an edge of a share of their span to either side."""
    shown = drawable(values)
    if np.isnan(shown).all():
        return -1.0, 1.0
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    room = edge * (high - low) if high > low else max(1.0, abs(high)) * 0.5
    return low - room, high + room
