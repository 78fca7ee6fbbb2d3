"""Whom A2-RCGP trusts."""

from dataclasses import replace

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.adaptive import AdaptiveSurrogate
from rcgp.evidence import Evidence
from rcgp.fit import Hyperparameters
from rcgp.state import Scaling, SurrogateState
from tests.rcgp.problems import smooth


def test_too_many_to_be_lies_are_believed_again() -> None:
    """High lies were believed where nothing contradicted them: honest looks at the same place depose them in the end."""
    X, y = smooth(30)
    X, y = X[(X[:, 0] < 0.7)], y[X[:, 0] < 0.7]
    surrogate = AdaptiveSurrogate()
    X, y = np.concatenate([X, [[0.9], [0.905]]]), np.append(y, [1.2, 1.2])
    state = surrogate.update(X, y, None)
    believed = state.weights[-1]
    for step in range(10):
        X, y = np.concatenate([X, [[0.9 + 0.001 * step]]]), np.append(y, np.sin(5.4) + 0.05 * (-1) ** step)
        state = surrogate.update(X, y, state)
    assert believed > 0.5
    assert (state.weights[-10:] > 0.5).all()
    assert (state.weights[-12:-10] < 0.5).all()


@pytest.mark.parametrize(("depth", "believed"), [(1.4, True), (2.5, False), (-0.3, True), (-1.4, False)])
def test_where_nothing_was_measured_a_drop_may_go_further_than_a_rise(depth: float, believed: bool) -> None:
    """`depth` times the range of the others below the lowest of them; negative: above the highest."""
    X, y = np.linspace(0.0, 0.3, 8)[:, None], np.sin(40.0 * np.linspace(0.0, 0.3, 8))
    surrogate = AdaptiveSurrogate()
    before = surrogate.update(X, y, None)
    far = y.min() - depth * np.ptp(y) if depth > 0 else y.max() - depth * np.ptp(y)
    state = surrogate.update(np.concatenate([X, [[0.95]]]), np.append(y, far), before)
    assert (state.weights[-1] > 0.5) == believed


@pytest.mark.parametrize(("reconsidered", "found"), [(150, True), (0, False)])
def test_lies_that_were_believed_are_found_by_what_they_make_of_the_others(
    monkeypatch: pytest.MonkeyPatch, reconsidered: int, found: bool
) -> None:
    """Two lies from the start: the objective seems noisy, and nothing is suspicious, until the rest is looked at alone."""
    monkeypatch.setattr("rcgp.adaptive.RECONSIDERED", reconsidered)
    rng = np.random.default_rng(3)
    X = rng.random((30, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.02 * rng.standard_normal(30)
    y[[1, 4]] = [0.4, -0.5]
    scaling, hyper = Scaling.of(y), Hyperparameters(np.array([0.3]), 0.3)
    believed = SurrogateState(scaling, hyper, np.ones(29), np.zeros(29), 29)
    weights = AdaptiveSurrogate().update(X, y, believed).weights
    assert (weights[[1, 4]] < 0.5).all() == found
    assert (np.delete(weights, [1, 4]) > 0.5).all()


def test_a_few_agreeing_lies_are_not_believed() -> None:
    X, y = smooth(40)
    surrogate = AdaptiveSurrogate()
    state = surrogate.update(X, y, None)
    for x in (0.5, 0.51):
        X, y = np.concatenate([X, [[x]]]), np.append(y, 4.0)
        state = surrogate.update(X, y, state)
    assert (state.weights[-2:] < 0.5).all()
    assert (state.weights[:-2] > 0.5).all()


def test_a_lie_among_many_rows_told_at_once() -> None:
    X, y = smooth(40)
    y[25] = 60.0
    assert AdaptiveSurrogate().update(X, y, None).weights[25] < 0.5


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_fifth_of_the_rows_may_lie_when_told_at_once_and_stays_in_doubt(sign: float) -> None:
    X, y = smooth(80)
    lied = np.arange(80) % 5 == 3
    y = np.where(lied, y + sign * np.linspace(2.0, 6.0, 80), y)
    surrogate = AdaptiveSurrogate()
    state = surrogate.update(X[:70], y[:70], None)
    assert (state.weights < 0.5).tolist() == lied[:70].tolist()
    for n in range(71, 81):
        state = surrogate.update(X[:n], y[:n], state)
        assert (state.weights < 0.5)[:70].tolist() == lied[:70].tolist()


def test_no_more_rows_told_at_once_are_doubted_than_the_budget_says() -> None:
    X, y = smooth(60)
    y[:12] += np.linspace(2.0, 6.0, 12)
    assert (AdaptiveSurrogate(budget=3).update(X, y, None).weights < 0.5).sum() <= 3


def test_an_honest_cliff_is_learned() -> None:
    """Almost everything scores alike, one region fails outright: far out of range, but too often to be a lie."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 1)) * 0.6
    y = 0.97 + 0.005 * rng.standard_normal(30)
    surrogate = AdaptiveSurrogate()
    state = surrogate.update(X, y, None)
    for step in range(14):
        X, y = np.concatenate([X, [[0.9 + 0.002 * step]]]), np.append(y, 0.1 + 0.005 * rng.standard_normal())
        state = surrogate.update(X, y, state)
    assert (state.weights[-14:] > 0.5).all()


def test_the_share_of_lies_among_many_told_at_once_holds_for_those_told_after_them() -> None:
    rng = np.random.default_rng(0)
    X, lies = rng.random((170, 2)), rng.random(170) < 0.2
    y = np.sin(5 * X).sum(axis=1) + 0.05 * rng.standard_normal(170)
    y = np.where(lies, y + rng.choice([-1, 1], 170) * rng.uniform(2.0, 5.0, 170), y)
    surrogate = AdaptiveSurrogate()
    state = surrogate.update(X[:150], y[:150], None)
    assert np.array_equal(state.trusted, ~lies[:150])
    for n in range(151, 171):
        state = surrogate.update(X[:n], y[:n], state)
    assert np.array_equal(state.trusted, ~lies), "a limit that forgets them lets all of them in at once"


def test_a_fifth_of_the_rows_may_lie_when_told_one_by_one() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((60, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.05 * rng.standard_normal(60)
    lies = (np.arange(60) % 5 == 4) & (np.arange(60) > 5)
    y[lies] = rng.uniform(-1.0, 1.0, lies.sum())
    surrogate, state = AdaptiveSurrogate(), None
    for n in range(6, 61):
        state = surrogate.update(X[:n], y[:n], state)
    assert state is not None
    wrong = np.abs(y - np.sin(6.0 * X[:, 0])) > 0.4
    assert not state.trusted[wrong].any(), "lies that are true by chance are no loss"
    assert state.trusted[~lies].all()
    ruled = replace(Evidence.none(60), ruling=np.where(wrong, 1, 0))
    assert surrogate.update(X, y, state, ruled).trusted[wrong].all(), "a person is right"


@pytest.mark.parametrize(("dim", "lie"), [(1, 30.0), (2, 10.0), (2, -30.0), (6, 5.0), (6, 100.0)])
def test_a_quarter_may_lie_from_the_first_report_of_a_search(dim: int, lie: float) -> None:
    rng, lies = np.random.default_rng([2, dim]), []
    optimizer = make_optimizer("a2-rcgp-ucb", dim, seed=2, n_initial=5)
    for _ in range(40):
        x = optimizer.ask()
        lies.append(rng.random() < 0.25)
        optimizer.tell(x, float(np.sin(3.0 * x[0]) + np.cos(2.0 * x).sum() + 0.05 * rng.normal() + lie * lies[-1]))
    assert sorted(s.index for s in optimizer.suspects()) == np.flatnonzero(lies).tolist()


def test_an_honest_climb_far_beyond_the_first_values_is_believed_in_the_end() -> None:
    """A score that grows exponentially: every step is small beside the last one, and large beside the first rows."""
    rng, optimizer = np.random.default_rng([1, 8]), make_optimizer("a2-rcgp-ucb", 8, seed=1, n_initial=5)
    for _ in range(45):
        x = optimizer.ask()
        optimizer.tell(x, float(np.exp(8.0 * x.mean()) + 0.02 * rng.standard_normal()))
    assert optimizer.suspects() == []


CLIMB = [  # four coordinates and the report: a hill in a space where most trials crash, found by its foot
    (0.658, 0.293, 0.489, 0.533, 0.0506),
    (0.612, 0.325, 0.337, 0.54, 0.062),
    (0.584, 0.343, 0.252, 0.546, 0.0591),
    (0.55, 0.365, 0.323, 0.557, 0.1266),
    (0.53, 0.377, 0.325, 0.563, 0.1368),
    (0.519, 0.384, 0.326, 0.569, 0.1729),
    (0.512, 0.388, 0.326, 0.575, 0.1759),
    (0.506, 0.391, 0.326, 0.581, 0.2182),
    (0.502, 0.393, 0.326, 0.587, 0.2035),
    (0.498, 0.396, 0.327, 0.592, 0.215),
    (0.496, 0.398, 0.327, 0.597, 0.2073),
    (0.493, 0.4, 0.327, 0.601, 0.2407),
    (0.491, 0.402, 0.327, 0.604, 0.2527),
    (0.489, 0.403, 0.327, 0.606, 0.2565),
]


def test_a_climb_from_a_level_start_is_believed_once_most_reports_would_have_to_be_lies() -> None:
    """The first three reports set a scale of a hundredth; all that followed were doubted, for ever: 24 of 27."""
    optimizer, suspects = make_optimizer("a2-rcgp-ucb", 4, seed=0, n_initial=3), []
    for *x, y in CLIMB:
        optimizer.tell(np.array(x), y)
        optimizer.update()
        suspects.append(len(optimizer.suspects()))
    assert max(suspects) <= 7, "twice as many as are trusted, and one"
    assert suspects[-4:] == [0, 0, 0, 0]
