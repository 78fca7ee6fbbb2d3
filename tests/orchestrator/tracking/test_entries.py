"""What MLflow is told, without MLflow: numbers that are functions of the journal."""

import math

from orchestrator.engine.events import Event, Observation, StudyEnded, TrialSuggested
from orchestrator.tracking import entries
from orchestrator.tracking.entries import Entry, bends


def observation(number: int, y: float, at: float) -> Observation:
    return Observation(number, (0.5,), y, 1.0, 1.0, seconds=0.1, at=at)


def weighed(number: int, weights: dict[int, float]) -> TrialSuggested:
    return TrialSuggested(number, (0.5,), at=0.0, weights=weights)


def test_a_trial_counts_once_it_and_all_before_it_have_a_weight() -> None:
    events: list[Event] = [observation(0, 1.0, 10.0), observation(2, 3.0, 11.0)]
    assert entries.weighted_trials(events) == []
    events.append(weighed(3, {2: 0.25}))
    assert [t.observation.number for t in entries.weighted_trials(events)] == [0]
    events += [observation(1, 2.0, 12.0), weighed(4, {2: 1.0, 1: 0.4})]
    trials = entries.weighted_trials(events)
    assert [(t.observation.number, t.first_weight, t.suspects) for t in trials] == [
        (0, 1.0, 1),
        (1, 0.4, 1),
        (2, 0.25, 1),
    ]
    assert trials[2].observation.weight == 1.0  # rehabilitated since


def test_what_is_not_finite_becomes_a_flag() -> None:
    assert dict(entries.number("observed", math.inf)) == {"observed_inf": 1.0}
    assert dict(entries.number("observed", -math.inf)) == {"observed_inf": -1.0}
    assert dict(entries.number("observed", math.nan)) == {"observed_nan": 1.0}
    assert dict(entries.number("observed", 1e300)) == {"observed": 1e300}


def test_a_suspect_is_a_trial_whose_weight_is_below_one_half() -> None:
    events: list[Event] = [observation(n, 1.0, 10.0 + n) for n in range(3)]
    events.append(weighed(3, {0: 0.5, 1: 0.49, 2: 0.99}))
    assert [t.suspects for t in entries.weighted_trials(events)] == [1, 1, 1]
    end = StudyEnded(0, at=20.0)
    final = {e.key: e.value for e in entries.final_entries(entries.by_number(events), [*events, end])}
    assert final["final_suspects"] == 1.0


def test_a_level_stretch_keeps_its_ends_and_every_other_point_stays() -> None:
    values = {"a": [1.0, 1.0, 1.0, 2.0, 1.0, 1.0], "b": [0.0] * 6}
    rows = [Entry(key, value, step, 7) for step in range(6) for key, value in ((k, v[step]) for k, v in values.items())]
    kept = [(row.key, row.step) for row in bends(rows)]
    assert kept == [("a", 0), ("a", 2), ("a", 3), ("a", 4), ("a", 5), ("b", 0), ("b", 5)]
