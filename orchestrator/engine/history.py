"""What the journals of a run say so far: for those who resume it, show it or track it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import (
    AdversaryReported,
    Event,
    Observation,
    StudyEnded,
    TrialSuggested,
    Weighing,
    of_type,
)
from orchestrator.engine.journal import read


def events_of(run: Run, study: Study) -> list[Event]:
    """What happened in a study so far."""
    path = run.journal(study)
    return read(path) if path.exists() else []


def observations_of(run: Run, study: Study) -> list[Observation]:
    """The settled trials of a study so far."""
    return observations(events_of(run, study))


def unfinished(run: Run) -> list[Study]:
    """The studies that are not complete."""
    return [study for study in run.studies if not is_ended(events_of(run, study))]


@dataclass(frozen=True)
class Summary:
    """How far a study is, in a few figures."""

    done: int
    failed: int
    corrupted: int
    suspects: int
    fallbacks: int


def summary(run: Run, study: Study) -> Summary:
    """The figures of a study."""
    from rcgp import SUSPECT_WEIGHT  # here: a list of runs needs no mathematics

    events = events_of(run, study)
    settled = observations(events)
    return Summary(
        done=len(settled),
        failed=sum(o.failed for o in settled),
        corrupted=len({e.number for e in events if isinstance(e, AdversaryReported) and e.corrupted}),
        suspects=sum(o.weight < SUSPECT_WEIGHT for o in settled),
        fallbacks=fallbacks(events),
    )


def fallbacks(events: Iterable[Event]) -> int:
    """How many points were quasi-random because the model failed."""
    return sum(isinstance(e, TrialSuggested) and bool(e.fallback) for e in events)


def observations(events: Sequence[Event]) -> list[Observation]:
    """The trials in the order they came back, each with its latest weight."""
    weights = latest_weights(events)
    return [replace(e, weight=weights.get(e.number, 1.0)) for e in of_type(events, Observation)]


def recommendations(events: Iterable[Event]) -> dict[int, int]:
    """Which trial would have been handed over once each trial was known, as far as that was asked."""
    waiting: list[int] = []
    found: dict[int, int] = {}
    for event in events:
        if isinstance(event, Observation):
            waiting.append(event.number)
        elif isinstance(event, Weighing) and event.recommended is not None:
            found |= dict.fromkeys(waiting[-1:], event.recommended)
            waiting.clear()
    return found


def latest_weights(events: Iterable[Event]) -> dict[int, float]:
    """The last weight of every trial that was not fully trusted all along."""
    weights: dict[int, float] = {}
    for event in events:
        if isinstance(event, Weighing):
            weights |= event.weights
    return weights


def is_ended(events: Iterable[Event]) -> bool:
    """Whether the study is complete."""
    return any(isinstance(event, StudyEnded) for event in events)
