"""Optimizers by name: options, recipes and what is refused."""

from typing import Any

import numpy as np
import pytest

from rcgp import PlateauIMQ, make_optimizer
from rcgp.algorithms import RENAMED_OPTIONS
from rcgp.gaussian import Array
from tests.rcgp.problems import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a2-rcgp"}, "a2-rcgp.*did you mean 'a2-rcgp-ucb'.*gp-ucb"),
        ({"dim": 0}, "dim.*0"),
        ({"dim": 2.5}, "dim.*2.5"),
        ({"seed": -1}, "seed.*-1"),
        ({"n_initial": True}, "n_initial.*True"),
        ({"widht": 2.0}, "widht.*did you mean 'width'"),
        ({"schedule": "theory"}, "horizon"),
        ({"schedule": "wild"}, "wild.*practical"),
        ({"corruptions": "many"}, "many"),
        ({"kernel": "matern5"}, "matern5.*did you mean 'matern52'"),
        ({"recipe": "papers"}, "papers.*did you mean 'paper'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    good = {"name": "a2-rcgp-ucb", "dim": 2, "seed": 0, "n_initial": 5}
    with pytest.raises(ValueError, match=message):
        make_optimizer(**(good | arguments))


def test_an_option_by_its_earlier_name() -> None:
    assert RENAMED_OPTIONS["patience"] == "refit_divisor"
    old, new, other = (
        run(make_optimizer("gp-ucb", 1, seed=0, n_initial=4, eager=5, **{name: value}), 20)
        for name, value in (("patience", 2), ("refit_divisor", 2), ("refit_divisor", 20))
    )
    np.testing.assert_array_equal(old, new)
    assert not np.array_equal(old, other)


def test_the_papers_recipe_keeps_the_papers_kernel() -> None:
    literal, named, other = (
        run(make_optimizer("fc-rcgp-ucb", 1, seed=0, n_initial=4, recipe="paper", **options), 12)
        for options in ({}, {"kernel": "rbf", "schedule": "paper"}, {"kernel": "matern52"})
    )
    np.testing.assert_array_equal(literal, named)
    assert not np.array_equal(literal, other)


def told(name: str) -> tuple[Array, Array, dict[str, Any], Array]:
    """Inputs, standardised reports with two outliers, the state of the paper's recipe given them, and its weights."""
    rng = np.random.default_rng(5)
    X = rng.random((30, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(30)
    y[[4, 20]] = [9.0, -7.0]
    optimizer = make_optimizer(name, 1, seed=0, n_initial=4, recipe="paper")
    for x, value in zip(X, y, strict=True):
        optimizer.tell(x, value)
    optimizer.update()
    return X, (y - y.mean()) / y.std(ddof=1), optimizer.state_dict()["surrogate_state"], optimizer.weights()


def imq(residual: Array, width: float) -> Array:
    """The squared weight of the paper, with decay 1."""
    return 1.0 / (1.0 + np.maximum(np.abs(residual) - width, 0.0) ** 2)


def test_the_papers_fixed_centre_is_zero_with_a_plateau_at_the_quantile() -> None:
    _, z, _, weights = told("fc-rcgp-ucb")
    width = np.quantile(np.abs(z - np.median(z)), 0.95)
    np.testing.assert_allclose(weights, imq(z, width), rtol=1e-12)
    assert (weights < 1.0).sum() == 2


def test_the_papers_adaptive_centre_is_the_mean_of_the_fixed_one() -> None:
    X, z, state, weights = told("a2-rcgp-ucb")
    width = np.quantile(np.abs(z - np.median(z)), 0.95)
    lengthscale, noise = state["anchor"]
    noise_inflation, target_shift = PlateauIMQ(width, 1.0)(z)
    K = np.exp(-0.5 * (X - X.T) ** 2 / lengthscale**2)
    mean = K @ np.linalg.solve(K + noise * np.diag(noise_inflation), z - noise * target_shift)
    np.testing.assert_allclose(weights, imq(z - mean, width), rtol=1e-6)
    assert weights[4] > told("fc-rcgp-ucb")[3][4], "the anchor has seen the outlier, and leans towards it"
