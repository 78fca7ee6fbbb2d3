"""What a study's optimizer makes of all it was told: the trial it would hand over, and what it expects of each."""

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rcgp import Optimizer

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Conclusion:
    """The trial to hand over, the posterior there (in the objective's units), and the value expected at each trial.

    Without a model there is only the trial.
    """

    recommended: int
    mean: float | None = None
    std: float | None = None
    expected: Mapping[int, float] = field(default_factory=dict)
    deviations: Mapping[int, float] = field(default_factory=dict)
    """How far from what is expected of each trial its true value may be: one standard deviation."""
    probability: float | None = None
    """That no trial is better than the one to hand over."""


def conclude(optimizer: "Optimizer", numbers: Sequence[int]) -> Conclusion:
    """The conclusion from trials that were told in the order of `numbers`; the first of them while nothing was told.

    What is expected of a suspect is what the others say of it; of all others, the posterior mean.
    """
    if not optimizer.n:
        return Conclusion(numbers[0])
    points = np.array(optimizer.state_dict()["X"])
    posterior, best = optimizer.posterior(points), optimizer.recommend()
    expected = dict(zip(numbers, posterior.mean.tolist(), strict=False))  # later ones may not have been told yet
    expected |= {numbers[suspect.index]: suspect.expected for suspect in optimizer.suspects()}
    deviations = dict(zip(numbers, posterior.std.tolist(), strict=False))
    mean, std = float(posterior.mean[best]), float(posterior.std[best])
    return Conclusion(numbers[best], mean, std, expected, deviations, _probability(optimizer))


def conclude_or_highest(optimizer: "Optimizer", reports: Mapping[int, float], study: str) -> Conclusion:
    """What the optimizer makes of all `reports`, by trial, or when its model fails, that the highest is best."""
    try:
        return conclude(optimizer, list(reports))
    except Exception as error:
        log.warning("%s: no recommendation from the model (%s); the highest report instead.", study, error)
        return Conclusion(max(reports, key=lambda n: reports[n] if math.isfinite(reports[n]) else -math.inf))


def _probability(optimizer: "Optimizer") -> float | None:
    """How probably what is recommended is the best that was tried, where the model can say."""
    probability = optimizer.recommendation().probability_best
    return probability if math.isfinite(probability) else None
