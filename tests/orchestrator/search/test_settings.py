"""Bad settings get one line that names the value."""

import math
from typing import Any

import pytest
from ray import tune
from searching import PLANE

from orchestrator.search.searcher import RCGPSearch

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
    "project": ({"project": abs}, "project is no option: it follows from the search space."),
    "seed": ({"seed": -1}, "seed must be a whole number of at least 0, got -1."),
    "seed type": ({"seed": 1.5}, "seed must be a whole number of at least 0, got 1.5."),
    "n_initial": ({"n_initial": 0}, "n_initial must be a whole number of at least 1, got 0."),
    "on_error": (
        {"on_error": "raise"},
        "on_error must be 'region', 'pessimistic', 'ignore' or a finite number, got 'raise'.",
    ),
    "on_error nan": (
        {"on_error": math.nan},
        "on_error must be 'region', 'pessimistic', 'ignore' or a finite number, got nan.",
    ),
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


def test_every_option_that_an_error_offers_is_taken() -> None:
    with pytest.raises(ValueError, match="has no option 'kernal'") as caught:
        RCGPSearch(kernal="rbf")
    offered = str(caught.value).rpartition("choose from ")[2].rstrip(".").split(", ")
    defaults = {"seed": 1, "n_initial": 5, "scale": 2.0, "schedule": "practical", "max_rows": 100, "recheck": True}
    assert {"avoid_repeats", "kernel", *defaults} <= set(offered)
    assert "project" not in offered
    assert RCGPSearch(avoid_repeats=False, horizon=50, **defaults).settings.options["avoid_repeats"] is False


def test_ten_trials_fill_space_in_every_space_unless_told_otherwise() -> None:
    spaces = {size: {f"x{i}": tune.uniform(0, 1) for i in range(size)} for size in (1, 2, 20)}
    for size, space in spaces.items():
        ours, random = (RCGPSearch(space, "score", "max", algorithm=name) for name in ("a2-rcgp-ucb", "random"))
        short = RCGPSearch(space, "score", "max", n_initial=4)
        differ = []
        for number in range(14):
            configs = [search.suggest(str(number)) for search in (ours, random, short)]
            for search, config in zip((ours, random, short), configs, strict=True):
                search.on_trial_complete(str(number), {"score": -((config["x0"] - 0.3) ** 2)})
            differ.append([config != configs[1] for config in (configs[0], configs[2])])
        assert differ[:10] == [[False, number > 3] for number in range(10)], size
        assert differ[10] == [True, True]
