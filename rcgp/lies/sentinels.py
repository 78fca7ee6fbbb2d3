"""Values that stand for no measurement: a default, a cache, an empty validation set reports one number from anywhere.

Two honest measurements hardly ever agree to the last digit. Where one value alone does, at places that have nothing in common, it
was not measured there: every report of it is a lie, however good or bad it is, and whatever the model makes of it. Honest reports
do repeat themselves where the objective is level, which has a place (`rcgp.random_failures`), and where they are counts: then
other values repeat themselves too.

    two places      if the value is the only whole number among all (0.0, -1, 999); where it is in the worse half, which costs
                    little if it was honest, other values may repeat themselves
    three places    of any other value, if no other one repeats itself
"""

from __future__ import annotations

import numpy as np

from rcgp.evidence import all_differ
from rcgp.gaussian import Array, Mask
from rcgp.lies.challenge import NOWHERE
from rcgp.random_failures import evenly_spread, probability_of_region

PLACES_OF_A_WHOLE_NUMBER, PLACES = 2, 3
"""From so many places on a value is asked for what they have in common. Four raw tables whose trials report a loss of 0.0 once in
ten, so that it is the best: of random configurations 0.056 % are better than the one handed over with 2, 0.11 % with 3, 1.1 %
without the question and 0.042 % without lies. With 2 for every value, 32 honest reports of ten clean tables (3,000) are
doubted instead of 12."""

FEWEST = 8
"""Among fewer reports a value that repeats itself may be luck."""

KERNEL, MOST_ROWS = "matern52", 150
"""What the question for a common place is asked with, and of how many rows, evenly spread: a matter of time."""


def not_measured(X: Array, y: Array, said: Mask) -> Mask:
    """Which rows (`n`, boolean) of `X` (`n x d`) report a value `y` (`n`) that was not measured, among those that `said` one."""
    nobody = np.zeros(len(y), dtype=bool)
    if said.sum() < FEWEST or all_differ(y[said]):
        return nobody
    value = _repeated_alone(X[said], y[said])
    same = nobody if value is None else said & (y == value)
    asked = np.flatnonzero(said)[evenly_spread(int(said.sum()), MOST_ROWS)]
    if not same[asked].any() or probability_of_region(X[asked], ~same[asked], KERNEL) >= NOWHERE:
        return nobody
    return same


def _repeated_alone(X: Array, y: Array) -> float | None:
    """The value of `y` (`n`) that repeats itself from place to place as none of the others does; None: there is none."""
    _, apart = np.unique(np.column_stack([X, y]), axis=0, return_index=True)  # the same from one place is a measurement
    values, places = np.unique(y[apart], return_counts=True)
    whole = np.flatnonzero(values == np.round(values))
    sentinel = len(whole) == 1
    one = int(whole[0]) if sentinel else int(np.argmax(places))
    among_the_worse = sentinel and bool(2 * (y > values[one]).sum() > (y != values[one]).sum())
    enough = places[one] >= (PLACES_OF_A_WHOLE_NUMBER if sentinel else PLACES)
    return float(values[one]) if enough and (among_the_worse or (places > 1).sum() == 1) else None
