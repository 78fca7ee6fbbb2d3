"""What an import costs: nobody waits for torch, Ray or MLflow before they are needed."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "botorch",
    "gpytorch",
    "gymnasium",
    "matplotlib",
    "mlflow",
    "pandas",
    "plotly",
    "ray",
    "scipy",
    "sklearn",
    "torch",
}
PROGRAMS = {
    "the command line": ("import orchestrator, orchestrator.cli", HEAVY | {"numpy"}),
    "the command line, its help and a campaign": (
        """
import contextlib, io
import adversaries, objectives, orchestrator
from orchestrator.cli import app
with contextlib.redirect_stdout(io.StringIO()) as page:
    app(["--help"], standalone_mode=False)
assert "resume" in page.getvalue()
assert orchestrator.Campaign.load("smoke").studies()
""",
        HEAVY,
    ),
    "rcgp": ("import rcgp", {"torch", "ray", "mlflow", "botorch", "gpytorch", "pandas", "orchestrator", "objectives"}),
    "the Optuna sampler": ("from orchestrator import RCGPSampler", {"torch", "ray", "mlflow", "pandas", "objectives"}),
    "the BoTorch model": ("from rcgp import RobustGP", {"ray", "mlflow", "orchestrator", "objectives"}),
}


def loaded_by(program: str, folder: Path) -> set[str]:
    """The top-level modules in memory after a program ran in a fresh interpreter."""
    tail = "\nimport sys; print('\\n'.join({name.split('.')[0] for name in sys.modules}))"
    command = [sys.executable, "-c", program + tail]
    return set(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("what", PROGRAMS)
def test_an_import_brings_only_what_it_needs(what: str, tmp_path: Path) -> None:
    program, unwanted = PROGRAMS[what]
    assert loaded_by(program, tmp_path) & unwanted == set()


def test_the_botorch_model_is_imported_in_silence(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from rcgp import RobustGP"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stderr == ""


def test_help_takes_less_than_half_a_second() -> None:
    assert min(_seconds_of_help() for _ in range(3)) < 0.5


def _seconds_of_help() -> float:
    """Processor seconds: the test machine may be busy with something else."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "orchestrator.cli", "--help"], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_missing_extra_is_named(tmp_path: Path) -> None:
    """A film as .mp4 needs the extra `video`: the message says what to install."""
    program = """
import sys
sys.modules["imageio"] = None  # as if it were not installed
import numpy as np
from objectives import make_objective
make_objective("lander").render(np.full(36, 0.5), "flight.mp4")
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ModuleNotFoundError: An .mp4 needs the extra `video`: pip install" in done.stderr
