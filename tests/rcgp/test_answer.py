"""The answer at the end: what is handed over, and what it rests on."""

import math

import numpy as np
import pytest

from rcgp import make_optimizer
from tests.rcgp.hills import TOP, bump, grid, told


def test_the_recommendation_says_what_it_rests_on() -> None:
    found = told([*grid(), (TOP, bump(TOP)), (TOP, bump(TOP) + 0.01)]).recommendation()
    assert found.mean == pytest.approx(2.0, abs=0.05)
    assert found.support >= 3
    assert not found.unsupported
    assert found.std < 0.1
    assert found.probability_best > 0.9


def test_it_is_the_row_that_recommend_hands_over_and_nothing_changes_by_looking() -> None:
    optimizer = told(grid())
    before = optimizer.state_dict()
    assert optimizer.recommendation().index == optimizer.recommend()
    optimizer.to_confirm()
    assert optimizer.state_dict() == before


def test_it_is_computed_once_until_something_is_told_or_ruled() -> None:
    optimizer = told(grid())
    first = optimizer._answer()
    optimizer.ask()
    assert optimizer._answer() is first
    optimizer.rule(3, "lie")
    ruled = optimizer._answer()
    assert ruled is not first
    optimizer.tell(np.array([0.5]), bump(0.5))
    assert optimizer._answer() is not ruled


def test_an_answer_that_rests_on_one_report_says_so() -> None:
    # nobody else was near the higher hill
    reports = [(x, y) for x, y in grid() if x < 0.6]
    found = told([*reports, (TOP, 1.6)]).recommendation()
    assert (found.index, found.support) == (len(reports), 1)
    assert found.unsupported


def test_a_place_is_not_handed_over_against_what_its_only_reports_say_however_good_it_is_expected_to_be() -> None:
    climb = [(x, 5.0 * x) for x in np.linspace(0.0, 0.7, 15).tolist()]
    optimizer = told([*climb, (0.78, -40.0), (0.78, -41.0)])
    assert {suspect.index for suspect in optimizer.suspects()} == {15, 16}
    assert optimizer.posterior(np.array([[0.78]])).mean[0] > 3.5
    assert optimizer.recommend() == 14


def test_lies_that_agree_are_not_handed_over_where_the_truth_came_after_them() -> None:
    first = [(0.98, -15.6), (0.44, -0.776), (0.25, -2.39), (0.67, 2.84), (0.52, -1.22)]
    lies = [(0.0, 14.72), (0.0517, 14.72), (0.0229, 14.72)]
    there = [(0.0, -3.04), (0.0, -2.86), (0.0, -1.05), (0.0, -1.09)]
    elsewhere = [
        (0.73, 5.73),
        (0.1, -0.255),
        (0.78, 5.34),
        (0.75, 6.88),
        (0.75, 5.86),
        (0.75, 5.52),
        (0.74, 4.49),
        (0.77, 7.25),
    ]
    optimizer = told([*first, *lies, *there, *elsewhere])
    assert {suspect.index for suspect in optimizer.suspects()} == {5, 6, 7}
    assert optimizer.recommend() >= 12


def test_before_there_is_a_model_the_highest_report_is_handed_over_without_a_probability() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=5)
    with pytest.raises(ValueError, match="Nothing was told yet"):
        optimizer.recommendation()
    assert optimizer.to_confirm() is None
    optimizer.tell(np.array([0.2]), 1.0)
    optimizer.tell(np.array([0.4]), 3.0)
    found = optimizer.recommendation()
    assert (found.index, found.mean, found.support) == (1, 3.0, 1)
    assert math.isnan(found.probability_best)


def test_two_agreeing_lies_are_not_handed_over_against_one_truth() -> None:
    optimizer = told([*grid(), (0.5, 2.6), (0.5, 2.6), (0.5, 2.6)])
    assert optimizer.state_dict()["X"][optimizer.recommend()][0] == pytest.approx(TOP)


def test_a_condemned_row_is_neither_handed_over_nor_asked_for_again() -> None:
    optimizer = told(grid())
    best = optimizer.recommend()
    optimizer.rule(best, "lie")
    assert optimizer.recommendation().index != best
    assert optimizer.to_confirm() != best


def test_a_point_whose_second_run_says_otherwise_is_not_handed_over_for_the_first() -> None:
    """The model believes the better one, which its neighbours support; but one of these is as good and undisputed."""
    others = [row for row in grid() if not math.isclose(row[0], TOP)]
    optimizer = told([*others, (0.91, 1.98), (TOP, bump(TOP)), (TOP, 0.1)])
    assert [suspect.index for suspect in optimizer.suspects()] == [22]
    assert optimizer.recommend() == 20
