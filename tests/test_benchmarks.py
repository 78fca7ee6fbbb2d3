"""The regret and contamination benchmarks as they are called, and the README's figures against the rows it stored."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIES = ("1e3", "1e6", "inf", "crash", "spike", "late", "moderate", "in-range")
ROW = re.compile(r"^\| `?([\w -]+?)`? (?:\(.*?\) )?\| (.*) \|$", re.MULTILINE)


def benchmark(name: str, *arguments: str) -> str:
    """What `benchmarks/<name>.py` prints."""
    command = [sys.executable, f"benchmarks/{name}.py", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120).stdout


def regret(*arguments: str) -> str:
    """What `benchmarks/regret.py` prints."""
    return benchmark("regret", *arguments)


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


def test_every_attack_is_told_and_the_recommended_point_is_judged(tmp_path: Path) -> None:
    attacks = ("bad-node", "bad-reporter", "share-20", "share-30-large")
    grid = ("--problems", "forrester", "--adversaries", *attacks, "--seeds", "0:2", "--processes", "1")
    printed = regret("--algorithms", "random", *grid, "--out", str(tmp_path / "rows.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    lies = {row["attack"]: row["lies"] for row in rows if row["algorithm"] == "random"}
    assert lies["bad-node"] == 60 // 5
    assert 2 <= lies["bad-reporter"] <= 10, "about half of what one machine of five reports"
    assert 4 < lies["share-20"] < 20
    assert lies["share-30-large"] > 10
    assert len(re.findall(r"^\| oracle \| 1\.00 ±0 % \| 0\.0\d\d \|", printed, re.MULTILINE)) == len(attacks)


def test_without_lies_the_gaussian_process_is_as_good_as_on_the_honest_rows() -> None:
    grid = ("--sizes", "30", "--dims", "1", "--fractions", "0", "0.1", "--kinds", "one-sided", "--seeds", "0:2")
    lines = benchmark("contamination", *grid, "--methods", "gp", "--processes", "1").splitlines()
    assert re.fullmatch(r"\| 30 \| 1 \| none \| 0\.\d{3} \| 1\.00 \|", lines[2])
    lied = re.fullmatch(r"\| 30 \| 1 \| 10% one-sided \| 0\.\d{3} \| ([\d.]+) \|", lines[3])
    assert lied is not None
    assert float(lied[1]) > 1.5
