"""The regret benchmark as it is called, and the README's figures against the rows it stored."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIES = ("1e3", "1e6", "inf", "crash", "spike", "late", "moderate", "in-range")
ROW = re.compile(r"^\| `?([\w -]+?)`? (?:\(.*?\) )?\| (.*) \|$", re.MULTILINE)


def regret(*arguments: str) -> str:
    """What `benchmarks/regret.py` prints."""
    command = [sys.executable, "benchmarks/regret.py", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout


def means(output: str, algorithm: str) -> list[str]:
    """The geometric means of one algorithm, table after table."""
    return re.findall(rf"^\| {algorithm} \| ([\d.]+ ±\d+ %) \|", output, re.MULTILINE)


def test_a_second_call_computes_only_what_is_missing_and_prints_the_same(tmp_path: Path) -> None:
    rows = str(tmp_path / "rows.jsonl")
    grid = ("--problems", "forrester", "--adversaries", "1e6", "--seeds", "0:2", "--out", rows, "--processes", "1")
    first = regret("--algorithms", "random", *grid)
    assert "6 runs to do, 0 known" in first, "the oracle and GP-UCB are always among them"
    assert len(means(first, "random")) == len(means(first, "gp-ucb")) == 1
    again = regret("--algorithms", "random", *grid)
    assert "0 runs to do, 6 known" in again
    assert again.partition("\n")[2] in first


def test_the_readme_says_what_the_stored_rows_say(tmp_path: Path) -> None:
    rows = shutil.copy(ROOT / "results/regret.jsonl", tmp_path)
    lies = regret(
        "--seeds", "100:108", "--adversaries", *LIES, "--out", rows, "--algorithms", "a2-rcgp-ucb", "optuna-tpe"
    )
    clean = regret("--seeds", "100:116", "--adversaries", "none", "--out", rows)
    assert "0 runs to do" in lies
    assert "0 runs to do" in clean
    stated = dict(ROW.findall((ROOT / "README.md").read_text().replace("**", "")))
    assert stated["a2-rcgp-ucb"].split(" | ") == means(clean, "a2-rcgp-ucb") + means(lies, "a2-rcgp-ucb")
    assert stated["Optuna TPE"].split(" | ")[1:] == means(lies, "optuna-tpe")
