"""What is handed out: a wheel that works without the repository, and a version that is the same everywhere."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("rcgp", "objectives", "adversaries", "orchestrator")
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc")


def call(folder: Path, *command: str | Path) -> str:
    """The output of a command that must succeed, with nothing of this environment in its own."""
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "ORCHESTRATE", "MLFLOW"))
    }
    result = subprocess.run(list(map(str, command)), cwd=folder, env=clean, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-2000:]
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the sources: building writes beside them."""
    source = tmp_path_factory.mktemp("source")
    for package in PACKAGES:
        shutil.copytree(ROOT / package, source / package, ignore=NOT_SHIPPED)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", source / "dist")
    call(source, sys.executable, "-m", "pip", "wheel", *options, ".")
    return next((source / "dist").glob("*.whl"))


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, and this one's dependencies but not its editable install."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    call(home, sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel)
    own = next(home.glob("lib/python*/site-packages"))
    (own / "dependencies.pth").write_text(
        sysconfig.get_path("purelib") + "\n"
    )  # a path only: its .pth files are not read
    return home


@pytest.mark.slow
def test_everything_that_is_not_python_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        shipped = set(archive.namelist())
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    wanted = {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}
    assert wanted - shipped == set()
    assert any(name.endswith("licenses/LICENSE") for name in shipped)


@pytest.mark.slow
def test_a_campaign_runs_from_the_wheel_alone(elsewhere: Path, tmp_path: Path) -> None:
    where = call(
        tmp_path, elsewhere / "bin" / "python", "-c", "import rcgp, orchestrator; print(orchestrator.__file__)"
    )
    assert where.startswith(str(elsewhere)), "not the installed one"
    said = call(tmp_path, elsewhere / "bin" / "orchestrate", "run", "smoke", "--no-ray", "--seeds", "1")
    assert "a2-rcgp-ucb" in said
    assert (tmp_path / "runs" / "smoke" / "report" / "report.html").is_file()
    assert len(list((tmp_path / "runs" / "smoke" / "journals").glob("*.jsonl"))) == 3
    assert "lander" in call(tmp_path, elsewhere / "bin" / "orchestrate", "list")


LIGHT = """
import importlib.util
from ray import tune
from orchestrator import RCGPSearch
import ray, rcgp

for heavy in ("torch", "mlflow", "optuna", "typer", "matplotlib", "sklearn"):
    assert importlib.util.find_spec(heavy) is None, heavy

def train(config):
    return {"loss": -50.0 if config["x"] > 0.9 else (config["x"] - 0.3) ** 2}

if __name__ == "__main__":
    ray.init(address="local", num_cpus=1, include_dashboard=False)
    searcher = RCGPSearch()
    space = {"x": tune.uniform(0, 1), "depth": tune.choice([1, 2])}
    tune_config = tune.TuneConfig(metric="loss", mode="min", search_alg=searcher, num_samples=6, reuse_actors=True)
    tune.Tuner(train, param_space=space, tune_config=tune_config, run_config=tune.RunConfig(verbose=0)).fit()
    assert len(searcher.observations) == 6
    print("believed best", searcher.best().config)
    for use in (lambda: rcgp.RobustGP, lambda: RCGPSearch.from_results("mine", "loss", "min")):
        try:
            use()
        except ImportError as error:
            print(error)
"""


@pytest.mark.slow
@pytest.mark.ray
def test_the_searcher_runs_with_core_dependencies_only(wheel: Path, tmp_path: Path) -> None:
    """What `pip install rcgp-orchestrator` gives, from the package index: no torch, no MLflow, no command line."""
    venv.create(tmp_path / "light", with_pip=True, symlinks=True)
    python = tmp_path / "light" / "bin" / "python"
    call(tmp_path, python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "requirements.lock", wheel)
    (tmp_path / "light.py").write_text(LIGHT)
    said = call(tmp_path, python, "light.py")
    assert "believed best {'x': " in said
    assert 'RobustGP needs the extra `botorch`: pip install "rcgp-orchestrator[botorch]"' in said
    assert 'An MLflow experiment needs the extra `mlflow`: pip install "rcgp-orchestrator[mlflow]"' in said
    refused = subprocess.run([python.with_name("orchestrate"), "list"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: orchestrate needs the extra `campaigns`: pip install")
    assert refused.stderr.count("\n") == 1


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == version
    assert citation["license"] == PROJECT["license"]
    released = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert not released or released[0] == version


def test_the_licence_is_the_one_that_is_declared() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text()[:200]


def test_the_hooks_use_what_the_project_installs() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    assert all(hook["language"] == "system" and hook["entry"].startswith(".venv/bin/") for hook in hooks)
