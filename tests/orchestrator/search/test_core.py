"""A search without Tune: what each outcome means, asynchrony, slow and failing models, and Optuna under the same failures."""

import json
import logging
import math
import pickle
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from ray import tune
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch
from searching import PLANE, drive, hill, points, searcher, told

from orchestrator.search.searcher import RCGPSearch

COUNTS = [(0.5, 0.5), (True, 1.0), (np.float32(2.0), 2.0), (np.array([3.0]), 3.0), (torch.tensor(4.0), 4.0), (7, 7.0)]
FAILS = [math.nan, np.nan, None, "0.5", [1.0], {}, object(), np.array([1.0, 2.0]), 1j]


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize(("value", "number"), COUNTS)
def test_anything_that_is_a_number_counts(mode: str, value: Any, number: float) -> None:
    search = searcher(mode=mode)
    search.suggest("t")
    search.on_trial_complete(trial_id="t", result={"score": value})
    (row,) = search.observations
    assert (row.status, row.y) == ("completed", number if mode == "max" else -number)
    assert search.best(robust=False).reported == number


@pytest.mark.parametrize("value", FAILS, ids=repr)
def test_anything_that_is_no_number_is_a_failed_trial_and_not_an_error(value: Any) -> None:
    search = searcher()
    search.suggest("t")
    search.on_trial_result("t", {"score": value})
    search.on_trial_complete(trial_id="t", result={"score": value})
    assert [row.status for row in search.observations] == ["failed"]
    assert search.suggest("u") is not None


def test_a_missing_metric_and_a_crash_are_failed_trials_too() -> None:
    search = searcher()
    for trial_id, result, error in (("a", {"other": 1.0}, False), ("b", None, True), ("c", {"score": math.nan}, True)):
        search.suggest(trial_id)
        search.on_trial_complete(trial_id=trial_id, result=result, error=error)
    assert [row.status for row in search.observations] == ["failed"] * 3


@pytest.mark.parametrize(("mode", "good"), [("min", -math.inf), ("max", math.inf)])
def test_infinitely_good_is_a_lie_and_infinitely_bad_a_failure(mode: str, good: float) -> None:
    search = searcher(mode=mode, n_initial=4)
    for number, value in enumerate([1.0, good, -good, 2.0, 3.0, 4.0]):
        search.suggest(str(number))
        search.on_trial_complete(trial_id=str(number), result={"score": value})
    assert [row.status for row in search.observations[1:3]] == ["completed", "failed"]
    doubted = {suspect.number: suspect.weight for suspect in search.suspects()}
    assert doubted[1] == 0.0
    assert search.best().number != 1


def test_stopped_while_pending_leaves_no_row_and_stopped_while_paused_counts_at_the_last_value() -> None:
    search = searcher()
    search.suggest("never ran")
    search.suggest("paused")
    search.on_trial_result("paused", {"score": 0.25, "training_iteration": 1})
    search.on_trial_result("paused", {"score": "broken", "training_iteration": 2})
    search.on_trial_complete(trial_id="never ran")
    search.on_trial_complete(trial_id="paused")
    assert [(row.trial_id, row.y) for row in search.observations] == [("paused", 0.25)]
    assert search.pending == {}


def test_the_first_completion_wins_and_unknown_ids_leave_no_row(caplog: pytest.LogCaptureFixture) -> None:
    search = searcher()
    search.suggest("t")
    search.on_trial_complete(trial_id="t", result={"score": 1.0})
    with caplog.at_level(logging.WARNING):
        search.on_trial_complete(trial_id="t", result={"score": 9.0})
        search.on_trial_complete(trial_id="t", error=True)
        search.on_trial_complete(trial_id="stranger", result={"score": 9.0})
        search.on_trial_result("stranger", {"score": 9.0})
    assert [row.y for row in search.observations] == [1.0]
    assert [record.message for record in caplog.records] == [
        "RCGPSearch ignored the completion of trial t: it ended before.",
        "RCGPSearch ignored the completion of trial t: it ended before.",
        "RCGPSearch ignored the completion of trial stranger: it was never suggested.",
    ]


def test_an_end_without_the_metric_counts_at_the_value_seen_before_but_a_crash_does_not() -> None:
    search = searcher()
    for trial_id, error in (("forgets", False), ("crashes", True)):
        search.suggest(trial_id)
        search.on_trial_result(trial_id, {"score": 0.25})
        search.on_trial_result(trial_id, {"other": 1.0})
        search.on_trial_complete(trial_id, {"other": 1.0}, error)
    assert [(row.status, row.trial_id) for row in search.observations] == [
        ("completed", "forgets"),
        ("failed", "crashes"),
    ]
    assert search.observations[0].y == 0.25


def test_a_retried_trial_counts_once_with_its_value_and_may_fail_again_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    search = searcher(n_initial=4, on_error=-9.0)
    drive(search, hill, 5)
    search.suggest("again")
    for _ in range(2):
        search.on_trial_complete("again", error=True)
        search.suggest("between")  # by now the model knows of the failure
    assert told(search)[-1] == -9.0
    search.on_trial_complete("again", {"score": 0.5})
    search.suggest("after")
    assert [row.status for row in search.observations] == ["completed"] * 6
    assert told(search)[-1] == 0.5
    assert "again" not in caplog.text


@pytest.mark.parametrize(
    ("rule", "value"), [("region", math.nan), ("pessimistic", 2.0), ("ignore", math.nan), (5.5, 5.5)]
)
def test_a_crash_is_told_by_the_rule_in_the_units_of_the_metric(rule: Any, value: float) -> None:
    search = searcher(mode="min", on_error=rule, n_initial=4)
    for number, loss in enumerate([None, 1.0, 2.0, None]):  # the first crash waits for a number to compare with
        search.suggest(str(number))
        search.on_trial_complete(trial_id=str(number), result={"score": loss} if loss else None, error=loss is None)
    search.suggest("next")
    first = -1.0 if rule == "pessimistic" else -value  # the worst value when the model learned of it
    np.testing.assert_equal(told(search), [first, -1.0, -2.0, -value])


def test_pessimism_takes_the_worst_believed_value_and_not_a_lie() -> None:
    search = searcher(n_initial=6, on_error="pessimistic")
    drive(search, hill, 14)
    honest = min(row.y for row in search.observations)
    drive(search, lambda _: -1e6, 1, prefix="lie")
    search.suggest("judged")
    search.on_trial_complete(trial_id="judged", error=True)
    search.suggest("next")
    assert told(search)[-1] == honest


def test_one_crash_amid_good_neighbours_is_forgiven() -> None:
    search = searcher(n_initial=6, look_again=False)
    drive(search, hill, 20)
    drive(search, lambda _: None, 1, prefix="crash")
    configs = drive(search, hill, 10, prefix="after")
    assert search.suspects() == [], "a crash is no lie"
    assert np.linalg.norm(points(configs[-5:]) - [0.3, 0.7], axis=1).mean() < 0.25
    assert hill(search.best().config) > 0.98


@pytest.mark.parametrize("failure", [None, math.nan], ids=["crash", "NaN"])
def test_a_region_that_always_fails_is_learned_and_left(failure: float | None) -> None:
    def slope_with_a_cliff(config: dict[str, Any]) -> float | None:
        return failure if config["a"] > 0.7 else 3.0 * config["a"] - (config["b"] - 0.5) ** 2

    search = searcher(n_initial=6)
    configs = drive(search, slope_with_a_cliff, 60)
    late = points(configs[30:])
    assert np.mean(late[:, 0] > 0.7) < 0.4  # the model told nothing of the failures asks there 9 times in 10
    assert search.best().config["a"] > 0.55


def test_25_crashes_in_a_row_stop_nothing_and_repeat_nothing_but_a_claim() -> None:
    search = searcher()
    configs = drive(search, lambda _: None, 25)
    configs += drive(search, hill, 15, prefix="well")
    assert len(np.unique(points(configs), axis=0)) >= 39  # one that is far from all others is asked again
    assert len(search.observations) == 40
    assert search.model_failures == ()


# Asynchrony


def in_flight(
    search: RCGPSearch, outcome: Callable[[dict[str, Any]], float], width: int, trials: int
) -> list[dict[str, Any]]:
    """Keep `width` trials running; each time a random one ends."""
    rng, configs, live = np.random.default_rng(0), [], {}
    for number in range(trials):
        if len(live) == width:
            trial_id = list(live)[rng.integers(width)]
            search.on_trial_complete(trial_id=trial_id, result={"score": outcome(live.pop(trial_id))})
        config = search.suggest(str(number))
        assert config is not None
        live[str(number)] = config
        configs.append(config)
    return configs


def test_16_in_flight_never_repeat_nor_huddle() -> None:
    rng = np.random.default_rng(1)
    search = searcher(look_again=False)  # what decides the answer would be repeated on purpose
    X = points(in_flight(search, lambda config: hill(config) + 0.1 * rng.standard_normal(), 16, 60))
    batch = X[30:46]  # all in flight at once, when the model speaks
    distances = np.linalg.norm(batch[:, None] - batch, axis=2)[np.triu_indices(16, 1)]
    assert len(np.unique(X, axis=0)) == 60
    assert distances.min() > 1e-3
    assert search.model_failures == ()


def test_a_small_discrete_space_is_used_up_before_anything_repeats() -> None:
    space = {"n": tune.randint(0, 5), "kind": tune.choice(["x", "y", "z"]), "flag": tune.choice([True, False])}
    search = searcher(space, n_initial=4)
    configs = in_flight(search, lambda c: float(c["n"]), 8, 34)
    assert len({json.dumps(config) for config in configs[:30]}) == 30
    assert len(configs) == 34  # and goes on with repeats when nothing new is left


def test_asking_again_for_the_same_trial_gives_the_same_configuration() -> None:
    search = searcher()
    assert search.suggest("t") == search.suggest("t")
    assert len(search.pending) == 1


def test_a_trial_that_tune_forgot_stops_shaping_the_search_but_may_still_report() -> None:
    search = searcher(n_initial=4)
    first = search.suggest("forgotten")
    drive(search, hill, 21)
    assert [len(search._search.trials.in_flight()), len(search.pending)] == [0, 1]
    search.on_trial_complete(trial_id="forgotten", result={"score": hill(first)})
    assert len(search.observations) == 22
    assert search.pending == {}


def test_a_trial_that_shows_signs_of_life_is_not_forgotten() -> None:
    search = searcher(n_initial=4)
    search.suggest("long")
    for block in range(3):
        drive(search, hill, 9, prefix=f"{block}-")
        search.on_trial_result("long", {"score": 0.1})
    assert len(search._search.trials.in_flight()) == 1


def test_a_restart_under_a_new_id_resolves_the_old_trial() -> None:
    search = searcher()
    pending, crashed = search.suggest("old"), search.suggest("crashed")
    search.on_trial_complete(trial_id="crashed", error=True)
    for new_id, config in (("new", pending), ("again", crashed)):
        result = {"score": 1.0, **{f"config/{key}": value for key, value in config.items()}}
        search.on_trial_complete(trial_id=new_id, result=result)
        search.on_trial_complete(trial_id=new_id, result=result)
    assert search.pending == {}
    assert [(row.trial_id, row.number, row.status) for row in search.observations] == [
        ("new", 0, "completed"),
        ("again", 1, "completed"),
    ]


def test_no_more_run_than_a_limiter_allows_and_a_new_fit_starts_from_none() -> None:
    search = searcher()
    limited = ConcurrencyLimiter(search, max_concurrent=2)
    assert [limited.suggest(str(number)) is None for number in range(3)] == [False, False, True]
    assert limited.suggest("1") == search.suggest("1")  # one that runs already
    limited.on_trial_complete("0", error=True)
    assert limited.suggest("3") is not None
    assert limited.suggest("4") is None
    assert ConcurrencyLimiter(search, max_concurrent=2).suggest("5") is not None


def slow_searcher(background_from: int | None) -> RCGPSearch:
    """A model that takes most of a second for a suggestion, with one trial in flight."""
    search = searcher(algorithm="diagnostics-gp", background_from=background_from)
    rng = np.random.default_rng(1)
    for a, b in rng.random((450, 2)):
        search.add_evaluated_point({"a": a, "b": b}, hill({"a": a, "b": b}) + 0.1 * rng.standard_normal())
    search._search.queue.append({"a": 0.5, "b": 0.5})
    search.suggest("live")
    return search


def test_a_slow_fit_does_not_stall_the_workers() -> None:
    here, away = slow_searcher(None), slow_searcher(0)
    start = time.perf_counter()
    expected = here.suggest("t")
    stalled = time.perf_counter() - start
    calls = []
    for number in count():
        start = time.perf_counter()
        config = away.suggest(f"poll {number}")
        calls.append(time.perf_counter() - start)
        if config is not None:
            break
        assert len(calls) < 1000
    assert config == expected  # the same point, computed elsewhere
    assert len(calls) > 2
    assert max(calls) < 0.5 * stalled


def test_results_that_arrive_during_a_background_fit_are_not_lost(tmp_path: Path) -> None:
    search = slow_searcher(0)
    assert search.suggest("t") is None
    search.on_trial_complete(trial_id="live", result={"score": 0.5})
    search.save(str(tmp_path / "state.json"))
    pickle.dumps(search)
    assert search.suggest("u") is not None  # nothing else is in flight: waits for it
    search.suggest("v")
    assert len(told(search)) == 451


def test_a_breaking_model_gives_a_counted_quasi_random_point(monkeypatch: pytest.MonkeyPatch) -> None:
    search = searcher(n_initial=4)
    drive(search, hill, 8)

    def singular(*_: Any) -> None:
        raise np.linalg.LinAlgError("the kernel is singular")

    monkeypatch.setattr(search._search.trials.optimizer, "ask", singular)
    configs = drive(search, hill, 5, prefix="broken")
    monkeypatch.undo()
    drive(search, hill, 2, prefix="healed")
    assert len(np.unique(points(configs), axis=0)) == 5
    assert [failure.number for failure in search.model_failures] == [8, 9, 10, 11, 12]
    assert search.model_failures[0].error == "LinAlgError: the kernel is singular"
    assert len(search.observations) == 15


# The same failures for OptunaSearch and RCGPSearch


def failure_script(search: Any) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Crash x 25 in a row, NaN, missing metric, unknown id, double completion; what was suggested, and what raised."""
    suggested: list[dict[str, Any]] = []
    raised: dict[str, str] = {}

    def step(name: str, trial_id: str, *completions: dict[str, Any], known: bool = True) -> None:
        try:
            if known:
                suggested.append(search.suggest(trial_id))
            for completion in completions:
                search.on_trial_complete(trial_id=trial_id, **completion)
        except Exception as error:
            raised[name] = type(error).__name__

    for number in range(25):
        step("crash", f"crash{number}", {"error": True})
    for number in range(5):
        step("NaN", f"nan{number}", {"result": {"score": math.nan, "training_iteration": 1}})
        step("missing", f"missing{number}", {"result": {"training_iteration": 1}})
        step("unknown", f"unknown{number}", {"result": {"score": 1.0}}, known=False)
        step("double", f"double{number}", {"result": {"score": 1.0}}, {"result": {"score": 2.0}})
        step("infinite", f"inf{number}", {"result": {"score": -math.inf}})
        step("text", f"text{number}", {"result": {"score": "nan?"}})
    for number in range(10):
        step("good", f"good{number}", {"result": {"score": hill(suggested[-1])}})
    return suggested, raised


def test_the_same_failure_script_for_optuna_and_rcgp() -> None:
    optuna = OptunaSearch(metric="score", mode="max", seed=0)
    optuna.set_search_properties("score", "max", PLANE)
    search = searcher()
    _, raised_by_optuna = failure_script(optuna)
    suggested, raised = failure_script(search)
    assert raised_by_optuna == {"unknown": "KeyError"}
    assert raised == {}
    assert len(suggested) == 60
    repeated = [row.x for row in search.observations if row.replicate_of is not None]
    assert len(set(repeated)) == len(repeated), "no place is tried three times"
    first = {row.number: row.status for row in search.observations}
    assert {first[row.replicate_of] for row in search.observations if row.replicate_of is not None} <= {"failed"}
    assert [row.status for row in search.observations].count("completed") == 15
    assert search.model_failures == ()
