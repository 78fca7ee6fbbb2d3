"""The Ray side of a run: the cluster, who writes journals for whom, and how a process is ended."""

import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from orchestrator.campaign.runs import Run, journal_path, ledger_path
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.journal import FileJournal, Log, Record, encode_all, read
from orchestrator.errors import UserError

TOKEN = (
    "If it asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's own."
)
"""Ray does not say why it cannot connect: a cluster that is gone and one that was given a wrong token look alike."""
PATIENCE = 30.0
"""Seconds to wait for the processes of a driver that just died to let go of a journal."""


def read_ledger(folder: Path, study: Study) -> list[Record]:
    """What the adversary of a distributed study decided in earlier sessions."""
    path = ledger_path(folder, study)
    return read(path) if path.exists() else []


@dataclass(frozen=True)
class Home:
    """The driver's node, as every process of a run needs to know it."""

    folder: Path
    node: str
    paths: tuple[str, ...]
    scribe: str | None = None
    """The actor that writes journals for processes on other nodes; None where there are none."""

    def open(self, study: Study) -> Log:
        """The study's journal, on the driver's node wherever this runs."""
        if self.scribe is None:
            return FileJournal(journal_path(self.folder, study), patience=PATIENCE)
        return RemoteJournal(self.scribe, journal_path(self.folder, study))

    def ledger(self, study: Study) -> list[Record]:
        """What the adversary decided in earlier sessions."""
        if self.scribe is None:
            return read_ledger(self.folder, study)
        import ray

        records: list[Record] = ray.get(ray.get_actor(self.scribe).ledger.remote(self.folder, study))
        return records


class Scribe:
    """Writes the journals of studies that run on other nodes; an actor on the driver's node."""

    def __init__(self) -> None:
        self._journals: dict[Path, FileJournal] = {}

    def open(self, path: Path) -> tuple[list[Record], int]:
        """The records of a journal; whoever opened it before can write no more, because its numbers are stale."""
        if path in self._journals:
            self._journals.pop(path).close()
        self._journals[path] = FileJournal(path, patience=PATIENCE)
        return self._journals[path].records, len(self._journals[path].records)

    def append(self, path: Path, lines: list[bytes], seq: int, sync: bool) -> None:
        """Write lines; they are on disk when this returns."""
        if path not in self._journals:  # this scribe took over from one that died
            self._journals[path] = FileJournal(path, patience=PATIENCE)
        self._journals[path].append_lines(lines, seq, sync)

    def ledger(self, folder: Path, study: Study) -> list[Record]:
        """The ledger of a study's adversary."""
        return read_ledger(folder, study)


class RemoteJournal:
    """A journal on the driver's node, written through its scribe."""

    def __init__(self, scribe: str, path: Path) -> None:
        import ray

        self.path, self.seconds = path, 0.0
        self._scribe = ray.get_actor(scribe)
        self.records, self._seq = ray.get(self._scribe.open.remote(path))

    def append(self, *records: Record, sync: bool = True) -> None:
        """Send the records and wait until they are on disk."""
        import ray

        start = time.perf_counter()
        ray.get(self._scribe.append.remote(self.path, encode_all(self._seq, records), self._seq, sync))
        self._seq += len(records)
        self.seconds += time.perf_counter() - start

    def close(self) -> None:
        """Nothing to let go of here: the scribe keeps the file until the run ends."""


@contextmanager
def cluster(address: str | None, run: Run) -> Iterator[Home]:
    """Ray, started here or joined at `address`, and this node's part in it."""
    import ray

    owned = not ray.is_initialized()
    if owned:
        connect(address)
    alone = owned and address in (None, "local")  # a Ray that is not ours may grow nodes at any time
    node, folder = ray.get_runtime_context().get_node_id(), run.journals.resolve()
    name = None if alone else f"scribe of {folder} {uuid4().hex}"
    scribe = (
        None if name is None else actor_here(Scribe, node, name=name, max_restarts=-1, max_task_retries=-1).remote()
    )
    try:
        if scribe is not None:
            ray.get(scribe.__ray_ready__.remote())
        yield Home(folder, node, run.paths, name)
    finally:
        if owned:
            ray.shutdown()
        elif scribe is not None:
            ray.kill(scribe)


def connect(address: str | None) -> None:
    """Start a Ray of our own on this machine, or join the one at `address`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    check_address(address)
    quiet: dict[str, Any] = {"include_dashboard": False} if address in (None, "local") else {}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **quiet)
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.AuthenticationError) as error:
        reason = " ".join(str(getattr(error, "message", error)).split())[:300].rstrip(".")
        token = "" if address is None else f". {TOKEN}"
        raise UserError(f"Ray at {address or 'this machine'}: {reason}{token}") from None


def check_address(address: str | None) -> None:
    """Refuse an address where no Ray answers, in seconds instead of minutes."""
    if address in (None, "auto", "local"):
        return
    if str(address).startswith("ray://"):
        raise UserError(
            f"address {address!r}: the driver must run inside the cluster; use 'ray job submit' from outside."
        )
    host, _, port = str(address).rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"address {address!r} must be 'auto' or HOST:PORT.")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise UserError(
            f"no Ray at {address} ({error}); start one with 'ray start --head', or leave --address out."
        ) from None


def actor_here(cls: type, node: str, **options: Any) -> Any:
    """`cls` as an actor class that takes no cores and stays on this node."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(cls).options(num_cpus=0, scheduling_strategy=here, **options)


def end_process(node: str, pid: int) -> None:
    """Kill a process wherever it runs; one that is stopped or deep in native code dies too."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    if node == ray.get_runtime_context().get_node_id():
        _kill(pid)
        return
    there = NodeAffinitySchedulingStrategy(node, soft=False)
    ray.get(ray.remote(_kill).options(num_cpus=0, scheduling_strategy=there).remote(pid))


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it may have ended on its own just now
        os.kill(pid, signal.SIGKILL)


def demand(study: Study) -> tuple[float, float]:
    """Cores and GPUs of one trial: what the campaign says, else the objective's hint."""
    hint = build_objective(study).resources
    cpus = hint.cpus if study.cpus is None else study.cpus
    return cpus, hint.gpus if study.gpus is None else study.gpus
