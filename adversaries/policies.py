"""When and how to lie. Each policy stands for a way in which real measurements go wrong."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from adversaries.adversary import Point, Query, Report

NON_FINITE = ("nan", "inf", "-inf")


def _lie(y: float) -> Report:
    return Report(float(y), corrupted=True)


def _share(owner: str, name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{owner}: {name} must lie in [0, 1], got {value}.")


def _positive(owner: str, name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{owner}: {name} must be positive and finite, got {value}.")


def _distance(a: Point, b: Point) -> float:
    """Euclidean, in the unit cube."""
    return float(np.linalg.norm(a - b))


@dataclass(frozen=True)
class Honest:
    """Never lies: the clean run every robust method is compared with."""

    def lie(self, query: Query, rng: np.random.Generator) -> None:
        """The truth, always."""
        return


@dataclass(frozen=True)
class Clairvoyant:
    """Knows x*: reports `low` within `near` of it and `high` beyond `far`, as early as it can (the paper's attack).

    Stands for a poisoned metric: somebody who knows the answer and wants the search to miss it.
    """

    needs_optimum: ClassVar[bool] = True
    near: float = 0.1
    far: float = 0.4
    low: float = -10.0
    high: float = 25.0

    def __post_init__(self) -> None:
        if not 0 <= self.near <= self.far:
            raise ValueError(f"clairvoyant: need 0 <= near <= far, got near={self.near}, far={self.far}.")

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """`low` near the optimum, `high` far from it."""
        assert query.optimum is not None, "make_adversary refuses a clairvoyant without an optimum"
        distance = _distance(query.x, query.optimum)
        if distance < self.near:
            return _lie(self.low)
        return _lie(self.high) if distance > self.far else None


@dataclass(frozen=True)
class Crash:
    """Reports `value` for any x, as early as the budget allows.

    Stands for a crashed node whose failure is written down as a result: -2 as an accuracy, -1000 as a lander's return.
    """

    value: float = -2.0

    def lie(self, query: Query, rng: np.random.Generator) -> Report:
        """The failure's value."""
        return _lie(self.value)
