"""The on-premise file, launched for real: two machines and a laptop, `ray up` to `ray down`, over SSH."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import mlflow
import pytest
from machines import Machine, missing, network, provide_packages

ROOT = Path(__file__).parents[3]
FILE = "cluster-onprem.yaml"
RAY = (sys.executable, "-m", "ray.scripts.scripts")
ORCHESTRATE = str(Path(sys.executable).parent / "orchestrate")
ADDRESSES = {"head": "192.0.2.10", "worker": "192.0.2.11"}
WHERE = """
import json, orchestrator, ray
ray.init(address="auto", log_to_driver=False)

@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def where():
    import time, orchestrator
    time.sleep(1)
    return ray.util.get_node_ip_address(), orchestrator.__file__

print("found", json.dumps(dict(ray.get([where.remote() for _ in range(4)]))))
"""


@pytest.fixture(scope="module")
def lan(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Machine]]:
    """Two machines that lack only the project, and the laptop of somebody who cloned it."""
    if reason := missing():
        pytest.skip(reason)
    with network(tmp_path_factory.mktemp("lan"), ADDRESSES) as machines:
        for name in ADDRESSES:
            provide_packages(machines[name], machines[name].home / "rcgp-env")
        clone(machines["laptop"].home / "project")
        yield machines


def clone(project: Path) -> None:
    """The project as git would hand it over, with the addresses filled in; user and key are those of the file."""
    ignored = ["--exclude=/.git", "--filter=dir-merge,- .gitignore"]
    subprocess.run(["rsync", "-a", *ignored, f"{ROOT}/", str(project)], check=True)
    text = (project / FILE).read_text()
    assert "head_ip: 192.0.2.10" in text
    assert "worker_ips: [192.0.2.11, 192.0.2.12]" in text
    (project / FILE).write_text(text.replace("[192.0.2.11, 192.0.2.12]", "[192.0.2.11]"))


def eventually(what: Callable[[], bool], seconds: float) -> bool:
    """Whether something becomes true."""
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(2)
    return what()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_file_as_it_is_runs_a_campaign_brings_it_back_and_leaves_nothing_behind(lan):
    laptop = lan["laptop"]
    project = laptop.home / "project"

    def ray(*command: str) -> str:
        start = time.monotonic()
        said = laptop.run(*RAY, *command, cwd=project).stdout
        print(f"{time.monotonic() - start:.0f} s: ray {' '.join(command)}")
        return said

    ray("get-auth-token", "--generate")
    assert "nothing wrong" in laptop.run(ORCHESTRATE, "check", FILE, cwd=project).stdout
    ray("up", "--yes", FILE)
    assert eventually(
        lambda: "Active:\n 2 local.cluster.node" in ray("exec", FILE, "ray status").replace("\r", ""), 120
    )

    (project / "where.py").write_text(WHERE)
    found = ray("submit", FILE, "where.py").split("found ")[1].splitlines()[0]
    assert {ADDRESSES[name]: str(lan[name].home / "rcgp-env") for name in ADDRESSES} == {
        address: path.split("/lib/")[0] for address, path in json.loads(found).items()
    }, "the project is not installed in the environment of each machine"

    ray("exec", FILE, "cd rcgp-orchestrator && orchestrate run smoke --address auto")
    ray("rsync-down", FILE, "rcgp-orchestrator/runs/", "runs/")
    assert "a2-rcgp-ucb" in laptop.run(ORCHESTRATE, "report", "smoke", cwd=project).stdout
    journals = list((project / "runs/smoke/journals").glob("*.jsonl"))
    assert len(journals) == 6, "three algorithms, two seeds"
    client = mlflow.MlflowClient(f"sqlite:///{project}/runs/mlflow.db")
    runs = client.search_runs([e.experiment_id for e in client.search_experiments()])
    tracked = {(params["algorithm"], params["seed"]) for run in runs if "seed" in (params := run.data.params)}
    assert tracked == set(product(["gp-ucb", "a2-rcgp-ucb", "random"], ["0", "1"]))

    assert lan["head"].processes()
    assert lan["worker"].processes()
    ray("down", "--yes", FILE)
    assert lan["head"].processes() == []
    assert eventually(lambda: not lan["worker"].processes(), 180), lan["worker"].processes()
