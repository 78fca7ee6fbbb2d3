"""A surrogate whose cost stays bounded: past so many observations it is built on some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rcgp.evidence import Evidence
from rcgp.gaussian import Array, Mask
from rcgp.lies.rival import Rival
from rcgp.state import SurrogateState
from rcgp.surrogates import Surrogate
from rcgp.weights import SUSPECT_WEIGHT


@dataclass(frozen=True)
class BoundedSurrogate:
    """`surrogate` on all rows up to `max_rows` of them, and on that many beyond.

    A quarter are the best that are trusted, a quarter (and all that are new) the latest, the rest evenly spread.
    """

    surrogate: Surrogate
    max_rows: int

    @property
    def kernel(self) -> str:
        """The kernel of its posteriors."""
        return self.surrogate.kernel

    @property
    def _piece(self) -> int:
        return self.max_rows // 4

    def update(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> SurrogateState:
        """The state of all rows `X` (`n x d`), `y` (`n`) and the `evidence` on them, knowing that of the first of them.

        What a person called a lie has no value here, for any surrogate.
        """
        y = np.where(evidence.condemned, np.nan, y)
        state = self._step(X, y, previous, evidence)
        while state.n < len(y):
            state = self._step(X, y, state, evidence)
        return state

    def rivals(self, X: Array, y: Array, state: SurrogateState, evidence: Evidence) -> Iterator[Rival]:
        """Other explanations than `state`, as long as that is built on all rows."""
        return self.surrogate.rivals(X, y, state, evidence) if state.active is None else iter(())

    def insisting(self, X: Array, y: Array, state: SurrogateState) -> Mask:
        """Which suspects (`n`, boolean) say nothing new by saying it again, as long as the state is built on all rows."""
        nobody = state.active is not None or state.trusted.all()
        return np.zeros(state.n, dtype=bool) if nobody else self.surrogate.insisting(X, y, state)

    def _step(self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence) -> SurrogateState:
        """The state of all rows or, where they are many, of so many more that no step is larger than the model may be."""
        known = 0 if previous is None else previous.n
        n = len(y) if len(y) <= self.max_rows else min(len(y), max(known, self.max_rows // 2) + self._piece)
        X, y, evidence = X[:n], y[:n], evidence.rows(slice(n))
        rows = self._active_rows(y, previous)
        if rows is None:
            return self.surrogate.update(X, y, previous, evidence)
        before = None if previous is None else previous.restricted(rows[: previous.n])
        return self.surrogate.update(X[rows], y[rows], before, evidence.rows(rows)).spread_over(rows, previous)

    def _active_rows(self, y: Array, previous: SurrogateState | None) -> Mask | None:
        """Which rows (`n`, boolean) the model is built on; None: all."""
        n, known = len(y), 0 if previous is None else previous.n
        if n <= self.max_rows:
            return None
        weights, rows = np.ones(n), np.zeros(n, dtype=bool)
        if previous is not None:
            weights[:known] = previous.weights
        rows[min(known, n - self._piece) :] = True
        best = np.where(np.isfinite(y) & (weights >= SUSPECT_WEIGHT) & ~rows, y, -np.inf)
        rows[np.argsort(-best, kind="stable")[: self._piece]] = True
        others = np.flatnonzero(~rows)
        count = max(0, min(len(others), self.max_rows - int(rows.sum())))
        rows[others[np.linspace(0, len(others) - 1, count).astype(int)]] = True
        return rows
