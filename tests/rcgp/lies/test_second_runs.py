"""Second runs: what is not handed over because of them, and how much of the noise is the objective's own."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcgp import make_optimizer
from rcgp.gaussian import Array
from rcgp.lies.second_runs import SecondRuns

NOISE = 0.04


def second_runs(X: Array, z: Array, trusted: Array | None = None, own_noise: float = 0.0) -> SecondRuns:
    believed = np.ones(len(z), dtype=bool) if trusted is None else trusted
    return SecondRuns.of(X, z, believed, np.ones(len(z), dtype=bool), NOISE, np.full(len(z), own_noise))


@pytest.mark.parametrize(
    ("runs", "trusted", "most"),
    [
        ([2.0, 0.0], [True, False], 0.0),
        ([2.0, 2.1], [True, True], math.inf),
        ([2.0, 1.0], [True, True], 1.0),
        ([2.0, 0.0, 2.1], [True, False, True], 2.0),
        ([0.0, 0.1, 2.0], [False, False, True], 0.1),
        ([2.0, math.nan], [True, False], math.inf),
    ],
)
def test_what_a_second_run_denies_is_worth_what_half_of_the_runs_reached(
    runs: list[float], trusted: list[bool], most: float
) -> None:
    X = np.full((len(runs) + 1, 1), 0.5)
    X[-1] = 0.4
    found = second_runs(X, np.append(runs, 9.0), np.append(trusted, False)).most()
    assert found.tolist() == [most if math.isfinite(y) else math.inf for y in runs] + [math.inf]


def pairs(difference: Array) -> tuple[Array, Array]:
    """Points run twice, whose reports differ by so much (`m`), and three that were run once."""
    m = len(difference)
    X = np.concatenate([np.arange(m), np.arange(m), m + np.arange(3)])[:, None] / (m + 3.0)
    return X, np.concatenate([np.zeros(m), difference, [0.3, -0.2, 0.1]])


def test_noise_that_no_second_run_shows_is_the_objectives_own() -> None:
    assert second_runs(*pairs(np.zeros(1))).repeatable().min() > 0.9
    assert second_runs(*pairs(np.zeros(3))).repeatable().min() > 0.99


@given(seed=st.integers(0, 1000))
def test_runs_that_differ_as_noise_takes_them_make_it_noise(seed: int) -> None:
    difference = math.sqrt(2.0 * NOISE) * np.random.default_rng(seed).standard_normal(12)
    share = second_runs(*pairs(difference)).repeatable()
    spread = float((difference**2).mean()) / (2.0 * NOISE)
    assert 0.0 <= share.max() <= max(0.15, 1.0 - 0.8 * spread)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5), st.floats(0.1, 0.9))
def test_runs_that_agree_better_leave_less_to_noise(differences: list[float], closer: float) -> None:
    difference = np.array(differences)
    as_they_are = second_runs(*pairs(difference)).repeatable()
    assert (second_runs(*pairs(closer * difference)).repeatable() >= as_they_are - 1e-12).all()


def test_where_nothing_was_run_twice_or_reports_bring_their_own_noise_nothing_is_known() -> None:
    X, z = pairs(np.zeros(2))
    assert not second_runs(X[2:], z[2:]).repeatable().any()
    assert second_runs(X, z, own_noise=100.0 * NOISE).repeatable().max() < 0.01


def test_suspects_neither_say_how_noisy_it_is_nor_are_they_worth_their_report() -> None:
    X, z = pairs(np.array([0.0, 3.0]))
    trusted = z < 1.0
    share = second_runs(X, z, trusted).repeatable()
    assert (share[trusted] > 0.9).all()
    assert not share[~trusted].any()


def rough(x: float) -> float:
    """A hill with ripples that no length-scale of the whole can follow, and no noise at all."""
    return -((x - 0.5) ** 2) + 0.02 * math.sin(700.0 * x)


def test_a_rough_objective_that_repeats_itself_hands_over_its_best_report() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=5, verify=True)
    points = np.random.default_rng(0).random(40)
    for x in points:
        optimizer.tell(np.array([x]), rough(x))
        optimizer.update()
    smooth = optimizer.recommend()
    best = int(np.argmax([rough(x) for x in points]))
    assert smooth != best
    optimizer.tell(points[[smooth]], rough(points[smooth]))
    found = optimizer.recommendation()
    assert found.index == best
    assert found.mean == pytest.approx(rough(points[best]), abs=0.005)
    assert found.std < 0.01


def test_what_is_bent_says_nothing_of_the_noise() -> None:
    """A loss that diverged is run again because it is so far below all others; bent, its two reports are nearly one."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=5, verify=True)
    rng = np.random.default_rng(0)
    points = rng.permutation(np.linspace(0.0, 1.0, 30))
    for x in [*points, 1.0]:
        loss = 0.3 + (x - 0.4) ** 2 + np.expm1(40.0 * max(x - 0.7, 0.0)) + 0.01 * rng.standard_normal()
        optimizer.tell(np.array([x]), -loss)
        optimizer.update()
    assert not optimizer._bend.is_straight
    answer = optimizer._answer()
    assert answer is not None
    assert not answer.repeatable.any()


def test_only_a_search_that_verifies_asks_what_is_noise() -> None:
    """What campaigns compare is not changed: their baselines hand over the best of a posterior mean."""
    X, z = pairs(np.array([0.0, 0.0, 3.0]))
    nobody = np.zeros(len(z), dtype=bool)
    runs = SecondRuns.of(X, z, ~nobody, nobody, NOISE, np.zeros(len(z)))
    assert not runs.repeatable().any()
    assert np.isinf(runs.most()).all()
    assert second_runs(X, z).most()[[2, 5]].tolist() == [0.0, 0.0]
