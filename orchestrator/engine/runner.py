"""Running campaigns: in the calling process, or with every study on its own somewhere in a Ray cluster."""

import logging
import socket
import time
from collections.abc import Sequence
from pathlib import Path

from objectives import prepare
from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run, free_name, import_from, storage_root
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_adversary, build_objective, build_optimizer
from orchestrator.engine.cluster import Connection, another, check_address, cluster
from orchestrator.engine.control import ControlLostError
from orchestrator.engine.driver_node import read_ledger
from orchestrator.engine.fleet import Fleet, RunOutcome
from orchestrator.engine.history import unfinished
from orchestrator.engine.journal import LOCK_TIMEOUT, FileJournal, JournalError
from orchestrator.engine.stopping import full_resource
from orchestrator.engine.watch import Listener, Watcher
from orchestrator.errors import UserError

log = logging.getLogger(__name__)
RESTARTS = 3
"""How often a session starts its own Ray again: what loses it more often than that is no accident."""


def start(
    campaign: Campaign,
    *,
    root: str | Path | None = None,
    name: str | None = None,
    paths: Sequence[str] = (),
    address: str | None = None,
) -> Run:
    """Check everything and create the run's folder; a taken name gets a number, unless it was asked for."""
    check(campaign, paths, address=address)
    where = storage_root(root)
    return Run.create(where, name or free_name(where, campaign.name), campaign, paths)


def check(campaign: Campaign, paths: Sequence[str] = (), *, address: str | None = None) -> None:
    """Build each objective, adversary and optimizer once, so that what is wrong shows before the first trial.

    Data and devices are only looked for when trials run on this machine: the head of a cluster need not have them.
    """
    check_address(address)
    import_from(paths)
    studies = campaign.studies()
    try:
        objective = build_objective(studies[0])
        full_resource(studies[0], objective)
        if address is None:
            prepare(objective)
        for study in {s.adversary.label: s for s in studies}.values():
            build_adversary(study, objective)
        for study in {s.algorithm.label: s for s in studies}.values():
            build_optimizer(study, objective)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(" ".join(str(error).split())) from error


def execute(
    run: Run,
    *,
    ray: bool = True,
    address: str | None = None,
    listeners: Sequence[Listener] = (),
    connection: Connection | None = None,
) -> RunOutcome:
    """Take a run from where its journals end to the end of all studies, or of its time; `connection` is a Ray on its way."""
    total = run.campaign.limits.total_seconds
    until = float("inf") if total is None else time.time() + total
    lock = run.lock()
    try:
        left = unfinished(run)
        with Watcher(run, listeners) as watcher:
            if not ray:
                return _execute_here(run, left, until) if left else RunOutcome()
            return _execute_on_ray(run, left, address, until, watcher, connection)
    finally:
        lock.close()


def _execute_on_ray(
    run: Run,
    left: Sequence[Study],
    address: str | None,
    until: float,
    watcher: Watcher,
    connection: Connection | None,
    restarts: int = RESTARTS,
) -> RunOutcome:
    """All that is left, on Ray; where one of our own is lost on the way, on the next."""
    if not left:
        return RunOutcome()
    try:
        with cluster(address, run, connection) as home:
            return Fleet(home, until, watcher).execute(left)
    except ControlLostError as error:
        lost = str(error)
    connection = another(address) if restarts else None
    if connection is None:
        return RunOutcome(errors={"Ray": f"{lost}; every acknowledged result is in the journals"})
    log.warning("Ray: %s. Another was started here, and the run goes on.", lost)
    return _execute_on_ray(run, unfinished(run), address, until, watcher, connection, restarts - 1)


def _execute_here(run: Run, studies: Sequence[Study], until: float) -> RunOutcome:
    from orchestrator.engine.sequential import run_sequential

    import_from(run.paths)
    outcome = RunOutcome()
    for study in studies:
        if time.time() >= until:
            break
        journal = FileJournal(run.journal(study), lock_timeout=LOCK_TIMEOUT)
        try:
            ledger = read_ledger(run.journals, study)
            run_sequential(study, journal, ledger=ledger, node=socket.gethostname(), until=until, in_caller=True)
        except JournalError as error:
            outcome.errors[study.key] = str(error)
        finally:
            journal.close()
    outcome.out_of_time = time.time() >= until
    return outcome
