"""The constants of the analysis against numbers worked out by hand from the paper."""

import math

import pytest

from rcgp import confidence as c


def test_betas_of_the_three_cases() -> None:
    assert c.beta_prime_finite(10, 0.1, 50) == pytest.approx(2 * math.log(50 * 100 * math.pi**2 / 0.6))
    first, second = 2 * math.log(25 * 2 * math.pi**2 / 0.3), 4 * math.log(25 * 2 * 3 * 2 * math.sqrt(math.log(80)))
    assert c.beta_prime_compact(5, 0.1, 2, a=1.0, b=3.0, r=2.0) == pytest.approx(first + second)
    assert c.beta_prime_rkhs(10, 0.1, B_f=2.0, information_gain=3.0) == pytest.approx(4 + 900 * math.log(100) ** 3)


def test_the_plateau_and_influence_constants() -> None:
    assert c.noise_bound(0.25, 100, 0.1) == pytest.approx(0.5 * math.sqrt(2 * math.log(1000)))
    assert c.fixed_width(0.25, 100, 0.3, B_f=4.0) == pytest.approx(2.0 + 0.5 * math.sqrt(2 * math.log(1000)))
    assert c.shift_bound(0.5, 2.0) == pytest.approx(2.0 / (6 * math.sqrt(3)))
    reach = 5.0 + 1.5 + c.shift_bound(0.5, 4.0)
    assert c.influence_bound(0.5, 3.0, 4.0, 1.5) == pytest.approx(0.5 * reach)
    assert c.deviation_constant(0.5, 3.0, 4.0, 1.5) == pytest.approx(math.sqrt(2) * reach)
    assert c.robust_root_beta(2.0, 3.0, 4) == 8.0
    assert c.adaptive_width(2.0, 3.0, 0.5, 0.25) == 3.25


def test_the_theoretical_multiplier_is_as_wide_as_it_is() -> None:
    assert c.variance_inflation(0, 0.0067) == 1.0
    assert c.variance_inflation(1, 0.0067) == pytest.approx(150, rel=0.01)
    theory, practical = c.make_schedule("theory", horizon=100), c.make_schedule("practical", horizon=None)
    clean = theory(10, dim=1, corruptions=0, sigma2=0.01, decay=1.0)
    assert clean == pytest.approx(math.sqrt(c.beta_prime_compact(11, 0.1 / 3, 1)))
    assert theory(10, dim=1, corruptions=1, sigma2=0.01, decay=1.0) > 100 * clean
    assert practical(10, dim=1, corruptions=5, sigma2=0.01, decay=1.0) < clean


def test_the_authors_multiplier() -> None:
    assert c.make_schedule("paper", horizon=None)(0, dim=1, corruptions=0, sigma2=1, decay=1) == pytest.approx(
        2.0016, rel=1e-3
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"name": "wild", "horizon": 1}, "practical, paper, theory"), ({"name": "theory", "horizon": None}, "horizon=T")],
)
def test_bad_schedules_are_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        c.make_schedule(**arguments)
