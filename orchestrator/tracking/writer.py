"""A process of its own that writes to MLflow, so that nobody who computes ever waits for it.

Whoever computes starts it, hears how it fares, and leaves it behind when the server does not answer: what is missing is
in files that it reads, and can be written later.
"""

import gc
import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from orchestrator.errors import UserError, redacted
from orchestrator.experiments import StoreError
from orchestrator.tracking.address import database_file
from orchestrator.tracking.store import CLIENT_SETTINGS, Store

log = logging.getLogger(__name__)
ADDRESS = "ORCHESTRATE_TRACKING_URI"
"""How the writer hears where to write: everybody on a machine can read a command line, and this may hold a password."""
NICENESS = 5
POLL_SECONDS = 1.0
LONGEST_PAUSE = 15.0
PAUSE_SHARE = 4.0
"""What is written at once is cheaper than piece by piece: a pause is so many times as long as the writing before it."""


class Status(StrEnum):
    """What the writer says of itself, one line each; every line is a heartbeat."""

    STARTING = "starting"
    ASKING = "asking"
    ANSWERED = "answered"
    UP_TO_DATE = "uptodate"
    DRAWING = "drawing"
    UNREACHABLE = "unreachable"
    DONE = "done"


HEARTBEAT_TIMEOUT = {
    Status.STARTING: 120.0,
    Status.ASKING: 10.0,
    Status.ANSWERED: 10.0,
    Status.UP_TO_DATE: 10.0,
    Status.DRAWING: 120.0,
    Status.UNREACHABLE: 0.5,
    Status.DONE: 10.0,
}
"""How long whoever computes waits at the end for the next heartbeat, by the last status. A request's own time limit is less
than ten seconds, so that a server that hangs is `UNREACHABLE` before."""
LOCAL_HEARTBEAT_TIMEOUT = 120.0
"""A local store never hangs, but it may have to be made first, or wait for another writer."""


class Writer:
    """The handle on a process that runs `module`, which writes what it finds in `folder` to MLflow at `uri`.

    At the end it gets `patience` seconds, while it gets answers; a local store takes as long as it takes.
    """

    def __init__(self, module: str, folder: Path, uri: str, patience: float) -> None:
        self.folder, self.uri, self._patience = folder, uri, math.inf if database_file(uri) else patience
        self.reason = ""
        """Why MLflow is behind; empty when it is not."""
        self._status, self._heartbeat, self._warned = Status.STARTING, time.monotonic(), False
        self._up_to_date = False
        command = [sys.executable, "-m", module, str(folder)]
        paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), ADDRESS: uri}
        with (folder / "tracking.log").open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for whoever computes, and tells the writer
                env=CLIENT_SETTINGS | dict(os.environ) | paths,
            )
        give_way = (
            os.getpriority(os.PRIO_PROCESS, 0) + NICENESS
        )  # from the first: its imports take longer than a study's
        os.setpriority(os.PRIO_PROCESS, self._process.pid, give_way)
        self._reader = threading.Thread(target=self._listen, name="tracking", daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            status, _, self.reason = line.strip().partition(" ")
            self._status, self._heartbeat = Status(status), time.monotonic()
            self._up_to_date |= self._status is Status.UP_TO_DATE
            if self._status is Status.UNREACHABLE and not self._warned:
                self._warned = True
                where = redacted(self.uri)
                log.warning("MLflow at %s: %s. The run goes on; what is missing is written later.", where, self.reason)

    def require(self, seconds: float = 90.0) -> None:
        """Refuse when MLflow does not answer."""
        deadline = time.monotonic() + seconds
        while self._status not in (Status.ANSWERED, Status.UP_TO_DATE, Status.DONE):
            unreachable = self._status is Status.UNREACHABLE or self._process.poll() is not None
            if unreachable or time.monotonic() > deadline:
                raise UserError(f"MLflow at {redacted(self.uri)}: {self.reason or 'no answer'} (tracking is required).")
            time.sleep(0.05)

    def await_first_look(self, seconds: float = 30.0) -> None:
        """Wait until it has read what people say there, unless nobody answers."""
        deadline = time.monotonic() + seconds
        while not self._up_to_date and time.monotonic() < deadline:
            if self._status is Status.UNREACHABLE or self._process.poll() is not None:
                return
            time.sleep(0.05)

    def announce_end(self) -> None:
        """Say that nothing more will come: what needs no report is written while that is made."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, and `close` says why
            os.write(self._process.stdin.fileno(), b"\n")

    def close(self) -> None:
        """Let it write the rest while it gets answers and there is time; then end it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._status in (Status.UNREACHABLE, Status.DRAWING):
            self._heartbeat = time.monotonic()  # the server may be back, or the report is: one more chance
        gave_up = "interrupted"
        try:
            gave_up = self._await_end(time.monotonic() + self._patience)
        finally:  # also when whoever waits has had enough
            if self._process.poll() is None:
                self._process.kill()  # nothing is lost: its files have it, and half a write is completed by the next
                self.reason = self.reason or gave_up
        self._process.wait()
        self._reader.join()
        if self._status is not Status.DONE:
            self.reason = self.reason or f"its process ended, see {self.folder / 'tracking.log'}"

    def _await_end(self, deadline: float) -> str:
        """Wait for it to end; returns why no longer, in case it is still there."""
        while self._process.poll() is None:
            if time.monotonic() - self._heartbeat > self._heartbeat_timeout():
                return "no answer"
            if time.monotonic() > deadline:
                return f"not done after {self._patience:g} s"
            time.sleep(0.02)
        return ""

    def _heartbeat_timeout(self) -> float:
        return LOCAL_HEARTBEAT_TIMEOUT if database_file(self.uri) else HEARTBEAT_TIMEOUT[self._status]


# --- in that process --------------------------------------------------------------------------------------------------

Tell = Callable[[Status, str], None]
COLLECT_EVERY = 10_000
"""Objects made between two collections of garbage: MLflow makes many, and every 700, as by default, costs a tenth of the time."""


@dataclass(frozen=True)
class Ending:
    """What is heard of whoever computes: that nothing more will come, then that it only waits for us, or is gone."""

    complete: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)

    def listen(self) -> None:
        """A line says the first, the end of our standard input both: the system ends it too when that process is killed."""
        sys.stdin.readline()
        self.complete.set()
        sys.stdin.read()
        self.over.set()


class View(Protocol):
    """What MLflow shows of something that grows elsewhere."""

    def push(self, *, last: bool = False) -> None:
        """Write what is not in MLflow yet; `last` says that nothing more will come."""


def follow(name: str, open_view: Callable[[], View], ending: Ending, tell: Tell) -> bool:
    """Bring a view up to date until nothing more will come; returns whether all of it is there."""
    tell(Status.ASKING, "")
    view, pause = None, POLL_SECONDS
    while True:
        last, over = ending.complete.is_set(), ending.over.is_set()
        try:
            view = view or open_view()
            begin = time.monotonic()
            view.push(last=last)
            tell(Status.UP_TO_DATE, "")
            pause = min(max(POLL_SECONDS, PAUSE_SHARE * (time.monotonic() - begin)), LONGEST_PAUSE)
        except StoreError as error:
            view, pause = None, min(2 * pause, LONGEST_PAUSE)
            tell(Status.UNREACHABLE, error.reason)
            log.warning("%s: %s", name, error.reason)
            if over:
                return False
        else:
            if last:
                return True
        (ending.over if last else ending.complete).wait(pause)


def open_store(uri: str, tell: Tell) -> Store:
    """The store, whose every answer is a heartbeat."""
    return Store.open(uri, lambda: tell(Status.ANSWERED, ""))


def serve(write: Callable[[Path, str, Ending, Tell], bool]) -> None:
    """Write what is in the given folder until standard input ends."""
    logging.basicConfig(format="%(asctime)s %(message)s")
    gc.set_threshold(COLLECT_EVERY)
    ending, tell = Ending(), _teller()
    threading.Thread(target=ending.listen, daemon=True).start()
    try:
        done = write(Path(sys.argv[1]), os.environ[ADDRESS], ending, tell)
    except UserError as error:
        tell(Status.UNREACHABLE, str(error))
        done = False
    if done:
        tell(Status.DONE, "")
    sys.stdout.flush()
    os._exit(0 if done else 3)  # no thread of a client that waits for a dead server keeps this from ending


def _teller() -> Tell:
    """Statuses go to whoever computes, one line each; whatever a library prints goes to the log."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(status: Status, reason: str) -> None:
        out.write(f"{status} {' '.join(reason.split())}\n")

    return tell
