"""The constants of the analysis: what they are for, computed another way, and the paper's own numbers."""

import math
from typing import Any

import numpy as np
import pytest

from rcgp import PlateauIMQ
from rcgp import confidence as c


@pytest.mark.parametrize(("dim", "delta", "side"), [(1, 0.1, 1.0), (3, 0.05, 2.0)])
def test_the_union_bound_over_all_steps_and_grid_points_spends_a_quarter_of_delta(
    dim: int, delta: float, side: float
) -> None:
    """At step t a Gaussian exceeds sqrt(beta) somewhere on the grid of the proof with at most |D_t| exp(-beta/2)."""
    steps = np.arange(1, 20_001)
    grid = (steps**2 * dim * 3.0 * side * math.sqrt(math.log(4 * dim * 2.0 / delta))) ** dim
    betas = np.array([c.beta_prime_compact(int(t), delta, dim, a=2.0, b=3.0, r=side) for t in steps])
    assert np.sum(grid * np.exp(-betas / 2)) == pytest.approx(delta / 4, rel=1e-3)


def test_the_noise_of_a_whole_run_stays_within_its_bound() -> None:
    sigma2, horizon, delta = 0.25, 100, 0.2
    noise = np.random.default_rng(0).standard_normal((20_000, horizon)) * math.sqrt(sigma2)
    largest = np.abs(noise).max(axis=1)
    exceeded = np.mean(largest > c.noise_bound(sigma2, horizon, delta))
    assert 0.0 < exceeded <= delta
    assert c.fixed_width(sigma2, horizon, delta, B_f=4.0, kappa=1.0) > 2.0 + np.quantile(largest, 1 - delta / 3)


@pytest.mark.parametrize(("sigma2", "width", "decay"), [(0.5, 1.0, 2.0), (0.01, 3.0, 0.3), (2.0, 0.0, 1.0)])
def test_the_bound_of_the_target_shift_is_reached_and_not_passed(sigma2: float, width: float, decay: float) -> None:
    residual = width + np.linspace(0.0, 20.0 * decay, 200_001)
    noise_inflation, target_shift = PlateauIMQ(width, decay)(residual)
    influence = sigma2 * np.abs(target_shift) / np.sqrt(noise_inflation)
    assert influence.max() == pytest.approx(c.shift_bound(sigma2, decay), rel=1e-6)


def test_one_corruption_at_the_papers_noise_widens_the_bound_150_times() -> None:
    assert c.variance_inflation(0, 0.0067) == 1.0
    assert c.variance_inflation(1, 0.0067) == pytest.approx(150, rel=0.01)


def multiplier(name: str, n: int = 10, corruptions: int = 0) -> float:
    schedule = c.make_schedule(name, horizon=100)
    return schedule(n, dim=1, corruptions=corruptions, sigma2=0.01, decay=1.0)


def test_without_corruptions_the_theory_is_that_of_gp_ucb() -> None:
    assert multiplier("theory") == pytest.approx(math.sqrt(c.beta_prime_compact(11, 0.1 / 3, 1)))


def test_every_corruption_widens_the_theory_and_nothing_else() -> None:
    theory = [multiplier("theory", corruptions=count) for count in range(4)]
    assert theory[1] > 100 * theory[0]
    assert theory == sorted(theory)
    for name in ("practical", "paper"):
        assert multiplier(name, corruptions=5) == multiplier(name)


@pytest.mark.parametrize("name", c.SCHEDULES)
def test_every_schedule_grows_like_the_root_of_a_logarithm(name: str) -> None:
    """So that every point is tried in the end: without bound, yet ever slower."""
    values = [multiplier(name, n=10**exponent) for exponent in range(1, 9)]
    steps = np.diff(values)
    assert (steps > 0).all()
    assert (np.diff(steps) < 0).all()


def test_the_authors_multiplier() -> None:
    assert multiplier("paper", n=0) == pytest.approx(2.0016, rel=1e-3)


def test_a_multiplier_of_ones_own() -> None:
    ours, twice = (c.make_schedule("practical", horizon=None, scale=scale) for scale in (0.9, 1.8))
    state: dict[str, Any] = {"dim": 1, "corruptions": 0, "sigma2": 0.01, "decay": 1.0}
    assert twice(10, **state) == pytest.approx(2 * ours(10, **state))
    assert ours(10, **state) == multiplier("practical")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "wild", "horizon": 1}, "practical, paper, theory"),
        ({"name": "theoy", "horizon": 1}, "did you mean 'theory'"),
        ({"name": "theory", "horizon": None}, "horizon=T"),
        ({"name": "practical", "horizon": None, "scale": -1.0}, "-1.0"),
    ],
)
def test_bad_schedules_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        c.make_schedule(**arguments)
