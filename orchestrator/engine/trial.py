"""One evaluation: the objective first, then whoever may lie about it."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from objectives import Objective
from orchestrator.campaign.runs import import_from
from orchestrator.campaign.study import ADVERSARY, NOISE, Study, Suggestion, stream
from orchestrator.engine.build import build_adversary, build_objective
from orchestrator.engine.journal import FileJournal, JournalError, Record, header, of_kind, to_json


class Killed(RuntimeError):
    """The adversary asked for the evaluating process to die, and it cannot: the caller lives in it."""


@dataclass(frozen=True)
class Charge:
    """The adversary's answer to one trial; `attempt` is the try it was made for."""

    number: int
    attempt: int
    x: tuple[float, ...]
    y_true: float
    y: float
    corrupted: bool
    kill: bool = False

    def to_record(self) -> Record:
        """As the ledger and the journal keep it."""
        numbers = {"x": list(self.x), "y_true": to_json(self.y_true), "y": to_json(self.y)}
        return {"kind": "charge"} | asdict(self) | numbers

    @classmethod
    def from_record(cls, record: Record) -> "Charge":
        """The charge a record describes."""
        return cls(
            int(record["number"]),
            int(record["attempt"]),
            tuple(record["x"]),
            float(record["y_true"]),
            float(record["y"]),
            bool(record["corrupted"]),
            bool(record.get("kill", False)),
        )


class Guard(Protocol):
    """Who stands between the objective and the optimizer."""

    def answer(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        """What is reported for a trial; what it costs is on disk when this returns."""


@dataclass(frozen=True)
class Outcome:
    """What one evaluation gave, before anyone wrote it down."""

    y: float
    y_true: float
    value: float
    corrupted: bool
    seconds: float
    node: str
    progress: tuple[tuple[int, float], ...] = ()
    charge: Charge | None = None


def measurement(value: Any) -> float:
    """`value` as a float; NaN and infinities are measurements, words and lists are not."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"the objective returned {value!r:.80} ({type(value).__name__}), not a number")
    return float(value)


def evaluate(
    study: Study,
    objective: Objective,
    guard: Guard,
    suggestion: Suggestion,
    die: Callable[[], None],
    node: str = "",
) -> Outcome:
    """Evaluate one suggestion; raises what the objective raises, and calls `die` when the adversary says so."""
    progress: list[tuple[int, float]] = []
    start = time.perf_counter()
    rng = stream(study.seed, NOISE, suggestion.number)
    x = np.array(suggestion.x, dtype=np.float64)
    y_true = measurement(objective.evaluate(x, rng, report=lambda step, value: progress.append((int(step), value))))
    seconds = time.perf_counter() - start
    known = objective.noiseless(x)
    value = y_true if known is None else float(known)
    charge = None
    if suggestion.number >= study.initial:
        charge = guard.answer(suggestion.number, suggestion.attempt, suggestion.x, y_true)
        if charge.kill and charge.attempt == suggestion.attempt:
            die()
    lied = charge is not None and charge.corrupted and not charge.kill
    y = charge.y if lied and charge is not None else y_true
    return Outcome(y, y_true, value, lied, seconds, node, tuple(progress), charge)


def die_now() -> None:
    """End this process the way a lost machine does."""
    os.kill(os.getpid(), signal.SIGKILL)


def refuse_to_die() -> None:
    """For evaluations in the caller's own process: a crash as an error, for the engine to handle like one."""
    raise Killed("killed by the adversary")


class LocalGuard:
    """The adversary in the study's own process; charges go to the study's journal before they act."""

    def __init__(self, study: Study, objective: Objective, write: Callable[[Charge], None]) -> None:
        self._study = study
        self._adversary = build_adversary(study, objective)
        self._write = write
        self.charges: dict[int, Charge] = {}

    def restore(self, records: Iterable[Record]) -> None:
        """Go through earlier decisions again, in their order: nothing is refilled, no answer changes."""
        for record in of_kind(records, "charge", "observation"):
            if record["number"] >= self._study.initial and not record.get("failed", False):
                self._recall(Charge.from_record(record), bound=record["kind"] == "charge")

    def answer(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        """The same answer for the same trial, paid for once."""
        if number not in self.charges:
            charge = self._decide(number, attempt, x, y_true)
            if charge.corrupted:
                self._write(charge)
            self.charges[number] = charge
        return self.charges[number]

    def _decide(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        rng = stream(self._study.seed, ADVERSARY, number)
        report = self._adversary.report(number - self._study.initial, np.array(x), y_true, rng)
        return Charge(number, attempt, x, y_true, float(report.y), report.corrupted, report.kill)

    def _recall(self, past: Charge, *, bound: bool) -> None:
        if past.number in self.charges:
            return
        now = self._decide(past.number, past.attempt, past.x, past.y_true)
        if bound and (now.corrupted, now.kill) != (past.corrupted, past.kill):
            raise JournalError(
                f"trial {past.number} of {self._study.key}: the adversary now answers {now.y}, the journal holds"
                f" {past.y}; was its code changed?"
            )
        self.charges[past.number] = past if bound else now


class Ledger:
    """The adversary of a distributed study: one for all its trial actors, with a ledger of its own on disk.

    Runs as a named Ray actor on the driver's node. Every decision is in the ledger before it is told, and a restarted
    actor reads it back, so that a budget is neither refilled nor paid twice. It also knows who evaluates what, so that
    the driver can end a trial that hangs.
    """

    def __init__(self, study: Study, path: Path, earlier: Sequence[Record] = (), paths: Sequence[str] = ()) -> None:
        import_from(paths)
        self._journal = FileJournal(path, patience=30.0)
        if not self._journal.records:
            self._journal.append(header(study))
        self._guard = LocalGuard(study, build_objective(study), lambda charge: None)
        self._guard.restore([*self._journal.records, *earlier])
        self._written = {r["number"] for r in of_kind(self._journal.records, "charge")}
        self._running: dict[int, tuple[int, int, str, float]] = {}

    def answer(self, number: int, attempt: int, x: tuple[float, ...], y_true: float) -> Charge:
        """The decision for a trial, written before it is told; honest ones too, because their order matters."""
        charge = self._guard.answer(number, attempt, x, y_true)
        if number not in self._written:
            self._journal.append(charge.to_record())
            self._written.add(number)
        return charge

    def decided(self, number: int) -> Charge | None:
        """The decision for a trial that may have died before it could tell."""
        return self._guard.charges.get(number)

    def enter(self, number: int, attempt: int, pid: int, node: str) -> None:
        """A process starts to evaluate a trial."""
        self._running[number] = (attempt, pid, node, time.monotonic())

    def leave(self, number: int) -> None:
        """It has finished."""
        self._running.pop(number, None)

    def running(self) -> dict[int, tuple[int, int, str, float]]:
        """Attempt, process, node and seconds so far of every trial under evaluation."""
        now = time.monotonic()
        return {n: (attempt, pid, node, now - since) for n, (attempt, pid, node, since) in self._running.items()}

    def pid(self) -> int:
        """The process this runs in."""
        return os.getpid()
