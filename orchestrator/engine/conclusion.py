"""What a study's optimizer makes of all it was told: the trial it would hand over, and what it expects of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rcgp import Optimizer


@dataclass(frozen=True)
class Conclusion:
    """The trial to hand over, the posterior there (in the objective's units), and the value expected at each trial.

    Without a model there is only the trial.
    """

    recommended: int
    mean: float | None = None
    std: float | None = None
    expected: Mapping[int, float] = field(default_factory=dict)


def conclude(optimizer: Optimizer, numbers: Sequence[int]) -> Conclusion:
    """The conclusion from trials that were told in the order of `numbers`; the first of them while nothing was told.

    What is expected of a suspect is what the others say of it; of all others, the posterior mean.
    """
    if not optimizer.n:
        return Conclusion(numbers[0])
    points = np.array(optimizer.state_dict()["X"])
    posterior, best = optimizer.posterior(points), optimizer.recommend()
    expected = dict(zip(numbers, posterior.mean.tolist(), strict=False))  # later ones may not have been told yet
    expected |= {numbers[suspect.index]: suspect.expected for suspect in optimizer.suspects()}
    return Conclusion(numbers[best], float(posterior.mean[best]), float(posterior.std[best]), expected)
