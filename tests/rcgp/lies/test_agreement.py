"""Rows that agree with each other, and how many of them may be lies."""

import numpy as np
import pytest

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array, Mask
from rcgp.lies.agreement import Agreement, most_lies, within_budget

TRUSTED = np.array([True] * 8 + [False] * 5)


def budget_of(z: Array, allowed: int = 2) -> Mask:
    """Who is trusted when eight trusted rows say 0 and five suspects near x = 0.9, one of them trusted's neighbour, say `z`."""
    X = np.append(np.linspace(0.0, 0.6, 8), [0.9, 0.905, 0.91, 0.915, 0.92])[:, None]
    agreement = Agreement(
        X, np.append(np.zeros(8), z), Hyperparameters(np.array([0.1]), 0.01), "rbf", 3.0, np.zeros(len(X))
    )
    return within_budget(agreement, TRUSTED, np.abs(agreement.z), allowed, (-3.0, 3.0), np.zeros(13, dtype=bool))


def test_as_many_plausible_lies_as_the_cube_root_and_one() -> None:
    assert [most_lies(n, None) for n in (1, 7, 8, 27, 1000)] == [2, 2, 3, 4, 11]
    assert most_lies(1000, 3) == 3


def test_few_suspects_stay_suspects() -> None:
    np.testing.assert_array_equal(budget_of(np.full(5, 2.0), allowed=5), TRUSTED)


def test_too_many_that_agree_are_believed_again() -> None:
    assert budget_of(np.full(5, 2.0)).all()


@pytest.mark.parametrize(
    ("value", "allowed", "believed"), [(100.0, 2, True), (100.0, 3, False), (-100.0, 1, True), (-100.0, 2, False)]
)
def test_far_above_twice_as_many_must_agree_and_far_below_three_times(
    value: float, allowed: int, believed: bool
) -> None:
    assert budget_of(np.full(5, value), allowed)[8:].all() == believed


def test_of_those_that_do_not_agree_the_least_suspicious_are_believed_again() -> None:
    np.testing.assert_array_equal(
        budget_of(np.array([2.9, -2.8, 1.5, -1.4, 0.5]))[8:], [False, False, True, True, True]
    )


def test_the_fewer_that_contradict_those_believed_again_are_suspects() -> None:
    X = np.append(np.linspace(0.0, 0.6, 7), [0.9, 0.9, 0.905, 0.91, 0.915, 0.92])[:, None]
    z = np.append(np.zeros(8), np.full(5, 2.0))  # the eighth is trusted, and says 0 where five say 2
    agreement = Agreement(X, z, Hyperparameters(np.array([0.1]), 0.01), "rbf", 3.0, np.zeros(len(X)))
    trusted = within_budget(agreement, TRUSTED, np.abs(z), 2, (-3.0, 3.0), np.zeros(13, dtype=bool))
    np.testing.assert_array_equal(np.flatnonzero(~trusted), [7])


def test_a_crowd_is_more_than_twice_the_usual_number_of_lies() -> None:
    """The usual number among twenty rows is three."""
    for size, crowded in ((6, False), (7, True)):
        X = np.append(np.linspace(0.0, 0.6, 20 - size), np.full(size, 0.9))[:, None]
        z = np.append(np.zeros(20 - size), np.full(size, 5.0))
        agreement = Agreement(X, z, Hyperparameters(np.array([0.1]), 0.01), "rbf", 3.0, np.zeros(20))
        crowd = agreement.crowd(np.arange(20 - size, 20), None)
        assert (crowd is not None) == crowded
        assert crowd is None or crowd.tolist() == [False] * (20 - size) + [True] * size


def test_reports_of_a_climb_agree_one_leading_to_the_next_and_scattered_ones_do_not() -> None:
    X, hyper = np.linspace(0.50, 0.51, 9)[:, None], Hyperparameters(np.array([0.1]), 0.01)
    climb, scattered = np.linspace(5.0, 7.0, 9), np.linspace(5.0, 37.0, 9)
    for z, size in ((climb, 9), (scattered, 1)):
        assert len(Agreement(X, z, hyper, "rbf", 3.0, np.zeros(9)).largest_group(np.arange(9))) == size
