"""The paper's lemmas and formulas, checked on random data."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcgp import PlateauIMQ, confidence
from tests.rcgp.problems import RandomProblem, gaussian_process, predict, random_problems, weights

LIES = st.floats(2.0, 50.0) | st.floats(-50.0, -2.0)
SIZES = [10.0**exponent for exponent in (1, 2, 3, 6, 9, 12, 50, 100, 150, 200, 300)] + [math.inf]


@given(random_problems())
def test_on_the_plateau_the_posterior_is_the_standard_gp(problem: RandomProblem) -> None:
    mean, variance = predict(problem.model(problem.y, problem.wide()), problem.tests)
    expected, covariance = gaussian_process(problem, problem.X, problem.y, problem.tests)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-10)


@given(random_problems())
def test_on_the_plateau_leave_one_out_is_the_standard_gp(problem: RandomProblem) -> None:
    residual, variance = (v.detach() for v in problem.model(problem.y, problem.wide()).leave_one_out())
    for i in range(len(problem.y)):
        rest = np.arange(len(problem.y)) != i
        mean, covariance = gaussian_process(problem, problem.X[rest], problem.y[rest], problem.X[i : i + 1])
        assert float(residual[i]) == pytest.approx(problem.y[i] - mean[0], abs=1e-10)
        assert float(variance[i]) == pytest.approx(covariance[0, 0] + problem.noise, abs=1e-10)


@given(random_problems(), st.floats(0.0, 1.5))
def test_the_posterior_is_the_papers_formula(problem: RandomProblem, width: float) -> None:
    J, m_w = weights(problem, problem.y, width)
    A = problem.kernel(problem.X, problem.X) + problem.noise * np.diag(J)
    k = problem.kernel(problem.X, problem.tests)
    mean, variance = predict(problem.model(problem.y, width), problem.tests)
    np.testing.assert_allclose(mean, k.T @ np.linalg.solve(A, problem.y - m_w), atol=1e-8)
    np.testing.assert_allclose(variance, 1.0 - np.einsum("ij,ij->j", k, np.linalg.solve(A, k)), atol=1e-8)


@given(random_problems(), st.floats(0.0, 1.5))
def test_closed_form_leave_one_out_equals_explicit_refits(problem: RandomProblem, width: float) -> None:
    residual, variance = (v.detach() for v in problem.model(problem.y, width).leave_one_out())
    J, m_w = weights(problem, problem.y, width)
    for i in range(len(problem.y)):
        rest = np.arange(len(problem.y)) != i
        A = problem.kernel(problem.X[rest], problem.X[rest]) + problem.noise * np.diag(J[rest])
        k = problem.kernel(problem.X[rest], problem.X[i : i + 1])[:, 0]
        assert float(residual[i]) == pytest.approx(
            problem.y[i] - k @ np.linalg.solve(A, (problem.y - m_w)[rest]), abs=1e-7
        )
        assert float(variance[i]) == pytest.approx(1.0 - k @ np.linalg.solve(A, k) + problem.noise, abs=1e-7)


def split(problem: RandomProblem, lie: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Outcomes with the lie, which rows are clean, and a width that holds exactly the clean ones."""
    clean = np.arange(len(problem.y)) >= problem.lies
    y = problem.corrupted(np.sign(lie) * (np.abs(problem.y).max() + abs(lie)))
    return y, clean, float(np.abs(problem.y[clean]).max())


@given(random_problems(lies=2), LIES)
def test_deviation_formula_and_bound(problem: RandomProblem, lie: float) -> None:
    y, clean, width = split(problem, lie)
    mean, _ = predict(problem.model(y, width), problem.tests)
    points = np.concatenate([problem.X[~clean], problem.tests])
    mu_uc, covariance = gaussian_process(problem, problem.X[clean], y[clean], points)
    J, m_w = weights(problem, y, width)
    count = problem.lies
    S = covariance[:count, :count] + problem.noise * np.diag(J[~clean])
    gap = y[~clean] - m_w[~clean] - mu_uc[:count]
    deviation = mean - mu_uc[count:]
    np.testing.assert_allclose(deviation, covariance[count:, :count] @ np.linalg.solve(S, gap), atol=1e-8)
    center = float(np.abs(mu_uc[:count]).max())
    constant = confidence.deviation_constant(problem.noise, width, problem.decay, center)
    sigma_uc = np.sqrt(np.maximum(np.diag(covariance)[count:], 0.0))
    assert (np.abs(deviation) <= constant * math.sqrt(count) * sigma_uc + 1e-8).all()


@given(random_problems(lies=2), LIES)
def test_variance_identity_and_order(problem: RandomProblem, lie: float) -> None:
    y, clean, width = split(problem, lie)
    count, tests = problem.lies, len(problem.tests)
    _, robust = predict(problem.model(y, width), problem.tests)
    _, everything = gaussian_process(problem, problem.X, y, problem.tests)
    _, uncorrupted = gaussian_process(
        problem, problem.X[clean], y[clean], np.concatenate([problem.tests, problem.X[~clean]])
    )
    J, _ = weights(problem, y, width)
    noises = problem.noise * J[~clean]
    C0 = uncorrupted[tests:, tests:]
    cross = uncorrupted[:tests, tests:]
    u = cross - cross @ np.linalg.solve(
        C0 + np.diag(noises), C0
    )  # robust posterior covariance with the corrupted inputs
    middle = np.diag(1.0 / noises) + C0 / np.outer(noises, noises)
    sigma_uc = np.diag(uncorrupted)[:tests]
    np.testing.assert_allclose(sigma_uc, robust + np.einsum("ij,jk,ik->i", u, middle, u), atol=1e-7)
    assert (np.diag(everything) <= robust + 1e-9).all()
    assert (robust <= sigma_uc + 1e-9).all()
    assert (
        np.sqrt(np.maximum(sigma_uc, 0)) <= confidence.variance_inflation(count, problem.noise) * np.sqrt(robust) + 1e-6
    ).all()


@given(st.floats(0.01, 2.0), st.floats(0.0, 4.0), st.floats(0.05, 3.0), st.floats(-3.0, 3.0))
def test_influence_bound_holds_for_a_numerical_supremum(sigma2: float, width: float, decay: float, mean: float) -> None:
    y = np.concatenate([np.linspace(-20, 20, 4001), np.logspace(1, 8, 500), -np.logspace(1, 8, 500)])
    noise_inflation, target_shift = PlateauIMQ(width, decay)(y)
    w = math.sqrt(sigma2 / 2.0) / np.sqrt(noise_inflation)
    supremum = np.abs(w * (y - sigma2 * target_shift - mean)).max()
    assert supremum <= confidence.influence_bound(sigma2, width, decay, abs(mean)) * (1 + 1e-9)


@settings(max_examples=15)
@given(random_problems(lies=1))
def test_the_gp_is_brittle_and_the_rcgp_is_not(problem: RandomProblem) -> None:
    clean = np.arange(len(problem.y)) >= 1
    mu_uc, covariance = gaussian_process(
        problem, problem.X[clean], problem.y[clean], np.concatenate([problem.X[:1], problem.tests])
    )
    pull = covariance[1:, 0] / (covariance[0, 0] + problem.noise)
    width = float(np.abs(problem.y).max())
    center = float(np.abs(mu_uc[0]))
    bound = confidence.deviation_constant(problem.noise, width, problem.decay, center)
    sigma_uc = np.sqrt(np.maximum(np.diag(covariance)[1:], 0.0))
    for size in SIZES:
        y = problem.corrupted(size)
        mean, _ = predict(problem.model(y, width), problem.tests)
        assert (np.abs(mean - mu_uc[1:]) <= bound * sigma_uc + 1e-7).all()
        if size <= 1e12:
            gp, _ = gaussian_process(problem, problem.X, y, problem.tests)
            np.testing.assert_allclose(gp - mu_uc[1:], pull * (size - mu_uc[0]), rtol=1e-5, atol=1e-6 * size)
    np.testing.assert_allclose(mean, mu_uc[1:], atol=1e-9)  # infinite: exactly the row dropped
