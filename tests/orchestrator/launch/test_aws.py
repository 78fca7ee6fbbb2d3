"""`ray up cluster.yaml` against an EC2 that moto plays: Ray's own launcher, with only AWS and SSH replaced."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
REGION = "us-west-2"
pytestmark = pytest.mark.slow
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


@dataclass(frozen=True)
class Account:
    """An AWS account, the home of somebody who launches from it, and cluster.yaml as Ray completed it for both."""

    ec2: Any
    iam: Any
    home: Path
    config: dict[str, Any]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """An empty account and the first half of `ray up`: key pair, role, subnets and security group."""
    import boto3
    from moto import mock_aws
    from ray.autoscaler._private.aws import config as aws
    from ray.autoscaler._private.commands import _bootstrap_config

    home = tmp_path_factory.mktemp("home")
    (home / ".ray").mkdir()
    (home / ".ray/auth_token").write_text("0" * 64)
    given = yaml.safe_load((ROOT / "cluster.yaml").read_text())
    with pytest.MonkeyPatch.context() as patch, mock_aws(config={"iam": {"load_aws_managed_policies": True}}):
        patch.setenv("HOME", str(home))
        patch.chdir(home)
        patch.setattr(aws, "time", SimpleNamespace(sleep=lambda seconds: None))  # a role takes its time in AWS only
        yield Account(
            boto3.client("ec2", REGION),
            boto3.client("iam", REGION),
            home,
            _bootstrap_config(given, no_config_cache=True),
        )


def launch_head(config: dict[str, Any], shell: Shell) -> None:
    """What `ray up` does once its file is complete."""
    from ray.autoscaler._private.commands import get_or_create_head_node

    get_or_create_head_node(config, "cluster.yaml", False, False, True, None, _runner=shell)


def launch_worker(config: dict[str, Any], kind: str) -> None:
    """What the autoscaler on the head does when trials of that kind wait."""
    from ray.autoscaler._private.event_summarizer import EventSummarizer
    from ray.autoscaler._private.node_launcher import BaseNodeLauncher
    from ray.autoscaler._private.node_provider_availability_tracker import NodeProviderAvailabilityTracker
    from ray.autoscaler._private.providers import _get_node_provider
    from ray.autoscaler._private.util import ConcurrentCounter

    provider = _get_node_provider(config["provider"], config["cluster_name"])
    pending = ConcurrentCounter()
    pending.inc(kind, 1)
    launcher = BaseNodeLauncher(provider, pending, EventSummarizer(), NodeProviderAvailabilityTracker())
    assert len(launcher.launch_node(config, 1, kind)) == 1


def instances(ec2: Any) -> dict[str, dict[str, Any]]:
    """What runs in the account, by node type."""
    every = [one for reservation in ec2.describe_instances()["Reservations"] for one in reservation["Instances"]]
    tags = [{tag["Key"]: tag["Value"] for tag in one["Tags"]} for one in every]
    return {tag["ray-user-node-type"]: one for tag, one in zip(tags, every, strict=True)}


def test_the_account_gets_a_role_a_key_and_a_group_open_for_ssh_only(account):
    profile = account.config["head_node"]["IamInstanceProfile"]["Arn"].split("/")[-1]
    attached = account.iam.list_attached_role_policies(RoleName=profile)["AttachedPolicies"]
    assert {policy["PolicyName"] for policy in attached} == {"AmazonEC2FullAccess", "AmazonS3FullAccess"}
    text = (ROOT / "cluster.yaml").read_text()
    assert f"attach-role-policy --role-name {profile}" in text, "these do not let the head look resolve:ssm images up"
    key = Path(account.config["auth"]["ssh_private_key"])
    assert key.is_relative_to(account.home)
    assert key.stat().st_mode & 0o077 == 0
    nodes = [node["node_config"] for node in account.config["available_node_types"].values()]
    (group,) = {name for node in nodes for name in node["SecurityGroupIds"]}
    (rules,) = account.ec2.describe_security_groups(GroupIds=[group])["SecurityGroups"]
    assert [(r["FromPort"], r["ToPort"]) for r in rules["IpPermissions"] if r["IpRanges"]] == [(22, 22)]
    subnets = account.ec2.describe_subnets(SubnetIds=nodes[0]["SubnetIds"])["Subnets"]
    assert {subnet["AvailabilityZone"] for subnet in subnets} == {f"{REGION}{letter}" for letter in "abc"}


def test_machines_of_each_type_are_what_the_file_says(account):
    launch_head(account.config, Shell())
    launch_worker(account.config, "gpu")
    launch_worker(account.config, "cpu")
    found = instances(account.ec2)
    types = {"head": "m6i.xlarge", "gpu": "g5.2xlarge", "cpu": "c6i.4xlarge"}
    assert {kind: one["InstanceType"] for kind, one in found.items()} == types
    spot = {kind for kind, one in found.items() if one.get("InstanceLifecycle") == "spot"}
    assert spot == {"gpu", "cpu"}
    assert "IamInstanceProfile" in found["head"]
    sizes = {kind: node["resources"] for kind, node in account.config["available_node_types"].items()}
    assert {kind: (has["CPU"], has.get("GPU", 0)) for kind, has in sizes.items()} == {
        "head": (0, 0),
        "gpu": (8, 1),
        "cpu": (16, 0),
    }
    offered = account.ec2.describe_instance_types(InstanceTypes=[types["gpu"], types["cpu"]])["InstanceTypes"]
    cores = {one["InstanceType"]: one["VCpuInfo"]["DefaultVCpus"] for one in offered}
    assert cores == {types[kind]: sizes[kind]["CPU"] for kind in ("gpu", "cpu")}


def test_the_head_is_set_up_in_its_container_and_starts_behind_a_token(account):
    shell = Shell()
    launch_head(account.config, shell)
    steps = [
        place(shell, text)
        for text in (
            "rsync",
            "docker run",
            "pip install --quiet --constraint requirements.lock",
            "requirements.lock boto3",
            "ray stop",
            "ray start --head",
        )
    ]
    assert steps == sorted(steps)
    assert ".[campaigns]" in shell.sent[steps[2]]
    container, start = shell.sent[steps[1]], shell.sent[steps[-1]]
    for part in (
        "rayproject/ray:2.60.0-py311-cpu",
        "RAY_AUTH_MODE=token",
        "OMP_NUM_THREADS=1",
        ":/home/ray/.ray/auth_token",
    ):
        assert part in container
    assert "--dashboard-host=127.0.0.1" in start
    assert "RAY_OVERRIDE_RESOURCES" in start
    assert '{"CPU":0}' in start, "the head would be given trials"


def place(shell: Shell, text: str) -> int:
    """Where a command was sent."""
    return next(number for number, line in enumerate(shell.sent) if text in line)


def test_workers_get_the_commands_and_the_image_of_their_type(account):
    install, data = account.config["worker_setup_commands"]
    assert [install] == account.config["setup_commands"]
    assert install.endswith("pip install --quiet --constraint requirements.lock '.[campaigns]'")
    assert "CIFAR10" in data
    assert account.config["worker_start_ray_commands"][-1] == "ray start --address=$RAY_HEAD_IP:6379"
    assert account.config["docker"]["worker_image"].endswith("-gpu")
    assert account.config["available_node_types"]["cpu"]["docker"]["worker_image"].endswith("-cpu")
