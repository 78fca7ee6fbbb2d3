"""Believed lies are found by what they make of all other rows."""

import numpy as np
import pytest

from rcgp.fit import Data, Hyperparameters, fit, marginal_likelihood
from rcgp.gaussian import Array, Mask
from rcgp.lies.reconsider import simplest_explanation
from rcgp.state import Scaling


def explanation(y: Array, X: Array, allowed: int = 3) -> tuple[Mask, Hyperparameters] | None:
    """The outcome when all rows are trusted."""
    z = Scaling.of(y).to_scaled(y)
    whole = fit(Data.trusted(X, z), [Hyperparameters.default(1)], "matern52", marginal_likelihood).hyper
    return simplest_explanation(X, y, np.full(len(y), True), whole, "matern52", allowed)


def sine(n: int = 30) -> tuple[Array, Array]:
    rng = np.random.default_rng(3)
    X = rng.random((n, 1))
    return X, np.sin(6.0 * X[:, 0]) + 0.02 * rng.standard_normal(n)


def test_two_lies_among_thirty_rows_are_found_and_the_rest_is_smooth() -> None:
    X, y = sine()
    y[[1, 4]] = [0.4, -0.5]
    found = explanation(y, X)
    assert found is not None
    trusted, hyper = found
    assert np.flatnonzero(~trusted).tolist() == [1, 4]
    assert hyper.noise < 0.01


def test_honest_rows_need_no_simpler_explanation() -> None:
    X, y = sine()
    assert explanation(y, X) is None


def test_no_more_rows_are_left_out_than_allowed() -> None:
    X, y = sine()
    y[[1, 4, 9]] = [0.4, -0.5, 0.1]
    found = explanation(y, X, allowed=1)
    assert found is None or (~found[0]).sum() == 1


@pytest.mark.parametrize(("size", "doubted"), [(2.0, True), (20.0, False)])
def test_a_row_that_is_most_of_the_spread_is_the_objective(size: float, doubted: bool) -> None:
    X, y = sine()
    y[1] = size
    assert (explanation(y, X) is not None) == doubted
