"""RCGPSearch under real Tune runs: every failure, every kind of space, schedulers, wrappers, budgets, restore."""

import math
from collections import ChainMap, Counter, OrderedDict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trainables
from ray import cloudpickle, tune
from ray.tune.search import ConcurrencyLimiter, Repeater
from trainables import (
    OUTCOMES,
    bowl,
    by_class,
    check_mixed,
    fails_once,
    flaky_repeat,
    forgetful,
    lies_sometimes,
    naps,
    troubled,
)

from orchestrator import RCGPSearch

cloudpickle.register_pickle_by_value(trainables)  # workers do not have the tests on their path
pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def fit(
    trainable: Callable[[dict[str, Any]], Any],
    space: dict[str, Any] | None,
    search: Any,
    folder: Path,
    *,
    trials: int,
    metric: str | None = "loss",
    mode: str | None = "min",
    cpus: float = 2.0,
    failures: int = 0,
    **config: Any,
) -> tune.ResultGrid:
    """One `Tuner.fit`, quiet, with one actor that is used again: each costs seconds to start."""
    return tune.Tuner(
        tune.with_resources(trainable, {"cpu": cpus}),
        param_space=space,
        tune_config=tune.TuneConfig(
            metric=metric, mode=mode, search_alg=search, num_samples=trials, reuse_actors=True, **config
        ),
        run_config=tune.RunConfig(
            storage_path=str(folder), name="run", verbose=0, failure_config=tune.FailureConfig(max_failures=failures)
        ),
    ).fit()


STRICT = "TUNE_DISABLE_STRICT_METRIC_CHECKING"
SQUARE = {"x": tune.uniform(0, 1), "y": tune.uniform(0, 1)}


@pytest.fixture(autouse=True)
def strict_tune(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tune as people have it, who set nothing."""
    monkeypatch.setenv(STRICT, "")
    monkeypatch.delenv(STRICT)


def test_every_failure_gets_its_meaning_and_the_run_goes_on(tmp_path: Path) -> None:
    cases = [{"x": i / 20, "case": case} for i, case in enumerate(OUTCOMES)]
    search = RCGPSearch(points_to_evaluate=cases)
    grid = fit(troubled, {"x": tune.uniform(0, 1), "case": tune.choice(list(OUTCOMES))}, search, tmp_path, trials=20)
    status = {cases[row.number]["case"]: row.status for row in search.observations if row.number < len(cases)}
    assert {case for case, how in status.items() if how == "completed"} == {"fine", "good inf", "flag"}
    assert {case for case, how in status.items() if how == "failed"} == set(OUTCOMES) - {"fine", "good inf", "flag"}
    assert len(grid) == len(search.observations) == 20
    assert search.pending == {}
    assert search.model_failures == ()


@pytest.mark.parametrize("given", [False, True], ids=["in the Tuner", "in the searcher"])
def test_a_report_without_the_metric_ends_nothing_and_the_value_seen_before_counts(tmp_path: Path, given: bool) -> None:
    space = {"x": tune.uniform(0, 1)}
    search = RCGPSearch(space, "loss", "min", n_initial=4) if given else RCGPSearch(n_initial=4)
    grid = fit(forgetful, None if given else space, search, tmp_path, trials=8)
    assert (len(grid), grid.errors) == (8, [])
    seen = {row.x[0]: -row.y for row in search.observations if row.status == "completed"}
    lost = [row.x[0] for row in search.observations if row.status == "failed"]
    assert seen == pytest.approx({x: x for x in seen})
    assert max(seen) < 0.5 <= min(lost)
    assert len(seen) + len(lost) == 8


def test_whoever_wants_tunes_strict_check_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STRICT, "0")
    with pytest.raises(Exception, match="did not include the specified metric"):
        fit(forgetful, {"x": tune.uniform(0, 1)}, RCGPSearch(n_initial=4), tmp_path, trials=4)


LAYERS = {
    "layer": tune.choice([Fraction, Decimal]),
    "deep": {"pair": tune.choice([(OrderedDict, 1), (deque, 2), (Counter, 3)])},
    "constant": ChainMap,
    "x": tune.uniform(0, 1),
}


def test_classes_in_the_space_come_back_as_classes_wherever_people_read_or_write_them(tmp_path: Path) -> None:
    wanted = {"layer": Decimal, "deep": {"pair": (deque, 2)}, "x": 0.25}
    first = RCGPSearch(n_initial=4, points_to_evaluate=[wanted, {"layer": Fraction}])
    grid = fit(by_class, LAYERS, first, tmp_path / "first", trials=8)
    assert grid.errors == []
    assert {**grid[0].config, "constant": None} == {**wanted, "constant": None}
    assert grid[1].config["layer"] is Fraction
    best = first.best()
    assert best.config == next(r.config for r in grid if r.metrics["trial_id"] == best.trial_id)
    assert best.config["constant"] is ChainMap
    for results in (grid, grid.get_dataframe()):
        again = RCGPSearch.from_results(results, "loss", "min")
        fit(by_class, LAYERS, again, tmp_path / "again", trials=1)
        np.testing.assert_allclose(sorted(r.y for r in again.observations[:8]), sorted(r.y for r in first.observations))
        assert len(again.observations) == 9
    loaded = RCGPSearch.load(tmp_path / "first" / "run", LAYERS)
    assert loaded.best().config == best.config


def test_the_same_space_in_the_searcher_and_in_the_tuner_is_no_conflict(tmp_path: Path) -> None:
    search = RCGPSearch(LAYERS, "loss", "min", n_initial=4)
    assert fit(by_class, LAYERS, search, tmp_path, trials=5).errors == []
    assert len(search.observations) == 5
    assert isinstance(search.best().config["layer"], type)


MIXED = {
    "uniform": tune.uniform(-2.0, 3.0),
    "quniform": tune.quniform(0.0, 1.0, 0.25),
    "loguniform": tune.loguniform(1e-5, 1e-1),
    "qloguniform": tune.qloguniform(0.5, 64.0, 0.5),
    "randint": tune.randint(2, 9),
    "qrandint": tune.qrandint(8, 64, 8),
    "lograndint": tune.lograndint(1, 1000),
    "qlograndint": tune.qlograndint(10, 1000, 10),
    "words": tune.choice(["relu", "tanh", None]),
    "values": tune.choice([{"depth": 1}, {"depth": 2, "wide": True}, (3, 4)]),
    "functions": tune.choice([math.sin, math.cos, math.tan]),
    "constant": {"kept": "yes", "object": np.float64},
    "deep": {"inner": {"x": tune.uniform(0, 1)}, "kept": "yes"},
    "layers": [tune.randint(1, 5), "fixed"],
}


def test_a_space_of_every_kind_arrives_whole_in_the_worker(tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=6, confirm=0)
    grid = fit(check_mixed, MIXED, search, tmp_path, trials=16)
    assert grid.errors == []
    assert len({str(result.config) for result in grid}) == 16
    assert search.model_failures == ()


def test_the_space_may_come_from_the_constructor_and_the_metric_may_have_no_name(tmp_path: Path) -> None:
    search = RCGPSearch({**SQUARE, "shift": 2.0}, mode="max")
    grid = fit(lambda c: c["shift"] - c["x"] ** 2, None, search, tmp_path, trials=6, metric=None, mode=None)
    assert grid.errors == []
    assert [row.y for row in search.observations] == [2.0 - r.config["x"] ** 2 for r in grid]


def test_four_at_a_time_never_repeat_and_find_the_bowl(tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=6, confirm=0)
    limited = ConcurrencyLimiter(search, max_concurrent=4)
    grid = fit(bowl, SQUARE, limited, tmp_path, trials=24, cpus=0.5)
    assert len({(r.config["x"], r.config["y"]) for r in grid}) == 24
    assert (len(search.observations), search.pending, search.model_failures) == (24, {}, ())
    best = search.best().config
    assert math.hypot(best["x"] - 0.3, best["y"] - 0.7) < 0.2


def test_repeats_arrive_as_their_mean_even_if_one_crashed(tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=4)
    grid = fit(flaky_repeat, SQUARE, Repeater(search, repeat=3), tmp_path, trials=9)
    assert len(grid) == 9
    assert len(search.observations) == 3
    assert {row.status for row in search.observations} == {"completed"}
    config = {row.number: search._search.space.config(row.x)["x"] for row in search.observations}
    means = {row.number: -row.y for row in search.observations}
    assert means == pytest.approx({n: x + (0.5 if x > 0.5 else 1.0) for n, x in config.items()})


def test_a_trial_that_tune_retries_is_one_row_with_its_final_value(tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=4)
    marks = tmp_path / "marks"
    marks.mkdir()
    space = {"x": tune.uniform(0, 1), "folder": str(marks)}
    grid = fit(fails_once, space, search, tmp_path, trials=3, failures=2)
    assert grid.errors == []
    assert [(row.status, row.y > -1.0) for row in search.observations] == [("completed", True)] * 3


@pytest.mark.slow  # it has to wait for a time that is up
def test_after_a_time_budget_a_second_fit_goes_on_without_the_lost_trials(tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=4)
    space = {"x": tune.uniform(0, 1)}
    fit(naps, space, search, tmp_path / "first", trials=50, time_budget_s=6, cpus=1.0)
    lost, rows = len(search.pending), len(search.observations)
    assert lost >= 1
    fit(lambda c: tune.report({"loss": c["x"]}), space, search, tmp_path / "second", trials=5)
    assert (len(search.observations), search.pending) == (rows + 5, {})


def test_tune_returns_the_lie_and_the_searcher_does_not(tmp_path: Path) -> None:
    honest = [{"x": x, "y": y} for x in (0.1, 0.5, 0.9) for y in (0.2, 0.5, 0.9) if (x, y) != (0.9, 0.2)]
    search = RCGPSearch(n_initial=8, points_to_evaluate=[*honest, {"x": 0.9, "y": 0.2}])
    grid = fit(lies_sometimes, SQUARE, search, tmp_path, trials=24, max_concurrent_trials=2)
    lie = grid.get_best_result().config
    believed = search.best().config
    assert grid.get_best_result().metrics["loss"] == -40.0
    assert lie["x"] > 0.8
    assert search.best(robust=False).reported == -40.0
    assert math.hypot(believed["x"] - 0.3, believed["y"] - 0.7) < 0.25
    assert search.suspects()[0].reported == -40.0


def test_a_result_grid_continues_as_a_new_search(tmp_path: Path) -> None:
    first = RCGPSearch(n_initial=4)
    space = {**SQUARE, "words": tune.choice(["a", "b", None])}
    grid = fit(bowl, space, first, tmp_path / "first", trials=8)
    again = RCGPSearch.from_results(grid, "loss", "min", seed=1)
    table = RCGPSearch.from_results(grid.get_dataframe(), "loss", "min", space=space)
    fit(bowl, space, again, tmp_path / "second", trials=4)
    np.testing.assert_allclose([r.x for r in table.observations], [r.x for r in again.observations[:8]])
    assert [r.y for r in table.observations] == [r.y for r in again.observations[:8]]
    ids = [result.metrics["trial_id"] for result in grid]
    by_id = {row.trial_id: row for row in first.observations}
    np.testing.assert_allclose([r.x for r in table.observations], [by_id[trial_id].x for trial_id in ids], atol=1e-9)
    assert [r.y for r in table.observations] == [by_id[trial_id].y for trial_id in ids]
    assert [r.number for r in again.observations] == [None] * 8 + [0, 1, 2, 3]
    rays = RCGPSearch(space, "loss", "min")
    rays.add_evaluated_trials(grid._experiment_analysis, "loss")  # Ray's own method for trials of another experiment
    assert sorted((row.x, row.y) for row in rays.observations) == sorted((row.x, row.y) for row in first.observations)


def test_a_bad_space_ends_the_fit_before_any_trial_with_its_line(tmp_path: Path) -> None:
    for domain, line in (
        (tune.sample_from(lambda: 1), "x is a sample_from"),
        (tune.grid_search([1]), "x is a grid_search"),
    ):
        with pytest.raises(ValueError, match=line):
            fit(bowl, {**SQUARE, "x": domain}, RCGPSearch(), tmp_path, trials=2)
    with pytest.raises(
        ValueError, match="RCGPSearch has another space than the Tuner: y was a number .* and is absent"
    ):
        fit(bowl, {"x": SQUARE["x"]}, RCGPSearch(SQUARE, "loss", "min"), tmp_path, trials=2)
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith("bowl_")]
