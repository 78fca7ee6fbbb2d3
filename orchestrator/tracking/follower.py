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
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.lock import Lock
from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations_of
from orchestrator.errors import UserError, redacted

if TYPE_CHECKING:
    from orchestrator.tracking.tracker import View

log = logging.getLogger(__name__)
SWITCH = "ORCHESTRATE_TRACKING"
"""The environment variable that turns tracking off everywhere when it is 0."""
ADDRESS = "ORCHESTRATE_TRACKING_URI"
"""How the follower hears where to write: everybody on a machine can read a command line, and this may hold a password."""
SETTINGS = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "8",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
"""A server that is away is tried again by us, from the journal: MLflow itself would wait for minutes."""
CAUSES = (
    "Connection refused",
    "Connection aborted",
    "Connection reset by peer",
    "Read timed out",
    "Name or service not known",
    "No route to host",
)
"""What a person wants to hear out of a client's long story."""
POLL_SECONDS = 1.0
LONGEST_PAUSE = 15.0
SILENCE = {"": 120.0, "busy": 120.0, "asking": 10.0, "ok": 10.0, "down": 0.5, "done": 10.0}
"""How long the driver waits at the end without news, by the last: starting, drawing the report, asked, answered, no
answer, leaving. A request's own time limit is less than ten seconds, so that a server that hangs is news before."""
LOCAL_SILENCE = 120.0
"""A local store never hangs, but it may have to be made first, or wait for another writer."""


def tracking_uri(run: Run, given: str | None = None) -> str:
    """Where a run is tracked: as given, as its campaign says, as MLflow's environment says, else beside the runs."""
    return given or run.campaign.tracking.uri or store_uri(run.folder.parent)


def store_uri(root: Path) -> str:
    """The tracking server of the environment, else a database in the folder that holds all runs."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root.absolute() / 'mlflow.db'}"


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
        self._news, self._heard, self._warned = "", time.monotonic(), False
        command = [sys.executable, "-m", "orchestrator.tracking.follower", str(run.folder)]
        with (run.folder / "tracking.log").open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,  # Ctrl-C is for the driver, which tells the follower
                env=SETTINGS
                | dict(os.environ)
                | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p), ADDRESS: self.uri},
            )
        self._reader = threading.Thread(target=self._listen, name="tracking", daemon=True)
        self._reader.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._news, _, self.reason = line.strip().partition(" ")
            self._heard = time.monotonic()
            if self._news == "down" and not self._warned:
                self._warned = True
                where = redacted(self.uri)
                log.warning("MLflow at %s: %s. The run goes on; what is missing is written later.", where, self.reason)

    def require(self, seconds: float = 90.0) -> None:
        """Refuse when MLflow does not answer."""
        deadline = time.monotonic() + seconds
        while self._news not in ("ok", "done"):
            if self._news == "down" or self._process.poll() is not None or time.monotonic() > deadline:
                raise UserError(f"MLflow at {redacted(self.uri)}: {self.reason or 'no answer'} (tracking is required).")
            time.sleep(0.05)

    def close(self) -> None:
        """Let the follower write the rest while it gets answers and the campaign has patience; then end it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        if self._news == "down":
            self._heard = time.monotonic()  # the server may be back: one more chance
        enough = time.monotonic() + self._patience()
        gave_up = "interrupted"
        try:
            gave_up = self._await_end(enough)
        finally:  # also when whoever waits has had enough
            if self._process.poll() is None:
                self._process.kill()  # nothing is lost: the journals have it, and half a write is completed by the next
                self.reason = self.reason or gave_up
        self._process.wait()
        self._reader.join()
        if self._news != "done":
            self.reason = self.reason or f"its process ended, see {self._run.folder / 'tracking.log'}"

    def _await_end(self, enough: float) -> str:
        """Wait for the follower; returns why no longer, in case it is still there."""
        while self._process.poll() is None:
            if time.monotonic() - self._heard > self._silence():
                return "no answer"
            if time.monotonic() > enough:
                return f"not done after {self._patience():g} s"
            time.sleep(0.02)
        return ""

    def _silence(self) -> float:
        return LOCAL_SILENCE if _is_local(self.uri) else SILENCE[self._news]

    def _patience(self) -> float:
        return math.inf if _is_local(self.uri) else self._run.campaign.tracking.patience


def _is_local(uri: str) -> bool:
    """Whether the store is a file of this machine: everything else may hang."""
    return uri.startswith("sqlite:")


def sync(run: Run, given: str | None = None) -> str:
    """Write to MLflow, here and now, what it has not got yet; returns a line that says so."""
    for name, value in (SETTINGS | {"MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}).items():
        os.environ.setdefault(name, value)
    from orchestrator.tracking.tracker import FAILURES, View, connect

    uri = tracking_uri(run, given)
    lock = Lock(run.folder / "tracking.lock")
    try:
        View(run, connect(uri), uri).push(last=True)
    except FAILURES as error:
        raise UserError(f"MLflow at {redacted(uri)}: {one_line(error)}.") from error
    finally:
        lock.close()
    trials = sum(len(observations_of(run, study)) for study in run.studies)
    return f"{run.name}: {len(run.studies)} studies, {trials} trials are in MLflow at {redacted(uri)}."


# --- in the follower's process ----------------------------------------------------------------------------------------


def follow(run: Run, uri: str, over: threading.Event, say: Callable[[str], None]) -> bool:
    """Write the journals to MLflow as they grow until `over`; returns whether all of it is there."""
    from orchestrator.tracking.tracker import FAILURES

    say("asking")
    view, pause = None, POLL_SECONDS
    while True:
        last = over.is_set()
        try:
            view = view or _view(run, uri, say)
            view.push(last=last)
            say("ok")
            pause = POLL_SECONDS
        except FAILURES as error:
            view, pause = None, min(2 * pause, LONGEST_PAUSE)
            say(f"down {one_line(error)}")
            log.warning("%s: %s", run.name, one_line(error))
            if last:
                return False
        else:
            if last:
                return True
        over.wait(pause)


def _view(run: Run, uri: str, say: Callable[[str], None]) -> "View":
    from orchestrator.tracking.tracker import View, connect

    client = connect(uri)
    say("ok")
    return View(run, client, uri, say)


def one_line(error: BaseException) -> str:
    """What went wrong, short and without credentials."""
    text = redacted(" ".join(str(error).split()))
    for cause in CAUSES:
        if cause in text:
            return cause.lower()
    return (text.partition("Caused by ")[2].removesuffix(")") or text)[:200] or type(error).__name__


def main() -> None:
    """Follow the run in the given folder until standard input ends."""
    os.nice(5)
    folder, uri = Path(sys.argv[1]), os.environ[ADDRESS]
    over = threading.Event()
    say = _teller()
    threading.Thread(target=_await_end, args=(over,), daemon=True).start()
    try:
        lock = Lock(folder / "tracking.lock")
        done = follow(Run.open(folder.parent, folder.name), uri, over, say)
        lock.close()
    except UserError as error:
        say(f"down {error}")
        done = False
    if done:
        say("done")
    sys.stdout.flush()
    os._exit(0 if done else 3)  # no thread of a client that waits for a dead server keeps this from ending


def _await_end(over: threading.Event) -> None:
    """The driver closes our standard input, or the system does when the driver is killed."""
    sys.stdin.read()
    over.set()


def _teller() -> Callable[[str], None]:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a library prints goes to the log

    def say(news: str) -> None:
        out.write(f"{news}\n")

    return say


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s")
    main()
