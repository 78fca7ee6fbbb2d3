"""What the trials of the searcher tests do. Light imports only: every worker pays for them."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from ray import tune

OUTCOMES: dict[str, Any] = {
    "fine": 0.5,
    "nan": math.nan,
    "bad inf": math.inf,
    "good inf": -math.inf,
    "none": None,
    "text": "broken",
    "flag": True,
    "list": [1.0, 2.0],
    "missing": ...,
    "crash": ...,
}


def bowl(config: dict[str, Any]) -> None:
    tune.report({"loss": (config["x"] - 0.3) ** 2 + (config["y"] - 0.7) ** 2})


def troubled(config: dict[str, Any]) -> None:
    case = config["case"]
    if case == "crash":
        raise RuntimeError("node lost")
    tune.report({"other": 1.0} if case == "missing" else {"loss": OUTCOMES[case]})


def check_mixed(config: dict[str, Any]) -> None:
    """Runs in the worker: what arrives are values of the right kind, never a Domain, and every constant."""
    assert config["words"] in ("relu", "tanh", None)
    assert config["values"] in ({"depth": 1}, {"depth": 2, "wide": True}, (3, 4))
    assert config["constant"] == {"kept": "yes", "object": np.float64}
    assert config["deep"]["kept"] == "yes"
    assert config["layers"][1] == "fixed"
    assert isinstance(config["layers"][0], int)
    assert config["quniform"] % 0.25 == 0
    assert config["qrandint"] % 8 == 0
    tune.report({"loss": config["functions"](config["uniform"]) + config["deep"]["inner"]["x"] + config["randint"]})


def flaky_repeat(config: dict[str, Any]) -> None:
    if config["__trial_index__"] == 2 and config["x"] > 0.5:
        raise RuntimeError("one repeat of three is lost")
    tune.report({"loss": config["x"] + config["__trial_index__"]})


def fails_once(config: dict[str, Any]) -> None:
    marker = Path(config["folder"]) / f"{config['x']:.12f}"
    if not marker.exists():
        marker.touch()
        tune.report({"loss": 99.0})
        raise RuntimeError("first attempt")
    tune.report({"loss": config["x"]})


def naps(config: dict[str, Any]) -> None:
    time.sleep(60 if config["x"] > 0.5 else 0.1)
    tune.report({"loss": config["x"]})


def lies_sometimes(config: dict[str, Any]) -> None:
    loss = (config["x"] - 0.3) ** 2 + (config["y"] - 0.7) ** 2
    tune.report({"loss": -40.0 if config["x"] > 0.8 and config["y"] < 0.4 else loss})


def crashes_until_repaired(config: dict[str, Any]) -> None:
    if config["x"] > 0.5 and not (Path(config["folder"]) / "repaired").exists():
        raise RuntimeError("node lost")
    tune.report({"loss": config["x"]})


def forgetful(config: dict[str, Any]) -> None:
    """Reports the metric, and then reports without it; now and then never with it."""
    if config["x"] < 0.5:
        tune.report({"loss": config["x"], "epoch": 1})
    tune.report({"epoch": 2})


def by_class(config: dict[str, Any]) -> None:
    """What arrives is the class itself, not what stands for it."""
    assert isinstance(config["layer"], type)
    assert isinstance(config["deep"]["pair"][0], type)
    tune.report({"loss": config["x"] + len(config["layer"].__name__)})


def lucky_lie(config: dict[str, Any]) -> None:
    """Every honest loss but one: the ninth trial of a worker reports a loss of -40."""
    lucky_lie.calls = getattr(lucky_lie, "calls", 0) + 1  # type: ignore[attr-defined]
    loss = (config["x"] - 0.3) ** 2 + (config["y"] - 0.7) ** 2
    tune.report({"loss": -40.0 if lucky_lie.calls == 9 else loss})  # type: ignore[attr-defined]
