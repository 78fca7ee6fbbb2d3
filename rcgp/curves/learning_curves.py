"""Learning curves: what a trial reported on its way to the full budget, and the rows of a model that are made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.special import ndtr

from rcgp.curves.outliers import remarks
from rcgp.curves.rises import LEVELS, SAME_LEVEL, Completed, RiseModel
from rcgp.evidence import Evidence
from rcgp.gaussian import Array, GaussianPosterior
from rcgp.state import Scaling, from_json_numbers, to_json_numbers
from rcgp.surrogates import Surrogate
from rcgp.weights import SUSPECT_WEIGHT


@dataclass(frozen=True)
class Curve:
    """What one trial reported on its way: shares of the full budget, ascending, and values; the last is where it stands."""

    resource: tuple[float, ...]
    value: tuple[float, ...]

    @classmethod
    def of(cls, points: Iterable[tuple[float, float]]) -> Self:
        """The curve through `points` (share of the budget, value); of several at one share the last counts."""
        ordered = sorted(dict(points).items())
        for share, _ in ordered:
            if not 0.0 < share <= 1.0 + SAME_LEVEL:
                raise ValueError(f"resource is a share of the full budget in (0, 1], got {share!r}.")
        return cls(tuple(float(r) for r, _ in ordered), tuple(float(y) for _, y in ordered))

    @property
    def is_whole(self) -> bool:
        """Whether there is nothing but the end."""
        return len(self.resource) == 1 and self.resource[0] >= 1.0 - SAME_LEVEL

    @cached_property
    def at_levels(self) -> Array:
        """Values at `LEVELS`, NaN where the curve does not reach or says nothing finite."""
        r, y = np.array(self.resource), np.array(self.value)
        reached = (r[-1] * (1 + SAME_LEVEL) >= LEVELS) & (r[0] * (1 - SAME_LEVEL) <= LEVELS)
        return np.where(reached, np.interp(np.log(LEVELS), np.log(r), y), np.nan)


class Curves:
    """The curves of all trials told to an optimizer, and where the trials end; as long as all ran in full, what they reported."""

    def __init__(self, surrogate: Surrogate | None) -> None:
        self._model = None if surrogate is None else RiseModel(surrogate)
        self._rows: list[Curve] = []
        self.plain = True
        """Whether no trial has told more than its end."""
        self._committed: Completed | None = None
        self._seen: Completed | None = None

    def append(self, y: float, resource: float, before: Sequence[tuple[float, float]]) -> None:
        """One more trial, which stands at `y` at that share of the budget."""
        self._rows.append(Curve.of([*before, (resource, y)]))
        self.plain &= self._rows[-1].is_whole

    def look(self, X: Array, y: Array, evidence: Evidence) -> tuple[Array, Evidence]:
        """Where every trial ends (`n`), and its evidence with the errors of that."""
        if self._model is None or self.plain:
            return y, evidence
        levels = np.stack([curve.at_levels for curve in self._rows])
        reached = np.array([curve.resource[-1] for curve in self._rows])
        self._seen = self._model.complete(
            X, levels, reached, y, None if self._committed is None else self._committed.steps
        )
        return self._seen.y, replace(evidence, error=np.hypot(evidence.error, self._seen.error))

    def end_of(self, X: Array, y: Array, x: Array, curve: Curve) -> tuple[float, float]:
        """Where a trial on its way at `x` (`d`) will end, and the deviation of that, by the last look at the others."""
        assert self._model is not None
        if self._seen is None:
            return curve.value[-1], math.inf
        n = len(self._seen.y)
        levels = np.stack([row.at_levels for row in self._rows[:n]])
        rises = self._model.known(X[:n], levels, y[:n], curve.resource[-1], self._seen.steps)
        reached, value = np.array(curve.resource[-1:]), np.array(curve.value[-1:])
        end, variance = self._model.continued(x[None], reached, value, rises)
        return float(end[0]), math.sqrt(variance[0])

    def commit(self) -> None:
        """What was seen last is what the next look builds on."""
        self._committed = self._seen

    def ends(self, y: Array) -> Array:
        """Where the trials end by the last look (`n`); those that came later at what they reported."""
        return y if self._seen is None else np.append(self._seen.y, y[len(self._seen.y) :])

    @property
    def support(self) -> Array:
        """How far each trial's curve supports its last report, in [0, 1], shape `n`."""
        return self._column("support", 1.0)

    def lead(self, y: Array) -> Array:
        """How far the ends are above the last reports `y` (`n`) for what they were to rise yet: 0 for trials that ran in full."""
        with np.errstate(invalid="ignore"):
            lead = self.ends(y) + self._column("jump", 0.0) - y
        return np.where(np.isfinite(lead), lead, 0.0)

    def _column(self, name: str, default: float) -> Array:
        known = np.empty(0) if self._seen is None else getattr(self._seen, name)
        return np.append(known, np.full(len(self._rows) - len(known), default))

    def remarks(self) -> dict[int, str]:
        """What is peculiar about the trials' curves, in words, by row."""
        found = remarks([curve.value for curve in self._rows])
        jumps = self._column("jump", 0.0)
        for i in np.flatnonzero(self.support < SUSPECT_WEIGHT):
            found[int(i)] = f"its last report leaves its own curve by {jumps[i]:+.3g}"
        return found

    def state_dict(self) -> dict[str, object] | None:
        """Everything, as data that strict JSON can hold; None while all trials ran in full."""
        if self.plain:
            return None
        rows = [[list(c.resource), to_json_numbers(np.array(c.value))] for c in self._rows]
        return {"rows": rows, "completed": self._committed and self._committed.to_data()}

    def load_state_dict(self, state: Mapping[str, Any] | None, y: Array) -> None:
        """Become what `state_dict` described; without it all trials ran in full, and reported `y` (`n`)."""
        self._committed = self._seen = None
        self.plain = state is None  # as `state_dict` writes it
        if state is None:
            self._rows = [Curve((1.0,), (value,)) for value in y.tolist()]
            return
        self._rows = [Curve(tuple(r), tuple(from_json_numbers(values).tolist())) for r, values in state["rows"]]
        if state["completed"] is not None:
            self._committed = self._seen = Completed.from_data(state["completed"])


def chance_above(
    best: float, posterior: GaussianPosterior, scaling: Scaling, place: Array, end: float, deviation: float
) -> float:
    """The probability that a trial at `place` (`1 x d`) ends above `best` (scaled), if its curve says `end` +- `deviation`.

    What its curve says and what its neighbours' ends say are two reports of one number.
    """
    z, own = scaling.to_scaled(np.array([end]))[0], (deviation / scaling.deviation) ** 2 + posterior.noise
    mean, variance = (float(value[0]) for value in posterior.mean_and_variance(place))
    together = 1.0 / (1.0 / variance + 1.0 / own)
    return float(ndtr((together * (mean / variance + z / own) - best) / math.sqrt(together)))
