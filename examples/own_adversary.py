"""Your own adversary: a frozen dataclass with one method, `lie`, given to a campaign by its import path.

This one stands for two teams that do not agree on a unit: now and then a value arrives multiplied by 1000.
`own_adversary.yaml`, beside this file, sets it on the Branin function, whose values are negative like those of a loss:

    orchestrate run examples/own_adversary.yaml
"""

from dataclasses import dataclass

import numpy as np

from adversaries import Query, Report


@dataclass(frozen=True)
class WrongUnit:
    """With probability `rate` reports `factor` times the truth. How often in all is up to the campaign's budget."""

    factor: float = 1000.0
    rate: float = 0.2

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The corrupted report, or None to let the truth pass; all randomness comes from `rng`."""
        if rng.random() >= self.rate:
            return None
        return Report(self.factor * query.y, corrupted=True)
