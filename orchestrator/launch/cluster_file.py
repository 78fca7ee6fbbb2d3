"""Checking a cluster file offline: what `ray up` would refuse, and what it would accept and we would regret."""

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from jsonschema import ValidationError  # type: ignore[import-untyped]
from packaging.specifiers import SpecifierSet

from orchestrator.campaign.campaign import Campaign, read_yaml, shipped
from orchestrator.engine.cluster import demand
from orchestrator.errors import UserError, closest, did_you_mean

Config = Mapping[str, Any]
Demand = tuple[float, float]
"""Cores and GPUs of one trial."""

LOCK = "requirements.lock"
TOKEN = ".ray/auth_token"
"""Where Ray looks for its token, in the home of whoever starts it."""
IMAGE = re.compile(r":(?P<ray>\d+\.\d+\.\d+)-py(?P<major>\d)(?P<minor>\d+)(-\w+)?$")
PIN = re.compile(r"\bray(?:\[[^\]]*\])?==(?P<ray>[\w.]+)")
DASHBOARD = re.compile(r"--dashboard-host[= ](?P<host>\S+)")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
SECRETS = {
    "an AWS access key": r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a password in an address": r"://[^/\s:@]+:[^/\s@]+@",
    "an access token": r"\b(ghp|gho|ghs|github_pat|glpat|hf|sk|xox[abp])[-_][A-Za-z0-9_-]{16,}",
    "a secret": r"(?i)(secret|password|passwd|token|api_?key|access_?key)['\"]?\s*[:=]\s*['\"]?[a-z0-9][a-z0-9+/_=-]{11,}",
}
RESULTS = ("journals", "mlflow.db", "mlflow-artifacts", "report")
"""What a run leaves in its folder and is to be brought home."""
BUILT_IN = {"memory", "object_store_memory"}
"""Resources every Ray node has, whether a trial asks for them or not."""
AWS_NODE = {
    "BlockDeviceMappings",
    "CapacityReservationSpecification",
    "CpuOptions",
    "CreditSpecification",
    "DisableApiTermination",
    "EbsOptimized",
    "EnclaveOptions",
    "HibernationOptions",
    "IamInstanceProfile",
    "ImageId",
    "InstanceInitiatedShutdownBehavior",
    "InstanceMarketOptions",
    "InstanceType",
    "Ipv6AddressCount",
    "KeyName",
    "LaunchTemplate",
    "LicenseSpecifications",
    "MaintenanceOptions",
    "MetadataOptions",
    "Monitoring",
    "NetworkInterfaces",
    "Placement",
    "PrivateDnsNameOptions",
    "SecurityGroupIds",
    "SecurityGroups",
    "SubnetId",
    "SubnetIds",
    "TagSpecifications",
    "UserData",
}
"""What EC2 takes for an instance; Ray hands node_config on unread, and a misspelt key fails minutes later."""


def check_file(path: Path, campaigns: Sequence[str] = ()) -> list[str]:
    """Everything wrong with a cluster file, a line each; its trials are those of `campaigns`, or of any shipped one."""
    if path.suffix == ".sbatch":
        raise UserError(f"{path}: a job for Slurm, which checks it itself: sbatch --test-only {path} lander.")
    config = read_yaml(path)
    if "apiVersion" in config and config.get("kind") != "RayCluster":
        raise UserError(f"{path}: a {config.get('kind')} of Kubernetes, in which Ray has no say; check the RayCluster.")
    found = list(_secrets(path.read_text(encoding="utf-8")))
    if config.get("kind") == "RayCluster":
        return [*found, *_manifest(config, locked_ray(path))]
    if "provider" not in config:
        raise UserError(
            f"{path}: no provider, so not a cluster file; 'orchestrate run {path} --dry-run' checks a campaign."
        )
    shape = list(_shape(config)) or list(_schema(config))
    return [*found, *(shape or _launcher(_filled(config), locked_ray(path), campaigns))]


def locked_ray(path: Path) -> str:
    """The version of Ray in the requirements.lock beside a cluster file: what the nodes install."""
    lock = path.parent / LOCK
    if not lock.is_file():
        raise UserError(f"{lock} is missing: the nodes install from it.")
    for line in lock.read_text().splitlines():
        if match := PIN.match(line):
            return match["ray"]
    raise UserError(f"{lock} does not pin ray; the nodes would install any version.")


def _secrets(text: str) -> Iterator[str]:
    """Where the file holds a secret, comments included; the secret itself is not repeated."""
    for number, line in enumerate(text.splitlines(), start=1):
        for what, pattern in SECRETS.items():
            if re.search(pattern, line):
                yield f"line {number} holds {what}; keep it in your environment or in a file that is mounted."
                break


# --- the launcher's file: `ray up` ------------------------------------------------------------------------------------


def _shape(config: Config) -> Iterator[str]:
    """What Ray fills in from its own defaults, or ends over, instead of saying so."""
    provider = config["provider"]
    if not isinstance(provider, Mapping) or "type" not in provider:
        yield "provider.type is missing; such as aws, gcp, azure or local."
    elif provider["type"] == "local":
        for key in {"head_ip", "worker_ips"} - set(provider):
            yield f"provider.{key} is missing."
        if "ssh_private_key" not in config.get("auth", {}):
            yield "auth.ssh_private_key is missing: Ray offers no agent's key, and the head gets this one for the others."
        if "available_node_types" in config:
            yield "available_node_types: own machines have no types; Ray reads what each has."
    else:
        yield from _types(config)


def _types(config: Config) -> Iterator[str]:
    types = config.get("available_node_types")
    if not isinstance(types, Mapping) or not types:
        yield "available_node_types is missing: Ray would start its own default machines."
    elif "head_node_type" not in config:
        yield f"head_node_type is missing; one of {', '.join(map(str, types))}."
    elif config["head_node_type"] not in types:
        yield f"head_node_type {config['head_node_type']!r} is not among the node types; " + did_you_mean(
            str(config["head_node_type"]), map(str, types)
        )


def _schema(config: Config) -> Iterator[str]:
    """Ray's own verdict, in one line."""
    from ray.autoscaler._private.util import validate_config

    try:
        validate_config(dict(_filled(config)))
    except ValidationError as error:
        where = ".".join(map(str, error.absolute_path))
        if error.validator == "additionalProperties":
            known = error.schema.get("properties", {})
            for key in set(error.instance) - set(known):
                yield f"unknown key {'.'.join(filter(None, (where, key)))!r}; {did_you_mean(key, known)}"
        else:
            yield f"{where}: {error.message}."
    except (ValueError, AssertionError, NotImplementedError) as error:
        yield f"{' '.join(str(error).split())}"


def _filled(config: Config) -> Config:
    """The file as the launcher sees it, its provider's defaults filled in."""
    from ray.autoscaler._private.util import prepare_config

    logging.getLogger("ray.autoscaler").setLevel(logging.WARNING)  # which defaults it fills in is no news
    filled: Config = prepare_config(dict(config))
    return filled


def _launcher(config: Config, ray: str, campaigns: Sequence[str]) -> Iterator[str]:
    provider = config["provider"]
    yield from _misspelt("provider", provider)
    if provider["type"] == "aws":
        for name, node in config["available_node_types"].items():
            for key in set(node["node_config"]) - AWS_NODE:
                yield f"available_node_types.{name}.node_config: EC2 knows no {key!r}; {did_you_mean(key, AWS_NODE)}"
    yield from _versions(_images(config), _commands(config), ray)
    yield from _doors(config)
    yield from _left_behind(config.get("rsync_exclude", []))
    if provider["type"] == "local":
        yield from _first_autoscaler(config["head_start_ray_commands"])
    else:
        demands = _demands(campaigns or list(shipped()))
        types = {k: v for k, v in config["available_node_types"].items() if v.get("max_workers") != 0}
        workers = {k: v["resources"] for k, v in types.items()}
        yield from _resources(
            workers, list(demands.values()), {k for k, v in types.items() if not v.get("min_workers")}
        )
        yield from _homeless(workers, {name: demands[name] for name in campaigns})


def _misspelt(where: str, given: Config) -> Iterator[str]:
    """Keys that nearly are another: providers may take more than Ray's schema lists."""
    import ray.autoscaler

    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    known = set(schema["properties"][where]["properties"])
    for key in set(given) - known:
        if close := closest(key, known, likeness=0.8):
            yield f"{where}.{key}: did you mean {close!r}?"


def _images(config: Config) -> dict[str, str]:
    """All images of a file, by where they are named."""
    docker = {f"docker.{key}": value for key, value in config.get("docker", {}).items()}
    for name, node in config["available_node_types"].items():
        docker |= {f"available_node_types.{name}.docker.{k}": v for k, v in node.get("docker", {}).items()}
    return {where: value for where, value in docker.items() if where.endswith("image")}


def _commands(config: Config) -> list[str]:
    """All shell commands of a file."""
    every = [*config["available_node_types"].values(), config]
    return [command for part in every for key, value in part.items() if key.endswith("_commands") for command in value]


def _versions(images: Mapping[str, str], commands: Iterable[str], ray: str) -> Iterator[str]:
    """One Ray everywhere: the lock's. Trial actors are pickled by one node and read by another."""
    python = SpecifierSet(metadata("rcgp-orchestrator")["Requires-Python"])
    for where, image in images.items():
        match = IMAGE.search(image)
        if match is None:
            yield f"{where} {image!r} names no Ray and Python version, such as rayproject/ray:{ray}-py311-gpu."
        elif match["ray"] != ray:
            yield f"{where} {image!r} has Ray {match['ray']}, {LOCK} has {ray}."
        elif f"{match['major']}.{match['minor']}" not in python:
            yield f"{where} {image!r} has Python {match['major']}.{match['minor']}, the project needs {python}."
    pins = {match["ray"] for command in commands for match in PIN.finditer(command)}
    for pin in pins - {ray}:
        yield f"a command installs Ray {pin}, {LOCK} has {ray}."
    if not any(LOCK in command for command in commands):
        yield f"no set-up command installs {LOCK}: the nodes would run other versions than yours."


def _doors(config: Config) -> Iterator[str]:
    """The dashboard runs code for whoever reaches it, and so does every port without a token."""
    docker = config.get("docker", {})
    carried = any(target.endswith(TOKEN) for target in config.get("file_mounts", {}))
    for role in ("head", "worker"):
        commands = config.get(f"{role}_start_ray_commands", [])
        given = [*docker.get("run_options", []), *docker.get(f"{role}_run_options", []), *commands]
        if not any("RAY_AUTH_MODE=token" in text for text in given):
            yield f"the {role} starts without RAY_AUTH_MODE=token: whoever reaches its ports could run code."
        if not carried and not any("RAY_AUTH_TOKEN_PATH" in text for text in given):
            yield f"file_mounts copies no token to ~/{TOKEN}, and the {role} does not start Ray without one."
        for match in (m for command in commands if (m := DASHBOARD.search(command))):
            if match["host"] not in LOOPBACK:
                yield f"--dashboard-host={match['host']} opens the dashboard to the network; use 127.0.0.1."


def _left_behind(excluded: Sequence[str]) -> Iterator[str]:
    """What is excluded on the way up is excluded by `ray rsync-down` as well."""
    for pattern in excluded:
        if any(fnmatch(name, pattern.strip("/")) for name in RESULTS):
            yield f"rsync_exclude {pattern!r} also keeps results on the head; use rsync_filter: [.gitignore] instead."


def _first_autoscaler(commands: Sequence[str]) -> Iterator[str]:
    """Ray's second autoscaler takes the machines of provider `local` for new ones, again and again."""
    if not any("RAY_enable_autoscaler_v2=0" in command for command in commands if "ray start" in command):
        yield "the head starts without RAY_enable_autoscaler_v2=0: no worker would ever join (ray-project/ray#59905)."


def _demands(campaigns: Sequence[str]) -> dict[str, Demand]:
    """What one trial asks for, campaign by campaign."""
    return {name: demand(Campaign.load(name).studies()[0]) for name in campaigns}


def _resources(workers: Mapping[str, Config], demands: list[Demand], on_demand: Collection[str]) -> Iterator[str]:
    """Resources nobody asks for cost money; a GPU of nodes that only come `on_demand` costs nothing until somebody does."""
    wanted = {name for name, i in (("CPU", 0), ("GPU", 1)) if any(d[i] > 0 for d in demands)}
    for node, has in workers.items():
        for name in set(has) - wanted - BUILT_IN - ({"GPU"} if node in on_demand else set()):
            yield f"available_node_types.{node}.resources.{name}: no trial asks for it; {did_you_mean(name, wanted)}"
        if not any(_fits(d, has) for d in demands):
            yield f"available_node_types.{node}: no trial fits into {dict(has)}; they ask for {_spelt(demands)}."


def _homeless(workers: Mapping[str, Config], demands: Mapping[str, Demand]) -> Iterator[str]:
    """Trials that fit nowhere wait for ever."""
    for name, needs in demands.items():
        if not any(_fits(needs, has) for has in workers.values()):
            yield f"no node type has room for a trial of {name}, which asks for {_spelt([needs])}."


def _fits(demand: Demand, has: Config) -> bool:
    return demand[0] <= has.get("CPU", 0) and demand[1] <= has.get("GPU", 0)


def _spelt(demands: list[Demand]) -> str:
    return " or ".join(sorted({f"{cpus:g} CPU" + (f" + {gpus:g} GPU" if gpus else "") for cpus, gpus in demands}))


# --- a manifest for KubeRay -------------------------------------------------------------------------------------------


def _manifest(config: Config, ray: str) -> Iterator[str]:
    """What the operator accepts and we would regret; its own schema is checked by `kubectl apply --dry-run=server`."""
    spec = config.get("spec", {})
    if str(spec.get("rayVersion")) != ray:
        yield f"spec.rayVersion is {spec.get('rayVersion')}, {LOCK} has {ray}."
    if spec.get("authOptions", {}).get("mode") != "token":
        yield "spec.authOptions.mode is not token: whoever reaches the cluster's ports could run code."
    groups = {"head": spec.get("headGroupSpec", {})} | {g.get("groupName"): g for g in spec.get("workerGroupSpecs", [])}
    images = {
        f"{name}.{container.get('name')}.image": str(container.get("image"))
        for name, group in groups.items()
        for container in group.get("template", {}).get("spec", {}).get("containers", [])
    }
    yield from _versions(images, [LOCK], ray)
