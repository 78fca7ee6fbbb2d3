"""Numbers that axes can bear."""

import json
import math

import numpy as np
import pytest

from orchestrator.review.scale import drawable, short, value_range


def test_what_cannot_be_drawn_is_left_out() -> None:
    values = np.array([1.0, math.inf, -1.7e308, math.nan, -2.0])
    assert np.array_equal(drawable(values), [1.0, math.nan, math.nan, math.nan, -2.0], equal_nan=True)
    assert short([*values.tolist(), 1 / 3, "rbf"]) == [1.0, None, None, None, -2.0, 0.33333, "rbf"]
    json.dumps(short(values), allow_nan=False)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [([0.0, 4.0, 1e300], -1.0, 5.0), ([3.0], 1.5, 4.5), ([math.nan], -1.0, 1.0), ([], -1.0, 1.0)],
)
def test_the_range_worth_seeing_is_finite_and_has_room(values: list[float], low: float, high: float) -> None:
    assert value_range(np.array(values)) == (low, high)
