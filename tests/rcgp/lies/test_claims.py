"""Claims far beyond everything else: who is asked again, who is contradicted, and who is beyond belief."""

import numpy as np
import pytest

from rcgp import make_optimizer
from rcgp.acquisition import Projection
from rcgp.evidence import Evidence
from rcgp.gaussian import Array
from rcgp.lies.claims import BEYOND_BELIEF, CONTRADICTED, Claims, bulk

HONEST = np.linspace(0.2, 1.0, 12)


def judged(values: list[float], places: list[int] | None = None, evidence: Evidence | None = None) -> Claims:
    """The verdicts on the honest values and these, each at a place of its own but for the given ones."""
    y = np.array([*HONEST, *values])
    where = np.arange(len(y), dtype=float)
    if places is not None:
        where[len(HONEST) :] = places
    return Claims.judged(where[:, None], y, evidence or Evidence.none(len(y)))


def test_the_bulk_grows_by_what_follows_and_leaves_out_what_does_not() -> None:
    assert bulk(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.1, 9.0])) == (1.0, 1.5)
    assert bulk(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.9, 9.0])) == (1.0, 1.9)
    assert bulk(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.1, 9.0]), width=0.7) == (1.0, 2.1)
    assert bulk(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 1.0])) == (0.0, 1.0), "no width yet: nothing is far out"


@pytest.mark.parametrize("lie", [9.9, 3.5, -1.5, -30.0])
def test_a_lonely_claim_is_asked_again_and_a_report_from_within_contradicts_it(lie: float) -> None:
    alone = judged([lie])
    assert np.flatnonzero(alone.unchecked).tolist() == [12]
    assert not alone.condemned.any()
    asked = judged([lie, 0.8], places=[12, 12])
    assert np.flatnonzero(asked.contradicted).tolist() == [12]
    assert not asked.unchecked.any()
    assert asked.reason(12) == CONTRADICTED
    assert not judged([1.3, -0.2]).unchecked.any(), "what follows the others needs no witness"


def test_a_good_claim_takes_two_witnesses_and_a_bad_one_says_nothing_more() -> None:
    assert judged([5.0, 5.1], places=[12, 12]).unchecked.any()
    sure = judged([5.0, 5.1, 4.9], places=[12, 12, 12])
    assert np.flatnonzero(sure.supported).tolist() == [12, 13, 14]
    bad = judged([-5.0, -5.1], places=[12, 12])
    assert not (bad.supported | bad.unchecked | bad.condemned).any()


def test_where_many_were_caught_lying_a_good_claim_takes_more_witnesses() -> None:
    """Four of thirty-five reports are lies of the same size: three more in one place are no rarity, five are."""
    more = [0.4 + 0.05 * i for i in range(12)]
    caught, places = [*more, *[5.0, 0.8] * 4], [*range(12, 24), 24, 24, 25, 25, 26, 26, 27, 27]
    three = judged([*caught, 5.0, 5.1, 4.9], places=[*places, 28, 28, 28])
    assert not three.supported.any()
    assert np.flatnonzero(three.unchecked).tolist() == [32, 33, 34]
    five = judged([*caught, 5.0, 5.1, 4.9, 5.0, 5.1], places=[*places, 28, 28, 28, 28, 28])
    assert np.flatnonzero(five.supported).tolist() == [32, 33, 34, 35, 36]


def test_better_by_orders_of_magnitude_is_beyond_belief_until_a_person_says_otherwise() -> None:
    claims = judged([1e6])
    assert np.flatnonzero(claims.beyond_belief).tolist() == [12]
    assert claims.reason(12) == BEYOND_BELIEF
    assert judged([500.0, 500.0]).beyond_belief.sum() == 2, "one and the same far too good value at two places"
    assert not judged([500.0, 510.0]).beyond_belief.any()
    assert not judged([-1e6]).beyond_belief.any(), "a loss may explode"
    assert not judged([1e6], evidence=Evidence.none(13).with_ruling(12, "true")).condemned.any()


def grid(points: Array) -> Array:
    """Multiples of 1/40: nothing can be tried between them."""
    return np.round(40.0 * points) / 40.0


@pytest.mark.parametrize(
    ("verify", "project", "again"), [(False, grid, False), (True, grid, True), (True, None, False)]
)
def test_a_claim_is_asked_again_where_nothing_can_be_tried_beside_it(
    verify: bool, project: Projection | None, again: bool
) -> None:
    optimizer = make_optimizer(
        "a2-rcgp-ucb", 1, seed=0, n_initial=9, avoid_repeats=True, verify=verify, project=project
    )
    for number in range(9):
        x = optimizer.ask()
        optimizer.tell(x, 7.0 if number == 2 else float(x[0]))
    assert (optimizer.ask().tolist() in optimizer.state_dict()["X"]) is again


@pytest.mark.parametrize(("claim", "again"), [(-20.0, True), (-2.0, False), (20.0, False)])
def test_in_a_continuous_space_what_is_far_below_all_others_is_asked_again(claim: float, again: bool) -> None:
    """No search returns there by itself, and it sets the scale of all others. To a good place it returns."""
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=9, avoid_repeats=True, verify=True)
    for number in range(9):
        x = optimizer.ask()
        optimizer.tell(x, claim if number == 2 else float(x[0]))
    point = optimizer.ask()
    assert (point.tolist() == optimizer.state_dict()["X"][2]) is again
    optimizer.tell(point, float(point[0]))
    assert [suspect.index for suspect in optimizer.suspects()] == ([2] if again else [])
