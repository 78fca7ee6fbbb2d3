"""The maximiser of the upper confidence bound."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rcgp.acquisition import Maximizer
from rcgp.gaussian import Array, Belief


def random_belief(dim: int, seed: int, n: int = 30, kernel: str = "rbf") -> Belief:
    rng = np.random.default_rng(seed)
    lengthscale = 0.4 * np.sqrt(dim) * rng.uniform(0.5, 2.0, dim)
    return Belief.condition(rng.random((n, dim)), rng.standard_normal(n), np.full(n, 0.01), lengthscale, kernel, 0.01)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_the_gradient_is_that_of_the_bound(kernel: str) -> None:
    belief = random_belief(3, 1, kernel=kernel)
    for point in np.random.default_rng(2).random((5, 3)):
        _, gradient = belief.ucb_and_gradient(point[None], 2.0)
        numeric = approx_fprime(point, lambda x: float(belief.ucb(x[None], 2.0)[0]), 1e-7)
        np.testing.assert_allclose(gradient[0], numeric, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dim", [1, 2, 6, 36])
def test_never_worse_than_the_best_candidate_and_close_to_a_larger_search(dim: int) -> None:
    thorough = Maximizer(dim, 7, raw=8192, local=4096, refined=40, max_iterations=200)
    for seed in range(5):
        belief, maximizer = random_belief(dim, seed), Maximizer(dim, seed)
        rng = np.random.default_rng(seed)
        reached = belief.ucb(maximizer.maximize(belief, 2.0, np.random.default_rng(seed))[None], 2.0)[0]
        candidates = maximizer.candidates(belief, rng)
        best = belief.ucb(thorough.maximize(belief, 2.0, np.random.default_rng(99))[None], 2.0)[0]
        assert reached >= belief.ucb(candidates, 2.0).max() - 1e-9
        assert reached >= best - 0.01 * abs(best)


def test_pending_points_change_the_variance_only() -> None:
    belief, rng = random_belief(2, 3), np.random.default_rng(0)
    pending, tests = rng.random((4, 2)), rng.random((50, 2))
    waiting = belief.with_pending(pending)
    mean, variance = belief.mean_and_variance(tests)
    mean_waiting, variance_waiting = waiting.mean_and_variance(tests)
    np.testing.assert_allclose(mean, mean_waiting, rtol=0, atol=1e-12)
    assert (variance_waiting < variance).all()
    X, targets = np.concatenate([belief.X, pending]), np.zeros(34)
    explicit = Belief.condition(X, targets, np.full(34, 0.01), belief.lengthscale, belief.kernel, 0.01)
    np.testing.assert_allclose(variance_waiting, explicit.mean_and_variance(tests)[1], atol=1e-9)


def test_projected_points_and_forbidden_ones() -> None:
    def grid(points: Array) -> Array:
        return np.round(points * 4) / 4

    belief, maximizer, forbidden = random_belief(2, 5), Maximizer(2, 0), np.empty((0, 2))
    for _ in range(25):
        point = maximizer.maximize(belief, 2.0, np.random.default_rng(0), project=grid, forbidden=forbidden)
        np.testing.assert_array_equal(point, grid(point[None])[0])
        assert not (forbidden == point).all(axis=1).any()
        forbidden = np.concatenate([forbidden, point[None]])
    again = maximizer.maximize(belief, 2.0, np.random.default_rng(0), project=grid, forbidden=forbidden)
    np.testing.assert_array_equal(again, forbidden[0])  # all 25 are taken: the best may be repeated
