"""`ray up cluster.yaml` against an EC2 that moto plays: Ray's own launcher, with only AWS and SSH replaced."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
import yaml
from moto import mock_aws

ROOT = Path(__file__).parents[3]
REGION = "us-west-2"
ANSWERS = {
    "command -v docker": "/usr/bin/docker",
    ".State.Running": "false",
    ".Config.Env": '["HOME=/home/ray"]',
    "printenv HOME": "/home/ray",
    ".Runtimes": "{}",
}
"""What a fresh machine says to the launcher's questions about Docker."""


class Shell:
    """Stands for `subprocess` in Ray's launcher: notes what would be sent over SSH."""

    DEVNULL = -3

    def __init__(self) -> None:
        self.sent: list[str] = []

    def check_call(self, command: list[str], **_: Any) -> int:
        self.sent.append(" ".join(command))
        return 0

    def check_output(self, command: list[str], **_: Any) -> bytes:
        self.check_call(command)
        return next((answer for asked, answer in ANSWERS.items() if asked in self.sent[-1]), "").encode()


@pytest.fixture
def aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An empty AWS account, and the home and project of somebody who launches from it."""
    from ray.autoscaler._private.aws import config, utils

    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray/auth_token").write_text("0" * 64)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "time", SimpleNamespace(sleep=lambda seconds: None))  # AWS takes its time, moto does not
    with mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        yield boto3.client("ec2", REGION)
    utils.client_cache.cache_clear()
    utils.resource_cache.cache_clear()


def bootstrapped() -> dict[str, Any]:
    """cluster.yaml as the launcher completes it: the account's key pair, role, subnets and security group filled in."""
    from ray.autoscaler._private.commands import _bootstrap_config

    given = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    return _bootstrap_config(given, no_config_cache=True)


def launch_head(config: dict[str, Any], shell: Shell) -> None:
    """What `ray up` does once its file is complete."""
    from ray.autoscaler._private.commands import get_or_create_head_node

    get_or_create_head_node(config, "cluster.yaml", False, False, True, None, _runner=shell)


def launch_worker(config: dict[str, Any], kind: str, count: int) -> None:
    """What the autoscaler on the head does when trials of that kind wait."""
    from ray.autoscaler._private.event_summarizer import EventSummarizer
    from ray.autoscaler._private.node_launcher import BaseNodeLauncher
    from ray.autoscaler._private.node_provider_availability_tracker import NodeProviderAvailabilityTracker
    from ray.autoscaler._private.providers import _get_node_provider
    from ray.autoscaler._private.util import ConcurrentCounter

    provider = _get_node_provider(config["provider"], config["cluster_name"])
    pending = ConcurrentCounter()
    pending.inc(kind, count)
    launcher = BaseNodeLauncher(provider, pending, EventSummarizer(), NodeProviderAvailabilityTracker())
    assert len(launcher.launch_node(config, count, kind)) == count


def instances(ec2: Any) -> dict[str, list[dict[str, Any]]]:
    """What runs in the account, by node type."""
    found: dict[str, list[dict[str, Any]]] = {}
    for reservation in ec2.describe_instances()["Reservations"]:
        for instance in reservation["Instances"]:
            tags = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
            found.setdefault(tags["ray-user-node-type"], []).append(instance)
    return found


def test_the_account_gets_a_role_a_key_and_a_group_open_for_ssh_only(aws, tmp_path):
    config = bootstrapped()
    iam = boto3.client("iam", REGION)
    roles = [role["RoleName"] for role in iam.list_roles()["Roles"]]
    assert config["head_node"]["IamInstanceProfile"]["Arn"].endswith("ray-autoscaler-v1")
    assert roles == ["ray-autoscaler-v1"], "the header of cluster.yaml names the role"
    key = Path(config["auth"]["ssh_private_key"])
    assert key.is_relative_to(tmp_path)
    assert key.stat().st_mode & 0o077 == 0
    groups = {tuple(node["node_config"]["SecurityGroupIds"]) for node in config["available_node_types"].values()}
    (group,) = aws.describe_security_groups(GroupIds=[*groups.pop()])["SecurityGroups"]
    assert not groups
    open_to_all = [rule for rule in group["IpPermissions"] if rule["IpRanges"]]
    assert [(rule["FromPort"], rule["ToPort"]) for rule in open_to_all] == [(22, 22)]
    zones = aws.describe_subnets(SubnetIds=config["available_node_types"]["gpu"]["node_config"]["SubnetIds"])["Subnets"]
    assert {zone["AvailabilityZone"] for zone in zones} == {f"{REGION}{letter}" for letter in "abc"}


def test_machines_of_each_type_are_what_the_file_says(aws):
    config = bootstrapped()
    launch_head(config, Shell())
    launch_worker(config, "gpu", 2)
    launch_worker(config, "cpu", 1)
    found = instances(aws)
    assert {kind: {i["InstanceType"] for i in machines} for kind, machines in found.items()} == {
        "head": {"m6i.xlarge"},
        "gpu": {"g5.2xlarge"},
        "cpu": {"c6i.4xlarge"},
    }
    assert {kind: len(machines) for kind, machines in found.items()} == {"head": 1, "gpu": 2, "cpu": 1}
    assert [i.get("InstanceLifecycle") for kind in ("head", "gpu", "cpu") for i in found[kind]] == [None, *["spot"] * 3]
    sizes = {k: v["resources"] for k, v in config["available_node_types"].items()}
    assert sizes == {"head": {"CPU": 0}, "gpu": {"CPU": 8, "GPU": 1}, "cpu": {"CPU": 16}}
    types = aws.describe_instance_types(InstanceTypes=["g5.2xlarge", "c6i.4xlarge"])["InstanceTypes"]
    offered = {t["InstanceType"]: t["VCpuInfo"]["DefaultVCpus"] for t in types}
    assert offered == {"g5.2xlarge": sizes["gpu"]["CPU"], "c6i.4xlarge": sizes["cpu"]["CPU"]}


def test_the_head_is_set_up_in_its_container_and_starts_behind_a_token(aws):
    shell = Shell()
    launch_head(bootstrapped(), shell)
    (container,) = [line for line in shell.sent if "docker run" in line]
    for part in ("rayproject/ray:2.60.0-py311-cpu", "RAY_AUTH_MODE=token", "OMP_NUM_THREADS=1", "/.ray/auth_token"):
        assert part in container
    steps = [shell.sent.index(container), *(index(shell, text) for text in (
        "pip install --quiet --constraint requirements.lock .",
        "boto3",
        "ray stop",
        "ray start --head",
    ))]  # fmt: skip
    assert steps == sorted(steps)
    assert "--dashboard-host=127.0.0.1" in shell.sent[steps[-1]]
    assert '"CPU":0' in shell.sent[steps[-1]].replace(" ", "").replace("\\", ""), "the head would be given trials"


def index(shell: Shell, text: str) -> int:
    """Where a command was sent, its quotes aside."""
    return next(i for i, line in enumerate(shell.sent) if text in " ".join(shlex.split(line.replace("'", ""))))


def test_workers_get_the_commands_and_the_image_of_their_type(aws):
    config = bootstrapped()
    install, data = config["worker_setup_commands"]
    assert install == config["setup_commands"][0]
    assert install.endswith("pip install --quiet --constraint requirements.lock .")
    assert "CIFAR10" in data
    assert config["worker_start_ray_commands"][-1] == "ray start --address=$RAY_HEAD_IP:6379"
    assert config["docker"]["worker_image"].endswith("-gpu")
    assert config["available_node_types"]["cpu"]["docker"]["worker_image"].endswith("-cpu")
