"""Tracking beside a run: a process of its own follows the journals, so that no study ever waits for MLflow.

What a server that does not answer has not got is in the journals, and `orchestrate sync` writes it later.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.campaign.lock import Lock
from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations_of
from orchestrator.errors import redacted
from orchestrator.tracking.address import tracking_uri
from orchestrator.tracking.store import Store
from orchestrator.tracking.tracker import Tracker
from orchestrator.tracking.writer import Ending, Status, Tell, Writer, follow, open_store, serve

SWITCH = "ORCHESTRATE_TRACKING"
"""The environment variable that turns tracking off everywhere when it is 0."""


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


class Follower(Writer):
    """The driver's handle on the process that writes to MLflow."""

    def __init__(self, run: Run) -> None:
        patience = run.campaign.tracking.patience
        super().__init__("orchestrator.tracking.follower", run.folder, tracking_uri(run), patience)


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


def _write(folder: Path, uri: str, ending: Ending, tell: Tell) -> bool:
    """Write the journals to MLflow as they grow until their end; returns whether all of it is there."""
    lock = Lock(folder / "tracking.lock")
    run = Run.open(folder.parent, folder.name)

    def on_long_work() -> None:
        tell(Status.DRAWING, "")

    def tracker() -> Tracker:
        return Tracker(run, open_store(uri, tell), on_long_work, ending.over.wait)

    done = follow(run.name, tracker, ending, tell)
    lock.close()
    return done


if __name__ == "__main__":
    serve(_write)
