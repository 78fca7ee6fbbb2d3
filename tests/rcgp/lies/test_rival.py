"""Rival explanations: who is honest by them, and the one trial they are worth."""

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array
from rcgp.lies.agreement import Agreement
from rcgp.lies.rival import honest_by_rivals
from rcgp.state import Scaling, SurrogateState

LIED_TO = [
    *[(0.98, 14.3), (0.44, -0.04), (0.25, -2.86), (0.67, -3.61), (0.52, 0.75)],
    *[(1.0, -10.4), (0.92, -10.4), (0.97, -10.4)],  # the best place of Forrester is lied about three times
    *[(0.0, 3.02), (0.0, 3.2), (0.0, 5.0), (0.0, 4.96), (0.0, 2.99)],
]


def honest(z: Array, trusted: list[bool], budget: int | None = None, vouched: int | None = None) -> list[list[int]]:
    """Who lies by every rival, when five rows at one place say `z` and two further away nothing."""
    X = np.append(np.linspace(0.9, 0.92, len(z)), [0.1, 0.4])[:, None]
    told, n = np.append(z, [0.0, 0.0]), len(z) + 2
    inflation = np.where([*trusted, True, True], 1.0, 100.0)
    hyper = Hyperparameters(np.array([0.1]), 0.01)
    state = SurrogateState(Scaling(1.0, 0.0, 1.0), hyper, inflation, np.zeros(n), n)
    agreement = Agreement(X, told, hyper, "rbf", 3.0, np.zeros(n))
    sure = np.zeros(n, dtype=bool)
    if vouched is not None:
        sure[vouched] = True
    return [np.flatnonzero(~rows).tolist() for rows in honest_by_rivals(state, agreement, sure, budget)]


def settled_elsewhere(**options: bool) -> Optimizer:
    """A search that was lied to at the best place, and keeps asking at another."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=4, n_initial=5, horizon=60, **options)
    for x, y in LIED_TO:
        optimizer.tell(np.array([x]), y)
        optimizer.update()
    return optimizer


def test_the_suspects_are_right_and_what_contradicts_them_lies() -> None:
    z = np.array([1.0, 1.1, -2.0, -2.1, 1.05])
    assert honest(z, [False, False, True, True, False]) == [[2, 3]]


@pytest.mark.parametrize("z", [[9.0, 9.0, -2.0, -2.0, 9.0], [-9.0, -9.0, 0.0, 0.0, -9.0]])
def test_what_is_far_out_has_no_believers(z: list[float]) -> None:
    assert honest(np.array(z), [False, False, True, True, False]) == []


def test_more_than_there_may_be_do_not_all_lie() -> None:
    assert honest(np.array([1.0, -2.0, -2.0, -2.0, -2.0]), [False, True, True, True, True], budget=3) == [[1, 2, 3, 4]]
    assert honest(np.array([1.0, -2.0, -2.0, -2.0, -2.0]), [False, True, True, True, True]) == []


def test_nobody_lies_who_was_vouched_for() -> None:
    assert honest(np.array([1.0, 1.1, -2.0, -2.1, 1.05]), [False, False, True, True, False], vouched=3) == []


def test_where_nobody_is_doubted_there_is_no_rival() -> None:
    assert honest(np.array([1.0, 1.1, -2.0, -2.1, 1.05]), [True] * 5) == []


def test_a_settled_search_asks_what_a_believer_of_the_suspect_would() -> None:
    assert settled_elsewhere(ask_rivals=False).ask()[0] < 0.1
    assert settled_elsewhere().ask()[0] > 0.9


def test_one_look_at_a_time() -> None:
    optimizer = settled_elsewhere()
    assert optimizer.ask(optimizer.ask()[None])[0] < 0.1


def test_looks_that_agree_with_the_suspect_find_the_lies() -> None:
    optimizer = settled_elsewhere()
    for value in (14.9, 15.4, 16.8, 15.7, 15.4, 14.5, 17.1, 16.1):
        point = optimizer.ask()
        assert point[0] > 0.9
        optimizer.tell(point, value)
    assert {suspect.index for suspect in optimizer.suspects()} == {5, 6, 7}


def test_looks_that_contradict_the_suspect_come_to_an_end() -> None:
    optimizer, looks = settled_elsewhere(), 0
    for _ in range(20):
        point = optimizer.ask()
        looks += bool(point[0] > 0.9)
        optimizer.tell(point, -10.4 if point[0] > 0.9 else 3.0)
    assert 1 <= looks <= 2  # at two places
