"""A light install: what is missing is one line that names the extra which brings it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from objectives.registry import NEEDS, OBJECTIVES, make_objective
from orchestrator.extras import EXTRAS, INCLUDED, MissingExtra, modules_of, needing, require

ROOT = Path(__file__).parents[2]
MODULES = {"pillow": "PIL", "pyyaml": "yaml", "scikit-learn": "sklearn"}
"""Distributions whose module is called otherwise."""
BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
"""


def without(blocked: set[str], program: str, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """A program in an interpreter that has no such modules."""
    command = [sys.executable, "-c", BLOCKED.format(blocked=blocked) + program]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)


def last_line(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 1, done.stdout
    return done.stderr.strip().splitlines()[-1]


def test_every_extra_names_what_the_project_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        names = [re.split(r"[\[<>=]", line)[0] for line in declared[extra]]
        own = {MODULES.get(name, name) for name in names if name != "rcgp-orchestrator"}
        assert own == set(modules), extra
        inside = [line for line in declared[extra] if line.startswith("rcgp-orchestrator[")]
        assert inside == ([f"rcgp-orchestrator[{','.join(INCLUDED[extra])}]"] if extra in INCLUDED else [])


def test_a_library_of_another_house_is_not_blamed_on_an_extra() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"), needing("this", "mlflow"):
        import nowhere  # noqa: F401
    with (
        pytest.raises(
            MissingExtra, match="^this needs the extra `mlflow`: pip install .* \\(mlflow is not installed\\)"
        ),
        needing("this", "mlflow"),
    ):
        raise ModuleNotFoundError("No module named 'mlflow.client'", name="mlflow.client")


def test_what_is_installed_is_not_refused() -> None:
    require("this", "campaigns")
    assert {"torch", "mlflow", "typer"} <= set(modules_of("campaigns"))


@pytest.mark.parametrize(
    ("blocked", "program", "line"),
    [
        ("torch", "from rcgp import RobustGP", "RobustGP needs the extra `botorch`"),
        ("mlflow", "from orchestrator import RCGPSearch\nRCGPSearch.from_results('x', 'loss', 'min')", "`mlflow`"),
        ("mlflow", "from orchestrator.tracking.store import Store\nStore.open('http://127.0.0.1:1')", "`mlflow`"),
        ("optuna", "from orchestrator import RCGPSampler", "orchestrator.RCGPSampler needs the extra `optuna`"),
        ("pydantic", "from orchestrator import Campaign", "orchestrator.Campaign needs the extra `campaigns`"),
    ],
)
def test_a_missing_extra_is_one_line(blocked: str, program: str, line: str, tmp_path: Path) -> None:
    said = last_line(without({blocked}, program, tmp_path))
    assert line in said
    assert 'pip install "rcgp-orchestrator[' in said
    assert f"({blocked} is not installed)." in said


def test_the_command_line_says_what_it_lacks_before_anything_starts(tmp_path: Path) -> None:
    program = "import orchestrator.extras as e; e.EXTRAS['campaigns'] = ('nowhere',)\n"
    program += "from orchestrator.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    wanted = 'orchestrate needs the extra `campaigns`: pip install "rcgp-orchestrator[campaigns]" (nowhere is not installed).'
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {wanted}\n")


def test_the_command_line_starts_as_a_module_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "orchestrator", "--version"]
    assert (
        "rcgp-orchestrator" in subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    )


def test_an_objective_without_its_library_is_refused_when_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    assert NEEDS.keys() < OBJECTIVES.keys()
    monkeypatch.setitem(NEEDS, "forrester", "nowhere")
    with pytest.raises(ModuleNotFoundError, match="Objective 'forrester' needs the extra `campaigns`: pip install"):
        make_objective("forrester")
