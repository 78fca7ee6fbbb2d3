"""Looking again: which report is asked for once more, and what a search does that has settled."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.looks import Looks
from tests.rcgp.hills import TOP, bump, grid, told


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


def settled_beside(lone: float) -> Looks:
    """What a search may look at that has settled on the lower hill, beside one report from the other end."""
    others = sorted(np.linspace(0.0, 0.6, 25).tolist(), key=lambda x: -abs(x - 0.3))
    optimizer = told([(1.0, lone), *[(x, bump(x)) for x in others], *[(0.3, bump(0.3))] * 6])
    answer = optimizer._answer()
    assert answer is not None
    return Looks(answer, np.empty((0, 1)))


def test_what_a_look_promises_less_than_a_new_place_is_not_looked_at() -> None:
    looks, best, hopeless = settled_beside(-1.0), np.array([0.3]), np.array([0.0])
    assert looks.has_settled_at(best)
    assert looks.improvement(best) > looks.gain().max() > looks.improvement(hopeless)
    assert looks.instead_of(best, new=hopeless) == 0
    assert looks.instead_of(best, new=best) is None


def test_nor_is_what_promises_less_than_a_report_shows() -> None:
    looks, hopeless = settled_beside(0.0), np.array([0.0])
    assert looks.gain().max() > looks.improvement(hopeless)
    assert looks.instead_of(np.array([0.3]), new=hopeless) is None
