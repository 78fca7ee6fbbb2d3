"""How far an observation is believed: the plateau inverse multi-quadric (P-IMQ) weight of the paper.

Notation
    r   residual y - g(x)               L   `width`, half the length of the plateau
    e   excess, max(|r| - L, 0)         c   `decay`, how fast belief falls beyond it
    u   relative weight (1 + e^2/c^2)^(-1/2) in (0, 1];  the paper's w is (sigma/sqrt 2) u
    J   noise inflation sigma^2 / (2 w^2) = 1/u^2 = 1 + e^2/c^2
    m_w target shift sigma^2 d/dy log w^2 = -2 sigma^2 sign(r) e / (c^2 + e^2)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:  # whoever has tensors has imported torch; the NumPy optimizers start seconds sooner without
    from torch import Tensor

Array = TypeVar("Array", "Tensor", npt.NDArray[np.float64])

SUSPECT_WEIGHT = 0.5
"""An observation whose weight u^2 = 1/J is below this is a suspect: it neither scales nor fits, and no other row is compared
with it. A weight from here to 1 is partial trust."""


@dataclass(frozen=True)
class PlateauIMQ:
    """P-IMQ weight: full belief within `width` of the centre, then falling like c/e; `width=0` is the plain IMQ.

    `width` and `decay` are floats, or hold one value a point (shape `n`). Works on tensors and on NumPy arrays.
    """

    width: float | Tensor | npt.NDArray[np.float64]
    decay: float | Tensor | npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        if not _all(self.width >= 0):
            raise ValueError(f"PlateauIMQ.width must be at least 0, got {self.width}.")
        if not _all(self.decay > 0):
            raise ValueError(f"PlateauIMQ.decay must be positive, got {self.decay}.")

    def __call__(self, residual: Array) -> tuple[Array, Array]:
        """Noise inflation J and target shift m_w / sigma^2, both of the residual's shape `n`.

        Exactly 1 and 0 on the plateau. A residual that is infinite, NaN or too large to square has no influence:
        its noise inflation is infinite and its target shift 0, the limits of the formulas.
        """
        width, decay = cast("Array", self.width), cast("Array", self.decay)  # or floats, which behave alike
        excess = residual - residual.clip(-width, width)
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = excess / decay
            noise_inflation = 1.0 + ratio * ratio
            # -2 e / (c^2 + e^2), written so that neither square overflows
            target_shift = -2.0 * (ratio / noise_inflation) / decay
        lost = ~(noise_inflation < float("inf"))  # NaN too, and the same words for tensors and arrays
        noise_inflation[lost], target_shift[lost] = float("inf"), 0.0
        return noise_inflation, target_shift


@dataclass(frozen=True)
class KnownWeights:
    """Noise inflation and target shift (both `n`) that were computed elsewhere: the residual has no say."""

    noise_inflation: Tensor | npt.NDArray[np.float64]
    target_shift: Tensor | npt.NDArray[np.float64]

    def __call__(self, residual: Array) -> tuple[Array, Array]:
        """The known noise inflation and target shift, in the shape `n` of the residual."""
        return cast("Array", self.noise_inflation), cast("Array", self.target_shift)


def pseudo_data(y: Array, noise: Array | float, noise_inflation: Array, target_shift: Array) -> tuple[Array, Array]:
    """Targets and noise variances of the ordinary GP that equals the RCGP: moved and inflated. All have shape `n`."""
    return y - noise * target_shift, noise * noise_inflation


def _all(condition: object) -> bool:
    return bool(condition.all()) if hasattr(condition, "all") else bool(condition)
