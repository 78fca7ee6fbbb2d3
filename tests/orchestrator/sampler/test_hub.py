"""The folder for OptunaHub, as its loader would take it."""

import importlib.util
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import optuna
import pytest
import yaml

from orchestrator import RCGPSampler

FOLDER = Path(__file__).parents[3] / "optunahub" / "samplers" / "rcgp"


def load_module(package: str) -> ModuleType:
    """A package of the registry by its path, imported under a name of its own."""
    file = FOLDER.parents[1] / package / "__init__.py"
    spec = importlib.util.spec_from_file_location("optunahub_registry_rcgp", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_folder_holds_what_the_registry_wants() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_file()} == {
        "__init__.py", "LICENSE", "README.md", "example.py", "requirements.txt",
    }  # fmt: skip
    _, front, text = (FOLDER / "README.md").read_text().split("---\n", 2)
    matter = yaml.safe_load(front)
    assert matter.keys() == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in matter["tags"]
    assert optuna.__version__ in matter["optuna_versions"], "tested with this one: say so"
    assert [line for line in text.splitlines() if line.startswith("## ")][:2] == ["## Abstract", "## APIs"]
    assert load_module("samplers/rcgp").RCGPSampler is RCGPSampler


def test_its_example_finds_the_lies(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "optunahub", SimpleNamespace(load_module=load_module))
    runpy.run_path(str(FOLDER / "example.py"), run_name="__main__")
    assert "doubted: [5, 12, 19, 26]" in capsys.readouterr().out
