"""The rows believed so far, challenged by other explanations."""

import numpy as np
import pytest

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Array, Mask
from rcgp.lies.challenge import Verdict, challenged, is_due
from rcgp.lies.score import Reports

START = Hyperparameters(np.array([0.3]), 0.3)


def sine(lies: int) -> tuple[Array, Array, Mask]:
    """Thirty rows of a sine with noise 0.02, the first `lies` of which say 1 too much."""
    rng = np.random.default_rng(3)
    X, lied = rng.random((30, 1)), np.arange(30) < lies
    y = np.sin(6.0 * X[:, 0]) + 0.02 * rng.standard_normal(30)
    return X, np.where(lied, y + 1.0, y), lied


def verdict(X: Array, y: Array, believed: Mask, most: int = 10) -> Verdict:
    return challenged(Reports.plain(X, (y - y.mean()) / y.std()), believed, START, "matern52", most)


@pytest.mark.parametrize("lies", [2, 4, 7])
def test_any_number_of_believed_lies_is_found(lies: int) -> None:
    X, y, lied = sine(lies)
    found = verdict(X, y, np.full(30, True))
    assert found.hyper is not None
    assert found.honest.tolist() == (~lied).tolist()
    assert found.hyper.noise < 0.01


def test_honest_rows_are_believed_as_before() -> None:
    X, y, _ = sine(0)
    found = verdict(X, y, np.full(30, True))
    assert found.hyper is None
    assert found.honest.all()


def test_one_alone_is_no_challenge() -> None:
    X, y, _ = sine(1)
    assert verdict(X, y, np.full(30, True)).honest.all()


@pytest.mark.parametrize("lies", [2, 7])
@pytest.mark.parametrize("size", [10.0, 100.0, -100.0])
def test_lies_here_and_there_are_found_though_they_are_most_of_the_spread(size: float, lies: int) -> None:
    X, y, lied = sine(lies)
    honest = verdict(X, np.where(lied, y + size, y), np.full(30, True)).honest
    assert honest.tolist() == (~lied).tolist()


@pytest.mark.parametrize("size", [10.0, 100.0, -100.0])
def test_values_as_far_out_in_one_place_are_a_peak_or_a_pit(size: float) -> None:
    X, y, _ = sine(0)
    assert verdict(X, y + size * np.exp(-(((X[:, 0] - 0.8) / 0.1) ** 2)), np.full(30, True)).honest.all()


def test_no_more_lies_than_there_may_be() -> None:
    X, y, _ = sine(7)
    assert (~verdict(X, y, np.full(30, True), most=3).honest).sum() <= 3


def test_a_suspect_is_confirmed_or_released_by_the_rows_that_are_believed() -> None:
    X, y, lied = sine(2)
    found = verdict(X, y, np.arange(30) > 4)
    assert found.hyper is None
    assert found.honest.tolist() == (~lied).tolist()


def test_a_crowd_of_suspects_that_only_another_objective_fits_is_believed_all_at_once() -> None:
    """A plain along the second coordinate, as far as it was seen, and a cliff where it was not."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.random((40, 2)) * [1.0, 0.5], [0.5, 0.8] + 0.01 * rng.random((14, 2))])
    y = np.sin(6.0 * X[:, 0]) - 6.0 * (X[:, 1] > 0.6) + 0.02 * rng.standard_normal(54)
    reports, believed = Reports.plain(X, (y - y[:40].mean()) / y[:40].std()), np.arange(54) < 40
    plain = Hyperparameters(np.array([0.3, 5.0]), 0.001)
    alone = challenged(reports, believed, plain, "matern52", 20)
    assert not alone.honest[40:].any(), "one by one nobody is believed"
    together = challenged(reports, believed, plain, "matern52", 20, ~believed)
    assert together.honest.all()
    assert together.hyper is not None
    assert together.hyper.lengthscale[1] < 2.0


def test_a_challenge_is_due_at_the_same_rows_however_many_arrive_at_a_time() -> None:
    one_by_one = [n for n in range(2, 151) if is_due(n, n - 1)]
    assert all(is_due(n + 3, n - 1) for n in one_by_one)
    assert len([n for n in one_by_one if n > 50]) < 15
