"""A search on a hill, driven without Tune: what the tests of the searcher share."""

from collections.abc import Callable
from typing import Any

import numpy as np
from ray import tune

from orchestrator.search.searcher import RCGPSearch

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
