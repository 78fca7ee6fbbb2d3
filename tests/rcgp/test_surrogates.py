"""What each of the five surrogates makes of the same rows."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import multivariate_t

from rcgp.adaptive import AdaptiveSurrogate
from rcgp.fit import Data, Hyperparameters, objective_and_gradient, student_t_likelihood
from rcgp.fixed_center import FixedCenterSurrogate
from rcgp.gaussian import Array
from rcgp.state import Scaling
from rcgp.surrogates import DiagnosticsSurrogate, GaussianSurrogate, StudentTSurrogate, Surrogate
from tests.rcgp.problems import smooth

ROBUST = [DiagnosticsSurrogate(), FixedCenterSurrogate(), AdaptiveSurrogate()]


def names(surrogate: Surrogate) -> str:
    return f"{type(surrogate).__name__}-{getattr(surrogate, 'recipe', '')}"


@pytest.mark.parametrize("size", [1e3, 1e6, 1e12, 1e150, 1e300, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("surrogate", ROBUST, ids=names)
def test_a_lie_of_any_size_does_not_matter(surrogate: Surrogate, size: float) -> None:
    X, y = smooth()
    grid = np.linspace(0, 1, 50)[:, None]
    lied = y.copy()
    lied[7] = size
    state = surrogate.update(X, lied, None)
    mean, _ = state.posterior(X, lied, surrogate.kernel).mean_and_variance(grid)
    error = np.abs(state.scaling.to_units(mean) - np.sin(6 * grid[:, 0])).max()
    assert state.weights[7] < 0.5
    assert error < 0.3


@pytest.mark.parametrize("surrogate", [FixedCenterSurrogate(), AdaptiveSurrogate()], ids=names)
def test_without_suspects_it_is_the_gaussian_process(surrogate: Surrogate) -> None:
    X, y = smooth()
    state, plain = surrogate.update(X, y, None), GaussianSurrogate().update(X, y, None)
    assert state.scaling == plain.scaling == Scaling.of(y)
    assert state.weights.tolist() == [1.0] * 30
    assert (state.target_shift == 0).all()


def test_the_student_t_process_is_a_multivariate_t() -> None:
    X, y = smooth(12)
    hyper, nu = Hyperparameters(np.array([0.3]), 0.1), 5.0
    K = np.exp(-0.5 * (X - X.T) ** 2 / 0.09) + 0.1 * np.eye(12)
    expected = multivariate_t(shape=K * (nu - 2) / nu, df=nu).logpdf(y) - multivariate_t(
        shape=K * (nu - 2) / nu, df=nu
    ).logpdf(0 * y)

    def value(z: Array) -> float:
        return objective_and_gradient(hyper.theta, Data.trusted(X, z), "rbf", student_t_likelihood(nu))[0]

    assert value(y) - value(0 * y) == pytest.approx(expected, rel=1e-9)


def test_the_covariance_scale_of_the_student_t_process() -> None:
    X, y = smooth(12)
    surrogate = StudentTSurrogate(nu=6.0, kernel="rbf")
    state = surrogate.update(X, y, None)
    z = state.scaling.to_scaled(y)
    K = np.exp(-0.5 * (X - X.T) ** 2 / state.hyper.lengthscale[0] ** 2) + state.hyper.noise * np.eye(12)
    assert state.covariance_scale == pytest.approx((6 + z @ np.linalg.solve(K, z) - 2) / (6 + 12 - 2))


def test_diagnostics_never_drop_most_of_the_data() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((20, 1)), rng.standard_cauchy(20) * 1e3
    state = DiagnosticsSurrogate().update(X, y, None)
    assert state.kept.sum() >= 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianSurrogate(kernel="cubic"), "cubic.*rbf, matern52"),
        (lambda: StudentTSurrogate(nu=2.0), "2.0"),
        (lambda: DiagnosticsSurrogate(level=1.5), "1.5"),
        (lambda: AdaptiveSurrogate(recipe="mine"), "mine.*robust, paper"),  # type: ignore[arg-type]
        (lambda: AdaptiveSurrogate(width=-1.0), "-1.0"),
        (lambda: AdaptiveSurrogate(ceiling=-0.5), "-0.5"),
        (lambda: AdaptiveSurrogate(rounds=0), "rounds.*0"),
    ],
)
def test_nonsense_is_refused_by_value(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize("n", [14, 20, 30])
def test_diagnostics_drop_one_lie_of_a_million(n: int) -> None:
    X, y = smooth(n)
    y[3] = 1e6
    kept = DiagnosticsSurrogate().update(X, y, None).kept
    assert not kept[3]
    assert kept.sum() >= 0.7 * n


def test_past_the_eager_rows_a_fit_waits_for_its_share_of_new_ones() -> None:
    X, y = smooth(100)
    surrogate = GaussianSurrogate(eager=20, refit_divisor=5)
    state, fits = None, []
    for n in range(1, 101):
        state = surrogate.update(X[:n], y[:n], state)
        fits += [n] if state.fitted_at == n else []
    assert fits[:20] == list(range(1, 21))
    assert all(later - earlier == max(1, later // 5) for earlier, later in pairwise(fits[20:]))
    assert len(fits) < 30
