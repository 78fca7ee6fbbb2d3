"""What a surrogate concludes from the observations: their scale, the hyper-parameters, and how far each row is believed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array, Belief, Mask

SUSPECT_FACTOR = 2.0
"""A row whose noise factor reaches this is no longer trusted: it neither scales, fits nor judges others."""


@dataclass(frozen=True)
class Scaling:
    """z = (y / unit - location) / spread; the unit keeps values near 1e300 from overflowing when squared."""

    unit: float
    location: float
    spread: float

    @classmethod
    def of(cls, y: Array) -> Self:
        """Plain standardising by mean and standard deviation of `y` (`n`, finite); 1 where there is no spread."""
        unit = float(np.max(np.abs(y), initial=0.0)) or 1.0
        relative = y / unit
        spread = float(np.std(relative, ddof=1)) if len(y) > 1 else 0.0
        # below rounding error of the mean there is no spread to speak of
        return cls(unit, float(np.mean(relative)) if len(y) else 0.0, spread if spread > 1e-14 else 1.0)

    def to_scaled(self, y: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return (y / self.unit - self.location) / self.spread

    def to_units(self, z: Array) -> Array:
        return (z * self.spread + self.location) * self.unit


@dataclass(frozen=True)
class Judgement:
    """Noise factor J and shift m_w/sigma^2 of every row (`n`; J infinite: left out), hyper-parameters and scale.

    `fitted_at` is the number of rows at the last fit, `anchor` the anchor model's own hyper-parameters where it has them,
    `active` which rows the model is built on where it is not all of them.
    """

    scaling: Scaling
    hyper: Hyperparameters
    factor: Array
    shift: Array
    fitted_at: int
    inflation: float = 1.0
    anchor: Hyperparameters | None = None
    active: Mask | None = None
    _belief: Belief | None = field(default=None, repr=False, compare=False)

    @property
    def weights(self) -> Array:
        """u^2 = 1/J in [0, 1] of every row, shape `n`: 1 is full trust, 0 a row left out."""
        return 1.0 / self.factor

    @property
    def kept(self) -> Mask:
        """Which rows (`n`, boolean) have any influence."""
        finite = np.isfinite(self.factor)
        return finite if self.active is None else finite & self.active

    def belief(self, X: Array, y: Array, kernel: str) -> Belief:
        """The posterior this judgement leads to, given all rows `X` (`n x d`) and `y` (`n`); computed once."""
        if self._belief is None:
            kept, noise = self.kept, self.hyper.noise
            targets = self.scaling.to_scaled(y[kept]) - noise * self.shift[kept]
            belief = Belief.condition(
                X[kept], targets, noise * self.factor[kept], self.hyper.lengthscale, kernel, noise
            )
            object.__setattr__(self, "_belief", replace(belief, inflation=self.inflation))
        assert self._belief is not None
        return self._belief

    def restricted(self, rows: Mask) -> Judgement:
        """The judgement of some of its rows (boolean, `n`), with the fit as far back as it was."""
        fitted_at = int(rows.sum()) - (len(rows) - self.fitted_at)
        factor, shift = self.factor[rows], self.shift[rows]
        return replace(self, factor=factor, shift=shift, fitted_at=fitted_at, active=None, _belief=None)

    def spread_over(self, rows: Mask, before: Judgement | None) -> Judgement:
        """The judgement of all rows, this one being that of `rows` (boolean, `n`): the others keep their last verdict."""
        factor, shift = np.ones(len(rows)), np.zeros(len(rows))
        if before is not None:
            factor[: len(before.factor)], shift[: len(before.shift)] = before.factor, before.shift
        factor[rows], shift[rows] = self.factor, self.shift
        fitted_at = len(rows) - (int(rows.sum()) - self.fitted_at)
        return replace(self, factor=factor, shift=shift, fitted_at=fitted_at, active=rows)

    def to_data(self) -> dict[str, Any]:
        """Plain data that JSON can hold; an infinite factor is written as None."""
        return {
            "scaling": [self.scaling.unit, self.scaling.location, self.scaling.spread],
            "theta": _hyper_to_data(self.hyper),
            "factor": [value if math.isfinite(value) else None for value in self.factor.tolist()],
            "shift": self.shift.tolist(),
            "fitted_at": self.fitted_at,
            "inflation": self.inflation,
            "anchor": self.anchor and _hyper_to_data(self.anchor),
            "active": None if self.active is None else np.flatnonzero(self.active).tolist(),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The judgement that `to_data` wrote, bit for bit."""
        factor = np.array([math.inf if value is None else value for value in data["factor"]], dtype=float)
        active = None
        if data["active"] is not None:
            active = np.zeros(len(factor), dtype=bool)
            active[data["active"]] = True
        return cls(
            scaling=Scaling(*data["scaling"]),
            hyper=_hyper_from_data(data["theta"]),
            factor=factor,
            shift=np.array(data["shift"], dtype=float),
            fitted_at=data["fitted_at"],
            inflation=data["inflation"],
            anchor=data["anchor"] and _hyper_from_data(data["anchor"]),
            active=active,
        )


def _hyper_to_data(hyper: Hyperparameters) -> list[float]:
    return [*hyper.lengthscale.tolist(), hyper.noise]


def _hyper_from_data(data: list[float]) -> Hyperparameters:
    return Hyperparameters(np.array(data[:-1], dtype=float), data[-1])
