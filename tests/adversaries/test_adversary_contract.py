"""What every adversary promises, checked on every adversary with every kind of budget."""

import json
import math
import pickle
import subprocess
import sys
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries import ADVERSARIES, Adversary, Report, make_adversary

TRIALS = 30
BUDGETS: list[Any] = [0, 3, TRIALS, {"alpha": "1/3"}, {"alpha": 0.5, "unlocked": True}]
OPTIONS: dict[str, dict[str, Any]] = {"spike": {"rate": 0.5}, "late": {"start": 0.2, "near": 0.6}}


def build(name: str, budget: Any = 3) -> Adversary:
    return make_adversary(name, trials=TRIALS, optimum=(0.5, 0.5), budget=budget, **OPTIONS.get(name, {}))


def ask(adversary: Adversary, number: int, seed: int = 0) -> Report:
    """Trial `number` of a fixed study: its point and its true value depend on the number alone."""
    rng = np.random.default_rng([seed, number])
    return adversary.report(number, rng.random(2), float(rng.normal()), rng)


def same(a: list[Report], b: list[Report]) -> bool:
    return repr(a) == repr(b)  # NaN equals NaN here


@pytest.fixture(params=sorted(ADVERSARIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_budget_is_never_exceeded(name: str, budget: Any) -> None:
    adversary = build(name, budget)
    for number in range(TRIALS):
        ask(adversary, number)
        assert adversary.spent <= adversary.budget.allowance(number + 1, TRIALS) <= adversary.allowance
    reports = [ask(adversary, n) for n in range(TRIALS)]
    assert adversary.spent == sum(r.corrupted for r in reports)
    if name != "honest" and budget == 3:
        assert adversary.spent == 3


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@given(order=st.permutations(range(TRIALS)))
@settings(max_examples=15, deadline=None)
def test_any_order_of_arrival_respects_every_prefix_of_the_budget(budget: Any, order: list[int]) -> None:
    adversary = build("crash", budget)
    for number in order:
        ask(adversary, number)
    corrupted = [ask(adversary, n).corrupted for n in range(TRIALS)]
    for t in range(1, TRIALS + 1):
        assert sum(corrupted[:t]) <= adversary.budget.allowance(t, TRIALS)


def test_what_is_not_corrupted_is_the_truth(name: str) -> None:
    adversary = build(name)
    for number in range(TRIALS):
        rng = np.random.default_rng([0, number])
        rng.random(2)
        truth, report = float(rng.normal()), ask(adversary, number)
        assert report.corrupted or report == Report(truth)
        assert not report.kill or report.corrupted


def test_one_seed_gives_one_history(name: str) -> None:
    first, again = ([ask(a, n) for n in range(TRIALS)] for a in (build(name), build(name)))
    assert same(first, again)


def test_a_retried_trial_pays_once_and_gets_the_same_answer(name: str) -> None:
    adversary = build(name)
    first = [ask(adversary, n) for n in range(TRIALS)]
    spent = adversary.spent
    again = [ask(adversary, n, seed=99) for n in reversed(range(TRIALS))]  # another point, another truth: no matter
    assert same(first, again[::-1])
    assert adversary.spent == spent


def test_corrupt_is_the_reported_value(name: str) -> None:
    adversary, twin = build(name), build(name)
    for n in range(TRIALS):
        rng = np.random.default_rng([0, n])
        y = adversary.corrupt(n, rng.random(2), float(rng.normal()), rng)
        assert repr(y) == repr(ask(twin, n).y)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("pause", [0, 1, 7, 20])
def test_saved_and_restored_halfway_it_goes_on_as_if_nothing_had_happened(name: str, budget: Any, pause: int) -> None:
    whole = build(name, budget)
    expected = [ask(whole, n) for n in range(TRIALS)]
    before, after = build(name, budget), build(name, budget)
    for n in range(pause):
        ask(before, n)
    after.load_state_dict(json.loads(json.dumps(before.state_dict(), allow_nan=False)))
    assert after.spent == before.spent
    assert same([ask(after, n) for n in range(TRIALS)], expected)
    assert after.spent <= after.allowance


def test_it_travels_by_pickle(name: str) -> None:
    adversary = build(name)
    first = [ask(adversary, n) for n in range(TRIALS // 2)]
    twin = pickle.loads(pickle.dumps(adversary))
    assert same([ask(twin, n) for n in range(TRIALS // 2)], first)
    assert same([ask(twin, n) for n in range(TRIALS)], [ask(adversary, n) for n in range(TRIALS)])


def test_it_describes_itself_as_json(name: str) -> None:
    description = json.loads(json.dumps(build(name).describe(), allow_nan=False))
    assert description["name"] == name
    assert description["allowance"] == 3
    rebuilt = make_adversary(name, trials=TRIALS, optimum=(0.5, 0.5), budget=3, **description["options"])
    assert repr(rebuilt.policy) == repr(build(name).policy)


def test_every_policy_says_what_it_stands_for(name: str) -> None:
    text = ADVERSARIES[name].__doc__ or ""
    assert "Stands for" in text or name == "honest"


def test_restoring_another_adversarys_ledger_is_refused() -> None:
    with pytest.raises(ValueError, match="kept by adversary 'crash', not by 'flip'"):
        build("flip").load_state_dict(build("crash").state_dict())


def test_trial_numbers_count_from_zero() -> None:
    with pytest.raises(ValueError, match="count from 0, got -1"):
        build("crash").report(-1, [0.5, 0.5], 0.0, np.random.default_rng(0))


def test_a_point_of_another_dimension_than_the_optimum_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x has shape \(3,\), but the optimum has shape \(2,\)"):
        build("clairvoyant").report(0, [0.5] * 3, 0.0, np.random.default_rng(0))


def test_the_package_needs_numpy_only() -> None:
    code = "import sys, adversaries; print({m.split('.')[0] for m in sys.modules} - set(sys.stdlib_module_names))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {m for m in eval(answer.stdout) if not m.startswith(("_", "sitecustomize", "cython_runtime"))}
    assert loaded <= {"numpy", "adversaries"}


@pytest.mark.parametrize(
    ("budget", "trials", "unlocked_at", "total"),
    [
        ({"alpha": "1/3"}, 100, {1: 4, 100: 4}, 4),
        ({"alpha": "1/3", "unlocked": True}, 100, {1: 1, 7: 1, 8: 2, 26: 2, 27: 3, 63: 3, 64: 4, 100: 4}, 4),
        ({"alpha": 1 / 3}, 1000, {}, 10),  # 1000 ** (1 / 3) is 9.999999999999998
        ({"alpha": 0.3333}, 64, {}, 4),
        ({"alpha": 0.5}, 49, {}, 7),
        ({"alpha": 0}, 49, {}, 1),
        ({"alpha": 1}, 49, {}, 49),
        (5, 100, {1: 5}, 5),
    ],
)
def test_budgets_in_numbers(budget: Any, trials: int, unlocked_at: dict[int, int], total: int) -> None:
    adversary = make_adversary("crash", trials=trials, budget=budget)
    assert adversary.allowance == total
    assert {t: adversary.budget.allowance(t, trials) for t in unlocked_at} == unlocked_at


def test_the_default_budget_is_the_papers() -> None:
    assert make_adversary("crash", trials=140).allowance == 5  # floor(140^(1/3))


@given(base=st.integers(1, 10**6), p=st.integers(0, 12), q=st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_powers_are_exact(base: int, p: int, q: int) -> None:
    from fractions import Fraction

    from adversaries.budget import floor_power

    alpha = Fraction(min(p, q), q)
    n = floor_power(base, alpha)
    assert n**alpha.denominator <= base**alpha.numerator < (n + 1) ** alpha.denominator


def test_an_unlocked_budget_never_shrinks() -> None:
    budget = make_adversary("crash", trials=50, budget={"alpha": 0.7, "unlocked": True}).budget
    allowed = [budget.allowance(t, 50) for t in range(80)]
    assert all(a <= b for a, b in pairwise(allowed))
    assert allowed[79] == allowed[50]
    assert not math.isnan(allowed[0])
