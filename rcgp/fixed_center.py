"""FC-RCGP, the RCGP with one centre and one plateau for all rows, and what it shares with A2-RCGP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np

from rcgp.choices import unknown
from rcgp.evidence import Evidence
from rcgp.fit import POWERS, Data, Hyperparameters, leave_one_out_score
from rcgp.gaussian import Array, Mask
from rcgp.lies.believable import believable
from rcgp.state import Scaling, SurrogateState
from rcgp.surrogates import Surrogate, fitted_at, hyper_of, if_any
from rcgp.weights import PlateauIMQ

VANISHED = 1e100
"""Rows with a larger noise inflation do not enter a fit: their weight is nothing, and its square would underflow."""

Recipe = Literal["robust", "paper"]


@dataclass(frozen=True)
class RobustSurrogate(Surrogate):
    """What FC-RCGP and A2-RCGP share.

    `recipe="paper"` is the authors' own: plain standardising, plateau at the 95 % quantile of the distance from the median,
    decay 1, leave-one-out weighted by the first power of the weights. `recipe="robust"` is the default.
    """

    recipe: Recipe = "robust"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.recipe not in get_args(Recipe):
            raise ValueError(unknown("recipe", self.recipe, get_args(Recipe)))

    def fixed_center(
        self, told: Told, plateau: PlateauIMQ, start: Hyperparameters | None, *, due: bool
    ) -> tuple[Hyperparameters, Array, Array]:
        """Hyper-parameters, noise inflation and target shift (`n`) of the RCGP with centre 0."""
        noise_inflation, target_shift = told.weighed(plateau, told.z)
        hyper = self.refit(
            told.data(noise_inflation, target_shift), leave_one_out_score(POWERS[self.recipe]), start, due=due
        )
        return hyper, noise_inflation, target_shift


@dataclass(frozen=True)
class Told:
    """All rows in scaled units: `X` (`n x d`), `z`, the noise that reports bring themselves, and who was vouched for (`n`)."""

    X: Array
    z: Array
    own_noise: Array
    vouched: Mask

    @classmethod
    def of(cls, X: Array, y: Array, scaling: Scaling, evidence: Evidence) -> Self:
        """The rows `X` (`n x d`), `y` (`n`) on that scale."""
        return cls(X, scaling.to_scaled(y), evidence.own_noise(scaling.deviation), evidence.vouched)

    def weighed(self, plateau: PlateauIMQ, residual: Array) -> tuple[Array, Array]:
        """Noise inflation and target shift (`n`) by the `residual` (`n`); none for those who were vouched for."""
        noise_inflation, target_shift = plateau(residual)
        return np.where(self.vouched, 1.0, noise_inflation), np.where(self.vouched, 0.0, target_shift)

    def data(self, noise_inflation: Array, target_shift: Array) -> Data:
        """What a fit sees of the rows of such weights (`n`): those that have any."""
        data = Data(self.X, self.z, noise_inflation, target_shift, self.own_noise)
        return data.rows(noise_inflation < VANISHED)


@dataclass(frozen=True)
class FixedCenterSurrogate(RobustSurrogate):
    """FC-RCGP: centre 0, one plateau for all.

    The robust recipe estimates the bound sqrt(B_f kappa) of |f| from what is believable: values that can be reached from those
    believed before without crossing a gap of more than `gap` times their range. They set the scale and the plateau.
    """

    gap: float = 20.0
    decay: float = 1.0

    def update(
        self, X: Array, y: Array, previous: SurrogateState | None, evidence: Evidence | None = None
    ) -> SurrogateState:
        n, due, start = len(y), self.fit_is_due(len(y), previous), hyper_of(previous)
        evidence = evidence or Evidence.none(n)
        trusted = np.isfinite(y) if self.recipe == "paper" else believable(y, self.gap, _trusted_before(n, previous))
        trusted |= evidence.vouched
        scaling = Scaling.of(y[trusted])
        told = Told.of(X, y, scaling, evidence)
        width = paper_width(told.z) if self.recipe == "paper" else float(np.max(np.abs(told.z[trusted]), initial=1.0))
        hyper, noise_inflation, target_shift = self.fixed_center(told, PlateauIMQ(width, self.decay), start, due=due)
        at, own = fitted_at(n, due, previous), if_any(told.own_noise)
        return SurrogateState(scaling, hyper, noise_inflation, target_shift, at, own_noise=own)


def paper_width(z: Array) -> float:
    """The authors' plateau: the 95 % quantile of |z - median| over the finite rows of `z` (`n`)."""
    finite = z[np.isfinite(z)]
    return float(np.quantile(np.abs(finite - np.median(finite)), 0.95)) if len(finite) else 1.0


def _trusted_before(n: int, previous: SurrogateState | None) -> Mask | None:
    """The rows (`n`, boolean) that the previous state trusted; new ones are not among them."""
    return None if previous is None else np.append(previous.trusted, np.zeros(n - previous.n, dtype=bool))
