"""Each policy lies exactly when and how it says."""

import math
from typing import Any

import numpy as np
import pytest

from adversaries import ADVERSARIES, Adversary, make_adversary


def run(
    name: str, xs: Any, ys: Any = None, budget: Any = 1000, **options: Any
) -> tuple[list[float], list[bool], Adversary]:
    """One trial per row of `xs`; what was reported and which of it were lies."""
    points = np.asarray(xs, dtype=float)
    truths = np.zeros(len(points)) if ys is None else np.asarray(ys, dtype=float)
    adversary = make_adversary(name, trials=len(points), budget=budget, **options)
    rngs = (np.random.default_rng([7, n]) for n in range(len(points)))
    reports = [adversary.report(n, x, y, r) for n, (x, y, r) in enumerate(zip(points, truths, rngs, strict=True))]
    return [r.y for r in reports], [r.corrupted for r in reports], adversary


def test_honest_never_lies() -> None:
    values, lies, adversary = run("honest", np.zeros((9, 1)), range(9))
    assert values == list(range(9))
    assert not any(lies)
    assert adversary.spent == 0


def test_clairvoyant_hides_the_near_and_praises_the_far() -> None:
    distances = [0.0, 0.09, 0.11, 0.39, 0.41, 1.0]
    values, lies, _ = run("clairvoyant", [[1.0 - d] for d in distances], optimum=[1.0])
    assert values == [-10, -10, 0, 0, 25, 25]
    assert lies == [True, True, False, False, True, True]


def test_clairvoyant_is_greedy_and_measures_in_the_whole_cube() -> None:
    options = {"optimum": [0.5, 0.5], "near": 0.2, "far": 0.5, "low": -1.0, "high": 1.0}
    values, _, adversary = run("clairvoyant", [[0.65, 0.65], [0.5, 0.6], [0.9, 0.9], [0.5, 0.5]], budget=2, **options)
    assert values == [0, -1, 1, 0]  # √(0.15² + 0.15²) > 0.2 stays true; then the budget is spent
    assert adversary.spent == 2


def test_crash_spends_as_early_as_the_budget_allows() -> None:
    assert run("crash", np.zeros((30, 1)), budget={"alpha": "1/3"}, value=-1000.0)[0] == [-1000.0] * 3 + [0.0] * 27
    unlocked = run("crash", np.zeros((30, 1)), budget={"alpha": "1/3", "unlocked": True})
    assert [n for n, lie in enumerate(unlocked[1]) if lie] == [0, 7, 26]  # as soon as t = 1, 8, 27
    assert unlocked[0][0] == -2.0


def test_spikes_come_at_the_chosen_rate() -> None:
    values, lies, _ = run("spike", np.zeros((2000, 1)), rate=0.1, value=50.0)
    assert set(values) == {0.0, 50.0}
    assert sum(lies) == pytest.approx(200, abs=45)
    assert not any(run("spike", np.zeros((50, 1)), rate=0.0)[1])


def test_spikes_without_a_value_have_random_signs_and_sizes() -> None:
    values = np.array(run("spike", np.zeros((400, 1)), rate=1.0, scale=100.0)[0])
    assert 120 < (values > 0).sum() < 280
    assert np.median(np.abs(values)) == pytest.approx(100, rel=0.2)
    assert np.abs(values).max() > 5 * np.abs(values).min()


@pytest.mark.parametrize("df", [1.0, 3.0])
def test_heavy_noise_is_centred_on_the_truth_with_the_tails_of_student(df: float) -> None:
    from scipy import stats

    truth = np.linspace(-5, 5, 3000)
    values, lies, _ = run("heavy", np.zeros((3000, 1)), truth, budget=3000, df=df, scale=2.0)
    assert all(lies)
    assert stats.kstest((np.array(values) - truth) / 2.0, stats.t(df).cdf).pvalue > 0.001


def test_heavy_noise_can_be_occasional() -> None:
    assert sum(run("heavy", np.zeros((1000, 1)), rate=0.2)[1]) == pytest.approx(200, abs=50)


def test_late_waits_and_then_hits_what_is_near_the_incumbent() -> None:
    xs = [[0.1], [0.8], [0.8], [0.3], [0.82], [0.1], [0.75], [0.8]]
    ys = [1.0, 5.0, 4.0, 0.0, 3.0, 1.0, 2.0, 3.0]
    values, lies, _ = run("late", xs, ys, budget=2, start=0.5, near=0.1, value=-99.0)
    assert values == [1.0, 5.0, 4.0, 0.0, -99.0, 1.0, -99.0, 3.0]
    assert [n for n, lie in enumerate(lies) if lie] == [4, 6]


def test_late_follows_the_incumbent_by_true_values_and_ignores_nan() -> None:
    values, _, _ = run("late", [[0.0], [0.5], [1.0], [0.5]], [math.nan, 1.0, 9.0, 1.0], start=0.75, value=-1.0)
    assert values[3] == 1.0  # the incumbent is at 1.0
    values, _, _ = run("late", [[0.0], [0.5], [0.9], [0.95]], [math.nan, 1.0, 9.0, 1.0], start=0.75, value=-1.0)
    assert values[3] == -1.0


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", math.nan, math.inf, -math.inf])
def test_infinite_reports_the_chosen_non_number(value: float | str) -> None:
    assert repr(run("infinite", np.zeros((3, 1)), budget=1, value=value)[0]) == repr([float(value), 0.0, 0.0])


def test_infinite_reports_any_of_them() -> None:
    assert {str(y) for y in run("infinite", np.zeros((60, 1)))[0]} == {"nan", "inf", "-inf"}


def test_killer_asks_for_the_kill_and_knows_no_value() -> None:
    adversary = make_adversary("killer", trials=8, budget=1)
    first, second = (adversary.report(n, [0.5], 1.0, np.random.default_rng(0)) for n in range(2))
    assert first.kill
    assert first.corrupted
    assert math.isnan(first.y)
    assert not second.kill
    assert second.y == 1.0


def test_flip_mirrors_the_truth() -> None:
    assert run("flip", np.zeros((3, 1)), [3.0, -2.0, 0.5], budget=2)[0] == [-3.0, 2.0, 0.5]
    assert run("flip", np.zeros((1, 1)), [0.75], center=0.5)[0] == [0.25]


@pytest.mark.parametrize("name", ADVERSARIES)
def test_every_policy_says_what_it_stands_for(name: str) -> None:
    text = ADVERSARIES[name].__doc__ or ""
    assert "Stands for" in text or name == "honest"


def machines(kind: str, **options: Any) -> tuple[list[float], list[bool]]:
    """Trial n gives n, and runs on machine n mod 5; the first machine is bad."""
    adversary = make_adversary("bad-reporter", trials=400, budget=400, kind=kind, **options)
    rngs = [np.random.default_rng([3, n]) for n in range(400)]
    reports = [adversary.report(n, [0.5], float(n), rngs[n], reporter=n % 5) for n in range(400)]
    assert adversary.reporters == 5
    return [r.y for r in reports], [r.corrupted for r in reports]


def test_a_bad_reporter_lies_at_its_rate_and_the_others_never() -> None:
    values, lies = machines("offset", value=1000.0)
    assert all(n % 5 == 0 for n, lie in enumerate(lies) if lie)
    assert sum(lies) == pytest.approx(40, abs=15)
    assert all(y == n + 1000.0 * lie for n, (y, lie) in enumerate(zip(values, lies, strict=True)))


def test_a_bad_reporter_tells_what_others_gave_or_always_the_same() -> None:
    values, lies = machines("other")
    told = [(n, y) for n, (y, lie) in enumerate(zip(values, lies, strict=True)) if lie]
    assert all(y in range(n) for n, y in told)
    assert len({y for _, y in told}) > 10
    assert {y for y, lie in zip(*machines("frozen"), strict=True) if lie} == {0.0}
    assert {y for y, lie in zip(*machines("frozen", value=7.5), strict=True) if lie} == {7.5}


def test_all_or_none_of_the_reporters_may_be_bad() -> None:
    assert sum(machines("offset", value=1.0, bad=1.0, rate=1.0)[1]) == 400
    assert sum(machines("offset", value=1.0, bad=0.0)[1]) == 0
