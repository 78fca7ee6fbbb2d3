"""Every example runs, in short, and shows what it promises to show."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = {
    "forrester_story.ipynb": "mean cumulative regret",
    "bad_node_story.ipynb": "wrong: 7, found: 7",
}
"""And what each of them prints."""
TESTED = {
    "bad_node_story.ipynb",
    "botorch_loop.py",
    "continue_from_mlflow.py",
    "early_stopping.py",
    "existing_mlflow_server.py",
    "existing_tune_code.py",
    "forrester_story.ipynb",
    "optuna_study.py",
    "own_adversary.py",
    "own_adversary.yaml",
    "own_objective.py",
    "own_objective.yaml",
    "sklearn_cross_validation.py",
    "torch_trainer.py",
}


def run_program(folder: Path, *command: str) -> str:
    """The output of a program that must succeed, started from a folder that is not the project's."""
    environment = os.environ | {"MPLBACKEND": "Agg", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


def run_campaign(tmp_path: Path, name: str, *options: str) -> pd.DataFrame:
    """The regret table that a campaign of the examples leaves behind."""
    arguments = ("run", str(EXAMPLES / name), "--no-ray", "--no-tracking", "--root", str(tmp_path), "--name", "it")
    run_program(tmp_path, "-m", "orchestrator.cli", *arguments, *options)
    return pd.read_csv(tmp_path / "it" / "report" / "regret.csv")


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == TESTED


@pytest.mark.slow
def test_botorch_loop(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "botorch_loop.py"), "--trials", "13")
    assert "doubts the reports of trials [3, 11]; lies were [3, 11]" in said


def test_optuna_study(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "optuna_study.py"), "--trials", "20")
    assert "study.best_trial:    trial 7, reported 5.000" in said
    assert said.count("doubted: trial 7 ") == said.count("doubted: trial 17 ") == 1
    assert said.count("doubted") == 2


@pytest.mark.slow
def test_early_stopping(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "early_stopping.py"), "--epochs", "60")
    assert "RobustASHAScheduler: " in said
    assert said.count("best(): learning rate") == 2


@pytest.mark.slow
def test_own_objective_by_import_path(tmp_path: Path) -> None:
    table = run_campaign(tmp_path, "own_objective.yaml", "--seeds", "1", "--trials", "6")
    assert set(table["algorithm"]) == {"gp-ucb", "a2-rcgp-ucb"}


@pytest.mark.slow
def test_own_adversary_by_import_path(tmp_path: Path) -> None:
    run_campaign(tmp_path, "own_adversary.yaml", "--seeds", "1")
    lies = [line for line in _journal(tmp_path, "a2-rcgp-ucb.WrongUnit.seed0") if line["kind"] == "charge"]
    assert 1 <= sum(line["corrupted"] for line in lies) <= 6
    assert all(line["y"] == 1000.0 * line["y_true"] for line in lies if line["corrupted"])


def _journal(root: Path, study: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (root / "it" / "journals" / f"{study}.jsonl").read_text().splitlines()]


@pytest.mark.slow
@pytest.mark.ray
def test_existing_tune_code(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "existing_tune_code.py"), "--trials", "12")
    assert "RCGPSearch, searcher.best()" in said


@pytest.mark.slow
@pytest.mark.ray
def test_continue_from_mlflow(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "continue_from_mlflow.py"), "--trials", "6")
    assert "26 observations, 6 of them new" in said
    assert "doubted: a loss of -20" in said


@pytest.mark.slow
@pytest.mark.ray
def test_existing_mlflow_server(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "existing_mlflow_server.py"), "--trials", "14")
    assert "one parent, 14 children" in said
    assert "Use `learning_rate=" in said
    assert "Under suspicion: " in said
    assert "report.html" in said


@pytest.mark.slow
@pytest.mark.ray
def test_sklearn_cross_validation(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "sklearn_cross_validation.py"), "--trials", "14")
    assert "14 trials; believed best: C = " in said
    assert "doubted: " in said


@pytest.mark.slow
@pytest.mark.ray
def test_torch_trainer(tmp_path: Path) -> None:
    said = run_program(tmp_path, str(EXAMPLES / "torch_trainer.py"), "--trials", "14")
    assert "14 trials, " in said
    assert "believed best: " in said


def code_cells(notebook: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads((EXAMPLES / notebook).read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_holds_its_pictures(notebook: str) -> None:
    cells = code_cells(notebook)
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "run it from top to bottom"
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert (EXAMPLES / notebook).stat().st_size < 400_000


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_notebook_runs(notebook: str, tmp_path: Path) -> None:
    """Its code cells as one program: a Jupyter kernel would add nothing but a dependency."""
    program = tmp_path / "story.py"
    program.write_text("\n\n".join("".join(cell["source"]) for cell in code_cells(notebook)))
    assert NOTEBOOKS[notebook] in run_program(tmp_path, str(program))
