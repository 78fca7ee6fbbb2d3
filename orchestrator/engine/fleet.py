"""All studies of a run on a Ray cluster: submitted, watched, and taken up again when their process is lost."""

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from orchestrator.campaign.runs import import_from, ledger_path
from orchestrator.campaign.study import Study
from orchestrator.engine.cluster import demand, node_is_gone
from orchestrator.engine.control import JOINED_GRACE, OWN_GRACE, ControlProcess
from orchestrator.engine.deadline import Deadlines, Process
from orchestrator.engine.driver_node import DriverNode
from orchestrator.engine.trial import reason
from orchestrator.engine.watch import Watcher
from orchestrator.errors import UserError

if TYPE_CHECKING:
    from ray import ObjectRef


@dataclass
class RunOutcome:
    """How a session of a run ended: what went wrong by study, and whether the time was up first."""

    errors: dict[str, str] = field(default_factory=dict)
    out_of_time: bool = False


def run_study(study: Study, home: DriverNode, lost: str, until: float) -> bool:
    """One study from its journal on; the body of a Ray task."""
    import ray

    import_from(home.paths)
    journal = home.open(study)
    node = ray.get_runtime_context().get_node_id()
    try:
        if study.workers == 1:
            from orchestrator.engine.sequential import run_sequential

            return run_sequential(study, journal, ledger=home.ledger(study), node=node, lost=lost, until=until)
        from orchestrator.engine.parallel import run_parallel

        return run_parallel(study, journal, ledger_path(home.folder, study), node=node, until=until, paths=home.paths)
    finally:
        journal.close()


class Fleet:
    """The studies of a run, waiting and live."""

    def __init__(self, home: DriverNode, until: float, watcher: Watcher) -> None:
        self._home, self._until, self._watcher = home, until, watcher
        self._waiting: deque[tuple[Study, str]] = deque()
        self._live: dict[ObjectRef[bool], Study] = {}
        self._deadlines = Deadlines()
        self._deaths: Counter[tuple[str, int]] = Counter()
        self._outcome = RunOutcome()

    def execute(self, studies: Sequence[Study]) -> RunOutcome:
        """Run the studies; returns when all are finished, have failed, or the time is up, and raises when Ray is lost."""
        import ray

        self._waiting.extend((study, "") for study in studies)
        room = self._room(studies[0])
        grace = OWN_GRACE if self._home.writer is None else JOINED_GRACE
        control = ControlProcess(ray.get_runtime_context().gcs_address, grace)
        while self._live or self._waiting:
            control.check()
            while self._waiting and len(self._live) < room:
                self._submit(*self._waiting.popleft())
            done, _ = ray.wait(list(self._live), timeout=0.2) if self._live else ([], [])
            for ref in done:
                self._collect(ref, self._live.pop(ref))
            self._end_overdue()
        return self._outcome

    def _room(self, study: Study) -> int:
        """How many studies at once: sequential ones queue in Ray, parallel ones share the cores among them."""
        import ray

        if study.workers == 1:
            return len(self._waiting)
        cpus, _ = demand(study)
        return max(1, int(ray.cluster_resources().get("CPU", 1) // max(cpus * study.workers, 1e-9)))

    def _submit(self, study: Study, lost: str) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if time.time() >= self._until:
            self._outcome.out_of_time = True
            return
        options: dict[str, Any] = {"name": study.key, "max_retries": 0}
        if study.workers == 1:
            options["num_cpus"], options["num_gpus"] = demand(study)
        else:  # the trial actors take the cores; the study only directs them, next to the driver
            here = NodeAffinitySchedulingStrategy(self._home.node, soft=False)
            options |= {"num_cpus": 0, "scheduling_strategy": here}
        task = ray.remote(run_study).options(**options)
        self._live[task.remote(study, self._home, lost, self._until)] = study

    def _collect(self, ref: "ObjectRef[bool]", study: Study) -> None:
        import ray

        try:
            finished = ray.get(ref)
            self._outcome.out_of_time |= not finished
        except ray.exceptions.RayTaskError as error:
            self._outcome.errors[study.key] = _reason(error.cause)
        except ray.exceptions.RayError as error:
            self._revive(study, error)

    def _revive(self, study: Study, error: Exception) -> None:
        """The study's process is gone: blame the trial it was at, unless the whole node went, and go on."""
        heartbeat = self._watcher.heartbeats[study.key]
        lost = self._deadlines.pop_reason((study.key, heartbeat.at)) or f"its process died ({type(error).__name__})"
        self._deaths[study.key, heartbeat.settled] += 1
        if self._deaths[study.key, heartbeat.settled] > study.retries + 2:
            self._outcome.errors[study.key] = f"given up: {lost}, again and again"
            return
        self._waiting.append((study, "" if node_is_gone(heartbeat.node) else lost))
        heartbeat.reset()

    def _end_overdue(self) -> None:
        """A study that sits too long in one trial loses its process; one with several workers sees to that itself."""
        now = time.monotonic()
        evaluating = set()
        for study in self._live.values():
            seen, limit = self._watcher.heartbeats[study.key], study.trial_seconds
            if limit is not None and study.workers == 1 and seen.evaluating:
                self._deadlines.begin((study.key, seen.at), limit, Process(seen.node, seen.pid), now - seen.at)
                evaluating.add((study.key, seen.at))
        self._deadlines.keep(evaluating)
        self._deadlines.enforce()


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) if isinstance(error, UserError) else reason(error)
