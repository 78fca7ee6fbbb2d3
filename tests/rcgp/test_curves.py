"""Learning curves at the public interface: rows at a share of the budget, witnesses, and the same as before without curves."""

import math

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.curves.learning_curves import Curve
from rcgp.curves.outliers import outlier_weights, remarks
from rcgp.curves.rises import LEVELS
from tests.rcgp.problems import peak

SHARES = (1 / 27, 1 / 9, 1 / 3, 2 / 3, 1.0)


def curve(x: np.ndarray, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Reaches the peak at the end, from below: fast far from it, slowly near it."""
    end = peak(x)
    return [(r, end * r ** (0.2 + 0.5 * end) + 0.01 * rng.standard_normal()) for r in SHARES]


def told(n: int, stop: int = 3, lies: tuple[int, ...] = (), seed: int = 0) -> Optimizer:
    """An optimizer that knows `n` trials, of which only every `stop`-th ran in full; some finals are lies."""
    optimizer, rng = make_optimizer("a2-rcgp-ucb", 2, seed=seed, n_initial=4), np.random.default_rng(seed)
    for number in range(n):
        x = optimizer.ask()
        points = curve(x, rng)[: len(SHARES) if number % stop == 0 else 1 + number % 3]
        if number in lies:
            points[-1] = (1.0, 0.2 if points[-1][1] > 0.5 else 0.9)
        optimizer.tell(x, points[-1][1], resource=points[-1][0], curve=points[:-1])
    return optimizer


@pytest.mark.parametrize("name", ["gp-ucb", "a2-rcgp-ucb", "student-t-ucb"])
def test_with_one_resource_level_it_is_the_model_without(name: str) -> None:
    plain, levelled = (make_optimizer(name, 2, seed=1, n_initial=4) for _ in range(2))
    for _ in range(12):
        x = plain.ask()
        np.testing.assert_array_equal(levelled.ask(), x)
        plain.tell(x, peak(x))
        levelled.tell(x, peak(x), resource=1.0)
    assert plain.state_dict() == levelled.state_dict()


def test_trials_that_were_stopped_are_believed_where_they_would_have_ended() -> None:
    optimizer = told(24)
    assert np.abs(optimizer._X[optimizer.recommend()] - 0.7).max() < 0.1
    expected = optimizer.posterior(optimizer._X).mean
    ends = np.array([peak(x) for x in optimizer._X])
    stopped = np.array([c.resource[-1] < 1.0 for c in optimizer._curves._rows])
    reported = optimizer._y
    assert np.abs(expected - ends)[stopped].mean() < 0.5 * np.abs(reported - ends)[stopped].mean()


def test_a_final_value_that_leaves_its_own_curve_is_a_suspect_even_in_range() -> None:
    lies = (12, 17, 21, 25, 30, 33)  # more than the budget of the values' own model
    optimizer = told(36, stop=1, lies=lies)
    assert {suspect.index for suspect in optimizer.suspects()} == set(lies)
    assert all("leaves its own curve" in optimizer.remarks()[lie] for lie in lies)


def test_a_lie_on_the_way_is_not_the_last_reports_fault() -> None:
    """At two thirds one reports too much, which is not out of line there, and then the truth: its curve is back where it was."""
    optimizer, rng = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4), np.random.default_rng(0)
    for number in range(30):
        x = rng.random(2)
        third, end = 0.5 * peak(x) + rng.uniform(-0.25, 0.25), peak(x) + 0.005 * rng.standard_normal()
        lie = 0.5 if number == 20 else 0.0
        optimizer.tell(x, end, curve=[(1 / 3, third), (2 / 3, end - 0.01 + lie)])
    assert optimizer.weights()[20] == 1.0
    assert not optimizer.remarks()


def test_a_restored_optimizer_goes_on_exactly() -> None:
    optimizer, twin = told(15), make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4)
    twin.load_state_dict(optimizer.state_dict())
    np.testing.assert_array_equal(twin.weights(), optimizer.weights())
    for _ in range(3):
        x = optimizer.ask()
        np.testing.assert_array_equal(twin.ask(), x)
        for each in (optimizer, twin):
            each.tell(x, 0.5 * peak(x), resource=1 / 9, curve=[(1 / 27, 0.3 * peak(x))])


def test_promise_is_high_for_the_best_and_low_for_those_far_behind() -> None:
    optimizer = told(24)
    near, far = np.array([0.7, 0.7]), np.array([0.05, 0.05])
    rng = np.random.default_rng(5)
    assert optimizer.promise(near, curve(near, rng)[:4]) > 0.05
    assert optimizer.promise(far, curve(far, rng)[:4]) < 0.005


def test_a_step_that_nobody_was_to_take_for_a_while_is_learned_anew() -> None:
    """One that ran in full was doubted, so somebody had the last step to take; neighbours vouch for it, and nobody has."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=4)

    def tell(places: np.ndarray, rise: float) -> None:
        for x in places:
            optimizer.tell(np.array([x]), 0.4 + rise + 0.01 * x, curve=[(1 / 3, 0.3 + 0.02 * x), (2 / 3, 0.4)])
        optimizer.update()

    tell(np.append(np.linspace(0.0, 0.7, 12), 0.65), 0.1)
    tell(np.array([0.95]), -0.5)
    assert 13 in optimizer.remarks()
    tell(np.linspace(0.9, 1.0, 8), -0.5)
    assert not optimizer.remarks()
    assert 0.0 <= optimizer.promise(np.array([0.3]), [(1 / 3, 0.31)]) < 0.5  # it failed: the step was unknown


def test_curves_are_interpolated_at_the_levels_they_reach() -> None:
    levels = Curve.of([(0.1, 1.0), (0.5, 2.0)]).at_levels
    assert math.isnan(levels[0])
    assert math.isnan(levels[1])
    between = 1.0 + math.log(LEVELS[2] / 0.1) / math.log(5.0)
    assert levels[2] == pytest.approx(between)
    assert np.isnan(levels[4:]).all()
    with pytest.raises(ValueError, match=r"share of the full budget in \(0, 1\], got 1.5"):
        Curve.of([(1.5, 0.0)])


def test_rises_are_compared_with_their_neighbours() -> None:
    """Slow learners of one region rise more than others, and are in line; the same rise elsewhere is not."""
    rng = np.random.default_rng(0)
    inputs = rng.random((60, 2))
    rise = np.where(inputs[:, 0] > 0.7, 0.8, 0.1) + 0.01 * rng.standard_normal(60)
    weight, _ = outlier_weights(inputs, rise)
    far = int(np.argmin(inputs[:, 0]))
    assert (weight[np.abs(inputs[:, 0] - 0.7) > 0.25] == 1.0).all()
    rise[far] = 0.8
    weight, residual = outlier_weights(inputs, rise)
    assert weight[far] < 0.5
    assert residual[far] == pytest.approx(0.7, abs=0.1)


def test_where_all_end_within_a_hair_a_late_riser_is_in_line() -> None:
    """Unless it rises by what the objective's own deviation would notice."""
    rng = np.random.default_rng(0)
    inputs, rise = rng.random((20, 2)), 0.001 * rng.standard_normal(20)
    rise[7] = 0.03
    assert outlier_weights(inputs, rise)[0][7] < 0.5
    assert outlier_weights(inputs, rise, least=0.01)[0][7] == 1.0
    rise[7] = 0.1
    assert np.flatnonzero(outlier_weights(inputs, rise, least=0.01)[0] < 0.5).tolist() == [7]


def test_what_is_peculiar_is_said_in_words() -> None:
    found = remarks([(0.1, 0.2, 0.3), (0.5, 0.5, 0.5), (0.1, 0.2, 0.3), (0.1, 0.2), (0.1, 0.2)])
    assert found == {
        1: "its curve stands still at 0.5",
        2: "its curve is that of row 0 to the last digit",
    }


def test_a_crowd_where_the_search_gathered_does_not_outvote_those_far_from_it() -> None:
    """Eight in one place rise alike; those elsewhere rise otherwise, and are in line. One of the crowd that does not is not."""
    inputs = np.append(np.linspace(0.0, 0.6, 6), 0.8 + 0.001 * np.arange(8))[:, None]
    rise = np.append(np.zeros(6), np.full(8, 0.55)) + 0.001 * np.random.default_rng(0).standard_normal(14)
    assert (outlier_weights(inputs, rise)[0] == 1.0).all()
    rise[10] = 0.0
    assert np.flatnonzero(outlier_weights(inputs, rise)[0] < 0.5).tolist() == [10]
