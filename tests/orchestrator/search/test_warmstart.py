"""Points that people want tried, and results they already have."""

import logging
import math
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ray import tune
from searching import PLANE, searcher

from orchestrator.search.searcher import RCGPSearch


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


def test_values_that_a_point_leaves_open_are_filled_in_and_differ() -> None:
    space = {**PLANE, "deep": {"kind": tune.choice(["x", "y", "z"])}}
    wanted = [{"a": 0.25}, {"a": 0.25}, {"deep": {"kind": "y"}, "b": 0.5}, {}]
    search = searcher(space, points_to_evaluate=wanted)
    first, second, third, fourth, free = (search.suggest(str(number)) for number in range(5))
    assert (first["a"], second["a"], third["b"], third["deep"]) == (0.25, 0.25, 0.5, {"kind": "y"})
    assert first["b"] != second["b"]
    assert all(set(config) == {"a", "b", "deep"} for config in (first, second, third, fourth, free))
    assert len({trial.x for trial in search.pending.values()}) == 5


def test_a_point_that_leaves_values_open_survives_a_restore(tmp_path: Path) -> None:
    search = searcher(points_to_evaluate=[{"a": 0.25}, {"b": 0.5}])
    search.suggest("t")
    search.save(str(tmp_path / "state"))
    twin = searcher()
    twin.restore(str(tmp_path / "state"))
    assert twin.suggest("u") == search.suggest("u")
    assert twin.suggest("u")["b"] == 0.5


def test_a_point_whose_list_is_too_short_lacks_a_parameter() -> None:
    search = RCGPSearch({"layers": [tune.uniform(0, 1), tune.choice(["a", "b", "c"])]}, "score", "max")
    with pytest.raises(ValueError, match="layers/1 is missing"):
        search.add_evaluated_point({"layers": [0.5]}, 1.0)
