"""RCGPSearch driven directly: what each outcome means, asynchrony, state, warm start, forensics, bad input."""

import copy
import json
import logging
import math
import pickle
import re
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from ray import tune
from ray.tune.impl.placeholder import create_resolvers_map, inject_placeholders
from ray.tune.search import ConcurrencyLimiter
from ray.tune.search.optuna import OptunaSearch

from orchestrator.search.searcher import RCGPSearch
from rcgp import ALGORITHMS

PLANE = {"a": tune.uniform(0, 1), "b": tune.uniform(0, 1)}


def searcher(space: dict[str, Any] | None = None, mode: str = "max", **options: Any) -> RCGPSearch:
    return RCGPSearch(PLANE if space is None else space, "score", mode, **options)


def hill(config: dict[str, Any]) -> float:
    """A smooth hill with its top, 1, at (0.3, 0.7)."""
    return 1.0 - 2.0 * (config["a"] - 0.3) ** 2 - 2.0 * (config["b"] - 0.7) ** 2


def drive(
    search: Any, outcome: Callable[[dict[str, Any]], Any], trials: int, prefix: str = "t"
) -> list[dict[str, Any]]:
    """Run trials one by one; an outcome of None is a crash."""
    configs = []
    for number in range(trials):
        trial_id = f"{prefix}{number}"
        config = search.suggest(trial_id)
        value = outcome(config)
        result = None if value is None else {"score": value, "training_iteration": 1}
        search.on_trial_complete(trial_id=trial_id, result=result, error=value is None)
        configs.append(config)
    return configs


def told(search: RCGPSearch) -> list[float]:
    """What the model was told, from the saved state."""
    return [float(y) for y in search.get_state()["search"]["trials"]["optimizer"]["y"]]


def points(configs: list[dict[str, Any]]) -> np.ndarray:
    return np.array([[config["a"], config["b"]] for config in configs])


# What each outcome means

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


@pytest.mark.parametrize(("rule", "value"), [("pessimistic", 2.0), ("ignore", math.nan), (5.5, 5.5)])
def test_a_crash_is_told_by_the_rule_in_the_units_of_the_metric(rule: Any, value: float) -> None:
    search = searcher(mode="min", on_error=rule, n_initial=4)
    for number, loss in enumerate([None, 1.0, 2.0, None]):  # the first crash waits for a number to compare with
        search.suggest(str(number))
        search.on_trial_complete(trial_id=str(number), result={"score": loss} if loss else None, error=loss is None)
    search.suggest("next")
    first = -1.0 if rule == "pessimistic" else -value  # the worst value when the model learned of it
    np.testing.assert_equal(told(search), [first, -1.0, -2.0, -value])


def test_pessimism_takes_the_worst_believed_value_and_not_a_lie() -> None:
    search = searcher(n_initial=6)
    drive(search, hill, 14)
    honest = min(row.y for row in search.observations)
    drive(search, lambda _: -1e6, 1, prefix="lie")
    search.suggest("judged")
    search.on_trial_complete(trial_id="judged", error=True)
    search.suggest("next")
    assert told(search)[-1] == honest


def test_one_crash_amid_good_neighbours_is_forgiven() -> None:
    search = searcher(n_initial=6)
    drive(search, hill, 20)
    drive(search, lambda _: None, 1, prefix="crash")
    configs = drive(search, hill, 10, prefix="after")
    (crash,) = [suspect for suspect in search.suspects() if suspect.status == "failed"]
    assert crash.weight < 0.5
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


def test_25_crashes_in_a_row_stop_nothing_and_repeat_nothing() -> None:
    search = searcher()
    configs = drive(search, lambda _: None, 25)
    configs += drive(search, hill, 15, prefix="well")
    assert len(np.unique(points(configs), axis=0)) == 40
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
    search = searcher()
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


# State


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_by_name_restored_suggests_what_the_original_does(algorithm: str, tmp_path: Path) -> None:
    lies: Iterator[float | None] = iter([None, math.nan, math.inf, -1e9])
    search = searcher({**PLANE, "kind": tune.choice(["x", "y", "z"])}, algorithm=algorithm, n_initial=4, seed=3)
    drive(search, lambda c: next(lies, None) if c["kind"] == "z" else hill(c), 12)
    for number in range(3):
        search.suggest(f"live{number}")
    search.save(str(tmp_path / "state"))
    twin = RCGPSearch()
    twin.restore(str(tmp_path / "state"))
    for original, copied in ((search, twin), (copy.deepcopy(search), pickle.loads(pickle.dumps(twin)))):
        for step in range(3):
            assert original.suggest(f"next{step}") == copied.suggest(f"next{step}")
            for one in (original, copied):
                one.on_trial_complete(trial_id=f"live{step}", result={"score": 0.1 * step})
    assert twin.suggest("last") == search.suggest("last")
    assert list(twin.pending) == list(search.pending)
    assert twin.get_state() == search.get_state()


def test_the_state_is_strict_json_with_the_goal_and_the_numbering(tmp_path: Path) -> None:
    search = RCGPSearch(on_error=3.0, seed=5)
    search.set_search_properties("loss", "min", {**PLANE, "tag": ("x", None)}, num_samples=5)
    search.suggest("t")
    search.on_trial_complete(trial_id="t", result={"loss": -math.inf})
    search.suggest("u")
    search.save(str(tmp_path / "state"))
    state = json.loads((tmp_path / "state").read_text(), parse_constant=lambda word: pytest.fail(f"not strict: {word}"))
    twin = RCGPSearch()
    twin.set_state(state)
    assert (twin.metric, twin.mode, twin.settings) == ("loss", "min", search.settings)
    assert twin.pending["u"].number == 1
    assert twin.suggest("v") == search.suggest("v")
    assert list(tmp_path.iterdir()) == [tmp_path / "state"]  # no scratch file stays


def test_a_damaged_or_foreign_state_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "state"
    search = searcher()
    drive(search, hill, 6)
    search.save(str(path))
    text = path.read_text()
    for damaged, line in (
        (text[:-9], "is damaged"),
        ("", "is damaged"),
        ('{"version": 99}', "no searcher state of version 2"),
    ):
        path.write_text(damaged)
        with pytest.raises(ValueError, match=line) as caught:
            RCGPSearch().restore(str(path))
        assert "\n" not in str(caught.value)


def test_a_changed_space_is_refused_with_the_difference(tmp_path: Path) -> None:
    search = searcher()
    search.save(str(tmp_path / "state"))
    other = searcher({"a": tune.uniform(0, 2), "b": tune.uniform(0, 1)})
    with pytest.raises(ValueError, match=r"changed since the state was saved: a was a number in \[0.0, 1.0\] and is"):
        other.restore(str(tmp_path / "state"))


# Warm start


def test_points_to_evaluate_come_first_and_exactly() -> None:
    wanted = [{"a": 0.1234567890123456, "b": 0.5}, {"a": 0.1, "b": 1 / 3}]
    search = searcher(points_to_evaluate=wanted)
    configs = [search.suggest(str(number)) for number in range(3)]
    assert configs[:2] == wanted
    assert configs[2] not in wanted


def test_evaluated_points_are_rows_and_are_not_run_again() -> None:
    wanted = [{"a": 0.1, "b": 0.2}, {"a": 0.3, "b": 0.7}]
    search = searcher(points_to_evaluate=wanted, evaluated_rewards=[0.5, 1.0], n_initial=4)
    search.add_evaluated_point({"a": 0.9, "b": 0.9}, 0.1)
    search.add_evaluated_point({"a": 0.9, "b": 0.1}, 0.0, error=True)
    assert [(row.trial_id, row.status) for row in search.observations] == [(None, "completed")] * 3 + [(None, "failed")]
    assert search.best().config == wanted[1]
    assert search.suggest("t") not in wanted


def test_points_given_before_the_space_wait_for_it() -> None:
    search = RCGPSearch(metric="score", mode="min", points_to_evaluate=[{"a": 0.1, "b": 0.2}], evaluated_rewards=[0.5])
    search.add_evaluated_point({"a": 0.5, "b": 0.5}, 0.25)
    search = pickle.loads(pickle.dumps(search))  # as Tune does when the Tuner is built
    search.set_search_properties("score", "min", PLANE)
    assert [row.y for row in search.observations] == [-0.5, -0.25]


def test_from_results_reads_a_table_and_says_what_it_leaves_out(caplog: pytest.LogCaptureFixture) -> None:
    table = pd.DataFrame(
        {
            "config/opt/lr": [0.1, 0.03, 5.0, 0.001],
            "config/size": [16.0, 32.0, 16.0, 32.0],  # a column of integers with gaps turns into floats
            "config/act": ["relu", None, "relu", "None"],
            "loss": [1.0, 0.5, 0.1, math.nan],
            "unrelated": 1,
        }
    )
    space = {
        "opt": {"lr": tune.loguniform(1e-4, 1.0)},
        "size": tune.choice([16, 32, 64]),
        "act": tune.choice(["relu", "tanh", None]),
    }
    with caplog.at_level(logging.WARNING):
        search = RCGPSearch.from_results(table, "loss", "min", space=space, seed=4)
    assert "RCGPSearch left out 1 of 4 earlier results outside the space (opt/lr = 5.0 is outside" in caplog.text
    assert [row.status for row in search.observations] == ["completed", "completed", "failed"]
    assert search.best().config == {"opt": {"lr": 0.03}, "size": 32, "act": None}
    assert search.settings.seed == 4


def test_several_lies_among_earlier_results_do_not_vouch_for_each_other() -> None:
    """Judged all at once, neither is doubted."""
    lies, x = {9: -20.0, 17: 30.0}, np.random.default_rng(0).random((30, 2))
    loss = 0.2 + (x[:, 0] - 0.5) ** 2 + 2 * (x[:, 1] - 0.3) ** 2
    loss[list(lies)] = list(lies.values())
    table = pd.DataFrame({"config/a": x[:, 0], "config/b": x[:, 1], "loss": loss})
    space = {"a": tune.uniform(0.0, 1.0), "b": tune.uniform(0.0, 1.0)}
    search = RCGPSearch.from_results(table, "loss", "min", space=space)
    assert {suspect.reported for suspect in search.suspects() if suspect.weight < 0.5} == set(lies.values())
    assert search.best().reported == min(value for value in loss if value > 0)


# Forensics


def lying(search: RCGPSearch, lies: dict[int, float], trials: int) -> None:
    numbers = count()
    drive(search, lambda config: lies.get(next(numbers), hill(config)), trials)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["max", "min"])
def test_the_lucky_lie_is_doubted_and_is_not_the_best(sign: float) -> None:
    search = searcher(mode="max" if sign > 0 else "min", n_initial=6)
    numbers = count()
    drive(search, lambda c: sign * (50.0 if next(numbers) == 12 else hill(c)), 25)
    liar = search.suspects()[0]
    assert (liar.number, liar.reported, liar.status) == (12, sign * 50.0, "completed")
    assert liar.weight < 0.1
    assert liar.residual == pytest.approx(liar.reported - liar.expected)
    assert abs(liar.expected) < 5.0
    assert search.best(robust=False).number == 12
    assert search.best().number != 12
    assert hill(search.best().config) > 0.98
    assert search.best().expected == pytest.approx(sign * 1.0, abs=0.1)


def test_many_lies_give_one_warning_line(caplog: pytest.LogCaptureFixture) -> None:
    search = searcher(n_initial=8, suspect_share=0.1)
    with caplog.at_level(logging.WARNING):
        lying(search, {number: 1e3 * (-1) ** number * number for number in range(9, 30, 4)}, 32)
    lines = [record.getMessage() for record in caplog.records if "doubts" in record.getMessage()]
    assert len(lines) == 1
    assert re.fullmatch(r"RCGPSearch doubts \d+ of \d+ reports: look at searcher.suspects\(\).", lines[0])


def test_without_any_result_there_is_no_best() -> None:
    search = searcher()
    with pytest.raises(ValueError, match="there is no best one"):
        search.best()
    assert search.suspects() == []


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
    assert len(np.unique(points(suggested), axis=0)) == 60
    assert [row.status for row in search.observations].count("completed") == 15
    assert search.model_failures == ()


# Bad input: one line that names the value

BAD_SEARCHERS: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "minimum"}, "mode must be 'min' or 'max', got 'minimum'."),
    "metrics": (
        {"metric": ["a", "b"]},
        "RCGPSearch has a single objective: give one metric and one mode, got ['a', 'b'], None.",
    ),
    "algorithm": ({"algorithm": "a2-rcgp-ubc"}, "Unknown algorithm 'a2-rcgp-ubc' (did you mean 'a2-rcgp-ucb'?)"),
    "option": ({"kernal": "rbf"}, "a2-rcgp-ucb has no option 'kernal' (did you mean 'kernel'?)"),
    "two lists": (
        {"metric": ["a", "b"], "mode": ["min", "max"]},
        "RCGPSearch has a single objective: give one metric and one mode, got ['a', 'b'], ['min', 'max'].",
    ),
    "metric type": ({"metric": 3}, "metric must be a name, got 3."),
    "metric first": (
        {"space": "loss", "metric": "min"},
        "space must be a dictionary of parameters, got 'loss': name what else you give, as in RCGPSearch(metric='loss',",
    ),
    "project": ({"project": abs}, "project is no option of RCGPSearch: it follows from the search space."),
    "seed": ({"seed": -1}, "seed must be a whole number of at least 0, got -1."),
    "seed type": ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5."),
    "n_initial": ({"n_initial": 0}, "n_initial must be a whole number of at least 1, got 0."),
    "on_error": ({"on_error": "raise"}, "on_error must be 'pessimistic', 'ignore' or a finite number, got 'raise'."),
    "on_error nan": ({"on_error": math.nan}, "on_error must be 'pessimistic', 'ignore' or a finite number, got nan."),
    "share": ({"suspect_share": 0}, "suspect_share must lie in (0, 1], got 0."),
    "background": ({"background_from": -1}, "background_from must be a whole number of trials or None, got -1."),
    "points": ({"points_to_evaluate": [3]}, "points_to_evaluate[0] must be a dictionary, got 3."),
    "rewards": ({"evaluated_rewards": [1.0]}, "evaluated_rewards has 1 values for 0 points_to_evaluate."),
    "empty": ({"space": {}}, "The search space is empty"),
    "outside": (
        {"space": PLANE, "points_to_evaluate": [{"a": 0.1, "b": 0.1}, {"a": 0.1, "b": 3}]},
        "points_to_evaluate[1] is not in the space: b = 3 is outside [0, 1].",
    ),
    "rewarded incomplete": (
        {"space": PLANE, "points_to_evaluate": [{"a": 0.1}], "evaluated_rewards": [1.0]},
        "points_to_evaluate[0] is not in the space: b is missing.",
    ),
    "rewarded without a direction": (
        {"space": PLANE, "points_to_evaluate": [{"a": 0.1, "b": 0.1}], "evaluated_rewards": [1.0]},
        "evaluated_rewards has values but no direction: give mode='min' or mode='max' beside them.",
    ),
}


@pytest.mark.parametrize("case", BAD_SEARCHERS)
def test_a_bad_searcher_gets_one_line(case: str) -> None:
    arguments, line = BAD_SEARCHERS[case]
    with pytest.raises(ValueError, match=r"must|Unknown|has|empty|not in|no option") as caught:
        RCGPSearch(**arguments)
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_a_space_or_a_goal_given_twice_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"another space than the Tuner: b was a number in \[0.0, 1.0\] and is absent: give"
    ):
        searcher().set_search_properties("score", "max", {"a": tune.uniform(0, 1)})
    with pytest.raises(ValueError, match="metric is 'score' in RCGPSearch and 'loss' in TuneConfig"):
        searcher().set_search_properties("loss", "max", {})
    with pytest.raises(ValueError, match="mode is 'max' in RCGPSearch and 'min' in TuneConfig"):
        searcher().set_search_properties("score", "min", PLANE)
    with pytest.raises(ValueError, match="RCGPSearch has a single objective"):
        searcher().set_search_properties(["score", "loss"], ["max", "min"], PLANE)


def test_the_same_space_here_and_in_tune_is_no_conflict() -> None:
    space = {**PLANE, "act": tune.choice([math.sin, math.cos])}
    for theirs in (space, inject_placeholders(copy.deepcopy(space), create_resolvers_map()), {"constant": 1}):
        search = searcher(space)
        assert search.set_search_properties("score", "max", theirs)
        suggested = search.suggest("t")["act"]
        assert suggested in (math.sin, math.cos) if theirs == {"constant": 1} else suggested[0] == "__ref_ph"
        search.on_trial_complete("t", {"score": 1.0})
        assert search.best().config["act"] in (math.sin, math.cos)


def test_a_second_fit_goes_on_in_the_same_space_and_refuses_another() -> None:
    search = RCGPSearch(metric="score", mode="max")
    search.set_search_properties(None, None, PLANE)
    drive(search, hill, 5)
    search.suggest("left over")
    search.set_search_properties("score", "max", PLANE)
    assert (len(search.observations), search.pending) == (5, {})
    with pytest.raises(
        ValueError, match=r"RCGPSearch has another space than the Tuner: b was a number .* and is absent"
    ):
        search.set_search_properties("score", "max", {"a": tune.uniform(0, 1)})


def test_a_searcher_without_space_or_goal_says_what_to_give() -> None:
    with pytest.raises(ValueError, match="no search space: give the Tuner a param_space"):
        RCGPSearch(metric="score", mode="max").suggest("t")
    with pytest.raises(ValueError, match="no mode: say mode='min' or mode='max'"):
        RCGPSearch(PLANE).suggest("t")
    with pytest.raises(ValueError, match="from_results takes a ResultGrid, a DataFrame or an MLflow experiment's name"):
        RCGPSearch.from_results([1, 2], "loss", "min")
    with pytest.raises(ValueError, match="The table has no column 'loss': it has score"):
        RCGPSearch.from_results(pd.DataFrame({"score": [1.0]}), "loss", "min")


def test_a_limiter_passes_everything_through() -> None:
    limited = ConcurrencyLimiter(searcher(), max_concurrent=2)
    first, second, third = (limited.suggest(str(number)) for number in range(3))
    assert first
    assert second
    assert third is None
    limited.on_trial_complete("0", result={"score": 1.0})
    assert limited.suggest("3") is not None
    assert len(limited.searcher.observations) == 1
