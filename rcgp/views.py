"""What people see of a search: the doubted observations, and what is known of the objective."""

from __future__ import annotations

from dataclasses import dataclass

from rcgp.gaussian import Array


@dataclass(frozen=True)
class Suspect:
    """An observation whose weight is below `SUSPECT_WEIGHT`, what was expected there, and by how much it differs."""

    index: int
    weight: float
    residual: float
    expected: float
    reason: str = ""
    """Why, where repeats or the scale of all others say so: see `rcgp.lies.claims`."""


@dataclass(frozen=True)
class Posterior:
    """Mean and standard deviation of the objective, both of shape `m`, in its own units."""

    mean: Array
    std: Array
