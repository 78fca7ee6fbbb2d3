"""Which rows are lies: the score, its bookkeeping, and what the greedy search finds."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import comb
from scipy.stats import multivariate_normal
from scipy.stats import t as student_t

from rcgp.fit import Hyperparameters, log_prior
from rcgp.gaussian import KERNELS, Array, Mask, squared_distance
from rcgp.lies.score import SHORTER, TAIL, Reports, _Models, central, explain, log_lie, log_share, log_student


def contaminated(n: int, dim: int, lies: int, seed: int = 0) -> tuple[Array, Array, Mask]:
    """A smooth function with noise 0.05, and `lies` rows of it 3 to 9 too high."""
    rng = np.random.default_rng([n, dim, seed])
    X = rng.random((n, dim))
    z = np.sin(5.0 * X[:, 0]) + X.sum(axis=1) + 0.05 * rng.standard_normal(n)
    lied = np.arange(n) < lies
    return X, z + np.where(lied, rng.uniform(3.0, 9.0, n), 0.0), lied


def models(X: Array, z: Array, honest: Mask) -> _Models:
    return _Models.of(Reports.plain(X, z), honest, Hyperparameters(np.full(X.shape[1], 0.4), 0.02), "matern52")


def test_the_densities_are_densities() -> None:
    assert quad(lambda z: math.exp(log_lie(np.array(z))), -np.inf, np.inf)[0] == pytest.approx(1.0)
    assert sum(comb(12, k) * math.exp(log_share(k, 12)) for k in range(13)) == pytest.approx(1.0)
    residuals = np.array([0.0, 1.0, 30.0])
    np.testing.assert_allclose(log_student(residuals**2), student_t(TAIL).logpdf(residuals))


def test_the_score_is_the_formula() -> None:
    X, z, lied = contaminated(15, 2, 3)
    hyper = Hyperparameters(np.full(2, 0.4), 0.02)
    evidence = 0.0
    for share in SHORTER:
        ell = share * hyper.lengthscale
        K, _ = KERNELS["matern52"](squared_distance(X[~lied], X[~lied], ell))
        prior, _ = log_prior(Hyperparameters(ell, 0.02).theta)
        density = multivariate_normal(cov=K + 0.02 * np.eye(12)).logpdf(z[~lied])
        evidence += math.exp(density + prior) / len(SHORTER)
    expected = math.log(evidence) + log_lie(z[lied]).sum() + log_share(3, 15)
    assert models(X, z, ~lied).score() == pytest.approx(expected)


def test_moving_rows_one_by_one_is_starting_there() -> None:
    X, z, lied = contaminated(25, 2, 4)
    moved = models(X, z, ~lied)
    for row in (7, 0, 20, 7, 2):
        moved.move(row)
    fresh = models(X, z, moved.honest)
    assert moved.score() == pytest.approx(fresh.score())
    for name in ("B", "alpha", "mean", "known", "log_p"):
        np.testing.assert_allclose(getattr(moved, name), getattr(fresh, name), atol=1e-8)
    np.testing.assert_allclose(moved.gain(12), fresh.gain(12), atol=1e-7)


@pytest.mark.parametrize(("n", "dim", "lies"), [(40, 1, 4), (60, 1, 18), (60, 2, 12), (80, 6, 8)])
def test_any_share_of_lies_is_found(n: int, dim: int, lies: int) -> None:
    X, z, lied = contaminated(n, dim, lies)
    z = (z - z.mean()) / z.std()
    explanation = explain(Reports.plain(X, z), (n - 1) // 2, "matern52")
    assert explanation.honest.tolist() == (~lied).tolist()
    assert explanation.lies == lies


@pytest.mark.parametrize("seed", range(3))
def test_without_lies_nobody_is_doubted(seed: int) -> None:
    X, z, _ = contaminated(40, 2, 0, seed)
    assert explain(Reports.plain(X, (z - z.mean()) / z.std()), 19, "matern52").honest.all()


@pytest.mark.parametrize("most", [0, 2])
def test_there_are_never_more_lies_than_there_may_be(most: int) -> None:
    X, z, lied = contaminated(40, 1, 8)
    honest = explain(Reports.plain(X, z), most, "matern52").honest
    assert (~honest).sum() <= most
    assert honest[~lied].all()


def test_the_middle_holds_half_of_the_rows_whatever_the_others_say() -> None:
    z = np.array([1.0, 1.1, 1.2, 1.3, 1.4, 9.0, -3.0, 1e6])
    assert central(z, 1.0).sum() == 5
    assert np.flatnonzero(~central(z, 2.0)).tolist() == [5, 6, 7]
    assert central(np.full(6, 2.0), 1.0).all()
