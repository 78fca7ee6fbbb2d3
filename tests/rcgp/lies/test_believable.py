"""Which values are believable whatever the model says."""

import numpy as np

from rcgp.lies.believable import believable


def test_what_can_be_reached_without_a_leap_is_believable() -> None:
    assert believable(np.array([0.1, 0.5, 0.9, 0.95, 0.97, 0.98]), 20.0).all()
    assert believable(np.array([0.5, 0.6, -1e3, 0.7, 0.8, np.nan]), 20.0).tolist() == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]
