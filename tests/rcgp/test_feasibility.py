"""Where trials give something useful: one crash is forgiven, a region is left, and space is filled while nothing works."""

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.acquisition import UCB
from rcgp.feasibility import Feasibility, Feasible, fills_space
from rcgp.gaussian import GaussianPosterior

X = np.random.default_rng(0).random((60, 2))


def test_a_region_is_left_and_one_crash_among_good_neighbours_is_forgiven() -> None:
    region = X[:, 0] < 0.6
    region[int(np.argmin(np.linalg.norm(X - [0.25, 0.5], axis=1)))] = False
    good, mishap, bad = Feasibility.learned(X, region, "matern52").probability(
        np.array([[0.4, 0.5], [0.25, 0.5], [0.9, 0.5]])
    )
    assert good > 0.9
    assert mishap > 0.5
    assert bad < 0.1


def test_the_gradient_is_that_of_the_value() -> None:
    feasibility = Feasibility.learned(X, X[:, 0] < 0.6, "matern52")
    posterior = GaussianPosterior.condition(X, np.sin(5 * X[:, 0]), np.full(60, 0.1), np.full(2, 0.4), "matern52", 0.1)
    acquisition = Feasible(UCB(posterior, 2.0), feasibility, -0.5)
    points, step = np.random.default_rng(1).random((5, 2)), 1e-6
    value, gradient = acquisition.value_and_gradient(points)
    np.testing.assert_allclose(value, acquisition.value(points))
    for axis in range(2):
        moved = points + step * np.eye(2)[axis]
        np.testing.assert_allclose(gradient[:, axis], (acquisition.value(moved) - value) / step, rtol=1e-3, atol=1e-4)


def test_space_is_filled_while_nothing_works_and_now_and_then_while_little_does() -> None:
    nothing, little, enough = np.zeros(9, bool), np.arange(9) < 2, np.arange(9) < 6
    assert [fills_space(useful) for useful in (nothing, little, little[:8], enough)] == [True, True, False, False]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_whatever_is_no_number_teaches_the_region(value: float) -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=6, regions=True)
    late = []
    for number in range(26):
        x = optimizer.ask()
        optimizer.tell(x, value if x[0] > 0.6 else 1.0 - (x[0] - 0.3) ** 2 - (x[1] - 0.3) ** 2)
        late += [x[0] > 0.6] if number >= 10 else []
    assert np.mean(late) < 0.25


def test_without_failures_the_suggestions_are_the_same_to_the_last_bit() -> None:
    asked = []
    for regions in (False, True):
        optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=3, n_initial=4, regions=regions, verify=regions)
        for _ in range(10):
            x = optimizer.ask()
            optimizer.tell(x, float(np.sin(3 * x[0]) + x[1]))
        asked.append(optimizer.state_dict()["X"])
    assert asked[0] == asked[1]


def test_an_update_before_a_point_that_fills_space_changes_nothing() -> None:
    """A journal that is lived through again updates before every suggestion; when it was lived first, this one did not."""
    optimizer = make_optimizer("gp-ucb", dim=1, seed=0, n_initial=3, regions=True)
    for y in (0.3, float("nan"), -1.2):
        optimizer.tell(optimizer.ask(), y)
    before = optimizer.state_dict()
    optimizer.update()
    assert optimizer.state_dict() == before
    optimizer.tell(optimizer.ask(), 0.4)
    optimizer.update()
    assert optimizer.state_dict() != before


def test_space_is_filled_where_trials_failed_and_nowhere_else() -> None:
    assert fills_space(np.array([True, False, True]))
    assert not fills_space(np.array([True, True, True]))
