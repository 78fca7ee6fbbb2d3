"""All studies of a run on a Ray cluster: submitted, watched, and taken up again when their process is lost."""

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from orchestrator.campaign.study import Study
from orchestrator.engine.cluster import node_is_gone, places
from orchestrator.engine.control import JOINED_GRACE, OWN_GRACE, ControlLostError, ControlProcess, NodeWatch
from orchestrator.engine.crew import Crew, CrewError
from orchestrator.engine.deadline import Deadlines, Process, end_process
from orchestrator.engine.driver_node import DriverNode
from orchestrator.engine.trial import reason
from orchestrator.engine.watch import Watcher
from orchestrator.engine.worker import StudyReturn
from orchestrator.errors import UserError

if TYPE_CHECKING:
    from ray import ObjectRef

WAIT_SECONDS = 0.2


@dataclass
class RunOutcome:
    """How a session of a run ended: what went wrong by study, and whether the time was up first."""

    errors: dict[str, str] = field(default_factory=dict)
    out_of_time: bool = False


class Fleet:
    """The studies of a run, waiting and live."""

    def __init__(self, home: DriverNode, until: float, watcher: Watcher) -> None:
        self._home, self._until, self._watcher = home, until, watcher
        self._waiting: deque[tuple[Study, str]] = deque()
        self._live: dict[ObjectRef[StudyReturn], Study] = {}
        self._deadlines = Deadlines()
        self._deaths: Counter[tuple[str, int]] = Counter()
        self._outcome = RunOutcome()

    def execute(self, studies: Sequence[Study]) -> RunOutcome:
        """Run the studies; returns when all are finished, have failed, or the time is up, and raises when Ray is lost."""
        import ray

        self._waiting.extend((study, "") for study in studies)
        grace = OWN_GRACE if self._home.writer is None else JOINED_GRACE
        control = ControlProcess(ray.get_runtime_context().gcs_address, grace)
        own_node = NodeWatch(control, partial(node_is_gone, self._home.node))
        crew, room = Crew(self._home, studies[0]), self._room(studies[0])
        try:
            while self._live or self._waiting:
                control.check()
                if own_node.gone:
                    raise ControlLostError("this machine's part of it (raylet) is gone")
                self._advance(crew, room)
        except CrewError as error:
            self._outcome.errors |= {study.key: str(error) for study, _ in self._waiting}
        except ControlLostError:
            for study in self._live.values():
                self._abandon(study)
            raise
        finally:
            own_node.close()
            crew.close()
        return self._outcome

    def _abandon(self, study: Study) -> None:
        """End a study's process on the driver's machine: it goes on without Ray, nobody would hear what it returns, and
        whoever takes over waits for its journal."""
        heartbeat = self._watcher.heartbeats[study.key]
        if heartbeat.pid and heartbeat.node == self._home.node:
            end_process(Process(heartbeat.node, heartbeat.pid))
        heartbeat.reset()

    def _advance(self, crew: Crew, room: int) -> None:
        """Let free processes begin studies, wait a moment, and see what came back."""
        if time.time() >= self._until and self._waiting:
            self._waiting.clear()
            self._outcome.out_of_time = True
        crew.resize(min(room, len(self._live) + len(self._waiting)))
        while self._waiting and crew.idle:
            study, lost = self._waiting.popleft()
            self._live[crew.begin(study, lost, self._until)] = study
        for ref in crew.wait(WAIT_SECONDS):
            crew.release(ref, fit=self._collect(ref, self._live.pop(ref)))
        self._end_overdue()

    def _room(self, study: Study) -> int:
        """How many studies at once: one for each core or GPU; those with several workers share the cores among them.

        A Ray that is not ours may grow: there every study asks for its place.
        """
        if study.workers == 1 and self._home.writer is not None:
            return len(self._waiting)
        return places(study)

    def _collect(self, ref: "ObjectRef[StudyReturn]", study: Study) -> bool:
        """Take in what became of a study; returns whether its process is fit for another."""
        import ray

        try:
            returned = ray.get(ref)
        except ray.exceptions.RayTaskError as error:
            self._outcome.errors[study.key] = _reason(error.cause)
            return False
        except ray.exceptions.RayError as error:
            self._revive(study, error)
            return False
        self._outcome.out_of_time |= not returned.finished
        return returned.fit

    def _revive(self, study: Study, error: Exception) -> None:
        """The study's process is gone: blame the trial it was at, unless the whole node went, and go on."""
        heartbeat = self._watcher.heartbeats[study.key]
        lost = self._deadlines.pop_reason((study.key, heartbeat.at)) or f"its process died ({type(error).__name__})"
        self._deaths[study.key, heartbeat.settled] += 1
        if self._deaths[study.key, heartbeat.settled] > study.retries + 2:
            self._outcome.errors[study.key] = f"given up: {lost}, again and again"
            return
        if node_is_gone(heartbeat.node):
            lost = ""
            self._abandon(study)
        self._waiting.append((study, lost))
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
