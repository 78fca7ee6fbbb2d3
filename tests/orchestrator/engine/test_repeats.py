"""What a study owes to those who want a trial again: once each, and not where the doubted report came from."""

import pytest
import ray

from orchestrator.campaign.study import Component, Study
from orchestrator.engine.events import Observation, Ruling
from orchestrator.engine.placement import avoidable
from orchestrator.engine.repeats import Repeats


def ran(number: int, node: str, replicate_of: int | None = None) -> Observation:
    return Observation(number, (0.5,), 1.0, 1.0, 1.0, node=node, replicate_of=replicate_of)


@pytest.fixture
def repeats() -> Repeats:
    """Trial 3 ran on `good`, and once more, as trial 7, on `bad`."""
    repeats = Repeats(None)
    repeats.note(ran(3, "good"))
    repeats.note(ran(7, "bad", replicate_of=3))
    return repeats


def again(number: int) -> Ruling:
    return Ruling(number, "again", "me", "", 0.0)


def test_who_wants_a_second_run_again_gets_one_more_and_not_all_that_are_left(repeats: Repeats) -> None:
    repeats.take(again(7))
    assert repeats.wanted() == 7
    repeats.settle(replicate_of=3)
    assert repeats.wanted() is None


def test_who_is_doubted_is_asked_last(repeats: Repeats) -> None:
    assert repeats.ran_on(3) == ("good", "bad")
    repeats.take(again(7))
    assert repeats.ran_on(3) == ("bad", "good")


def test_a_node_is_avoided_as_long_as_another_is_left(local_ray: None) -> None:
    study = Study(
        algorithm=Component("random"),
        objective=Component("forrester"),
        adversary=Component("honest"),
        seed=0,
        trials=1,
    )
    here = ray.nodes()[0]["NodeID"]
    assert avoidable(study, ["gone"]) == ["gone"]
    assert avoidable(study, ["gone", here]) == ["gone"]
    assert avoidable(study, [here, "gone"]) == []
