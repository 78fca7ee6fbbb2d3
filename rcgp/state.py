"""What a surrogate has learned from the observations: their scale, the hyper-parameters, and how far each row is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array, GaussianPosterior, Mask, Rows, leave_one_out
from rcgp.weights import SUSPECT_WEIGHT, pseudo_data


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
        relative, n = y / unit, len(y)
        location = float(relative.sum()) / max(n, 1)
        spread = math.sqrt(float(((relative - location) ** 2).sum()) / max(n - 1, 1))
        # below rounding error of the mean there is no spread to speak of
        return cls(unit, location, spread if spread > 1e-14 else 1.0)

    @property
    def deviation(self) -> float:
        """One in scaled units, in the units of `y`."""
        return self.spread * self.unit

    def to_scaled(self, y: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return (y / self.unit - self.location) / self.spread

    def to_units(self, z: Array) -> Array:
        return (z * self.spread + self.location) * self.unit


@dataclass(frozen=True)
class SurrogateState:
    """Noise inflation J and target shift m_w/sigma^2 of every row (`n`; J infinite: left out), hyper-parameters and scale.

    `fitted_at` is the number of rows at the last fit, `covariance_scale` that of a Student-t process, `anchor` the anchor
    model's own hyper-parameters where it has them, `active` which rows the model is built on where it is not all of them,
    `own_noise` (`n`, scaled) the variance that reports bring themselves, where any does, `doubted` (`n`, boolean) which rows an
    explanation of all takes for lies, where any.
    """

    scaling: Scaling
    hyper: Hyperparameters
    noise_inflation: Array
    target_shift: Array
    fitted_at: int
    covariance_scale: float = 1.0
    anchor: Hyperparameters | None = None
    active: Mask | None = None
    own_noise: Array | None = None
    doubted: Mask | None = None
    _posterior: GaussianPosterior | None = field(default=None, repr=False, compare=False)

    @property
    def n(self) -> int:
        """Number of rows it knows."""
        return len(self.noise_inflation)

    @property
    def weights(self) -> Array:
        """u^2 = 1/J in [0, 1] of every row, shape `n`: 1 is full trust, 0 a row left out."""
        return 1.0 / self.noise_inflation

    @property
    def trusted(self) -> Mask:
        """Which rows (`n`, boolean) are no suspects."""
        return trusted_rows(self.noise_inflation)

    @property
    def kept(self) -> Mask:
        """Which rows (`n`, boolean) have any influence."""
        finite = np.isfinite(self.noise_inflation)
        return finite if self.active is None else finite & self.active

    def posterior(self, X: Array, y: Array, kernel: str) -> GaussianPosterior:
        """The posterior this state leads to, given all its rows `X` (`n x d`) and `y` (`n`); computed once."""
        if self._posterior is None:
            kept, hyper = self.kept, self.hyper
            z = self.scaling.to_scaled(y[kept])
            noise = hyper.noise + self.own_noise_of(kept)
            targets, noises = pseudo_data(z, noise, self.noise_inflation[kept], self.target_shift[kept])
            posterior = GaussianPosterior.condition(X[kept], targets, noises, hyper.lengthscale, kernel, hyper.noise)
            object.__setattr__(self, "_posterior", replace(posterior, covariance_scale=self.covariance_scale))
        assert self._posterior is not None
        return self._posterior

    def afresh(self) -> SurrogateState:
        """The same for rows whose values have changed meanwhile."""
        return replace(self, _posterior=None)

    def rescaled(self, y: Array) -> SurrogateState:
        """The same for values `y` (`n`) of another scale: who is trusted stays."""
        scaling = Scaling.of(y[self.trusted & np.isfinite(y)])
        own_noise = self.own_noise
        if own_noise is not None:
            own_noise = own_noise * (self.scaling.deviation / scaling.deviation) ** 2
        return replace(self, scaling=scaling, own_noise=own_noise, _posterior=None)

    def own_noise_of(self, rows: Mask) -> Array:
        """The variance that the reports of those rows (boolean, `n`) bring themselves, scaled."""
        return np.zeros(int(rows.sum())) if self.own_noise is None else self.own_noise[rows]

    def expected(self, X: Array, y: Array, posterior: GaussianPosterior) -> tuple[Array, Array]:
        """What its `posterior` expects at every row without it: mean and deviation (`n` each), in scaled units."""
        kept = self.kept
        # most states keep all rows: nothing to evaluate then
        mean, variance = np.empty((2, len(X))) if kept.all() else posterior.mean_and_variance(X)
        residual, variance[kept] = leave_one_out(posterior, self.target_shift[kept], self.own_noise_of(kept))
        mean[kept] = self.scaling.to_scaled(y[kept]) - residual
        return mean, np.sqrt(variance)

    def with_trust(self, row: int, noise_inflation: float) -> SurrogateState:
        """The same, once that row is trusted so far whatever the model thinks."""
        inflations, shifts = self.noise_inflation.copy(), self.target_shift.copy()
        inflations[row], shifts[row] = noise_inflation, 0.0
        return replace(self, noise_inflation=inflations, target_shift=shifts, _posterior=None)

    def restricted(self, rows: Mask) -> SurrogateState:
        """The state of some of its rows (boolean, `n`), with the fit as far back as it was."""
        return replace(
            self,
            noise_inflation=self.noise_inflation[rows],
            target_shift=self.target_shift[rows],
            fitted_at=int(rows.sum()) - (len(rows) - self.fitted_at),
            active=None,
            own_noise=None if self.own_noise is None else self.own_noise[rows],
            doubted=None if self.doubted is None else self.doubted[rows],
            _posterior=None,
        )

    def spread_over(self, rows: Mask, before: SurrogateState | None) -> SurrogateState:
        """The state of all rows, this one being that of `rows` (boolean, `n`): the others are trusted as they were before."""
        noise_inflation, target_shift = np.ones(len(rows)), np.zeros(len(rows))
        if before is not None:
            noise_inflation[: before.n], target_shift[: before.n] = before.noise_inflation, before.target_shift
        noise_inflation[rows], target_shift[rows] = self.noise_inflation, self.target_shift
        own_noise = None if self.own_noise is None else np.zeros(len(rows))
        if own_noise is not None:
            own_noise[rows] = self.own_noise
        doubted = np.zeros(len(rows), dtype=bool)
        if before is not None and before.doubted is not None:
            doubted[: before.n] = before.doubted
        doubted[rows] = False if self.doubted is None else self.doubted
        return replace(
            self,
            noise_inflation=noise_inflation,
            target_shift=target_shift,
            fitted_at=len(rows) - (int(rows.sum()) - self.fitted_at),
            active=rows,
            own_noise=own_noise,
            doubted=doubted if doubted.any() else None,
        )

    def to_data(self) -> dict[str, object]:
        """Plain data that strict JSON can hold."""
        return {
            "scaling": [self.scaling.unit, self.scaling.location, self.scaling.spread],
            "hyperparameters": _hyper_to_data(self.hyper),
            "noise_inflation": to_json_numbers(self.noise_inflation),
            "target_shift": self.target_shift.tolist(),
            "fitted_at": self.fitted_at,
            "covariance_scale": self.covariance_scale,
            "anchor": self.anchor and _hyper_to_data(self.anchor),
            "active": None if self.active is None else np.flatnonzero(self.active).tolist(),
            "own_noise": None if self.own_noise is None else self.own_noise.tolist(),
            "doubted": None if self.doubted is None else np.flatnonzero(self.doubted).tolist(),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """The state that `to_data` wrote, bit for bit; `data` may have the earlier names."""
        data = {RENAMED_FIELDS.get(name, name): value for name, value in data.items()}
        noise_inflation = from_json_numbers(data["noise_inflation"])
        return cls(
            scaling=Scaling(*data["scaling"]),
            hyper=_hyper_from_data(data["hyperparameters"]),
            noise_inflation=noise_inflation,
            target_shift=np.array(data["target_shift"], dtype=float),
            fitted_at=data["fitted_at"],
            covariance_scale=data["covariance_scale"],
            anchor=data["anchor"] and _hyper_from_data(data["anchor"]),
            active=None if data["active"] is None else mask_of(data["active"], len(noise_inflation)),
            own_noise=None if data.get("own_noise") is None else np.array(data["own_noise"], dtype=float),
            doubted=None if data.get("doubted") is None else mask_of(data["doubted"], len(noise_inflation)),
        )


RENAMED_FIELDS = {
    "theta": "hyperparameters",
    "factor": "noise_inflation",
    "shift": "target_shift",
    "inflation": "covariance_scale",
}
"""What the fields of a stored state were called once, and are called now: there are old states on people's disks."""


def trusted_rows(noise_inflation: Array) -> Mask:
    """Which rows (`n`, boolean) are no suspects: their weight is at least `SUSPECT_WEIGHT`."""
    trusted: Mask = 1.0 / noise_inflation >= SUSPECT_WEIGHT
    return trusted


def mask_of(rows: Sequence[int] | Rows, n: int) -> Mask:
    """Which of `n` rows are among `rows` (indices), as booleans."""
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask


def to_json_numbers(values: Array) -> list[float | str]:
    """`values` (`n`) as strict JSON can hold them: numbers, and the words for infinite and NaN."""
    return [value if math.isfinite(value) else str(value) for value in values.tolist()]


def from_json_numbers(values: Sequence[float | str | None]) -> Array:
    """What `to_json_numbers` wrote, shape `n`; once None was written for infinite."""
    return np.array([math.inf if value is None else float(value) for value in values])


def _hyper_to_data(hyper: Hyperparameters) -> list[float]:
    return [*hyper.lengthscale.tolist(), hyper.noise]


def _hyper_from_data(data: list[float]) -> Hyperparameters:
    return Hyperparameters(np.array(data[:-1], dtype=float), data[-1])
