"""Acquisitions and their maximiser."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm

from rcgp.acquisition import UCB, Acquisition, Maximizer
from rcgp.gaussian import Array, GaussianPosterior
from tests.rcgp.problems import random_posterior


@dataclass(frozen=True)
class ExpectedImprovement:
    """Another acquisition: E max(f(x) - best, 0) = (mean - best) Phi(u) + deviation phi(u), u = (mean - best) / deviation."""

    posterior: GaussianPosterior
    best: float

    def value(self, points: Array) -> Array:
        return self.value_and_gradient(points)[0]

    def value_and_gradient(self, points: Array) -> tuple[Array, Array]:
        at = self.posterior.differentiable(points)
        gain = at.mean - self.best
        chance, density = norm.cdf(gain / at.deviation), norm.pdf(gain / at.deviation)
        return gain * chance + at.deviation * density, at.gradient(chance, density)


def bound(posterior: GaussianPosterior) -> Acquisition:
    return UCB(posterior, 2.0)


def improvement(posterior: GaussianPosterior) -> Acquisition:
    return ExpectedImprovement(posterior, 0.5)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
@pytest.mark.parametrize("make", [bound, improvement])
@pytest.mark.parametrize("covariance_scale", [1.0, 2.5])
def test_the_gradient_is_that_of_the_value(make: type, kernel: str, covariance_scale: float) -> None:
    acquisition = make(random_posterior(3, 1, kernel=kernel, covariance_scale=covariance_scale))
    for point in np.random.default_rng(2).random((5, 3)):
        value, gradient = acquisition.value_and_gradient(point[None])
        numeric = approx_fprime(point, lambda x: float(acquisition.value(x[None])[0]), 1e-7)
        assert value[0] == pytest.approx(acquisition.value(point[None])[0], rel=1e-12)
        np.testing.assert_allclose(gradient[0], numeric, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("make", [bound, improvement])
@pytest.mark.parametrize("dim", [1, 2, 6, 36])
def test_never_worse_than_the_best_candidate_and_close_to_a_larger_search(make: type, dim: int) -> None:
    thorough = Maximizer(dim, 7, raw=8192, local=4096, refined=40, max_iterations=200)
    for seed in range(5 if make is bound else 2):
        acquisition, maximizer = make(random_posterior(dim, seed)), Maximizer(dim, seed)
        candidates = maximizer.candidates(acquisition.posterior, np.random.default_rng(seed))
        reached = acquisition.value(maximizer.maximize(acquisition, np.random.default_rng(seed))[None])[0]
        best = acquisition.value(thorough.maximize(acquisition, np.random.default_rng(99))[None])[0]
        assert reached >= acquisition.value(candidates).max() - 1e-9
        assert reached >= best - 0.01 * abs(best)


def test_projected_points_and_forbidden_ones() -> None:
    def grid(points: Array) -> Array:
        return np.round(points * 4) / 4

    acquisition, maximizer, forbidden = bound(random_posterior(2, 5)), Maximizer(2, 0), np.empty((0, 2))
    for _ in range(25):
        point = maximizer.maximize(acquisition, np.random.default_rng(0), project=grid, forbidden=forbidden)
        np.testing.assert_array_equal(point, grid(point[None])[0])
        assert not (forbidden == point).all(axis=1).any()
        forbidden = np.concatenate([forbidden, point[None]])
    again = maximizer.maximize(acquisition, np.random.default_rng(0), project=grid, forbidden=forbidden)
    np.testing.assert_array_equal(again, forbidden[0])  # all 25 are taken: the best may be repeated


WORDS = np.eye(4)[np.array(list(np.ndindex(4, 4, 4, 4)))].reshape(256, 16)
"""Four choices of four words: all points that can be tried."""


def one_hot(points: Array) -> Array:
    return np.eye(4)[points.reshape(-1, 4, 4).argmax(axis=2)].reshape(-1, 16)


def one_word_away(x: Array) -> Array:
    return WORDS[np.sum(x != WORDS, axis=1) == 2]


def test_moves_on_the_grid_find_what_rounding_misses() -> None:
    rng, maximizer = np.random.default_rng(0), Maximizer(16, 0, raw=64, local=32)
    missed = np.empty((8, 2))
    for row in missed:
        known = rng.permutation(256)[:30]
        X, left = WORDS[known], np.delete(WORDS, known, axis=0)
        noise = np.full(30, 0.01)
        posterior = GaussianPosterior.condition(X, rng.standard_normal(30), noise, np.full(16, 2.0), "matern52", 0.01)
        acquisition, rules = UCB(posterior, 1.0), {"project": one_hot, "forbidden": X}
        for column, neighbours in enumerate((None, one_word_away)):
            x = maximizer.maximize(acquisition, np.random.default_rng(1), neighbours=neighbours, **rules)
            assert (left == x).all(axis=1).any()
            row[column] = acquisition.value(left).max() - acquisition.value(x[None])[0]
    assert np.all(missed[:, 1] <= missed[:, 0])
    often, seldom = (missed > 1e-9).sum(axis=0)
    assert seldom < often
