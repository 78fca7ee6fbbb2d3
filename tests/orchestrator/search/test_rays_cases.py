"""What Ray asks of its own searchers, asked of this one: bad reports, wrappers in every order, warm starts, restores."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trainables
from ray import cloudpickle, tune
from ray.tune.search import ConcurrencyLimiter, Repeater
from searching import PLANE, drive, hill, points, searcher
from trainables import bowl

from orchestrator import RCGPSearch

cloudpickle.register_pickle_by_value(trainables)  # workers do not have the tests on their path
MIXED = [1.0, math.nan, -math.inf, math.inf, 2, np.float32(0.5), 0.25]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=str)
def test_every_fourth_value_is_no_number_and_the_search_ends_well(mode: str, bad: float) -> None:
    search = searcher(mode=mode, n_initial=4, on_error="ignore")  # at random, and so no fault of the place
    sign = 1.0 if mode == "max" else -1.0
    calls = iter(range(24))
    configs = drive(search, lambda config: bad if next(calls) % 4 == 3 else sign * hill(config), 24)
    assert len(search.observations) == 24
    assert search.pending == {}
    assert hill(search.best().config) > 0.9
    assert len(np.unique(points(configs), axis=0)) == 24


def test_values_of_mixed_kinds_in_one_search_are_each_what_they_are() -> None:
    search = searcher(n_initial=3)
    values = iter(MIXED * 2)
    drive(search, lambda config: next(values), 2 * len(MIXED))
    completed = [row.y for row in search.observations if row.status == "completed"]
    assert completed == [1.0, math.inf, 2.0, 0.5, 0.25] * 2
    assert [row.status for row in search.observations].count("failed") == 4
    assert math.isfinite(search.best().reported)


@pytest.mark.parametrize("batch", [False, True])
def test_a_limiter_holds_back_and_lets_go_and_its_batch_does_not_hang(batch: bool) -> None:
    limiter = ConcurrencyLimiter(searcher(), max_concurrent=2, batch=batch)
    assert limiter.suggest("a") is not None
    assert limiter.suggest("b") is not None
    assert limiter.suggest("c") is None
    limiter.on_trial_complete("a", result={"score": 0.1})
    assert limiter.suggest("c") is not None  # results are learned as they come, with `batch` too
    assert limiter.suggest("d") is None
    for trial in ("b", "c"):
        limiter.on_trial_complete(trial, result={"score": 0.2})
    assert limiter.suggest("d") is not None


def test_a_limit_that_is_set_twice_is_the_last_one() -> None:
    search = searcher()
    assert search.set_max_concurrency(5)
    assert search.set_max_concurrency(1)
    assert search.suggest("a") is not None
    assert search.suggest("b") is None


def test_a_repeater_that_knows_no_metric_ends_nothing() -> None:
    """Ray's Repeater around a limiter reports under None where only the Tuner was told the metric."""
    search = searcher()
    search.suggest("a")
    search.on_trial_complete("a", result={None: math.nan})
    assert [row.status for row in search.observations] == ["failed"]


def test_properties_are_set_once_by_tune_and_a_second_time_change_nothing() -> None:
    search = RCGPSearch()
    assert search.set_search_properties("score", "max", PLANE)
    (first,) = drive(search, hill, 1)
    assert search.set_search_properties("score", "max", PLANE)
    assert [row.trial_id for row in search.observations] == ["t0"]
    assert search.suggest("b") != first
    for metric, mode in (("other", "max"), ("score", "min")):
        with pytest.raises(ValueError, match="give it once"):
            search.set_search_properties(metric, mode, PLANE)


@pytest.mark.parametrize("rewards", [None, [0.1, 0.9]], ids=["to evaluate", "evaluated"])
def test_a_warm_start_that_is_interrupted_goes_on_as_the_whole_one_does(tmp_path: Path, rewards: Any) -> None:
    warm = {"points_to_evaluate": [{"a": 0.1, "b": 0.1}, {"a": 0.35, "b": 0.6}], "evaluated_rewards": rewards}
    whole = drive(searcher(**warm, n_initial=4), hill, 12)
    first = searcher(**warm, n_initial=4)
    begun = drive(first, hill, 1 if rewards is None else 6)  # in the middle of the points, or after them
    first.save(str(tmp_path / "state.pkl"))
    again = RCGPSearch(PLANE, "score", "max")
    again.restore(str(tmp_path / "state.pkl"))
    rest = drive(again, hill, 12 - len(begun), prefix="later")
    np.testing.assert_allclose(points(begun + rest), points(whole), atol=1e-6)


def test_points_of_another_program_are_learned_whether_they_ended_crashed_or_were_pruned() -> None:
    search = searcher(n_initial=2)
    search.add_evaluated_point({"a": 0.3, "b": 0.7}, 1.0)
    search.add_evaluated_point({"a": 0.9, "b": 0.1}, 5.0, error=True)
    search.add_evaluated_point({"a": 0.5, "b": 0.5}, 0.8, pruned=True, intermediate_values=[0.1, 0.8])
    assert [(row.status, row.y) for row in search.observations if row.status == "completed"] == [
        ("completed", 1.0),
        ("completed", 0.8),
    ]
    assert [row.status for row in search.observations].count("failed") == 1
    drive(search, hill, 4)
    assert len(search.observations) == 7


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize(
    "wrap",
    [
        lambda search: ConcurrencyLimiter(search, 2, batch=True),
        lambda search: Repeater(ConcurrencyLimiter(search, 1), repeat=3),
        lambda search: ConcurrencyLimiter(Repeater(search, repeat=3), 3),
    ],
    ids=["batch", "repeater of a limiter", "limiter of a repeater"],
)
def test_tune_comes_to_its_end_behind_every_wrapper(tmp_path: Path, wrap: Any) -> None:
    """Seven is no multiple of two, nor of three: the last group or batch is never full."""
    search = RCGPSearch(metric="loss", mode="min", n_initial=2)  # a Repeater around a limiter hears of it nowhere else
    space = {"x": tune.uniform(0, 1), "y": tune.uniform(0, 1)}
    grid = tune.Tuner(
        bowl,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=wrap(search), num_samples=7, reuse_actors=True
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="run", verbose=0),
    ).fit()
    assert len(grid) == 7
    assert not grid.errors
    assert {row.status for row in search.observations} == {"completed"}
