"""A sweep of somebody's own `Tuner`, as it is written down for MLflow: one line of JSON for whatever happened.

Lines are read again after a crash, by a later session or by another process: the last word on a trial counts, and a session
names the trials that Tune still knows, so that what Tune forgot is forgotten here too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Literal

from orchestrator.plain import from_strict_json, to_strict_json

JOURNAL = "mlflow-sweep.jsonl"
Status = Literal["RUNNING", "FINISHED", "FAILED", "KILLED"]
"""In the words of MLflow."""


@dataclass(frozen=True)
class Session:
    """A session of a sweep began: what it is called and aims at, and the trials that Tune knows by then."""

    sweep: str
    name: str
    experiment: str
    metric: str
    mode: str
    at: float
    trials: tuple[str, ...] = ()
    about: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SweepTrial:
    """A trial as far as it is known; dates are seconds since 1970."""

    id: str
    name: str
    params: Mapping[str, object]
    started: float
    status: Status = "RUNNING"
    ended: float | None = None
    host: str = ""


@dataclass(frozen=True)
class SweepReport:
    """What a trial reported."""

    id: str
    step: int
    at: float
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Belief:
    """How far a report is believed, and what the model expects in its place; None where nobody has looked yet."""

    id: str
    weight: float
    expected: float | None
    at: float
    step: int
    """How many trials had ended when it was weighed."""


@dataclass(frozen=True)
class Best:
    """The trial that the model believes best, and what it expects of it."""

    id: str
    reported: float
    expected: float
    at: float


@dataclass(frozen=True)
class Closed:
    """The session came to its end."""

    at: float


Line = Session | SweepTrial | SweepReport | Belief | Best | Closed
KINDS: dict[str, type[Line]] = {
    "session": Session,
    "trial": SweepTrial,
    "report": SweepReport,
    "belief": Belief,
    "best": Best,
    "closed": Closed,
}
NAMES = {kind: name for name, kind in KINDS.items()}


def to_text(line: Line) -> str:
    """As one line of strict JSON."""
    content = {f.name: getattr(line, f.name) for f in fields(line)}
    return json.dumps(to_strict_json({"kind": NAMES[type(line)], **content}), allow_nan=False, default=str)


def from_text(text: str) -> Line:
    """What `to_text` wrote."""
    content = from_strict_json(json.loads(text))
    kind = KINDS[content.pop("kind")]
    if kind is Session:
        content["trials"] = tuple(content["trials"])
    return kind(**content)


def read_lines(path: Path, start: int = 0) -> tuple[list[Line], int]:
    """The whole lines from a place in the file on, and the place after them; half a line is left for later."""
    with path.open("rb") as file:
        file.seek(start)
        whole, _, _ = file.read().rpartition(b"\n")
    texts = whole.decode().splitlines()
    return [line for text in texts for line in _readable(text)], start + len(whole) + bool(texts)


def _readable(text: str) -> Iterator[Line]:
    """A line that a killed driver left half written, and the next session completed, is no line."""
    try:
        yield from_text(text)
    except (ValueError, TypeError, KeyError):
        return


@dataclass
class Sweep:
    """A sweep as its lines tell it."""

    session: Session | None = None
    trials: dict[str, SweepTrial] = field(default_factory=dict)
    reports: dict[str, list[SweepReport]] = field(default_factory=dict)
    beliefs: dict[str, list[Belief]] = field(default_factory=dict)
    best: Best | None = None
    closed: bool = False
    ended_at: float = 0.0

    def add(self, lines: Iterable[Line]) -> None:
        """Learn what happened next."""
        for line in lines:
            self._add(line)

    def _add(self, line: Line) -> None:
        if isinstance(line, Session):
            self._begin(line)
        elif isinstance(line, SweepTrial):
            first = self.trials.get(line.id, line).started  # Tune forgets when a trial began
            self.trials[line.id] = replace(line, started=min(first, line.started))
        elif isinstance(line, SweepReport):
            self.reports.setdefault(line.id, []).append(line)
        elif isinstance(line, Belief):
            self.beliefs.setdefault(line.id, []).append(line)
        elif isinstance(line, Best):
            self.best = line
        else:
            self.closed = True
        self.ended_at = max(self.ended_at, line.started if isinstance(line, SweepTrial) else line.at)

    def _begin(self, session: Session) -> None:
        """What Tune has forgotten never was; what ran when the last session ended goes on, or will be begun anew."""
        self.session, self.closed, self.best = session, False, None
        for known in (self.trials, self.reports, self.beliefs):
            for lost in known.keys() - set(session.trials):
                del known[lost]

    def value(self, trial: str) -> float | None:
        """What the trial reported last of the metric, unless it failed."""
        assert self.session is not None
        if self.trials[trial].status == "FAILED":
            return None
        values = [
            r.metrics[self.session.metric] for r in self.reports.get(trial, ()) if self.session.metric in r.metrics
        ]
        return values[-1] if values else None

    def belief(self, trial: str) -> Belief | None:
        """How far its report is believed by now."""
        return next(reversed(self.beliefs.get(trial, ())), None)

    def ended(self) -> list[SweepTrial]:
        """The trials that are over, in the order they ended."""
        over = [t for t in self.trials.values() if t.ended is not None]
        return sorted(over, key=lambda t: t.ended or 0.0)

    def interrupted(self) -> list[SweepTrial]:
        """The trials that ran when the session ended, as what they are then."""
        return [replace(t, status="KILLED", ended=self.ended_at) for t in self.trials.values() if t.ended is None]
