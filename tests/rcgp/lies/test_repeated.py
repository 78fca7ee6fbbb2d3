"""A value's share of lies is learned, and its rows are doubted sooner; where none is bad nothing changes."""

import math

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.lies.repeated import Records, inflation, likelier_a_lie, repeated_values

HONEST, LIE = -4.0, 6.0


def test_a_value_that_is_a_lie_more_often_than_the_others_is_bad_and_only_that_one() -> None:
    value = np.arange(40) % 4
    likelier = np.where((value == 2) & (np.arange(40) < 24), LIE, HONEST)
    found = Records.of(likelier, value)
    assert np.array_equal(found.bad, value == 2)
    share = 1.0 / (1.0 + math.exp(-found.log_odds[2]))
    assert 0.3 < share < 0.7, "six of ten, held back by what is usual"


@pytest.mark.parametrize("lies", [0, 1, 8])
def test_lies_of_all_values_make_none_of_them_bad(lies: int) -> None:
    likelier = np.full(40, HONEST)
    likelier[:lies] = LIE
    assert not Records.of(likelier, np.arange(40) % 4).bad.any()


def test_rows_with_a_value_of_their_own_are_never_bad_but_count_as_the_others() -> None:
    likelier = np.where(np.arange(40) < 8, LIE, HONEST)
    value = np.where(np.arange(40) < 8, 0, -1)
    assert np.array_equal(Records.of(likelier, value).bad, value == 0)
    assert not Records.of(likelier, -1 - value).bad[value == 0].any()


def test_what_nobody_can_check_is_doubted_as_far_as_the_value_is_usually_a_lie() -> None:
    checked = np.where(np.arange(40) % 8 == 2, LIE, HONEST)
    found = Records.of(checked, np.arange(40) % 4)
    assert 0.2 < found.probability(np.zeros(40))[2] <= 0.5
    assert found.probability(np.full(40, LIE))[3] == 0.0


def test_the_model_goes_the_honest_share_of_the_way() -> None:
    p, latent, noise = np.array([0.0, 0.4, 1.0]), np.array([0.7, 0.7, 0.7]), np.full(3, 0.02)
    gain = latent / (latent + noise * inflation(p, latent, noise))
    assert gain == pytest.approx((1.0 - p) * latent / (latent + noise))


def test_a_report_without_a_number_says_nothing() -> None:
    said = likelier_a_lie(np.array([math.nan, math.inf, 0.0]), np.zeros(3), np.ones(3))
    assert said[0] == said[1] == 0.0
    assert said[2] < 0.0


def test_a_value_is_repeated_when_another_place_reports_it_to_the_last_digit() -> None:
    X = np.array([[0.1], [0.2], [0.2], [0.3], [0.4], [0.5], [0.6]])
    y = np.array([0.0, 1.0, 1.0, 0.0, np.nan, np.nan, np.nextafter(0.0, 1.0)])
    value = repeated_values(X, y)
    assert value[0] == value[3] >= 0
    assert np.array_equal(np.delete(value, [0, 3]), np.full(5, -1)), "one place, no value, another last digit"


def repeating(frozen: dict[int, float]) -> Optimizer:
    """40 points of a smooth objective, some of which report a value that has nothing to do with them."""
    optimizer, rng = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4), np.random.default_rng(5)
    for number, x in enumerate(rng.random((40, 2))):
        optimizer.update()
        y = math.sin(6.0 * x[0]) + math.cos(4.0 * x[1]) + 0.02 * rng.standard_normal()
        optimizer.tell(x, frozen.get(number, y))
    return optimizer


def test_a_value_that_repeats_itself_is_doubted_where_the_same_lie_with_other_digits_passes() -> None:
    rows = (6, 11, 17, 23, 28, 33, 36)
    frozen = repeating(dict.fromkeys(rows, -0.5))
    varied = repeating({row: -0.5 + 1e-6 * row for row in rows})
    doubted = [{suspect.index for suspect in each.suspects()} for each in (frozen, varied)]
    assert doubted[0] <= set(rows)
    assert len(doubted[0]) > len(doubted[1])
    assert "the very same value was reported from elsewhere 6 times" in {s.reason for s in frozen.suspects()}


@pytest.mark.parametrize("floor", [-0.5, 0.2])
def test_a_level_region_repeats_itself_and_is_believed(floor: float) -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=1, n_initial=4)
    for _ in range(30):
        x = optimizer.ask()
        optimizer.tell(x, max(floor, 1.0 - 4.0 * float(((x - 0.3) ** 2).sum())))
    assert optimizer.suspects() == []
