"""What runs in a study's process: one study after the other, with everything imported once."""

import os
import resource
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from orchestrator.campaign.runs import import_from, ledger_path
from orchestrator.campaign.study import Study
from orchestrator.engine.driver_node import DriverNode
from orchestrator.engine.journal import Journal

LEAK_BYTES = 1 << 30
"""What a process may have grown by in all its studies before the next one gets a new process."""


@dataclass(frozen=True)
class StudyReturn:
    """How a study came back: whether it is finished, and whether its process is fit for another."""

    finished: bool
    fit: bool


class StudyWorker:
    """A long-lived process for studies, an actor of Ray.

    What an objective leaves behind must not reach the next study: a process with a failed trial, a changed variable,
    a thread more or a gigabyte more says so, and is renewed.
    """

    def __init__(self, home: DriverNode, parallel: bool) -> None:
        import ray

        import_from(home.paths)
        self._home, self._node = home, ray.get_runtime_context().get_node_id()
        engine = "parallel" if parallel else "sequential"
        import_module(f"orchestrator.engine.{engine}")  # now, while the others start up too
        self._size, self._harmed = _peak_bytes(), False

    def run(self, study: Study, lost: str, until: float) -> StudyReturn:
        """Run one study from its journal on; `lost` says why the process that had it before is gone."""
        before, self._harmed = Surroundings.now(), False
        journal = self._home.open(study)
        try:
            finished = self._run(study, journal, lost, until)
        finally:
            journal.close()
        grown = _peak_bytes() - self._size > LEAK_BYTES
        return StudyReturn(finished, fit=not (self._harmed or grown or before.are_changed()))

    def _run(self, study: Study, journal: Journal, lost: str, until: float) -> bool:
        if study.workers == 1:
            from orchestrator.engine.sequential import run_sequential

            return run_sequential(
                study,
                journal,
                ledger=self._home.ledger(study),
                node=self._node,
                lost=lost,
                until=until,
                on_failure=self._note_harm,
            )
        from orchestrator.engine.parallel import run_parallel

        ledger = ledger_path(self._home.folder, study)
        return run_parallel(study, journal, ledger, node=self._node, until=until, paths=self._home.paths)

    def _note_harm(self) -> None:
        self._harmed = True


@dataclass(frozen=True)
class Surroundings:
    """What a study finds in its process."""

    environment: Mapping[str, str]
    threads: frozenset[threading.Thread]

    @classmethod
    def now(cls) -> "Surroundings":
        """As they are."""
        return cls(dict(os.environ), frozenset(threading.enumerate()))

    def are_changed(self) -> bool:
        """Whether a variable has another value or is gone, or a thread is new; libraries add variables when they are loaded."""
        now = self.now()
        same = all(now.environment.get(name) == value for name, value in self.environment.items())
        return not (same and now.threads <= self.threads)


def _peak_bytes() -> int:
    """The most memory this process ever had; Linux counts it in kilobytes, macOS in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
