"""Suspects that insist: when one more report from their place would teach nothing, and that a search then goes elsewhere."""

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array
from rcgp.lies.insistence import insisting
from rcgp.state import Scaling, SurrogateState


def found(z: list[float], suspects: list[int], at: list[float], budget: int | None = None) -> list[int]:
    """Who insists among rows with scaled reports `z` at places of a line, of which those are `suspects`."""
    n, X = len(z), np.array(at)[:, None]
    inflation = np.where(np.isin(np.arange(n), suspects), 100.0, 1.0)
    state = SurrogateState(Scaling(1.0, 0.0, 1.0), Hyperparameters(np.array([0.1]), 0.01), inflation, np.zeros(n), n)
    return np.flatnonzero(insisting(X, np.array(z), state, "matern52", budget)).tolist()


TRUSTED, THERE = [0.0, 0.5, 1.0], [0.0, 0.2, 0.4]


def test_as_many_as_may_lie_from_one_place_insist() -> None:
    assert found([*TRUSTED, -9.0, 0.3], [3], [*THERE, 0.9, 0.5]) == []  # of five rows two may lie
    assert found([*TRUSTED, -9.0, -9.1, -9.0], [3, 4, 5], [*THERE, 0.9, 0.91, 0.9]) == [3, 4, 5]
    assert found([*TRUSTED, -9.0, -9.1, -9.0], [3, 4, 5], [*THERE, 0.9, 0.91, 0.9], budget=4) == []


def test_those_of_other_places_do_not_count() -> None:
    assert found([*TRUSTED, -9.0, -9.1, -9.0], [3, 4, 5], [*THERE, 0.9, 0.7, 0.6]) == []


def test_nobody_insists_where_somebody_is_trusted() -> None:
    assert found([*TRUSTED, 0.3, -9.0, -9.1, -9.0], [4, 5, 6], [*THERE, 0.9, 0.9, 0.91, 0.9]) == []


@pytest.mark.parametrize("said", [9.0, -1e3])
def test_what_is_too_good_or_absurd_is_asked_again(said: float) -> None:
    assert found([*TRUSTED, said, said, said], [3, 4, 5], [*THERE, 0.9, 0.91, 0.9]) == []


def goldstein_price(x: Array) -> float:
    """Level almost everywhere, with walls at its corners a thousand times as deep; largest at (0.5, 0.25)."""
    a, b = 4.0 * x - 2.0
    first = 1.0 + (a + b + 1.0) ** 2 * (19.0 - 14.0 * a + 3.0 * a**2 - 14.0 * b + 6.0 * a * b + 3.0 * b**2)
    second = 30.0 + (2.0 * a - 3.0 * b) ** 2 * (18.0 - 32.0 * a + 12.0 * a**2 + 48.0 * b - 36.0 * a * b + 27.0 * b**2)
    return -float(first * second)


def visits_to_the_wall() -> int:
    """How many of 50 trials without a lie hit a wall."""
    optimizer, visits = make_optimizer("a2-rcgp-ucb", 2, seed=11, n_initial=5), 0
    for trial in range(50):
        x = optimizer.ask()
        y = goldstein_price(x)
        optimizer.tell(x, y + 10632.7 * np.random.default_rng([11, trial, 11]).standard_normal())
        visits += y < -5e5
    return visits


def test_a_search_does_not_hit_the_same_wall_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now = visits_to_the_wall()
    monkeypatch.setattr("rcgp.adaptive.insisting", lambda X, *others: np.zeros(len(X), dtype=bool))
    assert now <= 5 < visits_to_the_wall()
