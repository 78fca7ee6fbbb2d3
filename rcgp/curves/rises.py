"""Where a trial that was stopped on its way would have ended, how sure that is, and what its own curve says of its last report.

    end(x) = y + sum over the steps that are left of D_k,    D_k = rise from one level of the budget to the next

Notation
    r        share of the full budget, in (0, 1]; levels r_k = 1, 2/3, 1/3, 1/9, ... (`LEVELS`)
    y_k      value of a curve at level k, interpolated in log r
    D_k      y_k - y_k+1, one row of a surrogate of its own for every trial that passed both levels: a smooth function of x and
             of y_k+1, robust as the objective's own model is. So what the scheduler selected is an input, not a bias
    S_k      prior deviation of D_k: that of the rows, at least `doubt` deviations of the objective. Where nobody went on, a rise
             like everybody's is a guess

A trial becomes one row at the full budget, so a model of n trials costs what it does without curves. Errors of neighbours are
correlated, for they share D_k. The row sums of |covariance| bound it from above as a diagonal (the difference is diagonally
dominant): twenty stopped neighbours are never surer of their common rise than one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from rcgp.curves.outliers import outlier_weights
from rcgp.evidence import Evidence
from rcgp.gaussian import KERNELS, Array, Mask, Rows, squared_distance
from rcgp.state import SurrogateState, from_json_numbers, to_json_numbers
from rcgp.surrogates import Surrogate
from rcgp.weights import SUSPECT_WEIGHT

LEVELS = np.array([1.0, 2 / 3, *(3.0**-k for k in range(1, 9))])
"""Shares of the budget at which curves are compared, from the end backwards."""

SAME_LEVEL = 1e-6
"""Relative distance within which a report is at a level."""

Steps = dict[int, SurrogateState]
"""What the surrogates of the rises D_k have learned, by k."""


@dataclass(frozen=True)
class Completed:
    """Trials at the full budget: where they end (`n`) and with what standard error.

    `support` says how far its own curve supports a trial's last report, `jump` by how much the report leaves it (`n` each).
    """

    y: Array
    error: Array
    support: Array
    jump: Array
    steps: Steps

    def to_data(self) -> dict[str, object]:
        """Plain data that strict JSON can hold."""
        columns = {name: to_json_numbers(getattr(self, name)) for name in ("y", "error", "support", "jump")}
        return {**columns, "steps": {str(k): state.to_data() for k, state in self.steps.items()}}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """What `to_data` wrote."""
        y, error, support, jump = (from_json_numbers(data[name]) for name in ("y", "error", "support", "jump"))
        steps = {int(k): SurrogateState.from_data(state) for k, state in data["steps"].items()}
        return cls(y, error, support, jump, steps)


@dataclass(frozen=True)
class _Rise:
    """One step: which trials passed it, the inputs (`m x (d + 1)`) and rises (`m`) of its surrogate, and its state."""

    rows: Rows
    inputs: Array
    rise: Array
    state: SurrogateState | None
    weight: Array
    residual: Array

    @property
    def is_behind(self) -> bool:
        """Whether the state does not know all rows: nobody was to take this step when the last of them came."""
        return self.state is None or self.state.n < len(self.rows)

    def predicted(self, inputs: Array, kernel: str, least: float) -> tuple[Array, Array, Array]:
        """Mean (`m`), covariance (`m x m`) and noise variance (`m`) of rises at `inputs`; their prior deviation is `least`."""
        m = len(inputs)
        if self.state is None:
            mean = float(np.median(self.rise)) if len(self.rise) else 0.0
            return np.full(m, mean), np.full((m, m), least**2), np.zeros(m)
        posterior, scaling = self.state.posterior(self.inputs, self.rise, kernel), self.state.scaling
        cross, _ = KERNELS[kernel](squared_distance(inputs, posterior.X, posterior.lengthscale))
        prior, _ = KERNELS[kernel](squared_distance(inputs, inputs, posterior.lengthscale))
        covariance = max(scaling.deviation, least) ** 2 * (prior - cross @ posterior.inverse @ cross.T)
        noise = np.full(m, posterior.noise * scaling.deviation**2)
        return scaling.to_units(cross @ posterior.alpha), covariance, noise


@dataclass(frozen=True)
class Rises:
    """All steps, from the last to the first, and the coordinate of the values they start from."""

    steps: Sequence[_Rise]
    place: Place


@dataclass(frozen=True)
class RiseModel:
    """Completes curves by what others did from there on; `surrogate` models the rise of every step.

    `doubt` and `least` are in deviations of the objective: a rise is no surer than the one, and tells nobody from his neighbours
    by less than the other.
    """

    surrogate: Surrogate
    doubt: float = 0.1
    fewest: int = 3
    least: float = 0.05

    def complete(self, X: Array, levels: Array, reached: Array, y: Array, previous: Steps | None) -> Completed:
        """Trials at `X` (`n x d`) with values at the `levels` (`n x k`), which stand at `y` with a share `reached` (`n` each)."""
        rises = self._seen(X, levels, y, reached.min(initial=1.0), previous or {})
        doubts = self._doubts(levels, rises.steps)
        reached, y = np.where(doubts.by > 0, LEVELS[doubts.by], reached), np.where(doubts.by > 0, doubts.value, y)
        rises = self._learned(rises, reached.min(initial=1.0))
        ends, variance = self.continued(X, reached, y, rises)
        steps = {k: rise.state for k, rise in enumerate(rises.steps) if rise.state is not None}
        return Completed(ends, np.sqrt(variance + doubts.error**2), doubts.support, doubts.jump, steps)

    def known(self, X: Array, levels: Array, y: Array, lowest: float, known: Steps) -> Rises:
        """The rises of trials at `X` (`n x d`) with values at `levels` (`n x k`), `y` at last, from the `lowest` share upwards.

        Steps are as `known`, learned only where nobody was on the way at them before.
        """
        return self._learned(self._seen(X, levels, y, lowest, known), lowest, anew=False)

    def _seen(self, X: Array, levels: Array, y: Array, lowest: float, known: Steps) -> Rises:
        """What trials showed of every step from the `lowest` share upwards; two below it stand witness."""
        place, count = Place.of(y), _steps_from(lowest) + 2
        steps = range(min(count, len(LEVELS) - 1))
        return Rises([self._step(k, X, levels, place, known.get(k)) for k in steps], place)

    def _step(self, k: int, X: Array, levels: Array, place: Place, known: SurrogateState | None) -> _Rise:
        """The rows of the step from level k + 1 to level k."""
        rise = levels[:, k] - levels[:, k + 1]
        rows = np.flatnonzero(np.isfinite(rise))
        inputs = np.column_stack([X[rows], place(levels[rows, k + 1])])
        weight, residual = outlier_weights(inputs, rise[rows], self.least * place.spread)
        return _Rise(rows, inputs, rise[rows], None if known is None else known.afresh(), weight, residual)

    def _learned(self, rises: Rises, lowest: float, *, anew: bool = True) -> Rises:
        """With surrogates of the steps that somebody at the `lowest` share has yet to take: nobody asks the others."""
        count = _steps_from(lowest)
        taken = [self._fitted(rise) if anew or rise.is_behind else rise for rise in rises.steps[:count]]
        return replace(rises, steps=[*taken, *rises.steps[count:]])

    def _fitted(self, rise: _Rise) -> _Rise:
        if len(rise.rows) < self.fewest:
            return rise
        # a rise that is out of line is no surer than it is far out
        error = np.where(rise.weight < SUSPECT_WEIGHT, np.abs(rise.residual), 0.0)
        evidence = replace(Evidence.none(len(rise.rows)), error=error)
        return replace(rise, state=self.surrogate.update(rise.inputs, rise.rise, rise.state, evidence))

    def _doubts(self, levels: Array, rises: Sequence[_Rise]) -> _Doubts:
        """What curves say of the last reports: a step that is doubted, after one that is not, is a last report that lies."""
        weight, residual = np.full(levels.shape, np.nan), np.full(levels.shape, np.nan)
        for k, rise in enumerate(rises):
            weight[rise.rows, k], residual[rise.rows, k] = rise.weight, rise.residual
        doubts = _Doubts.none(len(levels))
        for i in np.flatnonzero((weight < SUSPECT_WEIGHT).any(axis=1)):
            k = int(np.flatnonzero(np.isfinite(weight[i]))[0])
            if weight[i, k] < SUSPECT_WEIGHT:
                doubts.note(int(i), k, levels[i], weight[i], residual[i])
        return doubts

    def continued(self, X: Array, reached: Array, y: Array, rises: Rises) -> tuple[Array, Array]:
        """Where trials end that stand at `y` with a share `reached` of the budget, and the variance of it (`n` each)."""
        reached, y, variance = reached.copy(), y.copy(), np.zeros(len(y))
        steps, place = rises.steps, rises.place
        for k in reversed(range(len(steps))):
            left: Mask = (reached < LEVELS[k] * (1 - SAME_LEVEL)) & np.isfinite(y)
            if not left.any():
                continue
            share = np.log(LEVELS[k] / reached[left]) / np.log(LEVELS[k] / LEVELS[k + 1])
            inputs = np.column_stack([X[left], place(y[left])])
            mean, covariance, noise = steps[k].predicted(inputs, self.surrogate.kernel, self.doubt * place.spread)
            y[left] += share * mean
            variance[left] += (np.abs(covariance) * np.sqrt(np.outer(share, share))).sum(axis=1) + share * noise
            reached[left] = LEVELS[k]
        return y, variance


def _steps_from(share: float) -> int:
    """How many steps a trial has yet to take that stands at this share of the budget."""
    return int((share * (1 + SAME_LEVEL) < LEVELS).sum())


@dataclass
class _Doubts:
    """What the curves say of last reports (`n` each); `by` is the level to go on from instead, 0: the last report stands."""

    by: Rows
    value: Array
    support: Array
    jump: Array
    error: Array

    @classmethod
    def none(cls, n: int) -> Self:
        return cls(np.zeros(n, dtype=int), np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n))

    def note(self, i: int, k: int, levels: Array, weight: Array, residual: Array) -> None:
        """Trial i's last step, to level k, is doubted."""
        if not np.isfinite(weight[k + 1]):  # one of two reports lies, and nobody says which
            self.error[i] = abs(residual[k])
        elif self._leaves(weight[k + 1], residual[k], residual[k + 1]):
            self.by[i], self.value[i] = k + 1, levels[k + 1]
            self.support[i], self.jump[i] = weight[k], residual[k]

    @staticmethod
    def _leaves(weight_before: float, last: float, before: float) -> bool:
        """Whether the last step left the curve; else it led back to it, and the report before was the lie."""
        back = last * before < 0.0 and abs(last + before) <= 0.5 * abs(last)
        return last * before > 0.0 or (weight_before >= SUSPECT_WEIGHT and not back)


@dataclass(frozen=True)
class Place:
    """Values as a coordinate between 0 and 1: where they are among all, whatever the scale."""

    middle: float
    spread: float

    @classmethod
    def of(cls, values: Array) -> Self:
        """By median and quartiles of what is finite, which no lie moves far."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(0.0, 1.0)
        low, middle, high = np.quantile(finite, [0.25, 0.5, 0.75])
        return cls(float(middle), float(high - low) / 1.349 or float(np.std(finite)) or 1.0)

    def __call__(self, values: Array) -> Array:
        squashed: Array = 0.5 + 0.5 * np.tanh((np.nan_to_num(values) - self.middle) / (2.0 * self.spread))
        return squashed
