"""Checking the machine that launches: what `ray up` would stumble over here, before it asks anybody for machines."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from orchestrator.launch.cluster_file import TOKEN, Config

PACKAGES = {"aws": ("boto3", "boto3"), "gcp": ("googleapiclient", "google-api-python-client")}
"""What Ray needs to ask a provider for machines: the module and how it is installed."""
PROGRAMS = {"ssh": "openssh-client", "rsync": "rsync"}
"""What Ray calls to reach the machines, and the package that has it."""


@dataclass(frozen=True)
class Finding:
    """Something amiss, in one line with its remedy."""

    where: str
    text: str
    fatal: bool = True
    """Whether launching fails over it; otherwise the line says what does."""


def check_machine(path: Path, config: Config, ray: str) -> Iterator[Finding]:
    """What this machine lacks to launch the cluster of a file that is in order itself; nobody on the network is asked."""
    here = version("ray")
    if here != ray:
        yield _note(f"Ray is {here}, the nodes get {ray}: pip install 'ray[tune]=={ray}' before you launch.")
    if config.get("kind") == "RayCluster":
        if shutil.which("kubectl") is None:
            yield _note("kubectl is not installed: it hands the file to your Kubernetes.")
        return
    yield from _provider(str(config["provider"]["type"]))
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            yield _error(f"{program} is not installed: Ray reaches the nodes with it; apt-get install {package}.")
    yield from _mounts(path, config.get("file_mounts", {}))
    if key := config.get("auth", {}).get("ssh_private_key"):
        yield from _key(str(key))


def _error(text: str) -> Finding:
    return Finding("this machine", text)


def _note(text: str) -> Finding:
    return Finding("this machine", text, fatal=False)


def _provider(name: str) -> Iterator[Finding]:
    """The provider's own package, and who one is to it."""
    module, package = PACKAGES.get(name, (None, None))
    if module and find_spec(module) is None:
        yield _error(f"{module} is not installed: Ray asks {name} for machines with it; pip install {package}.")
    elif name == "aws":
        yield from _aws_credentials()


def _aws_credentials() -> Iterator[Finding]:
    """Whether this machine holds any; the role of an EC2 instance would be asked for over the network, and is not."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        providers = Session().get_component("credential_provider")
        for remote in ("iam-role", "container-role"):
            providers.remove(remote)
        if providers.load_credentials() is None:
            yield _note(
                "no AWS credentials in the environment or ~/.aws: aws configure, unless this machine has a role."
            )
    except BotoCoreError as error:
        yield _error(f"AWS credentials cannot be read ({error}): aws configure.")


def _mounts(path: Path, mounts: Mapping[str, str]) -> Iterator[Finding]:
    """What is to be copied to the nodes must be there: Ray ends in a traceback over a file that is not."""
    for target, source in mounts.items():
        local = path.parent / Path(source).expanduser()
        if target.endswith(TOKEN):
            yield from _token(source, local)
        elif not local.exists():
            yield _error(f"{source} is missing, which file_mounts copies to the nodes.")
    folder = path.parent.resolve()
    if folder != Path.cwd() and any(not Path(source).expanduser().is_absolute() for source in mounts.values()):
        yield _note(f"file_mounts starts where Ray is called: cd {folder} before 'ray up {path.name}'.")


def _token(source: str, local: Path) -> Iterator[Finding]:
    """The secret that nodes and drivers show each other."""
    if not (local.is_file() and os.access(local, os.R_OK) and local.read_bytes().strip()):
        given = [name for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH") if os.environ.get(name)]
        first = f"unset {' '.join(given)}; " if given else ""
        yield _error(
            f"no token in {source}, which file_mounts copies to the nodes: {first}ray get-auth-token --generate."
        )
    elif local.stat().st_mode & 0o077:
        yield _note(
            f"others on this machine can read {source}, and with it run code on the cluster: chmod 600 {source}."
        )


def _key(name: str) -> Iterator[Finding]:
    """The key must be one that SSH takes and that the head, which has a copy, can use alone."""
    key = Path(name).expanduser()
    if not key.is_file():
        yield _error(
            f"auth.ssh_private_key {name} is missing: ssh-keygen -t ed25519 -N '' -f {name}, or name your own."
        )
    elif key.stat().st_mode & 0o077:
        yield _error(f"auth.ssh_private_key {name} can be read by others, so SSH refuses it: chmod 600 {name}.")
    elif _locked(key):
        yield _error(
            f"auth.ssh_private_key {name} is no private key without a passphrase, and the head cannot type one."
        )


def _locked(key: Path) -> bool:
    """Whether a key cannot be used as it lies there."""
    if shutil.which("ssh-keygen") is None:
        return False
    derive = ["ssh-keygen", "-y", "-P", "", "-f", str(key)]
    return subprocess.run(derive, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode != 0
