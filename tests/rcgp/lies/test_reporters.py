"""Who says little of the objective is found by what all others say together; honest reporters change nothing."""

import math

import numpy as np
import pytest

from rcgp import Optimizer, make_optimizer
from rcgp.evidence import Evidence
from rcgp.fit import Fit, Hyperparameters
from rcgp.gaussian import Array
from rcgp.lies.claims import DISCREDITED, Judge
from rcgp.lies.reporters import convicted

RNG = np.random.default_rng(11)
X = RNG.random((48, 2))
HONEST = np.sin(5.0 * X[:, 0]) + np.cos(3.0 * X[:, 1]) + 0.02 * RNG.standard_normal(48)
Z = (HONEST - HONEST.mean()) / HONEST.std()
MACHINE = np.arange(48) % 4
"""Four machines take turns."""
SHUFFLED = RNG.permutation(Z)


def with_lies(rows: Array) -> Array:
    """The values, where those of some rows (boolean) are another row's."""
    return np.where(rows, SHUFFLED, Z)


def test_honest_machines_are_not_convicted() -> None:
    assert convicted(X, Z, MACHINE) == []
    assert convicted(X, Z, np.full(48, -1)) == []


def test_a_machine_that_reports_anothers_values_is_convicted_and_no_other() -> None:
    (found,) = convicted(X, with_lies(MACHINE == 2), MACHINE)
    assert found.reporter == 2
    assert found.share > 0.7
    assert found.lies(X[MACHINE == 2], SHUFFLED[MACHINE == 2]).sum() >= 10
    assert not found.lies(X[MACHINE == 2], Z[MACHINE == 2]).any(), "what agrees with all others would be believed"


def test_of_one_that_lies_half_of_the_time_the_other_half_is_believed() -> None:
    lies = (MACHINE == 1) & (np.arange(48) % 8 == 1)
    z = with_lies(lies)
    (found,) = convicted(X, z, MACHINE)
    assert found.reporter == 1
    assert 0.2 < found.share < 0.8
    doubted = found.lies(X[MACHINE == 1], z[MACHINE == 1])
    assert doubted[lies[MACHINE == 1]].mean() >= 0.8
    assert doubted[~lies[MACHINE == 1]].mean() <= 0.2


def test_two_of_eight_are_found_one_after_the_other() -> None:
    machine = np.arange(48) % 8
    found = convicted(X, with_lies((machine == 0) | (machine == 3)), machine)
    assert {verdict.reporter for verdict in found} == {0, 3}


def test_lies_that_everybody_tells_convict_nobody() -> None:
    assert convicted(X, with_lies(np.arange(48) % 9 == 0), MACHINE) == []


def test_who_reports_from_a_place_of_its_own_may_have_seen_something_else() -> None:
    corner = (X[:, 0] > 0.75).astype(int)
    rough = np.where(corner == 1, SHUFFLED, Z)
    assert convicted(X, rough, corner) == []


@pytest.mark.parametrize("value", [0.0, 1e300])
def test_where_everybody_says_the_same_nobody_is_convicted(value: float) -> None:
    evidence = Evidence(np.zeros(48), MACHINE, np.zeros(48, dtype=int))
    assert not Judge(verify=True, compare=True)(X, np.full(48, value), evidence).discredited.any()


def test_a_process_that_explains_nothing_convicts_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Fit(Hyperparameters.default(2), -math.inf, ok=False)
    monkeypatch.setattr("rcgp.lies.reporters.fit", lambda *_, **__: failed)
    assert convicted(X, with_lies(MACHINE == 2), MACHINE) == []


def search(lies: dict[int, float], *, knows: bool, **options: bool) -> Optimizer:
    """36 points of a smooth objective, reported by four machines in turn; some reports are off by so much."""
    optimizer, rng = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=4, **options), np.random.default_rng(3)
    for number, x in enumerate(rng.random(36)):
        optimizer.update()
        y = math.sin(6.0 * x) + 0.02 * rng.standard_normal() + lies.get(number, 0.0)
        optimizer.tell(np.array([x]), y, reporter=f"node-{number % 4}" if knows else None)
    optimizer.update()
    return optimizer


def test_with_honest_reporters_knowing_them_changes_nothing_bit_for_bit() -> None:
    for lies in ({}, {9: 5.0}):
        known, unknown = search(lies, knows=True), search(lies, knows=False)
        assert np.array_equal(known.weights(), unknown.weights())
        assert np.array_equal(known.ask(), unknown.ask())


BAD = {number: 0.4 * (-1) ** (number // 4) for number in range(5, 36, 4)}
"""One of the four is off by a fifth of the range, upwards and downwards in turn."""


def test_lies_of_a_bad_machine_are_named_as_such_and_the_question_can_be_left_out() -> None:
    named = {suspect.index for suspect in search(BAD, knows=True).suspects() if suspect.reason == DISCREDITED}
    assert len(named) >= 6
    assert named <= BAD.keys()
    without = search(BAD, knows=True, compare_reporters=False)
    assert all(suspect.reason != DISCREDITED for suspect in without.suspects())


def test_a_ruling_stands_above_the_verdict_on_its_machine() -> None:
    optimizer = search(BAD, knows=True)
    row = next(suspect.index for suspect in optimizer.suspects() if suspect.reason == DISCREDITED)
    optimizer.rule(row, "true")
    optimizer.update()
    assert optimizer.weights()[row] == 1.0


@pytest.mark.parametrize("n", [0, 1, 5, 12])
def test_a_handful_of_reports_convicts_nobody(n: int) -> None:
    evidence = Evidence(np.zeros(n), np.arange(n) % 2, np.zeros(n, dtype=int))
    claims = Judge(verify=False, compare=True)(X[:n], SHUFFLED[:n], evidence)
    assert not claims.condemned.any()


def test_the_verdict_is_the_same_however_it_was_reached() -> None:
    """All at once, row by row, and in a judge that was made anew: what is asked depends on what was told alone."""
    z = with_lies(MACHINE == 2)
    step_by_step = Judge(verify=False, compare=True)
    for n in range(1, 49):
        evidence = Evidence(np.zeros(n), MACHINE[:n], np.zeros(n, dtype=int))
        last = step_by_step(X[:n], z[:n], evidence)
    at_once = Judge(verify=False, compare=True)(X, z, evidence)
    assert last.discredited.sum() >= 8
    assert np.array_equal(last.discredited, at_once.discredited)
