"""A reporter's share of lies is learned, and its rows are doubted sooner; where nobody is bad nothing changes."""

import math

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.lies.reporters import MACHINE, REPEATED, Records, inflation, likelier_a_lie, repeated_values

HONEST, LIE = -4.0, 6.0


def search(lies: dict[int, float], *, knows: bool, reporters: int = 4) -> Optimizer:
    """32 points of a smooth objective, reported in turn; some reports are off by so much."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=4)
    rng = np.random.default_rng(3)
    for number, x in enumerate(rng.random(32)):
        optimizer.update()
        y = math.sin(6.0 * x) + 0.02 * rng.standard_normal() + lies.get(number, 0.0)
        optimizer.tell(np.array([x]), y, reporter=f"node-{number % reporters}" if knows else None)
    optimizer.update()
    return optimizer


def test_who_lies_more_often_than_the_others_is_bad_and_only_that_one() -> None:
    reporter = np.arange(40) % 4
    likelier = np.where((reporter == 2) & (np.arange(40) < 24), LIE, HONEST)
    found = Records.of(likelier, reporter)
    assert np.array_equal(found.bad, reporter == 2)
    share = 1.0 / (1.0 + math.exp(-found.log_odds[2]))
    assert 0.3 < share < 0.7, "six of ten, held back by what is usual"


@pytest.mark.parametrize("lies", [0, 1, 8])
def test_lies_that_everybody_tells_make_nobody_bad(lies: int) -> None:
    likelier = np.full(40, HONEST)
    likelier[:lies] = LIE
    assert not Records.of(likelier, np.arange(40) % 4).bad.any()


def test_rows_of_unknown_reporters_are_never_bad_but_count_as_the_others() -> None:
    likelier = np.where(np.arange(40) < 8, LIE, HONEST)
    reporter = np.where(np.arange(40) < 8, 0, -1)
    assert np.array_equal(Records.of(likelier, reporter).bad, reporter == 0)
    assert not Records.of(likelier, -1 - reporter).bad[reporter == 0].any()


def test_what_nobody_can_check_is_believed_of_a_machine_that_lies_half_the_time_but_not_of_a_value_that_repeats_itself() -> (
    None
):
    reporter, checked = np.arange(40) % 4, np.where(np.arange(40) % 8 == 2, LIE, HONEST)
    machine, value = (Records.of(checked, reporter, burden) for burden in (MACHINE, REPEATED))
    assert machine.bad[2]
    assert machine.probability(np.zeros(40))[2] == 0.0
    assert machine.probability(np.full(40, 2.0))[2] > 0.5
    assert 0.2 < value.probability(np.zeros(40))[2] <= 0.5


def test_the_model_goes_the_honest_share_of_the_way() -> None:
    p, latent, noise = np.array([0.0, 0.4, 1.0]), np.array([0.7, 0.7, 0.7]), np.full(3, 0.02)
    gain = latent / (latent + noise * inflation(p, latent, noise))
    assert gain == pytest.approx((1.0 - p) * latent / (latent + noise))


def test_a_report_without_a_value_says_nothing_of_its_reporter() -> None:
    said = likelier_a_lie(np.array([math.nan, math.inf, 0.0]), np.zeros(3), np.ones(3))
    assert said[0] == said[1] == 0.0
    assert said[2] < 0.0


def test_with_honest_reporters_knowing_them_changes_nothing_bit_for_bit() -> None:
    for lies in ({}, {9: 5.0}):
        known, unknown = search(lies, knows=True), search(lies, knows=False)
        assert np.array_equal(known.weights(), unknown.weights())
        assert np.array_equal(known.ask(), unknown.ask())


def test_small_lies_of_a_bad_reporter_are_doubted_that_pass_from_others() -> None:
    large = dict.fromkeys((5, 9, 13, 17, 21), 4.0)
    known, unknown = (search(large | {25: 0.14}, knows=knows).weights() for knows in (True, False))
    assert known[25] < 0.5
    assert unknown[25] == 1.0
    honest = [number for number in range(32) if number % 4 != 1]
    assert known[honest].min() == 1.0


def test_a_ruling_stands_above_the_record() -> None:
    optimizer = search(dict.fromkeys((5, 9, 13, 17, 21), 4.0) | {25: 0.14}, knows=True)
    assert optimizer.weights()[25] < 0.5
    optimizer.rule(25, "true")
    optimizer.update()
    assert optimizer.weights()[25] == 1.0


def test_a_value_is_repeated_when_another_place_reports_it_to_the_last_digit() -> None:
    X = np.array([[0.1], [0.2], [0.2], [0.3], [0.4], [0.5], [0.6]])
    y = np.array([0.0, 1.0, 1.0, 0.0, np.nan, np.nan, np.nextafter(0.0, 1.0)])
    value = repeated_values(X, y)
    assert value[0] == value[3] >= 0
    assert np.array_equal(np.delete(value, [0, 3]), np.full(5, -1)), "one place, no value, another last digit"


def test_a_record_of_either_kind_is_a_record() -> None:
    likelier = np.where(np.arange(40) % 4 == 2, LIE, HONEST)
    nobody, one = Records.clean(40), Records.of(likelier, np.arange(40) % 4)
    for both in (nobody | one, one | nobody):
        assert np.array_equal(both.bad, one.bad)
        assert np.array_equal(both.log_odds, one.log_odds)


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
