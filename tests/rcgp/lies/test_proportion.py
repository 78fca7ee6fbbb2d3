"""A report that is bad out of all proportion neither sets the scale nor is forgotten where a region is bad."""

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.lies.proportion import out_of_proportion


@pytest.mark.parametrize("bad", [-300.0, -30.0])
def test_a_second_report_that_is_bad_beyond_everything_does_not_hide_the_best_place(bad: float) -> None:
    """It set the scale, so that all others looked alike: the answer was 0.4 away, and nobody was a suspect."""
    optimizer, rng, top = make_optimizer("a2-rcgp-ucb", 2, seed=3, n_initial=5), np.random.default_rng(3), 0.62
    for number in range(40):
        x = optimizer.ask()
        true = float(np.exp(-((x - top) ** 2).sum() / 0.08)) + 0.01 * rng.standard_normal()
        optimizer.tell(x, bad if number == 1 else true)
    optimizer.update()
    assert 1 in {suspect.index for suspect in optimizer.suspects()}
    assert optimizer.state_dict()["X"][optimizer.recommend()] == pytest.approx([top, top], abs=0.05)


def rows(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Places all over a square, with values between -1 and 1."""
    X = np.random.default_rng(0).random((n, 2))
    return X, np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])


def test_bad_here_and_there_is_out_of_proportion_and_a_bad_region_is_not() -> None:
    X, y = rows()
    assert not out_of_proportion(X, y, 20.0, "matern52").any()
    assert np.flatnonzero(out_of_proportion(X, np.where(np.arange(30) == 7, -1e4, y), 20.0, "matern52")).tolist() == [7]
    diverged = X[:, 0] > 0.7
    assert 5 < diverged.sum() < 15
    assert not out_of_proportion(X, np.where(diverged, -1e4, y), 20.0, "matern52").any()


def test_nothing_is_out_of_proportion_where_the_search_has_settled_or_few_places_are_known() -> None:
    X, y = rows(12)
    settled = np.vstack([X, np.tile([[0.3, 0.3]], (40, 1))])
    values = np.append(y, np.full(40, 1.0) + 1e-6 * np.arange(40))
    assert not out_of_proportion(settled, values, 20.0, "matern52").any(), "to which all others are far below"
    assert not out_of_proportion(X[:7], np.append(y[:6], -1e6), 20.0, "matern52").any()
    assert not out_of_proportion(X, np.full(12, np.nan), 20.0, "matern52").any()
