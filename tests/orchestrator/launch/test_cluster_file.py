"""Cluster files are checked offline: ours pass, and each way to break one has its own line."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from orchestrator import cli
from orchestrator.errors import UserError
from orchestrator.launch.cluster_file import check_file

ROOT = Path(__file__).parents[3]
OURS = ("cluster.yaml", "cluster-onprem.yaml", "cluster-kuberay.yaml")


@pytest.fixture
def broken(tmp_path: Path) -> Callable[..., Path]:
    """A copy of one of our files with a passage replaced."""
    shutil.copy(ROOT / "requirements.lock", tmp_path)

    def build(before: str, after: str, name: str = "cluster.yaml") -> Path:
        text = (ROOT / name).read_text()
        assert before in text
        (tmp_path / name).write_text(text.replace(before, after))
        return tmp_path / name

    return build


@pytest.mark.parametrize("name", OURS)
def test_our_cluster_files_pass(name):
    assert check_file(ROOT / name) == []


def test_our_cluster_has_room_for_the_campaigns_it_is_made_for():
    assert check_file(ROOT / "cluster.yaml", ["cifar10", "lander"]) == []


HEAD = "head_node_type: head\n"
BROKEN = {
    "head missing": (HEAD, "", "head_node_type is missing; one of head, gpu, cpu."),
    "head unknown": (HEAD, "head_node_type: haed\n", "head_node_type 'haed' is not among the node types; did you mean"),
    "no types": ("available_node_types:", "metadata:", "available_node_types is missing"),
    "key misspelt": ("idle_timeout_minutes", "idle_timeout_minuts", "did you mean 'idle_timeout_minutes'?"),
    "key of a type misspelt": ("    min_workers: 0\n    max_workers: 8", "    min_worker: 0", "_types.gpu.min_worker'"),
    "provider misspelt": ("  region:", "  regoin:", "provider.regoin: did you mean 'region'?"),
    "provider unknown": ("type: aws", "type: awz", "Unsupported node provider: awz"),
    "instance misspelt": ("MarketOptions: {MarketType: spot} #", "MarktOptions: {} #", "EC2 knows no 'InstanceMarktOptions'"),
    "wrong type": ("max_workers: 12", "max_workers: twelve", "max_workers: 'twelve' is not of type 'integer'."),
    "too many": ("min_workers: 0\n    max_workers: 8", "min_workers: 13\n    max_workers: 13", "smaller than the sum"),
    "resource nobody wants": ("GPU: 1}", "GPU: 1, TPU: 4}", "gpu.resources.TPU: no trial asks for it"),
    "resource misspelt": ("GPU: 1}", "gpu: 1}", "gpu.resources.gpu: no trial asks for it"),
    "too small": ("{CPU: 16}", "{CPU: 0}", "available_node_types.cpu: no trial fits into {'CPU': 0}; they ask for 1 CPU"),
    "other Ray": ("2.60.0-py311-gpu", "2.59.1-py311-gpu", "has Ray 2.59.1, requirements.lock has 2.60.0."),
    "other Python": ("2.60.0-py311-gpu", "2.60.0-py39-gpu", "has Python 3.9, the project needs >=3.11."),
    "floating image": ("2.60.0-py311-gpu", "latest-gpu", "names no Ray and Python version"),
    "Ray pinned elsewhere": ("requirements.lock boto3", "requirements.lock ray==2.9.0 boto3", "installs Ray 2.9.0"),
    "lock not installed": ("requirements.lock", "requirements.txt", "no set-up command installs requirements.lock"),
    "key in the file": ("ssh_user: ubuntu", "ssh_user: ubuntu # AKIAABCDEFGHIJKLMNOP", "holds an AWS access key"),
    "password": ("region: us-west-2\n", "region: us-west-2\n  db_password: hunter2hunter2\n", "holds a secret"),
    "token in the file": ("RAY_AUTH_MODE=token", "RAY_AUTH_MODE=token --env RAY_AUTH_TOKEN=0123456789abcdef", "a secret"),
    "dashboard open": ("--dashboard-host=127.0.0.1", "--dashboard-host=0.0.0.0", "--dashboard-host=0.0.0.0 opens"),
    "no token": ("- --env RAY_AUTH_MODE=token", "- --env NO=1", "the head starts without RAY_AUTH_MODE=token"),
    "token not copied": ("  /home/ray/.ray/auth_token:", "  /home/ray/token:", "and the head does not start Ray without one"),
    "defaults of Ray": ("head_start_ray_commands:", "metadata:\n  was:", "--dashboard-host=0.0.0.0 opens the dashboard"),
    "results stay": ("[/.git]", '[/.git, "*.db"]', "rsync_exclude '*.db' also keeps results on the head"),
    "key twice": ("max_workers: 12", "max_workers: 12\nmax_workers: 13", "duplicate key 'max_workers'"),
    "code in YAML": ("cluster_name: rcgp", "cluster_name: !!python/object/apply:os.getcwd []", "could not determine"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "line"), BROKEN.values(), ids=BROKEN)
def test_each_way_to_break_it_has_its_own_line(broken, before, after, line, monkeypatch, capsys):
    path = broken(before, after)
    monkeypatch.setattr(sys, "argv", ["orchestrate", "check", str(path)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    errors = capsys.readouterr().err.splitlines()
    assert len([e for e in errors if line in e]) == 1, errors
    assert all(e.startswith("error: ") for e in errors)
    assert "AKIAABCDEFGHIJKLMNOP" not in "".join(errors)
    assert "hunter2" not in "".join(errors)


def test_a_campaign_that_fits_nowhere_and_a_gpu_it_does_not_need_are_named(broken):
    path = broken("{CPU: 8, GPU: 1}", "{CPU: 1, GPU: 1}")
    assert any(
        "no node type has room for a trial of cifar10, which asks for 2 CPU + 0.5 GPU" in p
        for p in check_file(path, ["cifar10"])
    )
    assert check_file(ROOT / "cluster.yaml", ["lander"]) == [], "nodes with a GPU only come when a trial asks for one"
    waiting = broken("min_workers: 0", "min_workers: 1")
    assert any("gpu.resources.GPU: no trial asks for it" in p for p in check_file(waiting, ["lander"]))


@pytest.mark.parametrize(
    ("name", "line"),
    [("cluster-slurm.sbatch", "a job for Slurm"), ("cluster-kuberay-runs.yaml", "a PersistentVolumeClaim")],
)
def test_files_beside_the_cluster_files_say_what_they_are(name: str, line: str) -> None:
    with pytest.raises(UserError, match=line):
        check_file(ROOT / name)


MORE = {
    "head address": ("cluster-onprem.yaml", "head_ip:", "head_pi:", "provider.head_ip is missing."),
    "key": ("cluster-onprem.yaml", "ssh_private_key:", "ssh_proxy_command:", "auth.ssh_private_key is missing"),
    "autoscaler": ("cluster-onprem.yaml", "RAY_enable_autoscaler_v2=0", "A=1", "no worker would ever join"),
    "token of the workers": ("cluster-onprem.yaml", "    RAY_AUTH_MODE=token", "    A=1", "the worker starts without"),
    "pods' version": ("cluster-kuberay.yaml", "rayVersion: 2.60.0", "rayVersion: 2.59.0", "spec.rayVersion is 2.59.0"),
    "pods' image": ("cluster-kuberay.yaml", "2.60.0-py311", "2.59.0-py311", "head.head.image"),
    "pods' token": ("cluster-kuberay.yaml", "mode: token", "mode: disabled", "spec.authOptions.mode is not token"),
}


@pytest.mark.parametrize(("name", "before", "after", "line"), MORE.values(), ids=MORE)
def test_the_other_files_break_in_their_own_ways(broken, name, before, after, line):
    assert any(line in problem for problem in check_file(broken(before, after, name)))


def test_a_campaign_is_no_cluster_and_a_file_without_its_lock_is_refused(tmp_path):
    with pytest.raises(UserError, match="--dry-run"):
        check_file(ROOT / "orchestrator/campaign/shipped/smoke.yaml")
    shutil.copy(ROOT / "cluster.yaml", tmp_path)
    with pytest.raises(UserError, match="requirements.lock is missing"):
        check_file(tmp_path / "cluster.yaml")
    (tmp_path / "requirements.lock").write_text("numpy==2.0.0\n")
    with pytest.raises(UserError, match="does not pin ray"):
        check_file(tmp_path / "cluster.yaml")


def test_pods_have_one_thread_a_process_and_their_results_a_disk_that_outlives_them():
    spec = yaml.safe_load((ROOT / "cluster-kuberay.yaml").read_text())["spec"]
    claim = yaml.safe_load((ROOT / "cluster-kuberay-runs.yaml").read_text())
    pods = [group["template"]["spec"] for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"])]
    for container in (container for pod in pods for container in pod["containers"]):
        assert {"name": "OMP_NUM_THREADS", "value": "1"} in container["env"]
    (volume,) = pods[0]["volumes"]
    assert claim["kind"] == "PersistentVolumeClaim"
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert pods[0]["containers"][0]["volumeMounts"] == [
        {"name": volume["name"], "mountPath": "/home/ray/rcgp-orchestrator/runs"}
    ]


def test_an_image_is_built_without_what_git_ignores():
    ignored = {name: (ROOT / name).read_text().splitlines() for name in (".gitignore", ".dockerignore")}
    names = {name: {line.removeprefix("**/").strip("/") for line in lines} for name, lines in ignored.items()}
    assert names[".gitignore"] | {".git"} <= names[".dockerignore"]
