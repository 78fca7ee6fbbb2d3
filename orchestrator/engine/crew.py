"""The crew of a run: its study processes, started once, used for one study after the other, renewed when harmed."""

from typing import TYPE_CHECKING

from orchestrator.campaign.study import Study
from orchestrator.engine.cluster import actor_here, demand
from orchestrator.engine.driver_node import DriverNode
from orchestrator.engine.worker import StudyReturn, StudyWorker
from orchestrator.errors import UserError

if TYPE_CHECKING:
    from ray import ObjectRef
    from ray.actor import ActorClass, ActorHandle

FALSE_STARTS = 5
"""Processes in a row that may die before they are ready; after that something is wrong with this Ray or its machines."""


class CrewError(UserError):
    """No study process can be started."""


class Crew:
    """Study processes for studies like `study`: starting, idle, or at work."""

    def __init__(self, home: DriverNode, study: Study) -> None:
        self._home, self._parallel = home, study.workers > 1
        self._actor = self._actor_class(study)
        self._starting: dict[ObjectRef[object], ActorHandle] = {}
        self._idle: list[ActorHandle] = []
        self._busy: dict[ObjectRef[StudyReturn], ActorHandle] = {}
        self._false_starts = 0

    def _actor_class(self, study: Study) -> "ActorClass":
        import ray

        if self._parallel:  # the trial actors take the cores; the study only directs them, next to the driver
            return actor_here(StudyWorker, self._home.node)
        cpus, gpus = demand(study)
        return ray.remote(StudyWorker).options(num_cpus=cpus, num_gpus=gpus)

    @property
    def idle(self) -> bool:
        """Whether a process waits for a study."""
        return bool(self._idle)

    @property
    def _size(self) -> int:
        return len(self._starting) + len(self._idle) + len(self._busy)

    def resize(self, wanted: int) -> None:
        """Start processes until there are so many, or let those go that have nothing to do."""
        while self._size < wanted:
            worker = self._actor.remote(self._home, self._parallel)
            self._starting[worker.__ray_ready__.remote()] = worker
        while self._size > wanted and (self._idle or self._starting):
            _end(self._starting.popitem()[1] if self._starting else self._idle.pop())  # the warm ones last

    def begin(self, study: Study, lost: str, until: float) -> "ObjectRef[StudyReturn]":
        """Let an idle process run a study; what it returns tells when it is done."""
        worker = self._idle.pop()
        ref: ObjectRef[StudyReturn] = worker.run.options(name=study.key).remote(study, lost, until)
        self._busy[ref] = worker
        return ref

    def wait(self, seconds: float) -> "list[ObjectRef[StudyReturn]]":
        """Wait for something to happen; returns the studies that are done."""
        import ray

        refs = [*self._busy, *self._starting]
        happened, _ = ray.wait(refs, num_returns=len(refs), timeout=0) if refs else ([], [])
        if refs and not happened:
            happened, _ = ray.wait(refs, timeout=seconds)
        for ref in [ref for ref in happened if ref in self._starting]:
            self._welcome(ref, self._starting.pop(ref))
        return [ref for ref in happened if ref in self._busy]

    def _welcome(self, ref: "ObjectRef[object]", worker: "ActorHandle") -> None:
        import ray

        try:
            ray.get(ref)
        except ray.exceptions.RayError as error:
            self._false_starts += 1
            if self._false_starts >= FALSE_STARTS:
                words = " ".join(str(error).split())[:300]
                raise CrewError(f"no study process starts ({type(error).__name__}: {words})") from None
            return
        self._false_starts = 0
        self._idle.append(worker)

    def release(self, ref: "ObjectRef[StudyReturn]", *, fit: bool) -> None:
        """A study is done with its process: it is used again where it is fit for that."""
        worker = self._busy.pop(ref)
        if fit:
            self._idle.append(worker)
        else:
            _end(worker)

    def close(self) -> None:
        """End all of it."""
        for worker in (*self._busy.values(), *self._starting.values(), *self._idle):
            _end(worker)


def _end(worker: "ActorHandle") -> None:
    import ray

    ray.kill(worker)
