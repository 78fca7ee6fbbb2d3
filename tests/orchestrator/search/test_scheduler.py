"""Early stopping: what the searcher learns of stopped trials, and the scheduler that asks it. Real Tune, real schedulers."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import cloudpickle, tune
from ray.tune.schedulers import (
    ASHAScheduler,
    AsyncHyperBandScheduler,
    HyperBandScheduler,
    MedianStoppingRule,
    PopulationBasedTraining,
    TrialScheduler,
)

from orchestrator import RCGPSearch, RobustASHAScheduler

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have the tests on their path
MAX_T = 9


def value(x: float, step: int) -> float:
    """Good ones (x near 0.8) learn slowly: behind at first, best at the end."""
    good = float(np.exp(-((x - 0.8) ** 2) / 0.02))
    return 0.3 * (1 - good) * (1 - np.exp(-step)) + good * (step / MAX_T) ** 2


def train(config: dict[str, Any]) -> None:
    for step in range(1, MAX_T + 1):
        tune.report({"score": value(config["x"], step)})


def fit(tmp_path: Path, scheduler: TrialScheduler, searcher: RCGPSearch, samples: int = 8) -> Any:
    tuner = tune.Tuner(
        train,
        param_space={"x": tune.uniform(0, 1)},
        tune_config=tune.TuneConfig(
            metric="score",
            mode="max",
            search_alg=searcher,
            scheduler=scheduler,
            num_samples=samples,
            max_concurrent_trials=2,
            reuse_actors=True,
        ),
        run_config=tune.RunConfig(storage_path=str(tmp_path), name="fit", verbose=0),
    )
    return tuner.fit()


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_stopped_trial_is_a_row_at_its_share_of_the_budget(tmp_path: Path) -> None:
    searcher = RCGPSearch(n_initial=4)
    results = fit(tmp_path, ASHAScheduler(max_t=MAX_T, grace_period=1, reduction_factor=3), searcher, samples=10)
    ran = {result.metrics["trial_id"]: result.metrics["training_iteration"] for result in results}
    ended = {result.metrics["trial_id"]: result.metrics["score"] for result in results}
    assert {row.trial_id: row.rungs[-1][0] for row in searcher.observations} == ran
    assert {row.trial_id: row.y for row in searcher.observations} == ended, "stopped or not, at its last value"
    assert {1, MAX_T} <= set(ran.values())
    for row in searcher.observations:
        assert row.y == row.rungs[-1][1]
    searcher.best()  # tells the model of the last ones too
    told = searcher.get_state()["search"]["trials"]["optimizer"]["curves"]["rows"]
    assert sorted(shares[-1] for shares, _ in told) == pytest.approx(sorted(steps / MAX_T for steps in ran.values()))


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_the_robust_scheduler_asks_before_it_stops(tmp_path: Path) -> None:
    searcher = RCGPSearch(n_initial=4)
    fit(tmp_path, RobustASHAScheduler(max_t=MAX_T, reduction_factor=3, witnesses=3), searcher, samples=12)
    first = [row for row in searcher.observations if row.number is not None and row.number < 3]
    assert [row.rungs[-1][0] for row in first] == [MAX_T] * 3
    assert searcher.settings.max_resource == MAX_T
    assert abs(searcher.best().config["x"] - 0.8) < 0.15


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize("scheduler", [HyperBandScheduler(max_t=MAX_T), MedianStoppingRule(grace_period=1)])
def test_other_schedulers(tmp_path: Path, scheduler: TrialScheduler) -> None:
    searcher = RCGPSearch(n_initial=4)
    fit(tmp_path, scheduler, searcher)
    assert len(searcher.observations) == 8
    assert all(1 <= row.rungs[-1][0] <= MAX_T for row in searcher.observations)


def test_a_robust_scheduler_needs_our_searcher() -> None:
    class Controller:
        search_alg = tune.search.BasicVariantGenerator()

    scheduler = RobustASHAScheduler(metric="score", mode="max")
    with pytest.raises(ValueError, match="needs TuneConfig"):
        scheduler.on_trial_add(Controller(), tune.experiment.Trial("any", stub=True))
    with pytest.raises(ValueError, match="chance must lie"):
        RobustASHAScheduler(chance=2.0)


def test_reports_without_what_counts_progress_are_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    scheduler, trial = (
        RobustASHAScheduler(time_attr="epochs", metric="score", mode="max"),
        tune.experiment.Trial("a", stub=True),
    )
    AsyncHyperBandScheduler.on_trial_add(scheduler, None, trial)
    report = {"score": 0.5, "epoch": 1, "training_iteration": 1, "done": False}
    assert [scheduler.on_trial_result(None, trial, report) for _ in range(2)] == [TrialScheduler.CONTINUE] * 2
    (told,) = [record.getMessage() for record in caplog.records if record.name.startswith("orchestrator")]
    assert told == "Nobody is stopped: reports have no time_attr 'epochs', but training_iteration, epoch, score."


def test_a_configuration_that_changes_on_the_way_is_refused() -> None:
    searcher = RCGPSearch({"x": tune.uniform(0, 1)}, "score", "max")
    config = searcher.suggest("a")
    assert config is not None
    same = {"score": 0.1, "training_iteration": 1, "config/x": config["x"]}
    searcher.on_trial_result("a", same)
    with pytest.raises(ValueError, match="use PBT without a search_alg"):
        searcher.on_trial_result("a", {**same, "config/x": (config["x"] + 0.5) % 1.0})
    assert issubclass(PopulationBasedTraining, TrialScheduler)


def test_a_trial_that_ends_of_itself_ran_in_full() -> None:
    """However short: the number of epochs may be a parameter."""
    searcher = RCGPSearch({"x": tune.uniform(0, 1)}, "score", "max")
    for trial_id, steps, stopped in (("short", 2, False), ("stopped", 2, True), ("long", 4, True)):
        searcher.suggest(trial_id)
        for step in range(1, steps + (not stopped)):
            searcher.on_trial_result(trial_id, {"score": 0.1 * step, "training_iteration": step})
        searcher.on_trial_complete(trial_id, {"score": 0.1 * steps, "training_iteration": steps})
    assert [row.whole for row in searcher.observations] == [True, False, False]
    searcher.suggest("another")
    rows = searcher.get_state()["search"]["trials"]["optimizer"]["curves"]["rows"]
    assert [shares[-1] for shares, _ in rows] == [1.0, 0.5, 1.0]


def test_without_a_time_the_last_report_counts() -> None:
    searcher = RCGPSearch({"x": tune.uniform(0, 1)}, "score", "max", time_attr=None)
    for trial_id, steps in (("a", 1), ("b", 4)):
        searcher.suggest(trial_id)
        searcher.on_trial_complete(trial_id, {"score": 0.1 * steps, "training_iteration": steps})
    assert [row.rungs for row in searcher.observations] == [(), ()]


def test_a_restored_searcher_suggests_what_the_original_would(tmp_path: Path) -> None:
    def told(searcher: RCGPSearch, first: int, last: int) -> list[Any]:
        suggested = []
        for number in range(first, last):
            config = searcher.suggest(str(number))
            assert config is not None
            suggested.append(config["x"])
            stop = MAX_T if number % 3 == 0 else 3 if number % 3 == 1 else 1
            for step in range(1, stop):
                searcher.on_trial_result(str(number), {"score": value(config["x"], step), "training_iteration": step})
            searcher.on_trial_complete(str(number), {"score": value(config["x"], stop), "training_iteration": stop})
        return suggested

    original = RCGPSearch({"x": tune.uniform(0, 1)}, "score", "max", n_initial=4)
    told(original, 0, 14)
    original.save(str(tmp_path / "state"))
    restored = RCGPSearch()
    restored.restore(str(tmp_path / "state"))
    assert restored.observations == original.observations
    assert told(restored, 14, 18) == told(original, 14, 18)
