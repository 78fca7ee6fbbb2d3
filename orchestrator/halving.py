"""Successive halving that asks before it stops: who is behind at a rung, and who is spared all the same.

ASHA stops whoever is behind at a rung. Where good configurations learn slowly that is the best of them. Here the first trials run
in full, as witnesses of how curves go on, and later a trial is only stopped if a model sees little chance that it would end best.
Every fifth runs in full all the same: a model that stops whoever it expects little of would never learn that it is wrong.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

WITNESSES, CHANCE = 4, 0.25
"""Tuned in `benchmarks/curves.py` on five problems and eight seeds: a chance of 0.25 gave regret 0.15, one of 0.5 0.18."""

EVERY = 5
"""One trial in so many is a witness later too."""


@dataclass(frozen=True)
class Mercy:
    """Who goes on though it is behind: the first `witnesses` trials, one in `EVERY` later, and whoever has at least this `chance`
    to end best. Without `witnesses` only those."""

    witnesses: int = WITNESSES
    chance: float = CHANCE

    def __post_init__(self) -> None:
        if isinstance(self.witnesses, bool) or not isinstance(self.witnesses, int) or self.witnesses < 0:
            raise ValueError(f"witnesses must be a whole number of trials, got {self.witnesses!r}.")
        if not 0.0 <= self.chance <= 1.0:
            raise ValueError(f"chance must lie in [0, 1], got {self.chance!r}.")

    def spares(self, place: int, promise: Callable[[], float]) -> bool:
        """Whether the trial that started in this `place` (from 0) goes on; `promise` is only asked where that decides."""
        return self._is_witness(place) or promise() >= self.chance

    def _is_witness(self, place: int) -> bool:
        return self.witnesses > 0 and (place < self.witnesses or place % EVERY == 0)


class Ladder:
    """The rungs of ASHA: at `grace`, `grace` x `reduction`, ... of the `full` resource, and who was there with what.

    Behind is who is not among the best 1/`reduction` of those that were there before, as in Tune's `ASHAScheduler`.
    """

    def __init__(self, full: float, grace: float = 1, reduction: float = 3.0) -> None:
        count = int(np.log(full / grace) / np.log(reduction) + 1) if grace <= full else 0
        rungs = [grace * reduction**k for k in reversed(range(count))]
        self._reduction = reduction
        self._seen: dict[float, dict[int, float]] = {rung: {} for rung in rungs if rung < full}

    def rung(self, resource: float, before: float = 0.0) -> float | None:
        """The highest rung that a trial with so much of its resource spent has reached, and had not `before`."""
        return next((rung for rung in self._seen if before < rung <= resource), None)

    def behind(self, number: int, resource: float, value: float) -> bool:
        """Whether a trial that reports `value` (maximised) is behind at its rung, where it is noted; once a trial and rung."""
        rung = self.rung(resource)
        if rung is None or number in self._seen[rung]:
            return False
        others = list(self._seen[rung].values())
        self._seen[rung][number] = value if math.isfinite(value) else math.nan
        if np.all(np.isnan(others)):
            return False
        return not value >= np.nanpercentile(others, (1 - 1 / self._reduction) * 100)
