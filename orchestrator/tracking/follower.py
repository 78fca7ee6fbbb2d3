"""Tracking beside a run: a process of its own follows the journals, so that no study ever waits for MLflow.

The driver starts the follower, hears how it fares, and leaves it behind when the server does not answer: what is
missing is in the journals, and `orchestrate sync` writes it later.
"""

import logging
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from orchestrator.campaign.lock import Lock
from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations_of
from orchestrator.errors import UserError, redacted
from orchestrator.experiments import StoreError
from orchestrator.tracking.address import database_file, tracking_uri
from orchestrator.tracking.store import CLIENT_SETTINGS, Store
from orchestrator.tracking.tracker import Tracker

log = logging.getLogger(__name__)
SWITCH = "ORCHESTRATE_TRACKING"
"""The environment variable that turns tracking off everywhere when it is 0."""
ADDRESS = "ORCHESTRATE_TRACKING_URI"
"""How the follower hears where to write: everybody on a machine can read a command line, and this may hold a password."""
POLL_SECONDS = 1.0
LONGEST_PAUSE = 15.0


class Status(StrEnum):
    """What the follower says of itself, one line each; every line is a heartbeat."""

    STARTING = "starting"
    ASKING = "asking"
    ANSWERED = "answered"
    DRAWING = "drawing"
    UNREACHABLE = "unreachable"
    DONE = "done"


HEARTBEAT_TIMEOUT = {
    Status.STARTING: 120.0,
    Status.ASKING: 10.0,
    Status.ANSWERED: 10.0,
    Status.DRAWING: 120.0,
    Status.UNREACHABLE: 0.5,
    Status.DONE: 10.0,
}
"""How long the driver waits at the end for the next heartbeat, by the last status. A request's own time limit is less
than ten seconds, so that a server that hangs is `UNREACHABLE` before."""
LOCAL_HEARTBEAT_TIMEOUT = 120.0
"""A local store never hangs, but it may have to be made first, or wait for another writer."""


@contextmanager
def tracked(run: Run) -> Iterator["Follower | None"]:
    """Track a run while the block lasts; its end waits for MLflow while that answers, as long as the campaign says."""
    tracking = run.campaign.tracking
    if not tracking.enabled or os.environ.get(SWITCH) == "0":
        yield None
        return
    follower = Follower(run)
    try:
        if tracking.required:
            follower.require()
        yield follower
    finally:
        follower.close()


class Follower:
    """The driver's handle on the process that writes to MLflow."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.uri = tracking_uri(run)
        self.reason = ""
        """Why MLflow is behind; empty when it is not."""
        self._status, self._heartbeat, self._warned = Status.STARTING, time.monotonic(), False
        command = [sys.executable, "-m", "orchestrator.tracking.follower", str(run.folder)]
        paths = {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), ADDRESS: self.uri}
        with (run.folder / "tracking.log").open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for the driver, which tells the follower
                env=CLIENT_SETTINGS | dict(os.environ) | paths,
            )
        self._reader = threading.Thread(target=self._listen, name="tracking", daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            status, _, self.reason = line.strip().partition(" ")
            self._status, self._heartbeat = Status(status), time.monotonic()
            if self._status is Status.UNREACHABLE and not self._warned:
                self._warned = True
                where = redacted(self.uri)
                log.warning("MLflow at %s: %s. The run goes on; what is missing is written later.", where, self.reason)

    def require(self, seconds: float = 90.0) -> None:
        """Refuse when MLflow does not answer."""
        deadline = time.monotonic() + seconds
        while self._status not in (Status.ANSWERED, Status.DONE):
            unreachable = self._status is Status.UNREACHABLE or self._process.poll() is not None
            if unreachable or time.monotonic() > deadline:
                raise UserError(f"MLflow at {redacted(self.uri)}: {self.reason or 'no answer'} (tracking is required).")
            time.sleep(0.05)

    def close(self) -> None:
        """Let the follower write the rest while it gets answers and the campaign's time for it lasts; then end it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._status is Status.UNREACHABLE:
            self._heartbeat = time.monotonic()  # the server may be back: one more chance
        gave_up = "interrupted"
        try:
            gave_up = self._await_end(time.monotonic() + self._longest_wait())
        finally:  # also when whoever waits has had enough
            if self._process.poll() is None:
                self._process.kill()  # nothing is lost: the journals have it, and half a write is completed by the next
                self.reason = self.reason or gave_up
        self._process.wait()
        self._reader.join()
        if self._status is not Status.DONE:
            self.reason = self.reason or f"its process ended, see {self._run.folder / 'tracking.log'}"

    def _await_end(self, deadline: float) -> str:
        """Wait for the follower; returns why no longer, in case it is still there."""
        while self._process.poll() is None:
            if time.monotonic() - self._heartbeat > self._heartbeat_timeout():
                return "no answer"
            if time.monotonic() > deadline:
                return f"not done after {self._longest_wait():g} s"
            time.sleep(0.02)
        return ""

    def _heartbeat_timeout(self) -> float:
        return LOCAL_HEARTBEAT_TIMEOUT if database_file(self.uri) else HEARTBEAT_TIMEOUT[self._status]

    def _longest_wait(self) -> float:
        return math.inf if database_file(self.uri) else self._run.campaign.tracking.patience


def sync(run: Run, given: str | None = None) -> str:
    """Write to MLflow, here and now, what it has not got yet; returns a line that says so."""
    uri = tracking_uri(run, given)
    lock = Lock(run.folder / "tracking.lock")
    try:
        Tracker(run, Store.open(uri, request_seconds=30)).push(last=True)
    finally:
        lock.close()
    trials = sum(len(observations_of(run, study)) for study in run.studies)
    return f"{run.name}: {len(run.studies)} studies, {trials} trials are in MLflow at {redacted(uri)}."


# --- in the follower's process ----------------------------------------------------------------------------------------

Tell = Callable[[Status, str], None]


def follow(run: Run, uri: str, over: threading.Event, tell: Tell) -> bool:
    """Write the journals to MLflow as they grow until `over`; returns whether all of it is there."""
    tell(Status.ASKING, "")
    tracker, pause = None, POLL_SECONDS
    while True:
        last = over.is_set()
        try:
            tracker = tracker or _tracker(run, uri, tell)
            tracker.push(last=last)
            tell(Status.ANSWERED, "")
            pause = POLL_SECONDS
        except StoreError as error:
            tracker, pause = None, min(2 * pause, LONGEST_PAUSE)
            tell(Status.UNREACHABLE, error.reason)
            log.warning("%s: %s", run.name, error.reason)
            if last:
                return False
        else:
            if last:
                return True
        over.wait(pause)


def _tracker(run: Run, uri: str, tell: Tell) -> Tracker:
    store = Store.open(uri, lambda: tell(Status.ANSWERED, ""))
    return Tracker(run, store, lambda: tell(Status.DRAWING, ""))


def main() -> None:
    """Follow the run in the given folder until standard input ends."""
    os.nice(5)
    folder, uri = Path(sys.argv[1]), os.environ[ADDRESS]
    over = threading.Event()
    tell = _teller()
    threading.Thread(target=_await_end, args=(over,), daemon=True).start()
    try:
        lock = Lock(folder / "tracking.lock")
        done = follow(Run.open(folder.parent, folder.name), uri, over, tell)
        lock.close()
    except UserError as error:
        tell(Status.UNREACHABLE, str(error))
        done = False
    if done:
        tell(Status.DONE, "")
    sys.stdout.flush()
    os._exit(0 if done else 3)  # no thread of a client that waits for a dead server keeps this from ending


def _await_end(over: threading.Event) -> None:
    """The driver closes our standard input, or the system does when the driver is killed."""
    sys.stdin.read()
    over.set()


def _teller() -> Tell:
    """Statuses go to the driver, one line each; whatever a library prints goes to the log."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def tell(status: Status, reason: str) -> None:
        out.write(f"{status} {' '.join(reason.split())}\n")

    return tell


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s")
    main()
