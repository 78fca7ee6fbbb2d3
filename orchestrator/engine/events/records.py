"""The records of a journal: a frozen event for each, and the JSON that keeps it.

Nobody else knows the names on disk. An event is written without its version while that is 1, so that the first journals ever
written are read like those of today; a later version is a number under "version", and is refused by code that does not know it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, Self, TypeVar

from orchestrator.engine.events.adversary import AdversaryReported
from orchestrator.engine.events.request import ConfirmationAsked, Ruling
from orchestrator.engine.events.rung import RungReached
from orchestrator.engine.reporter import UNKNOWN, Reporter
from orchestrator.plain import Fields, Json, from_strict_json, spelled, to_strict_json

Point = tuple[float, ...]
FORMAT = 1
"""How a journal's lines are written: checksum, sequence number, event."""


class UnknownEventError(ValueError):
    """A record of a kind or version that this code does not know."""


class Event(Protocol):
    """A dated or undated fact; `kind` is its name on disk, `version` says what its members mean."""

    kind: ClassVar[str]
    version: ClassVar[int]

    def to_json(self) -> Json:
        """Its members as strict JSON."""

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""


E = TypeVar("E", bound=Event)


@dataclass(frozen=True)
class Header:
    """The first event of every journal: whose it is."""

    kind: ClassVar[str] = "header"
    version: ClassVar[int] = 1

    fingerprint: str
    study: Fields
    format: int = FORMAT

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return {"format": self.format, "fingerprint": self.fingerprint, "study": to_strict_json(self.study)}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(data["fingerprint"], from_strict_json(data["study"]), data["format"])


@dataclass(frozen=True)
class SessionStarted:
    """A process took the study up; `journal_seconds` is what writing had cost it by then."""

    kind: ClassVar[str] = "session"
    version: ClassVar[int] = 1

    node: str
    pid: int
    journal_seconds: float
    at: float

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return {"node": self.node, "pid": self.pid, "journal": round(self.journal_seconds, 6), "at": self.at}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(data["node"], data["pid"], data.get("journal", 0.0), data["at"])


@dataclass(frozen=True)
class TrialSuggested:
    """The optimizer chose a point, and revised what it thinks of earlier trials."""

    kind: ClassVar[str] = "suggestion"
    version: ClassVar[int] = 1

    number: int
    x: Point
    at: float
    seconds: float = 0.0
    """What choosing took."""
    journal_seconds: float = 0.0
    weights: Mapping[int, float] = field(default_factory=dict)
    """The weights that changed, by trial."""
    fallback: str = ""
    """Why the point is quasi-random; empty where the model chose it."""
    recommended: int | None = None
    """The trial that would be handed over now, where that was asked."""
    replicate_of: int | None = None
    """The trial whose point this is, where it is asked again."""

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        cost = {"seconds": round(self.seconds, 6), "journal": round(self.journal_seconds, 6)}
        weights = {"weights": _weights_to_json(self.weights), "at": self.at}
        flaw = {"fallback": self.fallback} if self.fallback else {}
        known = {"recommended": self.recommended, "replicate_of": self.replicate_of}
        return {"number": self.number, "x": list(self.x)} | cost | weights | flaw | _given(known)

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(
            number=data["number"],
            x=tuple(data["x"]),
            at=data["at"],
            seconds=data["seconds"],
            journal_seconds=data.get("journal", 0.0),
            weights=_weights_from_json(data["weights"]),
            fallback=data.get("fallback", ""),
            recommended=data.get("recommended"),
            replicate_of=data.get("replicate_of"),
        )


@dataclass(frozen=True)
class OptimizerSaved:
    """The state of the optimizer after `told` observations, without the observations: those are in the journal."""

    kind: ClassVar[str] = "belief"
    version: ClassVar[int] = 1

    layout: int
    """What the state holds; one of another layout is not read."""
    told: int
    state: Fields

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return {"layout": self.layout, "told": self.told, "state": dict(self.state)}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(data["layout"], data["told"], data["state"])


@dataclass(frozen=True)
class TrialFailed:
    """One try of a trial came to nothing."""

    kind: ClassVar[str] = "failure"
    version: ClassVar[int] = 1

    number: int
    attempt: int
    reason: str
    at: float

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return {"number": self.number, "attempt": self.attempt, "reason": self.reason, "at": self.at}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(data["number"], data["attempt"], data["reason"], data["at"])


@dataclass(frozen=True)
class Observation:
    """What came back from one trial. Only `y` reaches an optimizer; `value` exists for regret alone."""

    kind: ClassVar[str] = "observation"
    version: ClassVar[int] = 1

    number: int
    x: Point
    y: float
    y_true: float
    value: float
    """The noise-free value where the objective knows it, else `y_true`."""
    corrupted: bool = False
    failed: bool = False
    weight: float = 1.0
    """The optimizer's latest trust in this observation, 0 to 1; later events bring it."""
    seconds: float = 0.0
    node: str = ""
    attempt: int = 0
    at: float = 0.0
    """When it was written down, in seconds since 1970."""
    progress: tuple[tuple[int, float], ...] = ()
    """(step, value) pairs the objective reported on its way."""
    reporter: Reporter = UNKNOWN
    standard_error: float | None = None
    """The report's own, where the objective knows it: over folds, seeds, episodes."""
    replicate_of: int | None = None
    stopped: bool = False
    """Whether it was stopped on its way: the values are those of its last step."""

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        values = {"y": spelled(self.y), "y_true": spelled(self.y_true), "value": spelled(self.value)}
        how = {"corrupted": self.corrupted, "failed": self.failed, "seconds": round(self.seconds, 6)}
        more: Json = {"standard_error": self.standard_error, "replicate_of": self.replicate_of}
        more |= {
            "progress": [[step, spelled(value)] for step, value in self.progress] or None,
            "stopped": self.stopped or None,
        }
        trial = {"number": self.number, "attempt": self.attempt, "x": list(self.x)}
        return trial | values | how | {"node": self.node, "at": self.at} | _given(more) | self.reporter.to_json()

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(
            number=data["number"],
            x=tuple(data["x"]),
            y=float(data["y"]),
            y_true=float(data["y_true"]),
            value=float(data["value"]),
            corrupted=data["corrupted"],
            failed=data["failed"],
            seconds=data["seconds"],
            node=data["node"],
            attempt=data["attempt"],
            at=data["at"],
            progress=tuple((step, float(value)) for step, value in data.get("progress", ())),
            reporter=Reporter.from_json(data),
            standard_error=data.get("standard_error"),
            replicate_of=data.get("replicate_of"),
            stopped=data.get("stopped", False),
        )


@dataclass(frozen=True)
class StudyEnded:
    """Every trial is settled: what the optimizer recommends and expects, and the weights that changed last."""

    kind: ClassVar[str] = "end"
    version: ClassVar[int] = 1

    recommended: int
    at: float
    journal_seconds: float = 0.0
    weights: Mapping[int, float] = field(default_factory=dict)
    mean: float | None = None
    std: float | None = None
    """The posterior at the recommended trial, where a model gave it."""
    expected: Mapping[int, float] = field(default_factory=dict)
    """What the model expects at each trial; empty where it was not kept."""
    deviations: Mapping[int, float] = field(default_factory=dict)
    """Of what it expects, one standard deviation each."""
    probability: float | None = None
    """That no trial is better than the recommended one."""

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        spent = round(self.journal_seconds, 6)
        weights = _weights_to_json(self.weights)
        end = {"recommended": self.recommended, "weights": weights, "journal": spent, "at": self.at}
        if self.mean is None or self.std is None:
            return end
        more = _given({"deviations": _numbers_to_json(self.deviations) or None, "probability": self.probability})
        expected = _numbers_to_json(self.expected)
        return end | {"mean": spelled(self.mean), "std": spelled(self.std), "expected": expected} | more

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(
            recommended=data["recommended"],
            at=data["at"],
            journal_seconds=data.get("journal", 0.0),
            weights=_weights_from_json(data["weights"]),
            mean=float(data["mean"]) if "mean" in data else None,
            std=float(data["std"]) if "std" in data else None,
            expected=_numbers_from_json(data.get("expected", {})),
            deviations=_numbers_from_json(data.get("deviations", {})),
            probability=data.get("probability"),
        )


Weighing = TrialSuggested | StudyEnded
"""The events that bring new weights."""
Dated = SessionStarted | TrialSuggested | TrialFailed | Observation | StudyEnded | Ruling | ConfirmationAsked
"""The events that say when they happened."""
KINDS: dict[str, type[Event]] = {
    event.kind: event
    for event in (
        Header,
        SessionStarted,
        TrialSuggested,
        OptimizerSaved,
        AdversaryReported,
        TrialFailed,
        RungReached,
        Observation,
        StudyEnded,
        Ruling,
        ConfirmationAsked,
    )
}


def to_json(event: Event) -> Json:
    """An event as the journal keeps it."""
    version = {} if event.version == 1 else {"version": event.version}
    return {"kind": event.kind} | version | event.to_json()


def from_json(data: Fields) -> Event:
    """The event that `to_json` wrote."""
    kind, version = data["kind"], data.get("version", 1)
    if kind not in KINDS or version > KINDS[kind].version:
        raise UnknownEventError(f"{kind!r} of version {version} is not known here")
    return KINDS[kind].from_json(data)


def of_type(events: Iterable[Event], kind: type[E]) -> list[E]:
    """The events of one type, in order."""
    return [event for event in events if isinstance(event, kind)]


def _given(members: Json) -> Json:
    """Those that say something: the first journals had none of them."""
    return {name: value for name, value in members.items() if value is not None}


def _numbers_to_json(values: Mapping[int, float]) -> Json:
    return {str(number): spelled(value) for number, value in values.items()}


def _numbers_from_json(values: Fields) -> dict[int, float]:
    return {int(number): float(value) for number, value in values.items()}


def _weights_to_json(weights: Mapping[int, float]) -> dict[str, float]:
    return {str(number): weight for number, weight in weights.items()}


def _weights_from_json(weights: Mapping[str, float]) -> dict[int, float]:
    return {int(number): weight for number, weight in weights.items()}
