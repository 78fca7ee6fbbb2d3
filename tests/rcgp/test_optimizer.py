"""Ask and tell, at the public interface."""

import json
import math
from typing import Any

import numpy as np
import pytest

from rcgp import ALGORITHMS, Optimizer, make_optimizer
from rcgp.gaussian import Array

MODELS = [name for name in ALGORITHMS if name != "random"]
STRANGE = [math.inf, -math.inf, math.nan, 1e300, -1e300, 0.0, 1e-300]


def peak(x: Array) -> float:
    """A smooth hill with its top at 0.7 in every coordinate."""
    return float(np.exp(-8.0 * np.sum((x - 0.7) ** 2)))


def run(optimizer: Optimizer, trials: int, objective: object = peak) -> Array:
    points = []
    for _ in range(trials):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], objective(points[-1]))  # type: ignore[operator]
    return np.array(points)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_finds_the_maximum_of_a_clean_function(name: str, dim: int) -> None:
    optimizer = make_optimizer(name, dim, seed=1, n_initial=5)
    points = run(optimizer, 25 if name != "random" else 120)
    assert np.abs(points - 0.7).max(axis=1).min() < 0.1
    if name != "random":
        assert np.abs(points[optimizer.recommend()] - 0.7).max() < 0.1


@pytest.mark.parametrize("name", ["fc-rcgp-ucb", "a2-rcgp-ucb"])
@pytest.mark.parametrize("dim", [1, 2])
def test_zero_cost_on_clean_data_point_by_point(name: str, dim: int) -> None:
    """Given the same hyper-parameters the robust algorithms ask exactly what GP-UCB asks."""
    robust, plain = (make_optimizer(n, dim, seed=3, n_initial=5) for n in (name, "gp-ucb"))
    for step in range(25):
        points = [optimizer.ask() for optimizer in (robust, plain)]
        if step >= 5:
            assert robust.weights().tolist() == [1.0] * step
            points[1] = with_hyperparameters_of(robust, plain).ask()
        np.testing.assert_array_equal(points[0], points[1])
        for optimizer in (robust, plain):
            optimizer.tell(points[0], peak(points[0]))


def with_hyperparameters_of(source: Optimizer, target: Optimizer) -> Optimizer:
    state = target.state_dict()
    state["judgement"]["theta"] = source.state_dict()["judgement"]["theta"]
    twin = make_optimizer(target.algorithm, target.dim, seed=target.seed, n_initial=target.n_initial)
    twin.load_state_dict(state)
    return twin


@pytest.mark.parametrize("name", ALGORITHMS)
def test_deterministic_under_its_seed_and_pure(name: str) -> None:
    first, second = (run(make_optimizer(name, 2, seed=4, n_initial=4), 12) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    other = run(make_optimizer(name, 2, seed=5, n_initial=4), 12)
    assert not np.array_equal(first, other)
    optimizer = make_optimizer(name, 2, seed=4, n_initial=4)
    run(optimizer, 9)
    np.testing.assert_array_equal(optimizer.ask(), optimizer.ask())


def test_initial_points_are_common_to_all_algorithms() -> None:
    starts = [run(make_optimizer(name, 3, seed=2, n_initial=6), 6) for name in ALGORITHMS]
    for points in starts[1:]:
        np.testing.assert_array_equal(points, starts[0])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_restored_optimizer_asks_what_the_original_would(name: str) -> None:
    original = make_optimizer(name, 2, seed=7, n_initial=4)
    run(original, 10, lambda x: [peak(x), 1e6, math.inf, math.nan][original.n % 4 if original.n > 5 else 0])
    state = json.loads(json.dumps(original.state_dict(), allow_nan=False))
    restored = make_optimizer(name, 2, seed=7, n_initial=4)
    restored.load_state_dict(state)
    np.testing.assert_array_equal(run(original, 6), run(restored, 6))
    np.testing.assert_array_equal(original.weights(), restored.weights())


@pytest.mark.parametrize("name", MODELS)
def test_replaying_tells_and_updates_rebuilds_the_state(name: str) -> None:
    original, replayed = (make_optimizer(name, 2, seed=7, n_initial=4) for _ in range(2))
    for x in run(original, 14):
        replayed.update()
        replayed.tell(x, peak(x))
    np.testing.assert_array_equal(original.ask(), replayed.ask())


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("strange", STRANGE)
def test_any_float_may_be_told(name: str, strange: float) -> None:
    optimizer = make_optimizer(name, 2, seed=0, n_initial=3)
    run(optimizer, 12, lambda x: strange if optimizer.n in (0, 4, 5, 9) else peak(x))
    assert np.isfinite(optimizer.ask()).all()
    posterior = optimizer.posterior(np.random.default_rng(0).random((4, 2)))
    assert np.isfinite(posterior.mean).all()


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, 3.0])
def test_nothing_but_one_value(name: str, value: float) -> None:
    optimizer = make_optimizer(name, 3, seed=0, n_initial=2)
    points = run(optimizer, 7, lambda x: value)
    assert ((points >= 0) & (points <= 1)).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_duplicates_a_single_observation_and_few_of_many_dimensions(name: str) -> None:
    optimizer = make_optimizer(name, 8, seed=0, n_initial=1)
    for _ in range(4):
        optimizer.tell(np.full(8, 0.5), 1.0)
        assert np.isfinite(optimizer.ask()).all()
    optimizer.tell(np.full(8, 0.5), -1.0)
    assert np.isfinite(optimizer.ask()).all()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_eight_pending_points_spread(name: str) -> None:
    optimizer = make_optimizer(name, 2, seed=0, n_initial=5)
    run(optimizer, 10, lambda x: float(np.sin(9 * x[0]) * np.cos(7 * x[1])))
    pending = np.empty((0, 2))
    for _ in range(8):
        pending = np.concatenate([pending, optimizer.ask(pending)[None]])
    apart = np.linalg.norm(pending[:, None] - pending[None], axis=-1)[np.triu_indices(8, 1)]
    assert apart.min() > 0.01
    assert np.ptp(pending, axis=0).max() > 0.05


def test_lies_are_found_and_the_recommendation_is_not_the_lie() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=6)
    run(optimizer, 30, lambda x: 50.0 if optimizer.n in (10, 17) else peak(x))
    assert {s.index for s in optimizer.suspects() if s.weight < 0.5} >= {10, 17}
    worst = next(s for s in optimizer.suspects() if s.index == 10)
    assert worst.residual == pytest.approx(50.0, abs=2.0)
    assert worst.expected + worst.residual == pytest.approx(50.0)
    assert optimizer.recommend() not in (10, 17)


def test_steps_are_respected_and_nothing_is_repeated() -> None:
    def grid(points: Array) -> Array:
        return np.round(points * 5) / 5

    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=4, project=grid, avoid_repeats=True)
    points = run(optimizer, 36)
    np.testing.assert_array_equal(points, grid(points))
    assert len({tuple(point) for point in points}) == 36
    assert np.isfinite(optimizer.ask()).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "a2-rcgp"}, "a2-rcgp.*did you mean 'a2-rcgp-ucb'.*gp-ucb"),
        ({"dim": 0}, "dim.*0"),
        ({"dim": 2.5}, "dim.*2.5"),
        ({"seed": -1}, "seed.*-1"),
        ({"n_initial": True}, "n_initial.*True"),
        ({"widht": 2.0}, "widht.*did you mean 'width'"),
        ({"schedule": "theory"}, "horizon"),
        ({"schedule": "wild"}, "wild.*practical"),
        ({"corruptions": "many"}, "many"),
        ({"kernel": "cubic"}, "cubic"),
    ],
)
def test_bad_arguments_are_named(arguments: dict, message: str) -> None:
    good = {"name": "a2-rcgp-ucb", "dim": 2, "seed": 0, "n_initial": 5}
    with pytest.raises(ValueError, match=message):
        make_optimizer(**(good | arguments))


@pytest.mark.parametrize(
    ("x", "message"),
    [(np.zeros(3), "1 x 3"), (np.array([0.2, 1.5]), "1.5"), (np.array([math.nan, 0.0]), "nan")],
)
def test_bad_points_are_named(x: Array, message: str) -> None:
    optimizer = make_optimizer("gp-ucb", 2, seed=0, n_initial=2)
    with pytest.raises(ValueError, match=message):
        optimizer.tell(x, 1.0)
    with pytest.raises(ValueError, match=message):
        optimizer.ask(pending=x[None])
    assert optimizer.n == 0


def test_the_state_of_another_optimizer_is_refused() -> None:
    state = make_optimizer("gp-ucb", 2, seed=0, n_initial=2).state_dict()
    with pytest.raises(ValueError, match="seed=1.*seed=0"):
        make_optimizer("gp-ucb", 2, seed=1, n_initial=2).load_state_dict(state)


@pytest.mark.parametrize("schedule", ["practical", "paper", "theory"])
def test_every_schedule_runs(schedule: str) -> None:
    optimizer = make_optimizer("fc-rcgp-ucb", 1, seed=0, n_initial=3, horizon=10, schedule=schedule)
    assert len(run(optimizer, 10)) == 10


@pytest.mark.parametrize("name", ["fc-rcgp-ucb", "a2-rcgp-ucb"])
def test_the_papers_recipe_runs_under_its_name(name: str) -> None:
    optimizer = make_optimizer(name, 1, seed=0, n_initial=4, recipe="paper")
    points = run(optimizer, 25)
    assert np.abs(points - 0.7).min() < 0.1


def test_the_papers_recipe_keeps_the_papers_kernel() -> None:
    literal, named, other = (
        run(make_optimizer("fc-rcgp-ucb", 1, seed=0, n_initial=4, recipe="paper", **options), 12)
        for options in ({}, {"kernel": "rbf", "schedule": "paper"}, {"kernel": "matern52"})
    )
    np.testing.assert_array_equal(literal, named)
    assert not np.array_equal(literal, other)


def test_past_max_rows_the_model_stays_bounded_and_restorable() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    points = run(optimizer, 70, lambda x: 1e4 if optimizer.n in (20, 60) else peak(x))
    state = json.loads(json.dumps(optimizer.state_dict(), allow_nan=False))
    assert len(state["judgement"]["active"]) == 40
    assert len(optimizer.weights()) == 70
    assert (optimizer.weights()[[20, 60]] < 0.5).all()
    restored = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    restored.load_state_dict(state)
    np.testing.assert_array_equal(optimizer.ask(), restored.ask())
    assert np.abs(points[optimizer.recommend()] - 0.7).max() < 0.1


def test_many_rows_told_at_once_are_absorbed_in_pieces() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 2, seed=0, n_initial=5, max_rows=40)
    for index, x in enumerate(np.random.default_rng(0).random((150, 2))):
        optimizer.tell(x, 1e5 if index in (30, 90, 140) else peak(x))
    optimizer.update()
    state = optimizer.state_dict()["judgement"]
    assert len(state["factor"]) == 150
    assert len(state["active"]) == 40
    assert np.flatnonzero(optimizer.weights() < 0.5).tolist() == [30, 90, 140]


def told_of_a_better_place(**options: Any) -> tuple[Optimizer, Array]:
    """An optimizer that doubts the last of 15 reports, which would be the best; and where that was."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=6, **options)
    run(optimizer, 14, peak)
    claimed = np.array([0.95])
    optimizer.tell(claimed, max(map(float, optimizer.state_dict()["y"])) + 0.5)
    assert {s.index for s in optimizer.suspects() if s.weight < 0.5} == {14}
    return optimizer, claimed


def test_a_suspect_that_would_be_the_best_is_asked_again_until_somebody_contradicts_it() -> None:
    optimizer, claimed = told_of_a_better_place(recheck=True)
    assert np.array_equal(optimizer.ask(), claimed)
    assert not np.array_equal(optimizer.ask(pending=claimed[None]), claimed)
    optimizer.tell(claimed, peak(claimed))
    assert not np.array_equal(optimizer.ask(), claimed)


@pytest.mark.parametrize(
    ("options", "again"),
    [
        ({}, False),
        ({"avoid_repeats": True}, False),
        ({"avoid_repeats": True, "recheck": True}, True),
    ],
)
def test_a_suspect_is_asked_again_only_if_wanted(options: dict[str, bool], again: bool) -> None:
    optimizer, claimed = told_of_a_better_place(**options)
    assert np.array_equal(optimizer.ask(), claimed) == again
