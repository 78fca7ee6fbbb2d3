"""Watching a run: whoever shows or tracks it reads the journals, off the critical path."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Event, Observation, RungReached, SessionStarted, TrialFailed, TrialSuggested
from orchestrator.engine.journal import Tail
from orchestrator.engine.trial import reason

log = logging.getLogger(__name__)
POLL_SECONDS = 0.2


class Listener(Protocol):
    """A view of the journals. It is told what is already on disk, in order, from a thread of its own."""

    def on_events(self, study: Study, events: Sequence[Event]) -> None:
        """New events of a study; on resume the old ones come first."""

    def close(self) -> None:
        """Nothing more will come in this session."""


@dataclass
class Heartbeat:
    """The last sign of life of a study, as its journal shows it: who runs it, and how far it is."""

    at: float = 0.0
    """When it was seen, by the monotonic clock."""
    evaluating: bool = False
    """Whether a trial is under evaluation since then, in a study that runs one at a time."""
    node: str = ""
    pid: int = 0
    """The process that runs it in this session of the driver; 0 before there is one."""
    settled: int = 0
    suggested: int = 0

    def reset(self) -> None:
        """Whoever ran the study runs it no more; what is still read of it says nothing of the next process."""
        self.evaluating, self.node, self.pid = False, "", 0

    def take(self, events: Sequence[Event]) -> None:
        """Learn from the latest events."""
        for event in events:
            if isinstance(event, SessionStarted):
                self.node, self.pid = event.node, event.pid
            self.settled += isinstance(event, Observation)
            self.suggested += isinstance(event, TrialSuggested)
        events = [event for event in events if not isinstance(event, RungReached)]  # the trial goes on as it was
        if not events:
            return
        self.at = time.monotonic()
        self.evaluating = self.pid != 0 and self._begins_a_trial(events[-1])

    def _begins_a_trial(self, event: Event) -> bool:
        """Whether an evaluation follows the event; a new session first takes up the trial that the last one left."""
        left_over = isinstance(event, SessionStarted) and self.suggested > self.settled
        return left_over or isinstance(event, TrialSuggested | TrialFailed)


class Watcher:
    """Follows the journals of a run and tells the listeners; one that fails is dropped, never the study."""

    def __init__(self, run: Run, listeners: Sequence[Listener]) -> None:
        self.heartbeats = {study.key: Heartbeat() for study in run.studies}
        self._tails = [(study, Tail(run.journal(study))) for study in run.studies]
        self._listeners = list(listeners)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watcher", daemon=True)

    def __enter__(self) -> "Watcher":
        self._look()
        for heartbeat in self.heartbeats.values():  # the past may name machines and processes that are gone
            heartbeat.reset()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()
        for listener in self._listeners:
            listener.close()

    def _follow(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            try:
                self._look()
            except Exception as error:  # an objective in this process may have broken something for a moment
                log.warning("A look at the journals failed (%s); the next one tries again.", reason(error))

    def _look(self) -> None:
        for study, tail in self._tails:
            events = tail.fresh()
            if events:
                self.heartbeats[study.key].take(events)
                self._tell(study, events)

    def _tell(self, study: Study, events: Sequence[Event]) -> None:
        for listener in list(self._listeners):
            try:
                listener.on_events(study, events)
            except Exception as error:  # a view must not stop what it shows; the journal has everything for later
                log.warning("%s failed (%s) and hears no more of this run.", type(listener).__name__, reason(error))
                log.debug("It failed here:", exc_info=True)
                self._listeners.remove(listener)
