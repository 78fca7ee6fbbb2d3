"""What the anchor expects, and whether it knows how much it knows."""

import numpy as np
import pytest

from rcgp.fit import Hyperparameters
from rcgp.gaussian import GaussianPosterior
from rcgp.lies.anchor import expectations, overconfidence
from tests.rcgp.problems import smooth


def test_every_row_is_expected_from_the_other_trusted_ones() -> None:
    X, z = smooth(15)
    hyper, trusted = Hyperparameters(np.array([0.3]), 0.05), np.arange(15) % 4 != 1
    z[~trusted] = 1e9
    mean, latent = expectations(X, z, trusted, hyper, "matern52")
    for i in range(15):
        rest = trusted & (np.arange(15) != i)
        noises = np.full(rest.sum(), 0.05)
        others = GaussianPosterior.condition(X[rest], z[rest], noises, hyper.lengthscale, "matern52", 0.05)
        expected, variance = others.mean_and_variance(X[[i]])
        assert mean[i] == pytest.approx(expected[0], abs=1e-9)
        assert latent[i] == pytest.approx(variance[0], abs=1e-9)


def test_overconfidence_is_how_much_too_small_the_deviations_are() -> None:
    residual = np.random.default_rng(0).standard_normal(20_000)
    assert overconfidence(3.0 * residual, np.ones(20_000)) == pytest.approx(3.0, rel=0.03)
    assert overconfidence(0.5 * residual, np.ones(20_000)) == 1.0
    assert overconfidence(np.full(9, 100.0), np.ones(9)) == 1.0, "too few to say"
