"""The exact Gaussian process against a plain NumPy one."""

import numpy as np
import pytest

from rcgp import gaussian
from rcgp.gaussian import GaussianPosterior, NotPositiveDefiniteError, cholesky, leave_one_out
from tests.rcgp.problems import random_posterior


def test_pending_points_change_the_variance_only() -> None:
    posterior, rng = random_posterior(2, 3), np.random.default_rng(0)
    pending, tests = rng.random((4, 2)), rng.random((50, 2))
    waiting = posterior.with_pending(pending)
    mean, variance = posterior.mean_and_variance(tests)
    mean_waiting, variance_waiting = waiting.mean_and_variance(tests)
    np.testing.assert_allclose(mean, mean_waiting, rtol=0, atol=1e-12)
    assert (variance_waiting < variance).all()
    X, targets = np.concatenate([posterior.X, pending]), np.zeros(34)
    explicit = GaussianPosterior.condition(X, targets, np.full(34, 0.01), posterior.lengthscale, posterior.kernel, 0.01)
    np.testing.assert_allclose(variance_waiting, explicit.mean_and_variance(tests)[1], atol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_leave_one_out_equals_conditioning_on_the_others(kernel: str) -> None:
    rng, n = np.random.default_rng(1), 12
    X, y, noises, ell = rng.random((n, 2)), rng.standard_normal(n), rng.uniform(0.05, 2.0, n), np.array([0.4, 0.9])
    residual, variance = leave_one_out(GaussianPosterior.condition(X, y, noises, ell, kernel, 0.05), np.zeros(n))
    for i in range(n):
        rest = np.arange(n) != i
        others = GaussianPosterior.condition(X[rest], y[rest], noises[rest], ell, kernel, 0.05)
        mean, latent = others.mean_and_variance(X[[i]])
        assert residual[i] == pytest.approx(y[i] - mean[0], abs=1e-10)
        assert variance[i] == pytest.approx(latent[0] + 0.05, abs=1e-10)


def test_without_rows_it_is_the_prior() -> None:
    prior = GaussianPosterior.condition(np.empty((0, 2)), np.empty(0), np.empty(0), np.ones(2), "rbf", 0.1)
    mean, variance = prior.mean_and_variance(np.random.default_rng(0).random((3, 2)))
    assert mean.tolist() == [0.0] * 3
    assert variance.tolist() == [1.0] * 3


def test_a_matrix_without_a_root_is_refused_with_its_size() -> None:
    with pytest.raises(NotPositiveDefiniteError, match="size 2"):
        cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize(("n", "suspects"), [(150, 0), (150, 3), (128, 0), (131, 3), (150, 150)])
def test_many_rows_are_those_of_one_factorisation(n: int, suspects: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows' and the others added by the block form: the same posterior, whoever is suspected."""
    monkeypatch.setattr(gaussian, "MANY_ROWS", 100)
    rng = np.random.default_rng(suspects)
    X, targets, noises = rng.random((n, 3)), rng.standard_normal(n), np.full(n, 0.01)
    noises[rng.permutation(n)[:suspects]] = np.append([1.0, 1e3, 1e60], 0.01 + rng.random(n))[:suspects]
    points, lengthscale = rng.random((20, 3)), np.full(3, 0.6)
    grown = GaussianPosterior.condition(X, targets, noises, lengthscale, "matern52", 0.01)
    monkeypatch.setattr(gaussian, "MANY_ROWS", 500)
    gaussian._factorised.cache_clear()
    whole = GaussianPosterior.condition(X, targets, noises, lengthscale, "matern52", 0.01)
    np.testing.assert_allclose(grown.gram, whole.gram, atol=1e-12)
    for mine, expected in zip(grown.mean_and_variance(points), whole.mean_and_variance(points), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-9)


def test_one_more_row_does_not_factorise_the_others_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "MANY_ROWS", 100)
    X, factorised = np.random.default_rng(5).random((160, 2)), list[int]()
    monkeypatch.setattr(gaussian, "cholesky", lambda A, root=cholesky: (factorised.append(len(A)), root(A))[1])
    for n in (140, 141, 142):
        GaussianPosterior.condition(X[:n], X[:n, 0], np.full(n, 0.01), np.ones(2), "matern52", 0.01)
    assert factorised == [128, 12, 13, 14]


@pytest.mark.parametrize("n", [40, 140])
def test_the_same_rows_are_factorised_once(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The anchor and the posterior of a suggestion, with a second opinion of other length-scales between them."""
    monkeypatch.setattr(gaussian, "MANY_ROWS", 100)
    X = np.random.default_rng(6).random((n, 2))
    one, _, same = (
        GaussianPosterior.condition(X, X[:, 0], np.full(n, 0.01), np.full(2, scale), "matern52", 0.01)
        for scale in (1.0, 0.5, 1.0)
    )
    assert one.inverse is same.inverse
