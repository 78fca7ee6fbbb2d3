"""How many corruptions each kind of budget allows, and when."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adversaries import make_adversary
from adversaries.budget import floor_power


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
    alpha = Fraction(min(p, q), q)
    n = floor_power(base, alpha)
    assert n**alpha.denominator <= base**alpha.numerator < (n + 1) ** alpha.denominator


def test_an_unlocked_budget_never_shrinks() -> None:
    budget = make_adversary("crash", trials=50, budget={"alpha": 0.7, "unlocked": True}).budget
    allowed = [budget.allowance(t, 50) for t in range(80)]
    assert all(a <= b for a, b in pairwise(allowed))
    assert allowed[79] == allowed[50]
    assert not math.isnan(allowed[0])
