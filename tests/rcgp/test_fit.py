"""Hyper-parameters: gradients, agreement of the two implementations, robustness, failures."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch
from gpytorch.kernels import MaternKernel
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from rcgp import PlateauIMQ, RobustGP
from rcgp.fit import (
    Data,
    Hyperparameters,
    _Objective,
    fit,
    leave_one_out_score,
    log_prior,
    marginal_likelihood,
    objective_and_gradient,
    student_t_likelihood,
)

SCORES = {
    "leave-one-out": leave_one_out_score(2.0),
    "leave-one-out, paper": leave_one_out_score(1.0),
    "marginal": marginal_likelihood,
    "student-t": student_t_likelihood(5.0),
}


def sample(seed: int, n: int = 25, dim: int = 2, *, outlier: float | None = None) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.random((n, dim))
    z = np.sin(5 * X[:, 0]) + X.sum(axis=1) + 0.2 * rng.standard_normal(n)
    z = (z - z.mean()) / z.std()
    if outlier is not None:
        z[:2] = outlier
    return Data(X, z, *PlateauIMQ(1.96, 1.0)(z), np.zeros(len(z)))


@settings(max_examples=10)
@given(st.integers(0, 1000), st.sampled_from(list(SCORES)), st.sampled_from(["rbf", "matern52"]))
def test_gradients_are_those_of_the_objective(seed: int, name: str, kernel: str) -> None:
    data = sample(seed, outlier=4.0)
    theta = Hyperparameters.default(2).theta + 0.5 * np.random.default_rng(seed).standard_normal(3)
    _, gradient = objective_and_gradient(theta, data, kernel, SCORES[name])
    numeric = approx_fprime(theta, lambda t: objective_and_gradient(t, data, kernel, SCORES[name])[0], 1e-6)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-3, atol=1e-4 * np.abs(gradient).max())


@pytest.mark.parametrize("power", [1.0, 2.0])
@pytest.mark.parametrize("kernel", ["rbf", "matern52"])
def test_the_fast_score_is_that_of_the_botorch_model(power: float, kernel: str) -> None:
    data = sample(3, outlier=6.0)
    tensors = torch.from_numpy(data.X), torch.from_numpy(data.z)[:, None]
    own = MaternKernel(ard_num_dims=2) if kernel == "matern52" else None
    model = RobustGP(*tensors, weight=PlateauIMQ(1.96, 1.0), noise=0.05, covar_module=own)
    model.covar_module.lengthscale = torch.tensor([[0.4, 0.9]], dtype=torch.float64)
    theta = Hyperparameters(np.array([0.4, 0.9]), 0.05).theta
    value, _ = objective_and_gradient(theta, data, kernel, leave_one_out_score(power))
    priors = sum(float(prior.log_prob(of(module)).sum().detach()) for _, module, prior, of, _ in model.named_priors())
    assert float(model.score(power).detach()) - priors == pytest.approx(value - log_prior(theta)[0], abs=1e-8)


def test_the_robust_power_forgets_outliers_and_the_papers_does_not() -> None:
    def noise(outlier: float | None, power: float) -> float:
        return fit(
            sample(0, outlier=outlier), [Hyperparameters.default(2)], "rbf", leave_one_out_score(power)
        ).hyper.noise

    clean = noise(None, 2.0)
    assert noise(1e3, 2.0) < 4 * clean
    assert noise(1e3, 1.0) > 10 * clean


def test_a_warm_start_reaches_the_same_optimum() -> None:
    data = sample(1)
    cold = fit(data, [Hyperparameters.default(2)], "rbf", marginal_likelihood)
    warm = fit(data, [Hyperparameters(cold.hyper.lengthscale * 1.3, cold.hyper.noise / 2)], "rbf", marginal_likelihood)
    assert warm.value == pytest.approx(cold.value, abs=1e-3)


def test_a_failed_fit_keeps_the_last_good_parameters_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    data, last = sample(1), Hyperparameters(np.array([0.3, 0.4]), 0.02)
    broken = replace(data, z=np.full_like(data.z, np.nan))
    with caplog.at_level(logging.WARNING):
        result = fit(broken, [last], "rbf", marginal_likelihood)
    assert not result.ok
    assert result.hyper is last
    assert "last good parameters stay" in caplog.text


def test_what_was_fitted_a_moment_ago_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data, start, calls = sample(3), Hyperparameters.default(2), list[int]()
    evaluate = _Objective.__call__
    monkeypatch.setattr(_Objective, "__call__", lambda self, theta: (calls.append(1), evaluate(self, theta))[1])
    first = fit(data, [start], "matern52", marginal_likelihood)
    once = len(calls)
    assert once > 0
    assert fit(replace(data, z=data.z.copy()), [start], "matern52", marginal_likelihood) == first
    assert len(calls) == once
    fit(replace(data, z=data.z + 1e-9), [start], "matern52", marginal_likelihood)
    assert len(calls) > once


def test_a_fit_that_cannot_reach_what_is_needed_is_given_up_and_one_that_can_is_not() -> None:
    data, start = sample(4), [Hyperparameters.default(2)]
    whole = fit(data, start, "matern52", marginal_likelihood)
    assert fit(data, start, "matern52", marginal_likelihood, needed=whole.value - 0.01).value == whole.value
    assert fit(data, start, "matern52", marginal_likelihood, needed=whole.value + 1e4).value < whole.value
