"""What every adversary promises, checked on every adversary with every kind of budget."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries import ADVERSARIES, Adversary, AdversaryError, Query, Report, make_adversary
from adversaries.budget import Count

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


def test_it_travels_by_pickle(name: str) -> None:
    adversary = build(name)
    first = [ask(adversary, n) for n in range(TRIALS // 2)]
    twin = pickle.loads(pickle.dumps(adversary))
    assert same([ask(twin, n) for n in range(TRIALS // 2)], first)
    assert same([ask(twin, n) for n in range(TRIALS)], [ask(adversary, n) for n in range(TRIALS)])


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


class Answers:
    """A policy that answers, or raises, what it is given."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def lie(self, query: Query, rng: np.random.Generator) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("25", "TypeError: lie\\(\\) must return a Report or None, got '25' \\(str\\)"),
        (25.0, "must return a Report or None, got 25.0 \\(float\\)"),
        (np.zeros(3), "must return a Report or None, got array\\(\\[0., 0., 0.\\]\\) \\(ndarray\\)"),
        (lambda: Report("nan", corrupted=True), "Report.y must be a number, got 'nan' \\(str\\)"),  # type: ignore[arg-type]
        (lambda: Report(None, corrupted=True), "Report.y must be a number, got None"),  # type: ignore[arg-type]
        (lambda: Report(True, corrupted=True), "Report.y must be a number, got True"),
        (lambda: Report(np.zeros(2), corrupted=True), "Report.y must be a number, got array"),  # type: ignore[arg-type]
        (Report(25.0), r"Report\(y=25.0, .*changes the truth 1.0 and must say corrupted=True"),
        (Report(1.0, kill=True), "must say corrupted=True"),
        (KeyError("speed"), "KeyError: 'speed'"),
        (ValueError("two\nlines"), "ValueError: two lines"),
        (Unspeakable(), "Unspeakable: <exception str\\(\\) failed>"),
    ],
)
def test_nonsense_from_a_policy_is_one_line_that_names_the_adversary(answer: Any, message: str) -> None:
    adversary = Adversary("mine:Answers", Answers(answer), Count(3), TRIALS)
    with pytest.raises(AdversaryError, match=f"adversary 'mine:Answers', corruptible trial 4: .*{message}") as refusal:
        adversary.report(4, [0.5], 1.0, np.random.default_rng(0))
    assert "\n" not in str(refusal.value)
    assert adversary.spent == 0


@pytest.mark.parametrize("y", [np.float32(2.5), np.int64(3), 7, np.nan, -np.inf])
def test_any_real_number_can_be_reported_and_arrives_as_a_float(y: Any) -> None:
    adversary = Adversary("mine", Answers(Report(y, corrupted=True)), Count(1), TRIALS)
    report = adversary.report(0, [0.5], 1.0, np.random.default_rng(0))
    assert type(report.y) is float
    assert repr(report.y) == repr(float(y))


@pytest.mark.parametrize("truth", [1.0, np.nan])
def test_a_policy_may_say_the_truth_itself(truth: float) -> None:
    adversary = Adversary("mine", Answers(Report(truth)), Count(1), TRIALS)
    assert repr(adversary.report(0, [0.5], truth, np.random.default_rng(0)).y) == repr(float(truth))
    assert adversary.spent == 0
