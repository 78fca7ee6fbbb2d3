"""The spaces people really have, through the searcher itself: early lies on a grid, regions that fail, branches."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ray import tune
from searching import drive

from orchestrator.search.searcher import RCGPSearch

Config = dict[str, Any]
GRID = {
    "alpha": tune.randint(0, 10),
    "batch": tune.choice([4, 6, 10, 16, 25, 40, 64, 101, 161, 256]),
    "depth": tune.randint(1, 4),
    "rate": tune.randint(0, 10),
    "width": tune.randint(0, 10),
}


def accuracy(config: Config) -> float:
    """Like a recorded table of a network: chance level where the rate is wrong, smooth and saturated elsewhere."""
    rate = math.exp(-(((config["rate"] - 5) / 3.5) ** 2))
    return 0.25 + 0.7 * rate * (0.7 + 0.02 * config["width"] + 0.03 * config["depth"]) - 0.01 * config["alpha"]


def searched(space: Config, outcome: Callable[[Config, int], Any], trials: int, seed: int, mode: str = "max") -> Any:
    """A search of its own, and the configurations it tried; the outcome knows the number of the trial."""
    search, numbers = RCGPSearch(space, "score", mode, seed=seed), iter(range(trials))
    return search, drive(search, lambda config: outcome(config, next(numbers)), trials)


def with_a_lie(seed: int, lie: Callable[[float], float]) -> Callable[[Config, int], float]:
    def outcome(config: Config, number: int) -> float:
        value = accuracy(config) + 0.01 * float(np.random.default_rng([seed, number]).standard_normal())
        return lie(value) if number == seed % 5 else value

    return outcome


LIES: dict[str, Callable[[float], float]] = {
    "ten times": lambda y: 10.0 * y,
    "up": lambda y: y + 2.0,
    "down": lambda y: y - 2.0,
    "far down": lambda y: y - 30.0,
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(
    "seeds", [pytest.param(range(2), id="few"), pytest.param(range(16), id="many", marks=pytest.mark.slow)]
)
def test_a_lie_among_the_first_rows_of_a_grid_is_found_and_not_handed_over(lie: str, seeds: range) -> None:
    found, trials = [], 25 if len(seeds) < 10 else 50
    for seed in seeds:
        search, _ = searched(GRID, with_a_lie(seed, LIES[lie]), trials, seed)
        found.append(seed % 5 in {suspect.number for suspect in search.suspects()})
        assert search.best().reported < 1.1
    assert all(found)


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_a_region_that_reports_no_number_is_left(bad: float) -> None:
    def outcome(config: Config, number: int) -> float:
        return bad if config["lr"] > 0.7 else 1.0 - (config["lr"] - 0.4) ** 2 - (config["b"] - 0.3) ** 2

    search, configs = searched({"lr": tune.uniform(0, 1), "b": tune.uniform(0, 1)}, outcome, 30, 0)
    assert np.mean([config["lr"] > 0.7 for config in configs[10:]]) <= 0.1
    assert search.best().config["lr"] < 0.7


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(20), marks=pytest.mark.slow)], ids=["few", "many"])
def test_a_region_that_always_tells_the_same_lie_is_left_and_not_recommended(seeds: range) -> None:
    def outcome(config: Config, number: int) -> float:
        return -1e6 if config["lr"] > 0.9 else (config["lr"] - 0.4) ** 2 + (config["b"] - 0.3) ** 2

    for seed in seeds:
        search, configs = searched({"lr": tune.uniform(0, 1), "b": tune.uniform(0, 1)}, outcome, 30, seed, mode="min")
        assert search.best().config["lr"] <= 0.9
        assert np.mean([config["lr"] > 0.9 for config in configs]) < 0.2


def test_where_most_of_the_space_crashes_the_rest_is_found() -> None:
    def outcome(config: Config, number: int) -> float | None:
        offset = np.array([config[name] - 0.6 for name in "abcd"])
        return None if np.linalg.norm(offset) > 0.4 else 1.0 - float(offset @ offset)  # 12 % of the cube work

    search, _ = searched({name: tune.uniform(0, 1) for name in "abcd"}, outcome, 40, 0)
    worked = [row.status == "completed" for row in search.observations]
    assert np.mean(worked[20:]) > 0.5
    assert search.best().reported > 0.95
    assert search.suspects() == []


BRANCHED: Config = {
    "decay": tune.loguniform(1e-6, 1e-2),
    "opt": tune.choice(
        [
            {"name": "sgd", "lr": tune.loguniform(1e-4, 1.0), "momentum": tune.uniform(0, 1)},
            {
                "name": "adam",
                "lr": tune.loguniform(1e-5, 1e-1),
                "more": tune.choice([{"eps": tune.uniform(0, 1)}, "off"]),
            },
        ]
    ),
}


def branch_score(config: Config, number: int = 0) -> float:
    opt = config["opt"]
    if opt["name"] == "sgd":
        assert set(opt) == {"name", "lr", "momentum"}
        return 0.6 - (math.log10(opt["lr"]) + 2) ** 2 / 10 - (opt["momentum"] - 0.9) ** 2
    assert set(opt) == {"name", "lr", "more"}
    extra = -0.2 if opt["more"] == "off" else -((opt["more"]["eps"] - 0.2) ** 2)
    return 1.0 - (math.log10(opt["lr"]) + 3) ** 2 / 10 + extra


def test_parameters_of_a_branch_appear_in_no_other_and_the_best_branch_is_found() -> None:
    search, configs = searched(BRANCHED, branch_score, 40, 0)
    assert {config["opt"]["name"] for config in configs} == {"sgd", "adam"}
    assert search.best().config["opt"]["name"] == "adam"
    assert branch_score(search.best().config) > 0.9


def test_a_search_with_branches_goes_on_after_it_was_saved(tmp_path: Any) -> None:
    search, _ = searched(BRANCHED, branch_score, 12, 1)
    search.save(str(tmp_path / "state.pkl"))
    other = RCGPSearch(BRANCHED, "score", "max", seed=1)
    other.restore(str(tmp_path / "state.pkl"))
    assert other.suggest("next") == search.suggest("next")
    assert other.best() == search.best()


def test_points_to_evaluate_may_leave_the_inside_of_a_branch_open() -> None:
    wanted = [{"opt": {"name": "sgd", "momentum": 0.25}}, {"opt": {"name": "adam", "lr": 1e-3, "more": "off"}}]
    search = RCGPSearch(BRANCHED, "score", "max", points_to_evaluate=wanted)
    first, second = search.suggest("a"), search.suggest("b")
    assert first is not None
    assert second is not None
    assert first["opt"]["momentum"] == 0.25
    assert 1e-4 <= first["opt"]["lr"] <= 1.0
    assert second["opt"] == wanted[1]["opt"]
    with pytest.raises(ValueError, match="is none of its branches"):
        RCGPSearch(BRANCHED, "score", "max", points_to_evaluate=[{"opt": {"name": "lion"}}])


def test_a_flat_result_names_the_trial_that_it_retries() -> None:
    search = RCGPSearch(BRANCHED, "score", "max")
    config = search.suggest("a")
    assert config is not None
    search.on_trial_complete(trial_id="a", error=True)
    flat = {"config/decay": config["decay"], **{f"config/opt/{key}": value for key, value in config["opt"].items()}}
    search.on_trial_complete(trial_id="b", result={"score": 0.5, **flat})
    assert [row.status for row in search.observations] == ["completed"]


def test_a_climb_from_a_level_start_is_not_doubted_to_the_end() -> None:
    """An error rate that is that of guessing in most of the space, to the last digit: nobody lies."""
    space = {name: tune.uniform(0, 1) for name in ("a", "b", "c")}
    for seed in (100, 103):
        search = RCGPSearch(space, "error", "min", seed=seed)
        for number in range(50):
            config = search.suggest(str(number))
            bowl = sum(weight * (config[name] - 0.3) ** 2 for name, weight in (("a", 1.0), ("b", 2.5), ("c", 4.0)))
            search.on_trial_complete(str(number), {"error": min(0.9, 0.1 + 4.0 * bowl)})
        assert search.best().reported < 0.11
        assert not search.suspects()


@pytest.mark.parametrize("number", [0, 3, 6, 12])
def test_an_early_lie_far_below_all_others_is_found_where_no_trial_returns(number: int) -> None:
    """It sets the scale of everything else, so that no difference among good configurations is seen."""
    space = {name: tune.uniform(0, 1) for name in "abcd"}

    def score(config: Config, trial: int) -> float:
        return -10.0 if trial == number else math.exp(-6.0 * sum((x - 0.7) ** 2 for x in config.values()))

    search, _ = searched(space, score, trials=40, seed=1)
    assert [suspect.number for suspect in search.suspects()] == [number]
    assert search.best().reported > 0.95


@pytest.mark.parametrize("mode", ["min", "max"])
def test_zeros_that_nobody_measured_are_found_whether_they_are_the_best_or_the_worst(mode: str) -> None:
    """One trial in eight reports 0.0: an error that cannot be better, or an accuracy that cannot be worse."""

    def outcome(config: Config, number: int) -> float:
        value = accuracy(config) + 0.01 * float(np.random.default_rng(number).standard_normal())
        return 0.0 if number % 8 == 3 else value if mode == "max" else 1.2 - value

    search, configs = searched(GRID, outcome, 40, 0, mode)
    zeros = set(range(3, 40, 8))
    assert zeros <= {suspect.number for suspect in search.suspects()}
    assert "nothing in common" in search.suspects()[0].reason
    assert search.best().number not in zeros
    assert accuracy(search.best().config) >= np.quantile([accuracy(config) for config in configs], 0.8)
