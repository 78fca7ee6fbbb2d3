"""The Ray side of a run: the cluster that is started or joined, and what runs where in it."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.control import ControlLostError, leave_without_control
from orchestrator.engine.driver_node import DriverNode, JournalWriter
from orchestrator.errors import UserError

TOKEN = (
    "If it asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH to the cluster's own."
)
"""Ray does not say why it cannot connect: a cluster that is gone and one that was given a wrong token look alike."""


@contextmanager
def cluster(address: str | None, run: Run) -> Iterator[DriverNode]:
    """Ray, started here or joined at `address`, and this node's part in it."""
    import ray

    owned = not ray.is_initialized()
    if owned:
        connect(address)
    alone = owned and address in (None, "local")  # a Ray that is not ours may grow nodes at any time
    node, folder = ray.get_runtime_context().get_node_id(), run.journals.resolve()
    name = None if alone else f"journals of {folder} {uuid4().hex}"
    writer = None if name is None else _start_writer(node, name)
    try:
        yield DriverNode(folder, node, run.paths, name)
    except ControlLostError:
        if owned:
            leave_without_control()
        raise
    except BaseException:
        _leave(owned, writer)
        raise
    _leave(owned, writer)


def _leave(owned: bool, writer: Any) -> None:
    """End our part in Ray, and all of it where it is our own."""
    import ray

    if owned:
        ray.shutdown()
    elif writer is not None:
        ray.kill(writer)


def _start_writer(node: str, name: str) -> Any:
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
    quiet: dict[str, Any] = {"include_dashboard": False} if address in (None, "local") else {}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **quiet)
    except (
        OSError,
        RuntimeError,
        ValueError,
        ray.exceptions.AuthenticationError,
    ) as error:  # OSError: a long TMPDIR, too
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


def demand(study: Study) -> tuple[float, float]:
    """Cores and GPUs of one trial: what the campaign says, else the objective's hint."""
    hint = build_objective(study).resources
    cpus = hint.cpus if study.cpus is None else study.cpus
    return cpus, hint.gpus if study.gpus is None else study.gpus


def node_is_gone(node: str) -> bool:
    """Whether Ray lost this node."""
    import ray

    return any(n["NodeID"] == node and not n["Alive"] for n in ray.nodes())
