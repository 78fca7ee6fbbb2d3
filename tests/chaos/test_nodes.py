"""Machines of a cluster: separate `ray start` processes that know each other by a token, and can be switched off."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from harness import ENVIRONMENT, Driver, Row, audit, begun, enter_row, journals, kill_tree, plan, times, wait_until
from servers import free_port

from orchestrator.engine.events import SessionStarted, of_type
from orchestrator.engine.history import observations
from orchestrator.engine.journal import read

QUICK = '{"health_check_period_ms": 500, "health_check_failure_threshold": 4}'
"""How soon a lost machine is noticed; Ray's own 15 s would be waited for in every test."""


class Cluster:
    """A head without cores, and machines that come and go. Each has an address of its own on the loopback network."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.token = folder, folder / "auth_token"
        self.token.write_text(uuid4().hex)
        self.token.chmod(0o600)
        self.address = f"127.0.0.1:{free_port()}"
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._sockets = tempfile.mkdtemp(prefix="rc-")  # a socket's path must be short
        port = self.address.rpartition(":")[2]
        self.start("--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false", f"--system-config={QUICK}")

    @property
    def environment(self) -> dict[str, str]:
        """What a process must know to be let in."""
        return ENVIRONMENT | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token)}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start a machine and wait until it is up; the first one is the head."""
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        command += [f"--node-ip-address=127.0.0.{len(self._nodes) + 1}", *arguments]
        command += [f"--temp-dir={self._sockets}"] if "--head" in arguments else [f"--address={self.address}"]
        path = self.folder / f"node{len(self._nodes)}.log"
        with path.open("wb") as log:
            known = self.environment | environment
            node = subprocess.Popen(command, env=known, stdout=log, stderr=log, start_new_session=True)
        self._nodes.append(node)
        while node.poll() is None:
            if "Ray runtime started" in path.read_text():
                return node
            time.sleep(0.1)
        assert "timed out during startup" in path.read_text(), path.read_text()
        return self.start(
            *arguments, **environment
        )  # Ray gives a machine some seconds to start, and a busy one may need more

    def worker(self, cores: int = 2, **environment: str) -> subprocess.Popen[bytes]:
        """A machine with some cores."""
        return self.start(f"--num-cpus={cores}", f"--dashboard-agent-listen-port={free_port()}", **environment)

    def close(self) -> None:
        """Switch all of it off."""
        for node in reversed(self._nodes):
            kill_tree(node.pid)
            node.wait()
        shutil.rmtree(self._sockets, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    with _cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@contextmanager
def _cluster(folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.close()


def test_a_campaign_on_three_machines_loses_one_and_is_complete(cluster, tmp_path):
    kills, seeds, trials = times(1, 8), 4, times(30, 150)
    objective = {"name": "havoc:Havoc", "folder": str(tmp_path), "seconds": 0.25}
    path = plan(tmp_path, objective=objective, seeds=seeds, trials=trials, retries=3)
    machines = [cluster.worker(), cluster.worker()]
    driver = Driver(tmp_path, "run", str(path), "--address", cluster.address, env=cluster.environment)
    struck = []
    for i in range(kills):
        wait_until(lambda i=i: begun(tmp_path) > (i + 1) * seeds * trials / (kills + 2), driver)
        struck.append(time.time())
        kill_tree(machines.pop(0).pid)
        if i + 1 < kills:
            machines.append(cluster.worker())
    assert driver.finish(3000) == 0, driver.said[-3000:]
    count = audit(tmp_path)
    found = [o for p in journals(tmp_path) for o in observations(read(p))]
    assert len({o.node for o in found}) >= 2, "more than one machine worked"
    assert not any(o.failed for o in found), "a lost machine is nobody's failed trial"
    sessions = [s.at for p in journals(tmp_path) for s in of_type(read(p), SessionStarted)]
    assert len(sessions) > seeds, "a study moved"
    slowest = max(min((at - moment for at in sessions if at > moment), default=0.0) for moment in struck)
    enter_row(Row("node switched off", kills, count.lost, count.doubled, count.overspent, slowest), kills)


@pytest.mark.parametrize(
    ("lying", "trials"),
    [({"lies": [30.0]}, 36), ({"lies": [-0.3, 0.3], "share": 0.5}, 56)],
    ids=["far out", "within the range"],
)
def test_a_node_that_lies_is_named_and_what_it_said_is_asked_again_elsewhere(tmp_path, lying, trials):
    with _cluster(tmp_path) as cluster:
        cluster.worker(1, ORCHESTRATE_REPORTER="gpu-07", LYING="yes")
        cluster.worker(1, ORCHESTRATE_REPORTER="gpu-08")
        honest = {"algorithms": ["a2-rcgp-ucb"], "adversaries": ["honest"], "workers": 2, "trials": trials}
        path = plan(tmp_path, objective={"name": "havoc:Liar", "folder": str(tmp_path)} | lying, **honest)
        there = ("--address", cluster.address)
        assert Driver(tmp_path, "run", str(path), *there, env=cluster.environment).finish(600) == 0
        report = json.loads((tmp_path / "runs/chaos/report/forensics.json").read_text())
        assert re.match(r"\d+ of \d+ suspects ran on gpu-07 \(of \d+ trials there\), elsewhere", report["in_words"])
        assert report["reporters"][0]["reporter"] == "gpu-07"
        doubted = next(s for s in report["suspects"] if s["reporter"] == "gpu-07")
        ask = Driver(tmp_path, "rule", "chaos", str(doubted["trial"]), "again", env=cluster.environment)
        assert ask.finish(60) == 0
        assert Driver(tmp_path, "resume", "chaos", *there, env=cluster.environment).finish(600) == 0
        *before, last = observations(read(journals(tmp_path)[0]))
        # the suspect may be a second run itself: then both are of the same first one
        suspect = next(o for o in before if o.number == doubted["trial"])
        first = suspect.number if suspect.replicate_of is None else suspect.replicate_of
        assert (last.replicate_of, last.reporter.name) == (first, "gpu-08")
        report = json.loads((tmp_path / "runs/chaos/report/forensics.json").read_text())
        again = next(s for s in report["suspects"] if s["trial"] == doubted["trial"])["replicates"]
        assert "gpu-08" in {r["reporter"] for r in again}


def test_without_the_token_nobody_gets_in(cluster, tmp_path):
    path = plan(tmp_path, trials=2)
    strangers = {
        "another token": cluster.environment | {"RAY_AUTH_TOKEN_PATH": str(_other_token(tmp_path))},
        "none": ENVIRONMENT | {"RAY_AUTH_MODE": "disabled"},
        "a file that is not there": cluster.environment | {"RAY_AUTH_TOKEN_PATH": str(tmp_path / "nowhere")},
    }
    for who, environment in strangers.items():
        driver = Driver(tmp_path, "run", str(path), "--address", cluster.address, env=environment)
        assert driver.finish() == 2, f"{who}: {driver.said[-3000:]}"
        assert f"error: Ray at {cluster.address}" in driver.said
        assert "RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH" in driver.said
        assert "Traceback" not in driver.said
    assert begun(tmp_path) == 0


def _other_token(folder: Path) -> Path:
    path = folder / "other_token"
    path.write_text(uuid4().hex)
    return path
