"""Events: what is written is read back, in the words of the first journals ever written."""

import json
import math

import pytest

from orchestrator.engine.events import (
    AdversaryReported,
    ConfirmationAsked,
    Header,
    Observation,
    OptimizerSaved,
    Ruling,
    RungReached,
    SessionStarted,
    StudyEnded,
    TrialFailed,
    TrialSuggested,
    UnknownEventError,
    from_json,
    of_type,
    to_json,
)
from orchestrator.engine.events.records import KINDS
from orchestrator.engine.history import is_ended, latest_weights, observations, recommendations
from orchestrator.engine.reporter import Reporter

EVENTS = [
    Header("0123456789abcdef", {"seed": 0, "adversary": {"name": "crash", "options": {"value": -math.inf}}}),
    SessionStarted("node", 7, 0.25, at=1.0),
    TrialSuggested(0, (0.1, 1 / 3), at=2.0, seconds=0.5, journal_seconds=0.25, weights={3: 0.125}, fallback="singular"),
    TrialSuggested(1, (0.5,), at=2.5, recommended=0),
    OptimizerSaved(2, 20, {"failures": 0}),
    AdversaryReported(5, 1, (0.5,), 1.0, -math.inf, True, kill=True),
    TrialFailed(0, 1, "ZeroDivisionError: on cue", at=3.0),
    Observation(
        0, (0.5,), math.inf, 1.5, -math.inf, corrupted=True, seconds=0.5, node="n", at=4.0, progress=((1, 2.0),)
    ),
    TrialSuggested(1, (0.5,), at=2.5, replicate_of=0),
    AdversaryReported(6, 0, (0.5,), 1.0, 2.0, True, reporter=3),
    Observation(
        1, (0.5,), 1.0, 1.0, 1.0, reporter=Reporter("gpu-07", "0 NVIDIA A100", 7), standard_error=0.25, replicate_of=0
    ),
    RungReached(4, 3, -math.inf, stopped=True, at=4.0),
    Observation(4, (0.5,), 0.25, 0.25, 0.25, progress=((1, 0.125), (3, 0.25)), stopped=True),
    Ruling(17, "lie", "anna", "its fan is broken", at=6.0),
    ConfirmationAsked(5, 3, "anna", at=7.0),
    StudyEnded(3, at=5.0, journal_seconds=0.5, weights={3: 1.0}),
    StudyEnded(3, at=5.0, mean=1.5, std=math.inf, expected={0: 1.0, 3: -math.inf}),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_an_event_survives_strict_json(event):
    text = json.dumps(to_json(event), allow_nan=False)
    assert from_json(json.loads(text)) == event


def test_every_kind_is_held_here():
    assert {type(e) for e in EVENTS} == set(KINDS.values())
    assert len({kind.kind for kind in KINDS.values()}) == len(KINDS)


def test_not_a_number_is_spelt_too():
    written = to_json(Observation(0, (0.5,), math.nan, math.nan, math.nan))
    assert (written["y"], written["y_true"], written["value"]) == ("nan", "nan", "nan")
    assert math.isnan(from_json(written).y)


def test_an_unknown_kind_and_a_newer_version_are_refused():
    for data in ({"kind": "verdict"}, to_json(EVENTS[6]) | {"version": 2}):
        with pytest.raises(UnknownEventError, match=data["kind"]):
            from_json(data)


def test_weights_come_later_and_the_last_one_counts():
    events = [
        Observation(0, (0.1,), 1.0, 1.0, 1.0),
        Observation(1, (0.2,), 9.0, 1.0, 1.0),
        TrialSuggested(2, (0.3,), at=0.0, weights={0: 0.5, 1: 0.25}),
        StudyEnded(0, at=0.0, weights={0: 1.0}),
    ]
    assert latest_weights(events) == {0: 1.0, 1: 0.25}
    assert [o.weight for o in observations(events)] == [1.0, 0.25]
    assert [o.weight for o in observations(events[:2])] == [1.0, 1.0]
    assert is_ended(events)
    assert not is_ended(events[:3])
    assert [s.number for s in of_type(events, TrialSuggested)] == [2]


def test_what_would_be_handed_over_is_known_for_the_trial_that_came_last():
    events = [
        TrialSuggested(0, (0.1,), at=0.0),
        Observation(0, (0.1,), 1.0, 1.0, 1.0),
        TrialSuggested(1, (0.2,), at=0.0, recommended=0),
        TrialSuggested(2, (0.3,), at=0.0, recommended=0),
        Observation(2, (0.3,), 3.0, 3.0, 3.0),
        Observation(1, (0.2,), 9.0, 1.0, 1.0),
        StudyEnded(2, at=0.0),
    ]
    assert recommendations(events) == {0: 0, 1: 2}
