"""Whether a cluster file is fit for its campaigns, and this machine to launch it."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.campaign.campaign import read_yaml
from orchestrator.launch.cluster_file import check_file, locked_ray
from orchestrator.launch.machine import Finding, check_machine


def check(path: Path, campaigns: Sequence[str] = ()) -> list[Finding]:
    """What is wrong with a cluster file; where nothing is, what this machine lacks to launch it."""
    problems = [Finding(str(path), text) for text in check_file(path, campaigns)]
    return problems or list(check_machine(path, read_yaml(path), locked_ray(path)))
