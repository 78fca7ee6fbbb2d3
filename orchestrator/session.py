"""One session of a run: its studies executed while MLflow follows and the clock is kept, then reported."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pandas import DataFrame

from orchestrator.campaign.campaign import Campaign, find
from orchestrator.campaign.runs import Run, storage_root
from orchestrator.engine.cluster import Connection
from orchestrator.engine.fleet import RunOutcome
from orchestrator.engine.runner import execute, start
from orchestrator.engine.watch import Listener
from orchestrator.review.regret import trials_frame
from orchestrator.review.timing import COMPLETE, FAILED, OUT_OF_TIME, timed
from orchestrator.tracking.follower import Follower, tracked


def run(
    campaign: Campaign | Mapping[str, object] | str | Path,
    *,
    name: str | None = None,
    root: str | Path | None = None,
    ray: bool = True,
    address: str | None = None,
    listeners: Sequence[Listener] = (),
    **overrides: object,
) -> DataFrame:
    """Run a campaign to its end and return one row per trial, regret included.

    `campaign` is a Campaign, a mapping, a file or a shipped name; `overrides` replace its keys. With `ray=False` all
    of it happens in the calling process. Studies that could not be finished are named in a RuntimeError.
    """
    campaign, paths = _load(campaign, overrides)
    started = start(campaign, root=root, name=name, paths=paths, address=address)
    return _finish(started, ray, address, listeners)


def resume(
    name: str,
    *,
    root: str | Path | None = None,
    ray: bool = True,
    address: str | None = None,
    listeners: Sequence[Listener] = (),
) -> DataFrame:
    """Continue a run from its journals and return one row per trial, as `run` does."""
    return _finish(Run.open(storage_root(root), name), ray, address, listeners)


def conduct(
    run: Run,
    *,
    ray: bool = True,
    address: str | None = None,
    listeners: Sequence[Listener] = (),
    started: float | None = None,
    connection: Connection | None = None,
    report: Callable[[Follower | None], None] = lambda follower: None,
) -> tuple[RunOutcome, Follower | None]:
    """Take a run as far as it goes, then call `report` while MLflow catches up; returns how it ended and who followed it.

    `started` is when the session began, in seconds since 1970, where that was before this call; `connection` a Ray that is
    on its way since then.
    """
    run.require_writable()
    with timed(run, started, ray) as marks, tracked(run) as follower:
        marks("running")
        if follower is not None and any(run.journal(study).exists() for study in run.studies):
            follower.await_first_look()  # a ruling set in MLflow while nobody was here counts from the first trial on
        outcome = execute(run, ray=ray, address=address, listeners=listeners, connection=connection)
        marks("ran", FAILED if outcome.errors else OUT_OF_TIME if outcome.out_of_time else COMPLETE)
        if follower is not None:
            follower.announce_end()
        report(follower)
        marks("reported")
    return outcome, follower


def _load(
    campaign: Campaign | Mapping[str, object] | str | Path, overrides: Mapping[str, object]
) -> tuple[Campaign, list[str]]:
    """The campaign, and where its import paths are looked for: beside its file, and in the working directory."""
    if isinstance(campaign, Campaign):
        return Campaign.from_dict(campaign.to_dict(), overrides), [os.getcwd()]
    if isinstance(campaign, Mapping):
        return Campaign.from_dict({"name": "campaign"} | dict(campaign), overrides), [os.getcwd()]
    return Campaign.load(campaign, overrides), [str(find(campaign).parent.resolve()), os.getcwd()]


def _finish(run: Run, ray: bool, address: str | None, listeners: Sequence[Listener]) -> DataFrame:
    outcome, _ = conduct(run, ray=ray, address=address, listeners=listeners)
    if outcome.errors:
        raise RuntimeError("; ".join(f"{key}: {reason}" for key, reason in outcome.errors.items()))
    return trials_frame(run)
