"""Adversaries from plain options, by name and by import path, and the words for what went wrong."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adversaries import make_adversary

OWN = """
from dataclasses import dataclass
from adversaries import Report

@dataclass(frozen=True)
class Seven:
    times: int = 1
    def lie(self, query, rng):
        return Report(7.0 * self.times, corrupted=True) if query.number % 2 else None

class Mute:
    pass

class Needy:
    def __init__(self, much):
        pass

NUMBER = 7
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_adversaries.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("clarvoyant", {}, "Unknown adversary: 'clarvoyant'. Did you mean 'clairvoyant'\\? Allowed: .*crash.*spike"),
        ("crash", {"vale": 1.0}, "Unknown option of adversary 'crash': 'vale'. Did you mean 'value'"),
        ("crash", {"budgett": 2}, "'budgett'. Did you mean 'budget'\\? Allowed: budget, value\\."),
        ("honest", {"rate": 1.0}, "Unknown option of adversary 'honest': 'rate'. Allowed: budget\\."),
        ("crash", {"value": "1e3"}, "crash: value must be a number, got '1e3'"),
        ("crash", {"value": True}, "crash: value must be a number, got True"),
        ("crash", {"value": None}, "crash: value must be a number, got None"),
        ("spike", {"value": "high"}, "spike: value must be a number, got 'high'"),
        ("heavy", {"scale": [1.0]}, r"heavy: scale must be a number, got \[1.0\]"),
        ("late", {"value": "low"}, "late: value must be a number, got 'low'"),
        ("flip", {"center": "0"}, "flip: center must be a number, got '0'"),
        ("clairvoyant", {"optimum": [0.5], "high": "25"}, "clairvoyant: high must be a number, got '25'"),
        ("clairvoyant", {}, "'clairvoyant' must know the optimum"),
        ("clairvoyant", {"optimum": [1.5]}, r"optimum must be a point of the unit cube, got \[1.5\]"),
        ("clairvoyant", {"optimum": [0.5], "near": 0.5, "far": 0.1}, "near=0.5, far=0.1"),
        ("spike", {"rate": 1.5}, r"rate must lie in \[0, 1\], got 1.5"),
        ("spike", {"scale": 0.0}, "scale must be positive and finite, got 0.0"),
        ("heavy", {"df": -1.0}, "df must be positive and finite, got -1.0"),
        ("late", {"start": 2.0}, r"start must lie in \[0, 1\], got 2.0"),
        ("bad-reporter", {"reporters": 0}, "reporters must be a whole number of at least 1, got 0"),
        ("bad-reporter", {"bad": 2}, r"bad must lie in \[0, 1\], got 2"),
        ("bad-reporter", {"kind": "false"}, "kind must be one of offset, other, frozen; got 'false'"),
        ("bad-reporter", {"kind": "offset"}, "an offset needs its value"),
        ("infinite", {"value": 3.0}, "must be one of any, nan, inf, -inf; got 3.0"),
        ("crash", {"budget": -1}, "at least 0, got -1"),
        ("crash", {"budget": True}, "got True"),
        ("crash", {"budget": 2.5}, "A budget is a count, or .*got 2.5"),
        ("crash", {"budget": {"alpha": "a third"}}, "got 'a third'"),
        ("crash", {"budget": {"alpha": "1/0"}}, "got '1/0'"),
        ("crash", {"budget": {"alpha": 1.5}}, r"alpha must lie in \[0, 1\], got 1.5"),
        ("crash", {"budget": {"alpha": 0.5, "unlock": True}}, "A budget is"),
        ("crash", {"budget": {"alpha": 0.5, "unlocked": "yes"}}, "true or false, got 'yes'"),
        ("crash", {"trials": -1}, "trials must be a whole number of at least 0, got -1"),
        ("crash", {"trials": 2.0}, "got 2.0"),
        ("nobody.has.this:Seven", {}, "cannot be imported \\(ModuleNotFoundError.*PYTHONPATH"),
        ("my_adversaries:Eight", {}, "module 'my_adversaries' has no attribute 'Eight'"),
        ("my_adversaries:Seven", {"time": 2}, "'time'. Did you mean 'times'"),
        ("my_adversaries:Mute", {}, "lacks lie\\(query, rng\\)"),
        ("my_adversaries:NUMBER", {}, 'is no class: an import path reads "package.module:Class"'),
        ("my_adversaries:Needy", {}, "cannot be made with {} .*missing 1 required positional argument: 'much'"),
    ],
)
@pytest.mark.usefixtures("own")
def test_a_wrong_request_is_one_line_that_says_what_is_right(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        make_adversary(name, **{"trials": 10, **options})
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("own")
def test_ones_own_policy_gets_budget_and_memory_for_free() -> None:
    adversary = make_adversary("my_adversaries:Seven", trials=8, budget=2, times=2)
    for _ in range(2):
        values = [adversary.report(n, [0.5], 0.0, np.random.default_rng(n)).y for n in range(8)]
        assert values == [0, 14, 0, 14, 0, 0, 0, 0]
    assert adversary.spent == 2
