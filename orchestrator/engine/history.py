"""What the journals of a run say so far: for those who resume it, show it or track it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import (
    AdversaryReported,
    Event,
    Observation,
    Request,
    Ruling,
    StudyEnded,
    TrialSuggested,
    Weighing,
    of_type,
)
from orchestrator.engine.journal import only_requests, read
from orchestrator.engine.request_file import unheard

KEPT = 64
"""Journals that are kept in memory as they were last read."""


def events_of(run: Run, study: Study) -> list[Event]:
    """What happened in a study so far."""
    path = run.journal(study)
    if not path.exists():
        return []
    seen = path.stat()
    return list(_read(path, seen.st_ino, seen.st_size, seen.st_mtime_ns))


@lru_cache(maxsize=KEPT)
def _read(path: Path, *version: int) -> tuple[Event, ...]:
    """A journal as it was when it had this size and date: a report asks for the same one again and again."""
    return tuple(read(path))


def observations_of(run: Run, study: Study) -> list[Observation]:
    """The settled trials of a study so far."""
    return observations(events_of(run, study))


def unfinished(run: Run) -> list[Study]:
    """The studies that are not complete, or of which something was asked that they have not heard yet."""
    found = [(study, events_of(run, study)) for study in run.studies]
    return [study for study, events in found if not is_ended(events) or unheard(run, study, events)]


def planned(study: Study, events: Iterable[Event]) -> int:
    """The trials of a study: those of its plan, and what people asked for on top of it."""
    return study.total + sum(request.extra for request in only_requests(events))


@dataclass(frozen=True)
class Summary:
    """How far a study is, in a few figures."""

    done: int
    total: int
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
        total=planned(study, events),
        failed=sum(is_fruitless(o) for o in settled),
        corrupted=len({e.number for e in events if isinstance(e, AdversaryReported) and e.corrupted}),
        suspects=sum(o.weight < SUSPECT_WEIGHT and not is_fruitless(o) for o in settled),
        fallbacks=fallbacks(events),
    )


def is_fruitless(o: Observation) -> bool:
    """Whether nothing came of a trial: it failed for good or, with nobody lying, reported NaN or minus infinity."""
    return o.failed or (not o.corrupted and (math.isnan(o.y) or o.y == -math.inf))


def fallbacks(events: Iterable[Event]) -> int:
    """How many points were quasi-random because the model failed."""
    return sum(isinstance(e, TrialSuggested) and bool(e.fallback) for e in events)


def observations(events: Sequence[Event]) -> list[Observation]:
    """The trials in the order they came back, each with its latest weight."""
    weights = latest_weights(events)
    return [
        replace(e, weight=weights[e.number]) if e.number in weights else e  # few are doubted
        for e in of_type(events, Observation)
    ]


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
    """Whether the study is complete, and nothing was asked of it since."""
    return ending(events) is not None


def ending(events: Iterable[Event]) -> StudyEnded | None:
    """What a complete study concluded; None while it is not complete, or once more was asked of it."""
    last = None
    for event in events:
        if isinstance(event, StudyEnded):
            last = event
        elif isinstance(event, Request):
            last = None
    return last


def rulings(events: Iterable[Event]) -> dict[int, Ruling]:
    """What people say of the trials now: the last ruling on each, without those taken back."""
    found: dict[int, Ruling] = {}
    for event in of_type(events, Ruling):
        if event.ruling == "clear":
            found.pop(event.number, None)
        elif event.ruling != "again":
            found[event.number] = event
    return found
