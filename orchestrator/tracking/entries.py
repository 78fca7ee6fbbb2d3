"""The numbers MLflow is told of a run, as plain data: one dated number after the other.

Everything here is a function of the journals. The dates are the journals' too, so that telling MLflow twice changes
nothing: it keeps equal rows once.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from objectives import Objective
from orchestrator.engine.events import Event, Observation, StudyEnded, Weighing, of_type
from orchestrator.engine.history import fallbacks, is_fruitless, observations
from orchestrator.review.regret import best_so_far, regret_curves
from rcgp import SUSPECT_WEIGHT

BY_RESOURCE = "_by_resource"
"""Ends the name of a metric whose step is not the trial but what all trials up to it spent."""


@dataclass(frozen=True)
class Entry:
    """One number: its name, its trial, and when it was written down (milliseconds since 1970)."""

    key: str
    value: float
    step: int
    at: int


@dataclass(frozen=True)
class WeightedTrial:
    """A trial, its weight when the optimizer first gave it one, and how many suspects there were then."""

    observation: Observation
    first_weight: float
    suspects: int


def by_number(events: Sequence[Event]) -> list[Observation]:
    """The trials of a journal, by number."""
    return sorted(observations(events), key=lambda o: o.number)


def weighted_trials(events: Sequence[Event]) -> list[WeightedTrial]:
    """The trials by number, up to the first that is not settled or has no weight yet."""
    settled = {o.number: o for o in observations(events)}
    weights: dict[int, float] = {}
    waiting: list[int] = []
    found: dict[int, WeightedTrial] = {}
    for event in events:
        if isinstance(event, Observation):
            waiting.append(event.number)
        if isinstance(event, Weighing):
            weights |= event.weights
            suspects = sum(
                w < SUSPECT_WEIGHT for n, w in weights.items() if n in settled and not is_fruitless(settled[n])
            )
            found |= {n: WeightedTrial(settled[n], weights.get(n, 1.0), suspects) for n in waiting}
            waiting.clear()
    return [found[n] for n in range(_first_gap(found))]


def _first_gap(found: Mapping[int, WeightedTrial]) -> int:
    return next(n for n in range(len(found) + 1) if n not in found)


def number(key: str, value: float) -> Iterator[tuple[str, float]]:
    """A value under its name; what is not finite becomes a flag, because MLflow would store infinity as 1.8e308."""
    if math.isfinite(value):
        yield key, value
    elif math.isnan(value):
        yield f"{key}_nan", 1.0
    else:
        yield f"{key}_inf", math.copysign(1.0, value)


def trial_entries(trials: Sequence[WeightedTrial], start: int) -> list[Entry]:
    """The numbers of the trials from `start` on that are known as soon as they have a weight."""
    best = best_so_far(np.array([t.observation.value for t in trials]))
    return [
        Entry(key, value, trial.observation.number, milliseconds(trial.observation.at))
        for trial, top in zip(trials[start:], best[start:], strict=True)
        for key, value in _trial_numbers(trial, float(top))
    ]


def _trial_numbers(trial: WeightedTrial, best: float) -> Iterator[tuple[str, float]]:
    o = trial.observation
    yield from number("observed", o.y)
    yield from number("true_value", o.y_true)
    yield "corrupted", float(o.corrupted)
    yield "failed", float(is_fruitless(o))
    yield "first_weight", trial.first_weight
    yield "suspects", float(trial.suspects)
    yield from number("best_so_far", best)


def regret_entries(seen: Sequence[Observation], best: float, worst: float, initial: int, start: int = 0) -> list[Entry]:
    """Simple and cumulative regret of the trials from `start` on; `seen` are all trials, by number."""
    numbers, values = np.array([o.number for o in seen]), np.array([o.value for o in seen])
    curves = regret_curves(numbers, values, best, worst, initial)
    return [
        Entry(key, value, o.number, milliseconds(o.at))
        for name in ("simple_regret", "cumulative_regret")
        for o, point in zip(seen[start:], curves[name][start:], strict=True)
        for key, value in number(name, float(point))
    ]


def resource_entries(seen: Sequence[Observation], regrets: Sequence[Entry], start: int = 0) -> list[Entry]:
    """What the trials from `start` on spent, which were stopped, and the `regrets` of all trials by steps spent instead.

    `seen` are all trials, by number.
    """
    spent = np.cumsum([max((step for step, _ in o.progress), default=0) for o in seen]).tolist()
    rows = [
        Entry(key, value, o.number, milliseconds(o.at))
        for o, total in list(zip(seen, spent, strict=True))[start:]
        for key, value in (("stopped", float(o.stopped)), ("resource_spent", float(total)))
    ]
    place = {o.number: total for o, total in zip(seen, spent, strict=True)}
    return rows + [
        replace(e, key=f"{e.key}{BY_RESOURCE}", step=place[e.step]) for e in regrets if e.key == "simple_regret"
    ]


def weight_entries(seen: Sequence[Observation], events: Sequence[Event] = ()) -> list[Entry]:
    """What the optimizer believes of each trial in the end; where a study went on after one, as of the last."""
    again = len(of_type(events, StudyEnded)) > 1
    return [Entry("weight", o.weight, o.number, ended_at(events) if again else milliseconds(o.at)) for o in seen]


def final_entries(seen: Sequence[Observation], events: Sequence[Event]) -> list[Entry]:
    """What a complete study came to, in a few numbers."""
    end = of_type(events, StudyEnded)[-1]
    recommended = next(o for o in seen if o.number == end.recommended)
    figures = {
        "final_best_value": float(best_so_far(np.array([o.value for o in seen]))[-1]),
        "final_recommended_value": recommended.value,
        "final_recommended_trial": float(recommended.number),
        "final_corrupted": float(sum(o.corrupted for o in seen)),
        "final_suspects": float(sum(o.weight < SUSPECT_WEIGHT and not is_fruitless(o) for o in seen)),
        "final_failed": float(sum(is_fruitless(o) for o in seen)),
        "final_fallbacks": float(fallbacks(events)),
        "final_seconds": sum(o.seconds for o in seen),
    }
    at = milliseconds(end.at)
    return [Entry(k, v, 0, at) for key, value in figures.items() for k, v in number(key, value)]


def final_regret_entries(regrets: Sequence[Entry]) -> list[Entry]:
    """The last of each regret, under its final name."""
    last = {entry.key: entry for entry in regrets}
    return [Entry(f"final_{key}", e.value, 0, e.at) for key, e in last.items()]


def needs_no_other(seen: Sequence[Observation], objective: Objective) -> bool:
    """Whether a study's regret is known without the other studies: from a known maximum, with a value for every trial."""
    return objective.optimum is not None and all(math.isfinite(o.value) for o in seen)


def final_regrets_of(seen: Sequence[Observation], objective: Objective, initial: int) -> list[Entry]:
    """The final regrets of a study that needs no other."""
    assert objective.optimum is not None
    return final_regret_entries(regret_entries(seen, objective.optimum.value, math.nan, initial))


def child_entries(o: Observation) -> list[Entry]:
    """The numbers of an expensive trial's own run, its curve of epochs or episodes included."""
    at = milliseconds(o.at)
    pairs = [*number("observed", o.y), *number("true_value", o.y_true), ("corrupted", float(o.corrupted))]
    scalars = [
        Entry(key, value, 0, at) for key, value in (*pairs, ("failed", float(is_fruitless(o))), ("seconds", o.seconds))
    ]
    curve = [(step, key, value) for step, v in o.progress for key, value in number("progress", v)]
    return scalars + [Entry(key, value, step, at) for step, key, value in curve]


def bends(rows: Sequence[Entry]) -> list[Entry]:
    """The rows that make the same curves: of a stretch that stays level its two ends, of every other all points.

    Most curves of a study stand still most of the time, and MLflow takes a quarter of a millisecond for each number. What trials
    reported is no curve: every report is there.
    """
    curves: dict[str, list[Entry]] = {}
    for row in rows:
        curves.setdefault(row.key, []).append(row)
    return [row for key, curve in curves.items() for row in (curve if key == "observed" else _corners(curve))]


def _corners(curve: Sequence[Entry]) -> Iterator[Entry]:
    values = [row.value for row in curve]
    for i, row in enumerate(curve):
        if i in (0, len(curve) - 1) or not values[i - 1] == row.value == values[i + 1]:
            yield row


def ended_at(events: Sequence[Event]) -> int:
    """When a complete study was over."""
    return milliseconds(of_type(events, StudyEnded)[-1].at)


def milliseconds(seconds: float) -> int:
    """MLflow's clock."""
    return round(seconds * 1000)
