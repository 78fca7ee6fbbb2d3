"""The answer at the end: what is handed over, what it rests on, and which report is asked for again."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.answer import reproduced

TOP = 0.9


def bump(x: float) -> float:
    """A hill at 0.3 and a higher one at `TOP`."""
    return math.exp(-(((x - 0.3) / 0.12) ** 2)) + 2.0 * math.exp(-(((x - TOP) / 0.12) ** 2))


def told(reports: list[tuple[float, float]], algorithm: str = "a2-rcgp-ucb") -> Optimizer:
    """An optimizer that was told these, with an update after each."""
    optimizer = make_optimizer(algorithm, 1, seed=0, n_initial=5)
    for x, y in reports:
        optimizer.update()
        optimizer.tell(np.array([x]), y)
    optimizer.update()
    return optimizer


def grid() -> list[tuple[float, float]]:
    return [(x, bump(x)) for x in np.linspace(0.0, 1.0, 21).tolist()]


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


def test_a_believed_lie_that_hides_the_best_place_is_asked_for_again_until_the_answer_is_right() -> None:
    # the first report from the higher hill was a plausible lie: nothing contradicts it, and nobody goes there again
    reports = [(x, y) for x, y in grid() if x < 0.82 and round(20 * x) % 2 == 0]
    optimizer = told([*reports, (TOP, 0.0), *[(0.3, bump(0.3))] * 6])
    assert abs(float(optimizer.state_dict()["X"][optimizer.recommend()][0]) - TOP) > 0.1
    for _ in range(8):
        row = optimizer.to_confirm(3)
        assert row is not None
        x = float(optimizer.state_dict()["X"][row][0])
        optimizer.tell(np.array([x]), bump(x))
        optimizer.update()
    found = optimizer.recommendation()
    assert optimizer.state_dict()["X"][found.index][0] == TOP
    assert found.mean == pytest.approx(2.0, abs=0.2)
    assert not found.unsupported


def test_lies_that_hold_each_other_up_are_looked_at_together() -> None:
    """The rows of a search on negated Forrester whose first three reports from around the optimum had the wrong sign."""
    rows = json.loads((Path(__file__).parent / "data/three_flipped_reports.json").read_text())
    hidden, optimizer = 0.757, told([(x, y) for x, y in rows])
    assert abs(optimizer.state_dict()["X"][optimizer.recommend()][0] - hidden) > 0.5
    for _ in range(5):
        row = optimizer.to_confirm()
        assert row is not None
        (x,) = optimizer.state_dict()["X"][row]
        optimizer.tell(np.array([x]), -((6 * x - 2) ** 2) * math.sin(12 * x - 4))
        optimizer.update()
    assert abs(optimizer.state_dict()["X"][optimizer.recommend()][0] - hidden) < 0.02


def test_what_is_handed_over_is_run_twice_before_anything_else_is_looked_at() -> None:
    """Where nothing else vouches for the winner but its own report, "confirmed" must mean that it was run again."""
    optimizer = told(grid())
    best = optimizer.recommend()
    assert optimizer.to_confirm() == best
    (x,) = optimizer.state_dict()["X"][best]
    optimizer.tell(np.array([x]), bump(x))
    optimizer.update()
    second = optimizer.to_confirm()
    assert optimizer.state_dict()["X"][second][0] != x
    assert optimizer.recommendation().support >= 2


def test_what_is_pending_is_not_asked_for_again() -> None:
    optimizer = told(grid())
    X = np.array(optimizer.state_dict()["X"])
    row = optimizer.to_confirm()
    assert row is not None
    other = optimizer.to_confirm(pending=X[[row]])
    assert other is not None
    assert X[other] != X[row]
    assert optimizer.to_confirm(pending=X) is None
    with pytest.raises(ValueError, match="candidates must be at least 1, got 0"):
        optimizer.to_confirm(0)


def test_two_agreeing_lies_are_not_handed_over_against_one_truth() -> None:
    optimizer = told([*grid(), (0.5, 2.6), (0.5, 2.6), (0.5, 2.6)])
    assert optimizer.state_dict()["X"][optimizer.recommend()][0] == pytest.approx(TOP)


def test_a_condemned_row_is_neither_handed_over_nor_asked_for_again() -> None:
    optimizer = told(grid())
    best = optimizer.recommend()
    optimizer.rule(best, "lie")
    assert optimizer.recommendation().index != best
    assert optimizer.to_confirm() != best


def lied_to(lies: int, trials: int, *, look_again: bool) -> float:
    """What is handed over after a search in which the first so many reports from around the higher hill were plausible lies."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=4, look_again=look_again)
    rng, told_lies = np.random.default_rng(0), 0
    for _ in range(trials):
        x = float(optimizer.ask()[0])
        y = (
            math.exp(-(((x - 0.3) / 0.15) ** 2))
            + 2.0 * math.exp(-(((x - 0.95) / 0.1) ** 2))
            + 0.02 * rng.standard_normal()
        )
        if abs(x - 0.95) < 0.15 and told_lies < lies:
            y, told_lies = 0.1, told_lies + 1
        optimizer.tell(np.array([x]), y)
    return float(optimizer.state_dict()["X"][optimizer.recommend()][0])


def test_a_settled_search_that_looks_again_is_not_stuck_for_ever() -> None:
    assert lied_to(1, 60, look_again=False) == pytest.approx(0.3, abs=0.02)
    assert lied_to(1, 60, look_again=True) == pytest.approx(0.95, abs=0.02)


def test_nor_if_the_same_place_is_lied_about_again_and_again() -> None:
    assert lied_to(3, 100, look_again=True) == pytest.approx(0.95, abs=0.02)


def two_hills(x: np.ndarray) -> float:
    """A wide hill of 0.8 and a narrow one of 1."""
    wide, narrow = ((x - 0.25) ** 2).sum(), ((x - 0.85) ** 2).sum()
    return float(0.8 * np.exp(-wide / 0.05) + np.exp(-narrow / 0.015))


@pytest.mark.parametrize(("look_again", "found"), [(False, 0.8), (True, 1.0)])
def test_a_settled_search_that_looks_again_looks_for_another_place_too(look_again: bool, found: float) -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, look_again=look_again)
    rng, points = np.random.default_rng(0), list[np.ndarray]()
    for _ in range(50):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], two_hills(points[-1]) + 0.01 * rng.standard_normal())
    assert two_hills(points[optimizer.recommend()]) == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize(
    ("runs", "trusted", "most"),
    [
        ([2.0, 0.0], [True, False], 0.0),
        ([2.0, 2.1], [True, True], math.inf),
        ([2.0, 0.0, 2.1], [True, False, True], 2.0),
        ([0.0, 0.1, 2.0], [False, False, True], 0.1),
        ([2.0, math.nan], [True, False], math.inf),
    ],
)
def test_what_a_second_run_denies_is_worth_what_half_of_the_runs_reached(
    runs: list[float], trusted: list[bool], most: float
) -> None:
    X, elsewhere = np.full((len(runs) + 1, 1), 0.5), 0.4
    X[-1] = elsewhere
    found = reproduced(X, np.append(runs, 9.0), np.append(trusted, False))
    assert found.tolist() == [most if math.isfinite(y) else math.inf for y in runs] + [math.inf]


def test_a_point_whose_second_run_says_otherwise_is_not_handed_over_for_the_first() -> None:
    """The model believes the better one, which its neighbours support; but one of these is as good and undisputed."""
    others = [row for row in grid() if not math.isclose(row[0], TOP)]
    optimizer = told([*others, (0.91, 1.98), (TOP, bump(TOP)), (TOP, 0.1)])
    assert [suspect.index for suspect in optimizer.suspects()] == [22]
    assert optimizer.recommend() == 20
