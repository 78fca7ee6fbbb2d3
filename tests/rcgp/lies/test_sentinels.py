"""Values that were not measured: one number from places that have nothing in common, and honest ones that look like it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcgp.evidence import Evidence
from rcgp.gaussian import Array
from rcgp.lies.claims import SCATTERED, Claims
from rcgp.lies.sentinels import not_measured

RNG = np.random.default_rng(3)
X = RNG.random((30, 3))
LOSS = -0.2 - np.sum((X - 0.4) ** 2, axis=1)
"""Of an honest objective to be maximised: no two are the same, none is whole."""
HERE_AND_THERE = [4, 11, 19, 26]


def with_value(value: float, rows: list[int]) -> Array:
    y = LOSS.copy()
    y[rows] = value
    return y


def found(y: Array) -> list[int]:
    return np.flatnonzero(not_measured(X, y, np.isfinite(y))).tolist()


@pytest.mark.parametrize("value", [0.0, -1.0, -999.0, 1e6])
def test_a_whole_number_from_two_places_was_not_measured(value: float) -> None:
    rows = HERE_AND_THERE[:2]
    assert found(with_value(value, rows)) == rows
    assert found(with_value(value, rows[:1])) == []


@pytest.mark.parametrize("value", [-0.3331, -5.25, 0.125])
def test_any_other_value_takes_three_places(value: float) -> None:
    assert found(with_value(value, HERE_AND_THERE[:3])) == HERE_AND_THERE[:3]
    assert found(with_value(value, HERE_AND_THERE[:2])) == []


def test_a_level_has_a_place() -> None:
    level = np.flatnonzero(X[:, 0] > 0.7).tolist()
    assert len(level) > 3
    assert found(with_value(-9.0, level)) == []
    assert found(with_value(-0.9001, level)) == []


def test_counts_repeat_themselves_and_the_best_of_them_may_be_whole() -> None:
    """An accuracy of 100 % on a small validation set, while others are equal too."""
    accuracy = np.round(1.0 - (LOSS.max() - LOSS) / 4.0, 2)
    best = np.sort(np.argsort(-LOSS)[:3])
    accuracy[best] = 1.0
    assert found(np.where(np.isin(np.arange(30), best), 1.0, np.minimum(accuracy, 0.99))) == []
    assert found(np.where(np.isin(np.arange(30), HERE_AND_THERE), 0.0, np.minimum(accuracy, 0.99))) == HERE_AND_THERE


def test_one_point_that_is_asked_again_may_say_the_same() -> None:
    points, y = np.vstack([X, X[[4, 4, 4]]]), np.append(with_value(-3.0, [4]), [-3.0] * 3)
    assert not not_measured(points, y, np.isfinite(y)).any()


def test_it_is_a_lie_with_a_reason_unless_a_person_says_otherwise() -> None:
    y = with_value(0.0, HERE_AND_THERE)
    claims = Claims.judged(X, y, Evidence.none(30))
    assert np.flatnonzero(claims.condemned).tolist() == HERE_AND_THERE
    assert np.flatnonzero(claims.useless(y)).tolist() == HERE_AND_THERE, "as little as a failure says"
    assert claims.reason(HERE_AND_THERE[0]) == SCATTERED
    vouched = Evidence.none(30)
    for row in HERE_AND_THERE:
        vouched = vouched.with_ruling(row, "true")
    assert not Claims.judged(X, y, vouched).condemned.any()


@given(st.permutations(range(30)), st.sampled_from([0.0, 7.0, -0.3331]), st.integers(0, 4))
def test_neither_the_order_of_the_rows_nor_what_said_nothing_matters(order: list[int], value: float, many: int) -> None:
    y = with_value(value, HERE_AND_THERE[:many])
    y[7] = np.nan
    rows = np.array(order)
    mixed = not_measured(X[rows], y[rows], np.isfinite(y[rows]))
    assert sorted(rows[mixed].tolist()) == found(y)
