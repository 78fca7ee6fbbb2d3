"""The driver's node keeps the journals: files for processes beside the driver, an actor that writes for all others."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import journal_path, ledger_path
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Event, Request
from orchestrator.engine.journal import LOCK_TIMEOUT, FileJournal, Journal, encode_all, read, read_requests

if TYPE_CHECKING:
    from ray import ObjectRef

REQUEST_SECONDS = 1.0


def read_ledger(folder: Path, study: Study) -> list[Event]:
    """What the adversary of a distributed study decided in earlier sessions."""
    path = ledger_path(folder, study)
    return read(path) if path.exists() else []


@dataclass(frozen=True)
class DriverNode:
    """The driver's node, as every process of a run needs to know it."""

    folder: Path
    node: str
    paths: tuple[str, ...]
    writer: str | None = None
    """The actor that writes journals for processes on other nodes; None where there are none."""

    def open(self, study: Study) -> Journal:
        """The study's journal, on the driver's node wherever this runs."""
        if self.writer is None:
            return FileJournal(journal_path(self.folder, study), lock_timeout=LOCK_TIMEOUT)
        return RemoteJournal(self.writer, journal_path(self.folder, study))

    def ledger(self, study: Study) -> list[Event]:
        """What the adversary decided in earlier sessions."""
        if self.writer is None:
            return read_ledger(self.folder, study)
        import ray

        events: list[Event] = ray.get(ray.get_actor(self.writer).ledger.remote(self.folder, study))
        return events


class JournalWriter:
    """Writes the journals of studies that run on other nodes; an actor on the driver's node."""

    def __init__(self) -> None:
        self._journals: dict[Path, FileJournal] = {}

    def open(self, path: Path) -> tuple[list[Event], int]:
        """The events of a journal; whoever opened it before can write no more, because its numbers are stale."""
        if path in self._journals:
            self._journals.pop(path).close()
        self._journals[path] = FileJournal(path, lock_timeout=LOCK_TIMEOUT)
        return self._journals[path].events, len(self._journals[path].events)

    def append(self, path: Path, lines: list[bytes], seq: int, sync: bool) -> None:
        """Write lines; they are on disk when this returns."""
        if path not in self._journals:  # this writer took over from one that died
            self._journals[path] = FileJournal(path, lock_timeout=LOCK_TIMEOUT)
        self._journals[path].append_lines(lines, seq, sync)

    def ledger(self, folder: Path, study: Study) -> list[Event]:
        """The ledger of a study's adversary."""
        return read_ledger(folder, study)

    def requests(self, path: Path, known: int) -> list[Request]:
        """What people asked of the study with that journal, after the first `known`."""
        return read_requests(path)[known:]


class RemoteJournal:
    """A journal on the driver's node, written through its journal writer."""

    def __init__(self, writer: str, path: Path) -> None:
        import ray

        self.path, self.seconds = path, 0.0
        self._writer = ray.get_actor(writer)
        self.events, self._seq = ray.get(self._writer.open.remote(path))
        self._asked, self._looked = 0, 0.0
        self._under_way: ObjectRef[None] | None = None

    def append(self, *events: Event, sync: bool = True, wait: bool = True) -> None:
        """Send the events; they are on disk when this returns or, without `wait`, before the next are sent."""
        self.settle()
        self._under_way = self._writer.append.remote(self.path, encode_all(self._seq, events), self._seq, sync)
        self._seq += len(events)
        if wait:
            self.settle()

    def settle(self) -> None:
        """Wait for what is under way."""
        import ray

        start = time.perf_counter()
        under_way, self._under_way = self._under_way, None
        if under_way is not None:
            ray.get(under_way)
        self.seconds += time.perf_counter() - start

    def requests(self) -> list[Request]:
        """What people asked since the last call; asked for once a second at most."""
        import ray

        if time.monotonic() - self._looked < REQUEST_SECONDS:
            return []
        self._looked = time.monotonic()
        found: list[Request] = ray.get(self._writer.requests.remote(self.path, self._asked))
        self._asked += len(found)
        return found

    def close(self) -> None:
        """Wait for what is under way; the writer keeps the file until the run ends."""
        self.settle()
