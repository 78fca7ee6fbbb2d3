"""What an import costs: nobody waits for torch, Ray or MLflow before they are needed."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "torch",
    "ray",
    "mlflow",
    "botorch",
    "gpytorch",
    "pandas",
    "scipy",
    "sklearn",
    "matplotlib",
    "plotly",
    "gymnasium",
}


def loaded_by(program: str, tmp_path: Path) -> set[str]:
    """The top-level modules in memory after a program ran in a fresh interpreter."""
    tail = "\nimport sys; print('\\n'.join({name.split('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", program + tail]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


HELP = """
import contextlib, io
from orchestrator.cli import app
with contextlib.redirect_stdout(io.StringIO()) as page:
    app(["--help"], standalone_mode=False)
assert "resume" in page.getvalue()
"""


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("import orchestrator", HEAVY),
        ("import orchestrator.cli", HEAVY),
        (HELP, HEAVY),
        ("import adversaries", HEAVY),
        ("import objectives", HEAVY),
        ("import rcgp", {"ray", "mlflow", "botorch", "gpytorch", "pandas", "orchestrator"}),
        ("from rcgp import RobustGP", {"ray", "mlflow", "orchestrator"}),
        ("from orchestrator import Campaign; Campaign.load('smoke').studies()", HEAVY),
    ],
    ids=["orchestrator", "cli", "help", "adversaries", "objectives", "rcgp", "RobustGP", "campaign"],
)
def test_an_import_brings_only_what_it_needs(program: str, unwanted: set[str], tmp_path: Path) -> None:
    assert loaded_by(program, tmp_path) & unwanted == set()


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    """A film as .mp4 needs the extra `video`: the message says so before an episode is flown."""
    program = """
import sys
sys.modules["imageio"] = None  # as if it were not installed
import numpy as np
from objectives import make_objective
make_objective("lander").render(np.full(36, 0.5), "flight.mp4")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ModuleNotFoundError: An .mp4 needs" in done.stderr.splitlines()[-1]
