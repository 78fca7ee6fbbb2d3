"""What MLflow is told, without MLflow: numbers that are functions of the journal."""

import math

from orchestrator.engine.journal import Record
from orchestrator.tracking import entries


def observation(number: int, y: float, at: float) -> Record:
    return {
        "kind": "observation",
        "number": number,
        "attempt": 0,
        "x": [0.5],
        "y": y,
        "y_true": 1.0,
        "value": 1.0,
        "corrupted": False,
        "failed": False,
        "seconds": 0.1,
        "node": "",
        "at": at,
    }


def test_a_trial_counts_once_it_and_all_before_it_have_a_weight() -> None:
    records = [observation(0, 1.0, 10.0), observation(2, 3.0, 11.0)]
    assert entries.weighted_trials(records) == []
    records.append({"kind": "suggestion", "number": 3, "weights": {"2": 0.25}})
    assert [t.observation.number for t in entries.weighted_trials(records)] == [0]
    records += [observation(1, 2.0, 12.0), {"kind": "suggestion", "number": 4, "weights": {"2": 1.0, "1": 0.4}}]
    trials = entries.weighted_trials(records)
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
    records = [observation(n, 1.0, 10.0 + n) for n in range(3)]
    records.append({"kind": "suggestion", "number": 3, "weights": {"0": 0.5, "1": 0.49, "2": 0.99}})
    assert [t.suspects for t in entries.weighted_trials(records)] == [1, 1, 1]
    end = {"kind": "end", "recommended": 0, "at": 20.0}
    final = {e.key: e.value for e in entries.final_entries(entries.by_number(records), [*records, end])}
    assert final["final_suspects"] == 1.0
