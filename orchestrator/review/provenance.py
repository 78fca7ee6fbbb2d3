"""With what a run was made: versions of what shapes results, and the commit of this code."""

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

IMAGE = "ORCHESTRATE_IMAGE"
"""The environment variable that names the image."""
PACKAGES = ("rcgp-orchestrator", "ray", "torch", "botorch", "mlflow", "numpy")


@cache
def versions() -> dict[str, str]:
    """The versions of Python and of the packages that are installed, by name."""
    return {"python": platform.python_version()} | {name: version for name in PACKAGES if (version := _version(name))}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def image() -> str:
    """The container image it runs in, where whoever started it says so."""
    return os.environ.get(IMAGE, "")


@cache
def commit() -> str:
    """The commit of this code where it runs from a git checkout, else nothing."""
    here = Path(__file__)
    git = ["git", "-C", str(here.parent)]
    try:
        subprocess.run([*git, "ls-files", "--error-unmatch", here.name], check=True, capture_output=True, timeout=5)
        done = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
