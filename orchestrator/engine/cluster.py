"""The Ray side of a run: the cluster that is started or joined, and what runs where in it."""

import atexit
import gc
import logging
import os
import socket
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from uuid import uuid4

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.control import GOODBYE_SECONDS, ControlLostError, leave_without_control
from orchestrator.engine.driver_node import DriverNode, JournalWriter
from orchestrator.engine.scratch import remove_scratch
from orchestrator.engine.small_ray import without_onlookers
from orchestrator.errors import UserError

log = logging.getLogger(__name__)
TOKEN = (
    "If it asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's own."
)
"""Ray does not say why it cannot connect: a cluster that is gone and one that was given a wrong token look alike."""


class Connection:
    """A Ray that starts while its driver does something else, and ends while that reports.

    One thread does both and lives in between: the kernel ends what a thread has started when that thread ends. However
    the driver ends, it waits for this one, so that no process is left.
    """

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._error: BaseException | None = None
        self._journals: Path | None = None
        self._there, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._live, name="Ray", daemon=True)
        self._thread.start()

    @classmethod
    def begin(cls, address: str | None) -> "Connection | None":
        """Start Ray or join one; None where this process is part of one already."""
        import ray  # here and not beside what is loaded next: the sooner its processes start

        return None if ray.is_initialized() else cls(address)

    def _live(self) -> None:
        import ray

        try:
            logging.getLogger("ray").setLevel(logging.ERROR)  # it would tell that a thread cannot handle signals
            atexit.register(self.end)  # after the import: this comes before Ray's own hook
            connect(self._address)
        except BaseException as error:
            self._error = error
        self._there.set()
        if self._error is None:
            self._over.wait()
            ray.shutdown()

    def wait(self) -> None:
        """Return when Ray is there; raises what went wrong."""
        self._there.wait()
        if self._error is not None:
            raise self._error

    def leave(self) -> None:
        """End this driver's part in Ray; nobody waits for that but the end of the process."""
        self._over.set()

    def serve(self, journals: Path) -> None:
        """Know whose studies run on it, to clear up behind them."""
        self._journals = journals

    def end(self) -> None:
        """End it and wait for that."""
        self.leave()
        self._thread.join(GOODBYE_SECONDS)  # a Ray that lost its control process cannot say goodbye
        if self._journals is not None:
            remove_scratch(self._journals)


@contextmanager
def cluster(address: str | None, run: Run, connection: Connection | None = None) -> Iterator[DriverNode]:
    """Ray, started here or joined at `address` or already on its way, and this node's part in it."""
    import ray

    owned = connection is not None or not ray.is_initialized()
    if connection is not None:
        connection.wait()
        connection.serve(run.journals)
    elif owned:
        connect(address)
    alone = owned and address in (None, "local")  # a Ray that is not ours may grow nodes at any time
    node, folder = ray.get_runtime_context().get_node_id(), run.journals.resolve()
    name = None if alone else f"journals of {folder} {uuid4().hex}"
    writer = None if name is None else _start_writer(node, name)
    try:
        yield DriverNode(folder, node, run.paths, name)
    except ControlLostError:
        if connection is not None:
            connection.end()
        elif owned:
            leave_without_control()
        raise
    except BaseException as error:
        _drop_what_it_holds(error)
        _leave(owned, writer, connection)
        raise
    _leave(owned, writer, connection)


def _drop_what_it_holds(error: BaseException | None) -> None:
    """Let go of the handles of Ray in the frames that an error came through; its traceback would keep them until it is told."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def another(address: str | None) -> Connection | None:
    """A new Ray in place of our own that was lost; None where it was not our own, is not gone, or no other starts."""
    import ray

    if address not in (None, "local") or ray.is_initialized():
        return None
    connection = Connection(address)
    try:
        connection.wait()
    except UserError as error:
        log.warning("%s", error)
        return None
    return connection


def _leave(owned: bool, writer: object, connection: Connection | None) -> None:
    """End our part in Ray, and all of it where it is our own."""
    import ray

    if connection is not None:
        gc.collect()  # a handle that is found after Ray has ended, while that goes on beside us, would end this process
        connection.leave()
    elif owned:
        ray.shutdown()
    elif writer is not None:
        ray.kill(writer)


def _start_writer(node: str, name: str) -> object:
    """The journal writer, ready to be found by its name."""
    import ray

    writer = actor_here(JournalWriter, node, name=name, max_restarts=-1, max_task_retries=-1).remote()
    ray.get(writer.__ray_ready__.remote())
    return writer


def connect(address: str | None) -> None:
    """Start a Ray of our own on this machine, or join the one at `address`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    check_address(address)
    if address not in (None, "local"):
        return _init(address)
    try:
        _init("local", include_dashboard=False)
    except UserError as error:
        log.warning("%s. Once more.", error)  # a busy machine, or somebody killed a part of it
        ray.shutdown()
        _init("local", include_dashboard=False)


def _init(address: str, **options: bool) -> None:
    """Ray's own `init`, in one line where it fails."""
    import ray

    own = address == "local"
    try:
        with without_onlookers() if own else nullcontext():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except Exception as error:  # of many kinds, and without one of its own where a busy machine starts it too slowly
        reason = " ".join(str(getattr(error, "message", error)).split())[:300].rstrip(".")
        where, token = ("this machine", "") if own else (address, f". {TOKEN}")
        raise UserError(f"Ray at {where}: {reason}{token}") from None


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


def actor_here(cls: type, node: str, groups: Mapping[str, int] | None = None, **options: object) -> Any:
    """`cls` as an actor class that takes no cores and stays on this node, with so many threads for each of `groups`."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(node, soft=False)
    actor: Any = ray.remote(concurrency_groups=dict(groups))(cls) if groups else ray.remote(cls)
    return actor.options(num_cpus=0, scheduling_strategy=here, **options)


def demand(study: Study) -> tuple[float, float]:
    """Cores and GPUs of one trial: what the campaign says, else the objective's hint."""
    hint = build_objective(study).resources
    cpus = hint.cpus if study.cpus is None else study.cpus
    return cpus, hint.gpus if study.gpus is None else study.gpus


def places(study: Study) -> int:
    """How many studies like this one have room at once: by the cores or GPUs of a trial, times its workers."""
    import ray

    there, (cpus, gpus) = ray.cluster_resources(), demand(study)
    rooms = [there.get("CPU", 1) / (cpus * study.workers or 1)]
    if gpus:
        rooms.append(there.get("GPU", 0) / (gpus * study.workers))
    return max(1, int(min(rooms) + 1e-9))


def node_is_gone(node: str) -> bool:
    """Whether Ray lost this node."""
    import ray

    return any(n["NodeID"] == node and not n["Alive"] for n in ray.nodes())
