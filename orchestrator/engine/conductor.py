"""The conductor of a study: its optimizer, driven by its journal. Every event is written before the optimizer learns it."""

import logging
import math
import time
from typing import Any

import numpy as np
from scipy.stats import qmc

from objectives import Objective
from orchestrator.campaign.study import Observation, Study, Suggestion
from orchestrator.engine.build import build_optimizer
from orchestrator.engine.journal import Log, Record, check_header, header, to_record
from orchestrator.engine.trial import Charge, Outcome

log = logging.getLogger(__name__)

BELIEF_LAYOUT = 2
"""Changes with what an optimizer's `state_dict` holds and with the default rules behind it: a belief of another layout is not
read but thought again."""
BELIEF_EVERY = 20
"""Trials between two beliefs in the journal, or a twentieth of all once that is more: a resume thinks no longer than that."""


class Conductor:
    """Hands out trials and takes in results, for one engine or another.

    Opening a journal with a past replays it: tells and updates in their order rebuild the optimizer exactly, without
    paying for acquisition, and from the last belief on that was written down. Trials that were suggested and never
    settled are handed out again, the same points.
    """

    def __init__(self, study: Study, objective: Objective, journal: Log, *, shared: bool = False) -> None:
        self.study, self.objective, self.journal = study, objective, journal
        self._shared = shared
        """Whether other processes learn of a suggestion: if not, a lost one is asked again and is the same."""
        self.optimizer = build_optimizer(study, objective)
        self._open: dict[int, Suggestion] = {}
        self._running: set[int] = set()
        self._told: list[int] = []
        self._weights: dict[int, float] = {}
        self._charges: dict[int, Charge] = {}
        self._next = 0
        self._believed = 0
        """How many observations the last belief in the journal knew."""
        self._ended = False
        if not journal.records:
            journal.append(header(study))
        recalled = max((i for i, r in enumerate(journal.records) if r.get("layout") == BELIEF_LAYOUT), default=0)
        for index, record in enumerate(journal.records):
            self._replay(record, thought=index < recalled)
        for lost in [s for s in self._open.values() if s.attempt > study.retries]:
            self._give_up(lost)

    @property
    def finished(self) -> bool:
        """Whether every trial is settled."""
        return len(self._told) == self.study.total

    @property
    def running(self) -> int:
        """How many trials are under evaluation."""
        return len(self._running)

    def begin(self, node: str, pid: int) -> None:
        """Note that a process takes the study up."""
        spent = round(self.journal.seconds, 6)
        self.journal.append({"kind": "session", "node": node, "pid": pid, "journal": spent, "at": time.time()})

    def next(self) -> Suggestion | None:
        """The trial to run now - one that was suggested and lost, else a new one - or None when there is none."""
        waiting = [s for number, s in self._open.items() if number not in self._running]
        if not waiting and self._next == self.study.total:
            return None
        suggestion = waiting[0] if waiting else self._suggest()
        self._running.add(suggestion.number)
        return suggestion

    def observe(self, suggestion: Suggestion, outcome: Outcome) -> None:
        """Write down what a trial gave, then tell the optimizer."""
        if outcome.charge is not None and outcome.charge.corrupted:
            self.charge(outcome.charge)
        self._settle(
            Observation(
                number=suggestion.number,
                x=suggestion.x,
                y=outcome.y,
                y_true=outcome.y_true,
                value=outcome.value,
                corrupted=outcome.corrupted,
                seconds=outcome.seconds,
                node=outcome.node,
                attempt=suggestion.attempt,
                progress=outcome.progress,
            )
        )

    def charge(self, charge: Charge) -> None:
        """Write down what the adversary did, once."""
        if charge.number not in self._charges:
            self.journal.append(charge.to_record())
            self._charges[charge.number] = charge

    def fail(self, suggestion: Suggestion, reason: str) -> None:
        """Write down a failed try; while the study allows another the trial goes back in line."""
        number, attempt = suggestion.number, suggestion.attempt
        failure = {"kind": "failure", "number": number, "attempt": attempt, "reason": reason[:500], "at": time.time()}
        self.journal.append(failure)
        self._running.discard(number)
        self._open[number] = Suggestion(number, suggestion.x, attempt + 1)
        if attempt >= self.study.retries:
            self._give_up(self._open[number])

    def fail_open(self, reason: str) -> None:
        """The process that held the open trials died: each of them failed once."""
        for suggestion in list(self._open.values()):
            self.fail(suggestion, reason)

    def close(self) -> None:
        """Write down, once, what the optimizer believes in the end."""
        if self.finished and not self._ended:
            self.optimizer.update()
            best = self._told[self.optimizer.recommend()]
            self.journal.append(
                {
                    "kind": "end",
                    "recommended": best,
                    "weights": self._changed(),
                    "journal": round(self.journal.seconds, 6),
                    "at": time.time(),
                }
            )
            self._ended = True

    def _suggest(self) -> Suggestion:
        start, before = time.perf_counter(), self.optimizer.failures
        x, flaw = self._ask()
        if self.optimizer.failures > before:
            flaw = "no suggestion from the model"
        suggestion = Suggestion(self._next, tuple(map(float, x)))
        record: Record = {
            "kind": "suggestion",
            "number": self._next,
            "x": list(suggestion.x),
            "seconds": round(time.perf_counter() - start, 6),
            "journal": round(self.journal.seconds, 6),
            "weights": self._changed(),
            "at": time.time(),
        }
        self.journal.append(*self._belief(), record | ({"fallback": flaw} if flaw else {}), sync=self._shared)
        self._open[self._next] = suggestion
        self._next += 1
        return suggestion

    def _ask(self) -> tuple[Any, str]:
        """The optimizer's point; when it throws, a quasi-random one, and the reason for the record."""
        pending = np.array([s.x for s in self._open.values()]) if self._open else None
        try:
            return self.optimizer.ask(pending), ""
        except Exception as error:  # a broken model must not stop a study: the flaw is recorded, counted and shown
            flaw = f"{type(error).__name__}: {error}"[:300]
            log.warning("%s, trial %d: %s; a quasi-random point instead.", self.study.key, self._next, flaw)
            sobol = qmc.Sobol(self.objective.dim, rng=np.random.default_rng([self.study.seed, 3]))
            points = sobol.random(1 << self._next.bit_length())
            return self.objective.space.project(points)[self._next], flaw

    def _belief(self) -> list[Record]:
        """What the optimizer concluded so far, when it is time to write it down; what it was told is in the journal."""
        told = len(self._told)
        if told - self._believed < max(BELIEF_EVERY, told // 20):
            return []
        self._believed = told
        state = {key: value for key, value in self.optimizer.state_dict().items() if key not in ("X", "y")}
        return [{"kind": "belief", "layout": BELIEF_LAYOUT, "told": told, "state": state}]

    def _changed(self) -> dict[str, float]:
        """Weights that moved since they were last written, by trial."""
        changed = {}
        for number, weight in zip(self._told, self.optimizer.committed_weights(), strict=True):
            if self._weights.get(number, 1.0) != weight:
                changed[str(number)] = self._weights[number] = float(weight)
        return changed

    def _give_up(self, suggestion: Suggestion) -> None:
        known = self.objective.noiseless(np.array(suggestion.x))
        charge = self._charges.get(suggestion.number)
        y_true = math.nan if charge is None else charge.y_true
        self._settle(
            Observation(
                number=suggestion.number,
                x=suggestion.x,
                y=math.nan if self.study.crash_value is None else self.study.crash_value,
                y_true=y_true,
                value=y_true if known is None else float(known),
                corrupted=charge is not None,
                failed=True,
                attempt=suggestion.attempt - 1,
            )
        )

    def _settle(self, observation: Observation) -> None:
        self.journal.append(to_record(observation))
        self._absorb(observation.number, observation.x, observation.y)

    def _absorb(self, number: int, x: tuple[float, ...], y: float) -> None:
        self._open.pop(number, None)
        self._running.discard(number)
        self._told.append(number)
        self.optimizer.tell(np.array(x), y)

    def _replay(self, record: Record, thought: bool) -> None:
        """Live through one record again; `thought` is what a belief further on has concluded already."""
        match record["kind"]:
            case "header":
                check_header(record, self.study, self.journal.path)
            case "belief":
                self._believed = record["told"]
                if not thought and record["layout"] == BELIEF_LAYOUT:
                    told = {key: self.optimizer.state_dict()[key] for key in ("X", "y")}
                    self.optimizer.load_state_dict(record["state"] | told)
            case "suggestion":
                if not thought:
                    self._update()
                self._weights |= {int(k): v for k, v in record["weights"].items()}
                self._open[record["number"]] = Suggestion(record["number"], tuple(record["x"]))
                self._next = record["number"] + 1
            case "failure":
                old = self._open[record["number"]]
                self._open[old.number] = Suggestion(old.number, old.x, record["attempt"] + 1)
            case "charge":
                self._charges[record["number"]] = Charge.from_record(record)
            case "observation":
                self._absorb(record["number"], tuple(record["x"]), float(record["y"]))
            case "end":
                self._ended = True

    def _update(self) -> None:
        try:
            self.optimizer.update()
        except Exception as error:  # it threw when this was lived first, and the flaw is in the journal
            log.info("%s: %s while replaying", self.study.key, error)
