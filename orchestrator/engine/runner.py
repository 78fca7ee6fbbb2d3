"""Running campaigns: in the calling process, or with every study on its own somewhere in a Ray cluster."""

import logging
import socket
import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from objectives import prepare
from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run, free_name, import_from, ledger_path, storage_root
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_adversary, build_objective
from orchestrator.engine.cluster import PATIENCE, Home, check_address, cluster, demand, end_process, read_ledger
from orchestrator.engine.history import unfinished
from orchestrator.engine.journal import FileJournal, JournalError
from orchestrator.engine.watch import Listener, Watcher
from orchestrator.errors import UserError

log = logging.getLogger(__name__)


@dataclass
class Ending:
    """How a session ended: what went wrong by study, and whether the time was up first."""

    errors: dict[str, str] = field(default_factory=dict)
    out_of_time: bool = False


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
    from orchestrator.engine.build import build_optimizer

    check_address(address)
    import_from(paths)
    studies = campaign.studies()
    try:
        objective = build_objective(studies[0])
        if address is None:
            prepare(objective)
        for study in {s.adversary.label: s for s in studies}.values():
            build_adversary(study, objective)
        for study in {s.algorithm.label: s for s in studies}.values():
            build_optimizer(study, objective)
    except (ValueError, TypeError, OSError) as error:
        raise UserError(" ".join(str(error).split())) from error


def execute(run: Run, *, ray: bool = True, address: str | None = None, listeners: Sequence[Listener] = ()) -> Ending:
    """Take a run from where its journals end to the end of all studies, or of its time."""
    total = run.campaign.limits.total_seconds
    until = float("inf") if total is None else time.time() + total
    lock = run.lock()
    try:
        left = unfinished(run)
        with Watcher(run, listeners) as watcher:
            if not left:
                return Ending()
            if not ray:
                return _execute_here(run, left, until)
            with cluster(address, run) as home:
                return Fleet(run, home, until, watcher).execute(left)
    finally:
        lock.close()


def _execute_here(run: Run, studies: Sequence[Study], until: float) -> Ending:
    from orchestrator.engine.sequential import run_sequential

    import_from(run.paths)
    ending = Ending()
    for study in studies:
        if time.time() >= until:
            break
        journal = FileJournal(run.journal(study), patience=PATIENCE)
        try:
            ledger = read_ledger(run.journals, study)
            run_sequential(study, journal, ledger=ledger, node=socket.gethostname(), until=until, in_caller=True)
        except JournalError as error:
            ending.errors[study.key] = str(error)
        finally:
            journal.close()
    ending.out_of_time = time.time() >= until
    return ending


# --- on Ray -----------------------------------------------------------------------------------------------------------


def run_study(study: Study, home: Home, died: str, until: float) -> bool:
    """One study from its journal on; the body of a Ray task."""
    import ray

    import_from(home.paths)
    journal = home.open(study)
    node = ray.get_runtime_context().get_node_id()
    try:
        if study.workers == 1:
            from orchestrator.engine.sequential import run_sequential

            return run_sequential(study, journal, ledger=home.ledger(study), node=node, died=died, until=until)
        from orchestrator.engine.parallel import run_parallel

        return run_parallel(study, journal, ledger_path(home.folder, study), node=node, until=until, paths=home.paths)
    finally:
        journal.close()


class Fleet:
    """All studies of a run on a cluster: submitted, watched, and taken up again when their process is lost."""

    def __init__(self, run: Run, home: Home, until: float, watcher: Watcher) -> None:
        self._run, self._home, self._until, self._watcher = run, home, until, watcher
        self._waiting: deque[tuple[Study, str]] = deque()
        self._live: dict[Any, Study] = {}
        self._overdue: dict[str, str] = {}
        self._deaths: Counter[tuple[str, int]] = Counter()
        self._ending = Ending()

    def execute(self, studies: Sequence[Study]) -> Ending:
        """Run the studies; returns when all are finished, have failed, or the time is up."""
        import ray

        self._waiting.extend((study, "") for study in studies)
        room = self._room(studies[0])
        while self._live or self._waiting:
            while self._waiting and len(self._live) < room:
                self._submit(*self._waiting.popleft())
            done, _ = ray.wait(list(self._live), timeout=0.2) if self._live else ([], [])
            for ref in done:
                self._collect(ref, self._live.pop(ref))
            self._end_overdue()
        return self._ending

    def _room(self, study: Study) -> int:
        """How many studies at once: sequential ones queue in Ray, parallel ones share the cores among them."""
        import ray

        if study.workers == 1:
            return len(self._waiting)
        cpus, _ = demand(study)
        return max(1, int(ray.cluster_resources().get("CPU", 1) // max(cpus * study.workers, 1e-9)))

    def _submit(self, study: Study, died: str) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if time.time() >= self._until:
            self._ending.out_of_time = True
            return
        options: dict[str, Any] = {"name": study.key, "max_retries": 0}
        if study.workers == 1:
            options["num_cpus"], options["num_gpus"] = demand(study)
        else:  # the trial actors take the cores; the study only directs them, next to the driver
            here = NodeAffinitySchedulingStrategy(self._home.node, soft=False)
            options |= {"num_cpus": 0, "scheduling_strategy": here}
        task = ray.remote(run_study).options(**options)
        self._live[task.remote(study, self._home, died, self._until)] = study

    def _collect(self, ref: Any, study: Study) -> None:
        import ray

        try:
            finished = ray.get(ref)
            self._ending.out_of_time |= not finished
        except ray.exceptions.RayTaskError as error:
            self._ending.errors[study.key] = _reason(error.cause)
        except ray.exceptions.RayError as error:
            self._revive(study, error)

    def _revive(self, study: Study, error: Exception) -> None:
        """The study's process is gone: blame the trial it was at, unless the whole node went, and go on."""
        reason = self._overdue.pop(study.key, "") or f"its process died ({type(error).__name__})"
        sighting = self._watcher.sightings[study.key]
        self._deaths[study.key, sighting.settled] += 1
        if self._deaths[study.key, sighting.settled] > study.retries + 2:
            self._ending.errors[study.key] = f"given up: {reason}, again and again"
            return
        self._waiting.append((study, "" if self._node_is_gone(sighting.node) else reason))
        sighting.kind = ""

    def _node_is_gone(self, node: str) -> bool:
        import ray

        return any(n["NodeID"] == node and not n["Alive"] for n in ray.nodes())

    def _end_overdue(self) -> None:
        """Tune and Ray know no time limit for a trial: a study that sits too long in one loses its process."""
        for study in self._live.values():
            seen, limit = self._watcher.sightings[study.key], study.trial_seconds
            hanging = seen.kind in ("suggestion", "failure") and study.workers == 1
            if limit is not None and hanging and time.monotonic() - seen.since > limit:
                self._overdue[study.key] = f"over the time limit of {limit:g} s"
                seen.kind = ""
                end_process(seen.node, seen.pid)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"
