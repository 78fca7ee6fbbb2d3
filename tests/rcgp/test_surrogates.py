"""What each of the five beliefs concludes."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from rcgp.fit import Hyperparameters, student_t_likelihood
from rcgp.gaussian import Array
from rcgp.judgement import Judgement, Scaling
from rcgp.robust import AdaptiveSurrogate, FixedCenterSurrogate, believable
from rcgp.surrogates import DiagnosticsSurrogate, GaussianSurrogate, StudentTSurrogate, Surrogate

SURROGATES: list[Surrogate] = [
    GaussianSurrogate(),
    StudentTSurrogate(),
    DiagnosticsSurrogate(),
    FixedCenterSurrogate(),
    AdaptiveSurrogate(),
    FixedCenterSurrogate(recipe="paper"),
    AdaptiveSurrogate(recipe="paper"),
]
ROBUST = [DiagnosticsSurrogate(), FixedCenterSurrogate(), AdaptiveSurrogate()]


def smooth(n: int = 30, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 1))
    return X, np.sin(6 * X[:, 0]) + 0.05 * rng.standard_normal(n)


def names(surrogate: Surrogate) -> str:
    return f"{type(surrogate).__name__}-{getattr(surrogate, 'recipe', '')}"


@pytest.mark.parametrize("size", [1e3, 1e6, 1e12, 1e150, 1e300, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("surrogate", ROBUST, ids=names)
def test_a_lie_of_any_size_does_not_matter(surrogate: Surrogate, size: float) -> None:
    X, y = smooth()
    grid = np.linspace(0, 1, 50)[:, None]
    lied = y.copy()
    lied[7] = size
    judgement = surrogate.judge(X, lied, None)
    mean, _ = judgement.belief(X, lied, surrogate.kernel).mean_and_variance(grid)
    error = np.abs(judgement.scaling.to_units(mean) - np.sin(6 * grid[:, 0])).max()
    assert judgement.weights[7] < 0.5
    assert error < 0.3


@pytest.mark.parametrize("surrogate", [FixedCenterSurrogate(), AdaptiveSurrogate()], ids=names)
def test_without_suspects_it_is_the_gaussian_process(surrogate: Surrogate) -> None:
    X, y = smooth()
    judgement, plain = surrogate.judge(X, y, None), GaussianSurrogate().judge(X, y, None)
    assert judgement.scaling == plain.scaling == Scaling.of(y)
    assert judgement.weights.tolist() == [1.0] * 30
    assert (judgement.shift == 0).all()


def test_plain_standardising() -> None:
    y = np.array([1.0, 4.0, -2.0, 7.0])
    np.testing.assert_allclose(Scaling.of(y).to_scaled(y), (y - y.mean()) / y.std(ddof=1))
    np.testing.assert_allclose(Scaling.of(y).to_units(Scaling.of(y).to_scaled(y)), y)


def test_the_student_t_process_is_a_multivariate_t() -> None:
    X, y = smooth(12)
    hyper, nu = Hyperparameters(np.array([0.3]), 0.1), 5.0
    K = np.exp(-0.5 * (X - X.T) ** 2 / 0.09) + 0.1 * np.eye(12)
    expected = multivariate_t(shape=K * (nu - 2) / nu, df=nu).logpdf(y) - multivariate_t(
        shape=K * (nu - 2) / nu, df=nu
    ).logpdf(0 * y)
    from rcgp.fit import Data, objective_and_gradient

    def value(z: Array) -> float:
        return objective_and_gradient(hyper.theta, Data.trusted(X, z), "rbf", student_t_likelihood(nu))[0]

    assert value(y) - value(0 * y) == pytest.approx(expected, rel=1e-9)


def test_the_student_t_inflation() -> None:
    X, y = smooth(12)
    surrogate = StudentTSurrogate(nu=6.0, kernel="rbf")
    judgement = surrogate.judge(X, y, None)
    z = judgement.scaling.to_scaled(y)
    K = np.exp(-0.5 * (X - X.T) ** 2 / judgement.hyper.lengthscale[0] ** 2) + judgement.hyper.noise * np.eye(12)
    assert judgement.inflation == pytest.approx((6 + z @ np.linalg.solve(K, z) - 2) / (6 + 12 - 2))


def test_diagnostics_never_drop_most_of_the_data() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((20, 1)), rng.standard_cauchy(20) * 1e3
    judgement = DiagnosticsSurrogate().judge(X, y, None)
    assert judgement.kept.sum() >= 10


def test_too_many_to_be_lies_are_believed_again() -> None:
    """High lies were believed where nothing contradicted them: honest looks at the same place depose them in the end."""
    X, y = smooth(30)
    X, y = X[(X[:, 0] < 0.7)], y[X[:, 0] < 0.7]
    surrogate = AdaptiveSurrogate()
    X, y = np.concatenate([X, [[0.9], [0.905]]]), np.append(y, [1.2, 1.2])
    judgement = surrogate.judge(X, y, None)
    believed = judgement.weights[-1]
    for step in range(10):
        X, y = np.concatenate([X, [[0.9 + 0.001 * step]]]), np.append(y, np.sin(5.4) + 0.05 * (-1) ** step)
        judgement = surrogate.judge(X, y, judgement)
    assert believed > 0.5
    assert (judgement.weights[-10:] > 0.5).all()
    assert (judgement.weights[-12:-10] < 0.5).all()


@pytest.mark.parametrize(("depth", "believed"), [(1.4, True), (2.5, False), (-0.3, True), (-1.4, False)])
def test_where_nothing_was_measured_a_drop_may_go_further_than_a_rise(depth: float, believed: bool) -> None:
    """`depth` times the range of the others below the lowest of them; negative: above the highest."""
    X, y = np.linspace(0.0, 0.3, 8)[:, None], np.sin(40.0 * np.linspace(0.0, 0.3, 8))
    surrogate = AdaptiveSurrogate()
    before = surrogate.judge(X, y, None)
    far = y.min() - depth * np.ptp(y) if depth > 0 else y.max() - depth * np.ptp(y)
    judgement = surrogate.judge(np.concatenate([X, [[0.95]]]), np.append(y, far), before)
    assert (judgement.weights[-1] > 0.5) == believed


@pytest.mark.parametrize(("reconsidered", "found"), [(150, True), (0, False)])
def test_lies_that_were_believed_are_found_by_what_they_make_of_the_others(
    monkeypatch: pytest.MonkeyPatch, reconsidered: int, found: bool
) -> None:
    """Two lies from the start: the objective seems noisy, and nothing is suspicious, until the rest is looked at alone."""
    monkeypatch.setattr("rcgp.robust.RECONSIDERED", reconsidered)
    rng = np.random.default_rng(3)
    X = rng.random((30, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.02 * rng.standard_normal(30)
    y[[1, 4]] = [0.4, -0.5]
    scaling, hyper = Scaling.of(y), Hyperparameters(np.array([0.3]), 0.3)
    believed = Judgement(scaling, hyper, np.ones(29), np.zeros(29), 29)
    weights = AdaptiveSurrogate().judge(X, y, believed).weights
    assert (weights[[1, 4]] < 0.5).all() == found
    assert (np.delete(weights, [1, 4]) > 0.5).all()


def test_a_few_agreeing_lies_are_not_believed() -> None:
    X, y = smooth(40)
    surrogate = AdaptiveSurrogate()
    judgement = surrogate.judge(X, y, None)
    for x in (0.5, 0.51):
        X, y = np.concatenate([X, [[x]]]), np.append(y, 4.0)
        judgement = surrogate.judge(X, y, judgement)
    assert (judgement.weights[-2:] < 0.5).all()
    assert (judgement.weights[:-2] > 0.5).all()


@pytest.mark.parametrize("surrogate", SURROGATES, ids=names)
def test_a_judgement_survives_json(surrogate: Surrogate) -> None:
    import json

    X, y = smooth()
    y[3], y[4] = 1e5, np.inf
    judgement = surrogate.judge(X, y, None)
    restored = Judgement.from_data(json.loads(json.dumps(judgement.to_data(), allow_nan=False)))
    left, right = (j.belief(X, y, surrogate.kernel) for j in (judgement, restored))
    np.testing.assert_array_equal(left.inverse, right.inverse)
    np.testing.assert_array_equal(left.alpha, right.alpha)
    assert left.inflation == right.inflation


def test_what_can_be_reached_without_a_leap_is_believable() -> None:
    assert believable(np.array([0.1, 0.5, 0.9, 0.95, 0.97, 0.98]), 20.0).all()
    assert believable(np.array([0.5, 0.6, -1e3, 0.7, 0.8, np.nan]), 20.0).tolist() == [
        True,
        True,
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianSurrogate(kernel="cubic"), "cubic.*rbf, matern52"),
        (lambda: StudentTSurrogate(nu=2.0), "2.0"),
        (lambda: DiagnosticsSurrogate(level=1.5), "1.5"),
        (lambda: AdaptiveSurrogate(recipe="mine"), "mine.*robust, paper"),  # type: ignore[arg-type]
        (lambda: AdaptiveSurrogate(width=-1.0), "-1.0"),
        (lambda: AdaptiveSurrogate(ceiling=-0.5), "-0.5"),
    ],
)
def test_nonsense_is_refused_by_value(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_a_lie_among_many_rows_told_at_once() -> None:
    X, y = smooth(40)
    y[25] = 60.0
    assert AdaptiveSurrogate().judge(X, y, None).weights[25] < 0.5


def test_an_honest_cliff_is_learned() -> None:
    """Almost everything scores alike, one region fails outright: far out of range, but too often to be a lie."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 1)) * 0.6
    y = 0.97 + 0.005 * rng.standard_normal(30)
    surrogate = AdaptiveSurrogate()
    judgement = surrogate.judge(X, y, None)
    for step in range(12):
        X, y = np.concatenate([X, [[0.9 + 0.005 * step]]]), np.append(y, 0.1 + 0.005 * rng.standard_normal())
        judgement = surrogate.judge(X, y, judgement)
    assert (judgement.weights[-12:] > 0.5).all()


@pytest.mark.parametrize("n", [14, 20, 30])
def test_diagnostics_drop_one_lie_of_a_million(n: int) -> None:
    X, y = smooth(n)
    y[3] = 1e6
    kept = DiagnosticsSurrogate().judge(X, y, None).kept
    assert not kept[3]
    assert kept.sum() >= 0.7 * n
