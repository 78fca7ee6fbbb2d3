"""Objectives whose bad values are worse by orders of magnitude: a learning rate that diverges, a loss over six decades.

Beside a loss of 10,000 every difference among good ones is nothing, and a model of all values resolves none of them. How much
worse the worst are does not matter to a search. So values below a knee T are bent, and their order stays:

    b(y) = T - s log(1 + log(1 + (T - y) / s))        T = m - KNEE s        s = best - m

m is the upper quartile of the first reports, before the search settles where values hardly differ. A few reports far below all
others may be lies, which bending would make plausible. So nothing is bent unless they have a region in common, and are believed
as they are or come from more places than may lie. Until then nothing changes, bit for bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from rcgp.agreement import most_lies
from rcgp.gaussian import Array, Mask
from rcgp.random_failures import probability_of_region

KNEE, FAR = 2.0, 30.0
"""In units of s: how far below m the knee is, and how much further below something is far. Honest rows of Branin reach 21."""

SETTLING, FEWEST = 16, 6
"""The first reports, whose upper quartile counts; fewer have none to speak of."""

PLACE = 0.05
"""The side of the cubes that count as one place each."""

LIKELY = 0.8
"""How probable it must be that what is far below has a region."""

ROWS = 150
"""So many rows, evenly spread, are asked whether there is a region: it is a coarse thing."""


@dataclass(frozen=True)
class Bend:
    """Values below the `knee` are bent, in units of `scale`."""

    knee: float = -math.inf
    scale: float = 1.0

    @classmethod
    def of(cls, X: Array, y: Array, trusted: Mask, kernel: str) -> Self:
        """What the reports `y` (`n`, NaN: nothing was said) from `X` (`n x d`) ask for, given whom a search trusts (`n`)."""
        said = np.isfinite(y)
        if said.sum() < FEWEST or not (said & trusted).any():
            return cls()
        best = np.max(y[said & trusted])
        first = y[said & (y <= best)][:SETTLING]
        middle = float(np.quantile(first, 0.75))
        with np.errstate(over="ignore"):  # of values near 1e308: nothing is further below
            bend = cls(middle - KNEE * (best - middle), float(best - middle))
            far = said & (y < bend.knee - FAR * bend.scale)
        believed = (far & trusted).any() or _places(X[far]) > most_lies(int(said.sum()), None)
        return bend if bend.scale > 0.0 and believed and _have_a_region(X[said], far[said], kernel) else cls()

    @property
    def is_straight(self) -> bool:
        """Whether it leaves all values as they are."""
        return self.knee == -math.inf

    def bent(self, y: Array) -> Array:
        """b(y), of any shape; what is no number stays as it is."""
        if self.is_straight:
            return y
        below = np.maximum(self.knee - y, 0.0) / self.scale
        return np.where(below > 0.0, self.knee - self.scale * np.log1p(np.log1p(below)), y)

    def straightened(self, b: Array) -> Array:
        """The values that were bent to `b`; beyond the largest numbers those."""
        if self.is_straight:
            return b
        below = np.maximum(self.knee - b, 0.0) / self.scale
        steps = np.expm1(np.minimum(np.expm1(np.minimum(below, 10.0)), 700.0))
        return np.where(below > 0.0, np.maximum(self.knee - self.scale * steps, -np.finfo(float).max), b)

    def slope(self, y: Array) -> Array:
        """b'(y): what a small step at `y` becomes."""
        below = np.zeros_like(y) if self.is_straight else np.maximum(self.knee - y, 0.0) / self.scale
        return 1.0 / ((1.0 + below) * (1.0 + np.log1p(below)))


def _places(X: Array) -> int:
    """From how many places the rows of `X` (`n x d`) come."""
    return len(np.unique(np.floor(X / PLACE), axis=0))


def _have_a_region(X: Array, far: Mask, kernel: str) -> bool:
    """Whether the `far` rows (`n`, boolean) of `X` (`n x d`) probably have a region in common."""
    few = np.linspace(0, len(X) - 1, min(len(X), ROWS)).astype(int)
    return bool(far[few].any()) and probability_of_region(X[few], ~far[few], kernel) >= LIKELY
