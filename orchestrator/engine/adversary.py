"""The adversary of a study, as those who evaluate trials meet it: in their own process, or as an actor for all of them."""

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from objectives import Objective
from orchestrator.campaign.runs import import_from
from orchestrator.campaign.study import ADVERSARY, Study, stream
from orchestrator.engine.build import build_adversary, build_objective
from orchestrator.engine.events import AdversaryReported, Event, Observation, Point
from orchestrator.engine.journal import LOCK_TIMEOUT, FileJournal, JournalError, header
from orchestrator.engine.reporter import simulated

if TYPE_CHECKING:
    from ray.actor import ActorHandle


BESIDE = "beside"
"""The threads of an adversary's actor that are not the one in which it decides."""
DEATHS = 10
"""How often an adversary's process may die of one question and be asked again: more is no accident, and costs the trial."""


class AdversaryClient(Protocol):
    """Who stands between the objective and the optimizer."""

    def report(
        self, number: int, attempt: int, x: Point, y_true: float, replicate_of: int | None = None
    ) -> AdversaryReported:
        """What is reported for a trial; what it costs is on disk when this returns."""


class LocalAdversary:
    """The adversary in this process; `write` puts a corruption on disk before it acts."""

    def __init__(self, study: Study, objective: Objective, write: Callable[[AdversaryReported], None]) -> None:
        self._study = study
        self._adversary = build_adversary(study, objective)
        self._write = write
        self.reports: dict[int, AdversaryReported] = {}

    def restore(self, events: Iterable[Event]) -> None:
        """Go through earlier decisions again, in their order: nothing is refilled, no answer changes."""
        for event in events:
            if isinstance(event, AdversaryReported) and event.number not in self.reports:
                self.reports[event.number] = self._confirmed(event)
            elif isinstance(event, Observation) and not event.failed and event.number >= self._study.initial:
                self._recall(event)

    def report(
        self, number: int, attempt: int, x: Point, y_true: float, replicate_of: int | None = None
    ) -> AdversaryReported:
        """The same answer for the same trial, paid for once."""
        if number not in self.reports:
            report = self._decide(number, attempt, x, y_true, self._machine(number, replicate_of))
            if report.corrupted:
                self._write(report)
            self.reports[number] = report
        return self.reports[number]

    def _machine(self, number: int, replicate_of: int | None) -> int:
        """Which of the machines that the adversary stands for ran a trial."""
        count = self._adversary.reporters
        return simulated(self._study.seed, number, count, replicate_of) if count else 0

    def _decide(self, number: int, attempt: int, x: Point, y_true: float, machine: int) -> AdversaryReported:
        rng = stream(self._study.seed, ADVERSARY, number)
        report = self._adversary.report(number - self._study.initial, np.array(x), y_true, rng, machine)
        return AdversaryReported(number, attempt, x, y_true, float(report.y), report.corrupted, report.kill, machine)

    def _confirmed(self, past: AdversaryReported) -> AdversaryReported:
        """A decision on disk, which the adversary has to make again."""
        now = self._decide(past.number, past.attempt, past.x, past.y_true, past.reporter)
        if (now.corrupted, now.kill) != (past.corrupted, past.kill):
            raise JournalError(
                f"trial {past.number} of {self._study.key}: the adversary now answers {now.y}, the journal holds"
                f" {past.y}; was its code changed?"
            )
        return past

    def _recall(self, past: Observation) -> None:
        """An observation without a decision on disk was an honest one, which the adversary saw all the same."""
        if past.number not in self.reports:
            machine = self._machine(past.number, past.replicate_of)
            self.reports[past.number] = self._decide(past.number, past.attempt, past.x, past.y_true, machine)


@dataclass(frozen=True)
class Evaluating:
    """A process that evaluates a trial, and for how long by now."""

    number: int
    attempt: int
    node: str
    pid: int
    seconds: float


class AdversaryActor:
    """The adversary of a study with several workers: one for all its trial actors, with a ledger of its own on disk.

    Runs as a named Ray actor on the driver's node. Every decision is in the ledger before it is told, and a restarted
    actor reads it back, so that a budget is neither refilled nor paid twice. Trial actors also say here what they
    begin to evaluate, so that the driver can end one that hangs. Those who ask for no decision go by `BESIDE`: an
    adversary that hangs itself keeps nobody from that.
    """

    def __init__(self, study: Study, path: Path, earlier: Sequence[Event] = (), paths: Sequence[str] = ()) -> None:
        import_from(paths)
        self._ledger = FileJournal(path, lock_timeout=LOCK_TIMEOUT)
        if not self._ledger.events:
            self._ledger.append(header(study))
        self._adversary = LocalAdversary(study, build_objective(study), lambda report: None)
        self._adversary.restore([*self._ledger.events, *earlier])
        self._written = {e.number for e in self._ledger.events if isinstance(e, AdversaryReported)}
        self._begun: dict[int, tuple[int, str, int, float]] = {}
        self._asked_at = math.inf

    def report(
        self, number: int, attempt: int, x: Point, y_true: float, replicate_of: int | None = None
    ) -> AdversaryReported:
        """The decision for a trial, written before it is told; honest ones too, because their order matters."""
        report = self._asked(number, attempt, x, y_true, replicate_of)
        if number not in self._written:
            self._ledger.append(report)
            self._written.add(number)
        return report

    def _asked(self, *question: Any) -> AdversaryReported:
        """Ask; what is raised costs the trial, `SystemExit` too, which would end this process, and the next, and the next."""
        self._asked_at = time.monotonic()
        try:
            return self._adversary.report(*question)
        except Exception:
            raise
        except BaseException as error:
            raise RuntimeError(f"the adversary raised {type(error).__name__}") from None
        finally:
            self._asked_at = math.inf

    def decided(self, number: int) -> AdversaryReported | None:
        """The decision for a trial that may have died before it could tell."""
        return self._adversary.reports.get(number)

    def begin(self, number: int, attempt: int, node: str, pid: int) -> None:
        """A process starts to evaluate a trial."""
        self._begun[number] = (attempt, node, pid, time.monotonic())

    def evaluating(self) -> list[Evaluating]:
        """The last process that began each trial; others begin meanwhile, in a thread beside this one."""
        now, begun = time.monotonic(), self._begun.copy()
        return [
            Evaluating(number, attempt, node, pid, now - since) for number, (attempt, node, pid, since) in begun.items()
        ]

    def thinking(self) -> float:
        """For how many seconds the present question has been without an answer; 0 if there is none."""
        return max(0.0, time.monotonic() - self._asked_at)

    def pid(self) -> int:
        """The process this runs in."""
        return os.getpid()


class RemoteAdversary:
    """The study's adversary actor, seen from a trial actor."""

    def __init__(self, actor: "ActorHandle[AdversaryActor]") -> None:
        self._actor = actor

    def report(
        self, number: int, attempt: int, x: Point, y_true: float, replicate_of: int | None = None
    ) -> AdversaryReported:
        """Ask the one adversary of the study; a restarted one remembers."""
        import ray

        ask = self._actor.report.options(max_task_retries=DEATHS)
        try:
            report: AdversaryReported = ray.get(ask.remote(number, attempt, x, y_true, replicate_of))
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayActorError:
            raise RuntimeError("the adversary's process died again and again") from None
        return report
