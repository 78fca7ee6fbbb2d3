"""Where the time of a run went. The driver marks its stages beside the journals, which know the rest."""

import json
import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Dated, Event, Observation, SessionStarted, StudyEnded, TrialSuggested
from orchestrator.engine.history import events_of

if TYPE_CHECKING:
    from pandas import DataFrame

log = logging.getLogger(__name__)

STAGES = ("running", "ran", "reported")
"""Ends of a session's stages: imports and checks, the studies with Ray around them, the report; the rest is MLflow's."""
SPLIT = ("suggest", "evaluate", "journal", "other")
"""What a study does with its time."""
PARTS = {
    "start": "imports, checks",
    "Ray": "its processes and workers, to the first trial and after the last",
    "suggest": "the optimizers",
    "evaluate": "the objective",
    "journal": "safe on disk",
    "other": "the adversary, a replay after a resume, waiting for workers",
    "report": "tables, figures, the page",
    "tracking": "what MLflow had not written by then",
}


@dataclass
class Marks:
    """When a driver's session started, and when it reached the end of each stage, in seconds since 1970."""

    started: float
    reached: dict[str, float] = field(default_factory=dict)

    def __call__(self, stage: str) -> None:
        """The session is at the end of `stage` now."""
        self.reached[stage] = time.time()


@contextmanager
def timed(run: Run, started: float | None = None) -> Iterator[Marks]:
    """Marks for one session, kept in the run's folder however it ends; a disk that is full costs them alone."""
    marks = Marks(time.time() if started is None else started)
    try:
        yield marks
    finally:
        line = {"started": marks.started} | marks.reached | {"ended": time.time()}
        try:
            with _file(run).open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            log.warning("%s: cannot be written (%s).", _file(run), error.strerror)


def known(run: Run) -> bool:
    """Whether a session has ended: before that there are no stages to add up."""
    return bool(_sessions(run))


def run_table(run: Run) -> "DataFrame":
    """The whole run: seconds that add up to those its ended sessions took, by the clock."""
    from pandas import DataFrame

    spent = dict.fromkeys(PARTS, 0.0)
    for session in _sessions(run):
        for part, seconds in _stages(run, session).items():
            spent[part] += seconds
    total = max(sum(spent.values()), 1e-9)
    rows = [(part, seconds, f"{seconds / total:.0%}", PARTS[part]) for part, seconds in spent.items()]
    return DataFrame(
        [*rows, ("all", total, "100%", "by the clock")], columns=["part", "seconds", "share", "what it is"]
    )


def study_table(run: Run) -> "DataFrame":
    """Every study by itself: seconds from its first event to its last, session by session, and what they went to."""
    from pandas import DataFrame

    return DataFrame([{"study": study.key} | _split(events_of(run, study), study) for study in run.studies])


def _file(run: Run) -> Path:
    return run.folder / "timing.jsonl"


def _sessions(run: Run) -> list[dict[str, float]]:
    return [json.loads(line) for line in _file(run).read_text().splitlines()] if _file(run).exists() else []


def _stages(run: Run, session: dict[str, float]) -> dict[str, float]:
    """The parts of one session; a stage that was not reached took no time."""
    started, ended = session["started"], session["ended"]
    running, ran, reported = (session.get(stage, ended) for stage in STAGES)
    at = [e.at for study in run.studies for e in events_of(run, study) if isinstance(e, Dated)]
    within = [moment for moment in at if running <= moment <= ran] or [ran]
    first, last = min(within), max(within)
    parts = {"start": running - started, "Ray": first - running + ran - last}
    return parts | _shares(run, last - first) | {"report": reported - ran, "tracking": ended - reported}


def _shares(run: Run, seconds: float) -> dict[str, float]:
    """The time of all studies, which ran side by side, by what each of them did with its own."""
    sums = study_table(run)[list(SPLIT)].sum()
    return {str(part): seconds * float(value) / max(float(sums.sum()), 1e-9) for part, value in sums.items()}


def _split(events: Sequence[Event], study: Study) -> dict[str, float]:
    """Seconds by part; evaluations of several workers count as the average worker's, and suggestions overlap them."""
    sessions: list[list[Dated]] = []
    for event in events:
        if isinstance(event, SessionStarted):
            sessions.append([])
        if sessions and isinstance(event, Dated):
            sessions[-1].append(event)
    wall = sum(session[-1].at - session[0].at for session in sessions)
    suggest = sum(e.seconds for e in events if isinstance(e, TrialSuggested))
    evaluate = sum(e.seconds for e in events if isinstance(e, Observation)) / study.workers
    journal = sum(_journal_seconds(session) for session in sessions)
    other = max(0.0, wall - suggest - evaluate - journal)
    return {"wall": wall} | dict(zip(SPLIT, (suggest, evaluate, journal, other), strict=True))


def _journal_seconds(session: Sequence[Dated]) -> float:
    """What writing took in one session, as far as its events say."""
    known = [e.journal_seconds for e in session if isinstance(e, SessionStarted | TrialSuggested | StudyEnded)]
    return max(known) - min(known)
