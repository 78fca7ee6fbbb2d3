"""Watching a run: whoever shows or tracks it reads the journals, off the critical path."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.journal import Record, Tail

log = logging.getLogger(__name__)
POLL_SECONDS = 0.2


class Listener(Protocol):
    """A view of the journals. It is told what is already on disk, in order, from a thread of its own."""

    def on_records(self, study: Study, records: Sequence[Record]) -> None:
        """New records of a study; on resume the old ones come first."""

    def close(self) -> None:
        """Nothing more will come in this session."""


@dataclass
class Sighting:
    """The last thing seen of a study, and when; who runs it."""

    kind: str = ""
    since: float = 0.0
    node: str = ""
    pid: int = 0
    settled: int = 0


class Watcher:
    """Follows the journals of a run and tells the listeners; one that fails is dropped, never the study."""

    def __init__(self, run: Run, listeners: Sequence[Listener]) -> None:
        self.sightings = {study.key: Sighting() for study in run.studies}
        self._tails = [(study, Tail(run.journal(study))) for study in run.studies]
        self._listeners = list(listeners)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="watcher", daemon=True)

    def __enter__(self) -> "Watcher":
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
            self._look()

    def _look(self) -> None:
        for study, tail in self._tails:
            records = tail.fresh()
            if records:
                self._note(self.sightings[study.key], records)
                self._tell(study, records)

    def _note(self, sighting: Sighting, records: list[Record]) -> None:
        for record in records:
            if record["kind"] == "session":
                sighting.node, sighting.pid = record["node"], record["pid"]
            sighting.settled += record["kind"] == "observation"
        sighting.kind, sighting.since = records[-1]["kind"], time.monotonic()

    def _tell(self, study: Study, records: list[Record]) -> None:
        for listener in list(self._listeners):
            try:
                listener.on_records(study, records)
            except Exception:  # a view must not stop what it shows; the journal has everything for a later look
                log.exception("A listener failed and hears no more of this run.")
                self._listeners.remove(listener)
