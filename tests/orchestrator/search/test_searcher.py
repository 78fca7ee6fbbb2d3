"""RCGPSearch as Tune drives it: its state, its space and its goal."""

import copy
import json
import math
import pickle
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from ray import tune
from ray.tune.impl.placeholder import create_resolvers_map, inject_placeholders
from ray.tune.search import ConcurrencyLimiter
from searching import PLANE, drive, hill, searcher

from orchestrator.search.searcher import RCGPSearch
from rcgp import ALGORITHMS


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


# Space and goal


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


def test_after_a_refused_restore_there_is_nothing_to_go_on_with_until_one_succeeds(tmp_path: Path) -> None:
    good, other = searcher(), searcher({"a": tune.uniform(0, 2), "b": tune.uniform(0, 1)})
    good.save(str(tmp_path / "good"))
    with pytest.raises(ValueError, match="The space changed since"):
        other.restore(str(tmp_path / "good"))
    with pytest.raises(ValueError, match="The space changed since"):
        other.suggest("t")
    other.save(str(tmp_path / "other"))
    other.restore(str(tmp_path / "other"))
    assert other.suggest("t") is not None
