"""The sessions of a run: with what, how long, how they ended, and where the time went.

The driver keeps its marks beside the journals, which know the rest.
"""

import json
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Dated, Event, Observation, SessionStarted, StudyEnded, TrialSuggested
from orchestrator.engine.history import events_of
from orchestrator.plain import Fields, Json
from orchestrator.review.provenance import commit, image, versions

if TYPE_CHECKING:
    from pandas import DataFrame

log = logging.getLogger(__name__)

COMPLETE, FAILED, OUT_OF_TIME, INTERRUPTED = "complete", "failed", "time limit", "interrupted"
"""How a session can end."""
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
    """When a driver's session started, when it reached the end of each stage (seconds since 1970), and how it ended.

    Every mark is kept in the run's folder at once: a session that is killed leaves what it knew. A full disk costs the
    marks alone.
    """

    file: Path
    started: float
    reached: dict[str, float] = field(default_factory=dict)
    outcome: str = ""
    ray: bool = True
    """Whether Ray ran the trials, rather than this process."""

    def __call__(self, stage: str, outcome: str = "") -> None:
        """The session is at the end of `stage` now; `outcome` says what became of the studies."""
        self.reached[stage], self.outcome = time.time(), outcome or self.outcome
        self.keep()

    def keep(self) -> None:
        """Write down what is known; the last line of a session counts."""
        line = {"started": self.started, "versions": versions(), "commit": commit(), "outcome": self.outcome}
        line |= ({"image": image()} if image() else {}) | ({} if self.ray else {"ray": False})
        try:
            with self.file.open("a") as file:
                file.write(json.dumps(line | self.reached) + "\n")
        except OSError as error:
            log.warning("%s: cannot be written (%s).", self.file, error.strerror)


@contextmanager
def timed(run: Run, started: float | None = None, ray: bool = True) -> Iterator[Marks]:
    """Marks for one session, kept however it ends."""
    marks = Marks(_file(run), time.time() if started is None else started, ray=ray)
    try:
        yield marks
    finally:
        marks("ended", marks.outcome or INTERRUPTED)


@dataclass(frozen=True)
class Session:
    """One driver's time at a run. What was not kept - by a session that was killed, by an older version - is empty."""

    started: float
    ended: float | None = None
    outcome: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    image: str = ""
    ray: bool = True
    reached: Mapping[str, float] = field(default_factory=dict)


def sessions(run: Run) -> list[Session]:
    """The sessions of a run, in the order they started."""
    latest = {line["started"]: line for line in _lines(_file(run))}
    return [_session(line) for line in latest.values()]


def _lines(file: Path) -> Iterator[Json]:
    """What the marks say; a last line that was torn by a kill says nothing."""
    for line in file.read_text().splitlines() if file.exists() else []:
        with suppress(ValueError):
            yield json.loads(line)


def _session(line: Fields) -> Session:
    known = {
        key: line[key] for key in ("started", "ended", "outcome", "versions", "commit", "image", "ray") if key in line
    }
    return Session(**known, reached={stage: line[stage] for stage in STAGES if stage in line})


def known(run: Run) -> bool:
    """Whether a session has ended: before that there are no stages to add up."""
    return any(session.ended is not None for session in sessions(run))


def run_table(run: Run) -> "DataFrame":
    """The whole run: seconds that add up to those its ended sessions took, by the clock."""
    from pandas import DataFrame

    kept = sessions(run)
    on_ray = any(session.ray for session in kept)
    spent = {part: 0.0 for part in PARTS if on_ray or part != "Ray"}
    for session in kept:
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


def _stages(run: Run, session: Session) -> dict[str, float]:
    """The parts of one session that ended; a stage that was not reached took no time."""
    if session.ended is None:
        return {}
    started, ended = session.started, session.ended
    running, ran, reported = (session.reached.get(stage, ended) for stage in STAGES)
    at = [e.at for study in run.studies for e in events_of(run, study) if isinstance(e, Dated)]
    within = [moment for moment in at if running <= moment <= ran] or [ran]
    first, last = min(within), max(within)
    begun, around = running - started, first - running + ran - last
    parts = {"start": begun, "Ray": around} if session.ray else {"start": begun + around}
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
