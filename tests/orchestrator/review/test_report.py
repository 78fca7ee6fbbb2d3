"""Regret, tables, forensics, beliefs and the files of a report."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from pandas import DataFrame
from small_runs import finished

from objectives import make_objective
from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations_of
from orchestrator.review.files import current_files, write_files
from orchestrator.review.page import page_data
from orchestrator.review.report import (
    Report,
    best_so_far,
    forensics,
    forensics_table,
    latex,
    markdown,
    printable,
    reference,
    regret_curves,
    regret_table,
)


def final_rows(rows: list[tuple[str, int, float]]) -> DataFrame:
    """A frame with one last trial for each study."""
    return DataFrame(
        [
            {
                "study": f"{algorithm}{seed}",
                "adversary": "liar",
                "algorithm": algorithm,
                "seed": seed,
                "number": 9,
                "cumulative_regret": regret,
                "simple_regret": 0.0,
            }
            for algorithm, seed, regret in rows
        ]
    )


def test_regret_starts_after_the_initial_trials_and_a_lost_trial_counts_as_the_worst() -> None:
    values = np.array([1.0, 3.0, math.nan, 2.0, math.inf])
    curves = regret_curves(np.arange(5), values, best=4.0, worst=1.0, initial=2)
    assert curves["regret"].tolist() == [3.0, 1.0, 3.0, 2.0, 3.0]
    assert curves["simple_regret"].tolist() == [3.0, 1.0, 1.0, 1.0, 1.0]
    assert curves["cumulative_regret"].tolist() == [0.0, 0.0, 3.0, 5.0, 8.0]
    assert best_so_far(np.array([math.nan, 1.0, 0.5, 2.0])).tolist()[1:] == [1.0, 1.0, 2.0]


def test_regret_is_measured_from_the_known_maximum_else_from_the_best_seen() -> None:
    values = np.array([1.0, math.nan, 3.0])
    known, unknown = make_objective("forrester"), make_objective("lander")
    assert known.optimum is not None
    assert reference(values, known) == (known.optimum.value, 1.0)
    assert reference(values, unknown) == (3.0, 1.0)


def test_differences_are_paired_by_seed() -> None:
    """Regrets differ wildly between seeds, their difference does not: only pairing sees it."""
    frame = final_rows([("gp-ucb", 0, 100.0), ("gp-ucb", 1, 10.0), ("a2", 0, 91.0), ("a2", 1, 3.0)])
    table = regret_table(frame).set_index("algorithm")
    assert table.index.tolist() == ["a2", "gp-ucb"]
    assert table.loc["a2", "to_baseline_mean"] == -8.0
    assert table.loc["a2", "to_baseline_sem"] == pytest.approx(1.0)
    assert table.loc["gp-ucb", "to_best_mean"] == 8.0
    assert table.loc["a2", "cumulative_regret_sem"] == pytest.approx(44.0)
    shown = printable(table.reset_index())
    assert shown["minus gp-ucb"].tolist() == ["-8.0 ± 1.0", "-"]
    assert shown["cumulative_regret"].tolist() == ["47 ± 44", "55 ± 45"]


def test_one_seed_and_no_gp_ucb_still_make_a_table() -> None:
    shown = printable(regret_table(final_rows([("a2", 0, 3.0), ("random", 0, 5.5)])))
    assert "minus gp-ucb" not in shown
    assert shown["cumulative_regret"].tolist() == ["3", "5.5"]
    assert shown["minus best"].tolist() == ["-", "+2.5"]


def test_tables_can_be_pasted() -> None:
    shown = printable(regret_table(final_rows([("a2", 0, 3.0), ("a2", 1, 5.0)])))
    lines = markdown(shown).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    assert lines[2].startswith("| liar | a2 | 2 | 4.0 ± 1.0 |")
    text = latex(shown)
    assert r"4.0 $\pm$ 1.0" in text
    assert text.count(r"\\") == 2
    assert text.count("&") == 2 * (len(shown.columns) - 1)


def test_forensics_count_lies_suspects_and_false_alarms() -> None:
    trials = [(True, 0.1, False), (True, 1.0, False), (False, 0.9, False), (False, 1.0, False), (False, 0.0, True)]
    frame = DataFrame(trials, columns=["corrupted", "weight", "failed"]).assign(adversary="liar", algorithm="a2")
    assert forensics(frame)["verdict"].tolist() == ["caught", "missed", "alarm", "honest"]
    (row,) = forensics_table(frame).to_dict("records")
    assert (row["lies"], row["suspects"], row["caught"], row["precision"], row["recall"]) == (2, 2, 1, 0.5, 0.5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("report"))


def test_beliefs_told_again_are_those_that_were_lived(run: Run) -> None:
    history = {h.study.algorithm.label: h for h in Report.of(run).histories}
    assert set(history) == {"gp-ucb", "a2-rcgp-ucb"}
    lived = history["a2-rcgp-ucb"]
    seen = observations_of(run, lived.study)
    assert lived.beliefs[-1].weights.tolist() == [o.weight for o in seen]
    assert [b.told for b in lived.beliefs] == list(range(4, 13))
    truth = lived.truth()
    assert truth is not None
    assert truth.max() == pytest.approx(15.83, abs=0.05)


def test_the_report_is_one_page_that_needs_nothing_else(run: Run) -> None:
    report = Report.of(run)
    files = write_files(report)
    names = {path.name for path in files}
    assert {"report.html", "regret.csv", "regret.png", "regret.pdf", "posterior.png", "posterior.pdf"} <= names
    assert all(path.stat().st_size > 300 for path in files)
    page = (report.folder / "report.html").read_text()
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?(https?:)?//", page)
    assert "__" not in re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)  # no mark was left unfilled
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, flags=re.DOTALL)
    data = json.loads(text)
    assert data["description"] == "Lies < & > truths."
    frame = report.frame
    caught = ((frame["algorithm"] == "a2-rcgp-ucb") & frame["corrupted"] & (frame["weight"] < 1)).sum()
    (row,) = [r for r in data["forensics"]["table"]["rows"] if r[1] == "a2-rcgp-ucb"]
    assert row[4] == str(caught)
    best = report.table.iloc[0]
    curve = next(c for c in data["regret"]["charts"][0]["curves"] if c["label"] == best["algorithm"])
    assert curve["x"] == list(range(1, 9))
    assert curve["mean"][-1] == pytest.approx(best["cumulative_regret_mean"], rel=1e-4)


def test_files_are_written_again_only_when_there_is_news(run: Run) -> None:
    report = Report.of(run)
    write_files(report)
    page = report.folder / "report.html"
    before = page.stat().st_mtime_ns
    assert page in current_files(report)
    assert page.stat().st_mtime_ns == before
    journal = run.journal(run.studies[0])
    journal.touch()
    current_files(report)
    assert page.stat().st_mtime_ns > before


def test_two_parameters_an_unknown_maximum_and_broken_values_can_be_drawn(tmp_path: Path) -> None:
    faults = {"5": "nan", "6": "inf", "7": "raise"}
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False, "faults": faults, "times": 9}
    adversaries = ["honest", {"name": "crash", "value": -1e6, "budget": 1}]
    run = finished(tmp_path / "runs", objective=objective, adversaries=adversaries, algorithms=["a2-rcgp-ucb"], seeds=1)
    report = Report.of(run)
    names = {path.name for path in write_files(report)}
    assert {"posterior.png", "learning.png"} <= names
    data = page_data(report)
    json.dumps(data, allow_nan=False)
    assert data["posterior"]["title"] == "Response surface"
    assert set(report.headline["adversary"]) == {"crash"}  # the honest grid is not what a reader came for
    assert report.verdict().startswith("Least cumulative regret under crash: a2-rcgp-ucb, ")
    assert data["posterior"]["first"] == 1
    assert [s["label"] for s in data["posterior"]["studies"]] == ["a2-rcgp-ucb (honest)", "a2-rcgp-ucb (crash)"]
    assert data["regret"]["charts"][0]["title"] == "Learning curve"
    low, high = data["posterior"]["range"]
    assert -2.0 < low < high < 0.1  # the lie of a million does not stretch the picture


def test_the_landers_best_policy_is_filmed(tmp_path: Path) -> None:
    objective = {"name": "lander", "episodes": 1, "max_steps": 60}
    run = finished(tmp_path, objective=objective, adversaries=["honest"], algorithms=["random"], seeds=1, trials=2)
    report = Report.of(run)
    files = {path.name for path in write_files(report)}
    assert {"best.gif", "learning.png"} <= files
    assert (report.folder / "best.gif").read_bytes()[:4] == b"GIF8"
    assert "data:image/gif;base64,R0lGOD" in (report.folder / "report.html").read_text()
