"""Whether failures have a place: a region is told from bad luck, in few and in many dimensions."""

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.feasibility import Feasibility
from rcgp.random_failures import probability_of_region


@pytest.mark.parametrize("dim", [2, 9, 30])
def test_a_region_has_a_place_and_bad_luck_has_none(dim: int) -> None:
    luck, region = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.random((40, dim))
        luck.append(probability_of_region(X, rng.permutation(40) >= 4, "matern52"))
        region.append(probability_of_region(X, X[:, 0] < 0.8, "matern52"))
    assert np.median(luck) < 0.2
    assert np.median(region) > 0.9


def test_where_nearly_everything_fails_it_is_a_region() -> None:
    rng = np.random.default_rng(0)
    assert probability_of_region(rng.random((20, 4)), np.arange(20) == 3, "matern52") > 0.99


def test_bad_luck_makes_no_place_worse_than_another() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((50, 4))
    p = Feasibility.learned(X, rng.permutation(50) >= 5, "matern52").probability(rng.random((200, 4)))
    assert np.ptp(p) < 0.2
    assert abs(np.mean(p) - 0.9) < 0.05


def rounded(points: np.ndarray) -> np.ndarray:
    return np.round(points * 4.0) / 4.0


@pytest.mark.parametrize("always", [False, True])
def test_what_crashed_once_by_bad_luck_is_asked_once_more_on_a_grid(always: bool) -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4, project=rounded, avoid_repeats=True, regions=True)
    best, asked = np.array([0.5, 0.5]), list[np.ndarray]()
    for _ in range(22):
        asked.append(optimizer.ask())
        visits = sum(np.array_equal(x, best) for x in asked)
        crashed = np.array_equal(asked[-1], best) and (always or visits == 1)
        optimizer.tell(asked[-1], np.nan if crashed else -float(np.sum((asked[-1] - best) ** 2)))
    assert visits == 2
    assert np.array_equal(asked[optimizer.recommend()], best) != always
