"""The command line as a user meets it: what it prints, what it refuses, and its exit codes."""

import json
import re
import signal
import sqlite3
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from commands import launch
from faulty import calls
from small_runs import finished

from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations, observations_of
from orchestrator.engine.journal import read

HERE = Path(__file__).parent
QUICK = ["--no-ray", "--seeds", "1", "--trials", "3", "--algorithms", "random,gp-ucb", "--no-tracking"]


def refused(result: tuple[int, str, str]) -> str:
    """The one line of a refusal."""
    code, _, err = result
    assert code == 2, err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


def test_a_run_prints_table_and_paths_and_can_be_looked_at_again(orchestrate, tmp_path):
    code, out, _ = orchestrate("run", "smoke", *QUICK)
    assert code == 0
    for expected in ("random", "gp-ucb", "cumulative regret", "runs/smoke/report/regret.png", "runs/smoke/journals"):
        assert expected in out
    assert (tmp_path / "runs/smoke/report/regret.png").stat().st_size > 10_000
    code, out, _ = orchestrate("show", "smoke")
    assert code == 0
    assert "gp-ucb.clairvoyant.seed0" in out
    assert "8/8" in out
    code, out, _ = orchestrate("show", "smoke", "--timing")
    assert code == 0
    assert "Ray" not in out, "it ran without"
    for part in ("start", "suggest", "evaluate", "journal", "other", "report", "tracking", "all"):
        assert re.search(rf"^ {part} +[0-9.e-]+ +[0-9]+% ", out, re.MULTILINE), f"{part} in {out}"
    (tmp_path / "runs/smoke/timing.jsonl").unlink()  # as while the first session is under way
    code, out, _ = orchestrate("show", "smoke", "--timing")
    assert code == 0
    assert "no session of this run has ended yet" in out
    assert "gp-ucb.clairvoyant.seed0" in out
    code, out, _ = orchestrate("list")
    assert code == 0
    assert "complete" in out
    assert "forrester-clean" in out
    code, out, _ = orchestrate("report", "smoke")
    assert code == 0
    assert "regret.csv" in out
    code, out, _ = orchestrate("resume", "smoke", "--no-ray")
    assert code == 0, "a finished run resumes to its report"


def test_a_second_run_of_a_campaign_gets_a_number_but_a_chosen_name_is_never_taken_twice(orchestrate):
    orchestrate("run", "smoke", *QUICK)
    code, out, _ = orchestrate("run", "smoke", *QUICK)
    assert code == 0
    assert "smoke-2" in out
    line = refused(orchestrate("run", "smoke", "--name", "smoke", *QUICK))
    assert "orchestrate resume smoke" in line


def test_show_and_report_end_with_where_trials_failed(orchestrate, tmp_path):
    plan = {
        "objective": {"name": "failing:Failing", "parameters": 2},
        "algorithms": ["random"],
        "adversaries": ["honest"],
    }
    finished(tmp_path / "runs", name="brittle", **plan, seeds=1, trials=20, retries=0)
    for command in ("show", "report"):
        code, out, _ = orchestrate(command, "brittle")
        assert code == 0
        assert re.search(r"^\d+ of 24 trials failed \(.*\): only where rate > 0\.\d+ \(", out, re.MULTILINE)


def test_a_dry_run_shows_the_studies_and_writes_nothing(orchestrate, tmp_path):
    code, out, _ = orchestrate("run", "forrester", "--dry-run")
    assert code == 0
    assert "50 studies" in out
    assert not (tmp_path / "runs").exists()


def test_settings_reach_the_studies_and_an_own_objective_is_found_beside_its_campaign(orchestrate, tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "parabola.py").write_text(
        textwrap.dedent(
            """
            from objectives import Parameter, Resources, Space
            class Parabola:
                name, dim, optimum, resources = "parabola", 1, None, Resources()
                def __init__(self, top=0.0):
                    self.top = top
                    self.space = Space((Parameter("a", -1.0, 1.0),))
                def noiseless(self, x):
                    return None
                def describe(self):
                    return {"name": "parabola"}
                def evaluate(self, x, rng, report=None):
                    return self.top - float(x[0]) ** 2
            """
        )
    )
    (folder / "mine.yaml").write_text("objective: parabola:Parabola\nalgorithms: random\ntrials: 2\ninitial: 2\n")
    code, _, err = orchestrate(
        "run", str(folder / "mine.yaml"), "--no-ray", "--no-tracking", "--set", "objective.top=1e1"
    )
    assert code == 0, err
    (study,) = Run.open(tmp_path / "runs", "mine").studies
    found = observations_of(Run.open(tmp_path / "runs", "mine"), study)
    assert all(9.0 <= o.y <= 10.0 for o in found)


BAD = {
    "campaign": (["run", "smokee"], "did you mean 'smoke'?"),
    "file": (["run", "none.yaml"], "no such campaign file"),
    "folder": (["run", "."], "is a folder"),
    "set": (["run", "smoke", "--set", "trials"], "must read KEY=VALUE"),
    "set-key": (["run", "smoke", "--set", "trails=3"], "did you mean 'trials'?"),
    "seeds": (["run", "smoke", "--seeds", "0"], "seeds must be"),
    "seeds-text": (["run", "smoke", "--set", "seeds=many"], "seeds must be a number of seeds between 1 and 10000, or"),
    "budget": (["run", "smoke", "--set", "adversaries=[{name: crash, budgett: 2}]"], "Did you mean 'budget'?"),
    "trials": (["run", "smoke", "--trials", "-1"], "trials should be"),
    "workers": (["run", "smoke", "--workers", "0"], "workers should be"),
    "algorithms": (["run", "smoke", "--algorithms", "gp-ucp"], "gp-ucb"),
    "objective": (["run", "smoke", "--set", "objective=forester"], "forrester"),
    "adversary": (["run", "smoke", "--set", "adversaries=[lier]"], "lier"),
    "name": (["run", "smoke", "--name", "../x"], "must consist of"),
    "resume": (["resume", "none"], "no such run"),
    "show": (["show", "none"], "no such run"),
    "report": (["report", "../../etc"], "must consist of"),
    "address": (["run", "smoke", "--address", "127.0.0.1:1", "--no-tracking"], "no Ray at 127.0.0.1:1"),
    "address-form": (["run", "smoke", "--address", "nowhere", "--no-tracking"], "must be 'auto' or HOST:PORT"),
    "client": (["run", "smoke", "--address", "ray://x:1", "--no-tracking"], "ray job submit"),
}


@pytest.mark.parametrize(("arguments", "line"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_exit_code_2(orchestrate, arguments, line):
    assert line in refused(orchestrate(*arguments))


def test_a_root_that_cannot_be_written_is_refused_before_any_trial(orchestrate, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(orchestrate("run", "smoke", "--root", str(tmp_path / "file"), *QUICK))


def test_an_unknown_option_is_refused_without_a_traceback(orchestrate):
    code, _, err = orchestrate("run", "smoke", "--wrokers", "3")
    assert code == 2
    assert "--workers" in err
    assert "Traceback" not in err


def test_a_changed_campaign_is_refused_with_the_difference(orchestrate, tmp_path):
    orchestrate("run", "smoke", *QUICK)
    file = tmp_path / "runs/smoke/campaign.yaml"
    file.write_text(file.read_text().replace("trials: 3", "trials: 9"))
    assert "trials: 3 -> 9" in refused(orchestrate("resume", "smoke", "--no-ray"))
    orchestrate("run", "smoke", "--name", "other", *QUICK)
    code, out, _ = orchestrate("list")
    assert code == 0
    assert "complete" in out, "one run that cannot be read hides no other"
    assert "changed since it started" in " ".join(out.split())


def test_a_damaged_journal_is_refused_and_named(orchestrate, tmp_path):
    orchestrate("run", "smoke", *QUICK)
    path = next((tmp_path / "runs/smoke/journals").glob("random*"))
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert f"{path.name}, line" in refused(orchestrate("resume", "smoke", "--no-ray"))


def test_a_study_that_cannot_be_written_is_exit_code_1(orchestrate, tmp_path, monkeypatch):
    from orchestrator.engine.journal import FileJournal, JournalError

    append = FileJournal.append_lines

    def full(self, lines, seq, sync=True):
        if self.path.name.startswith("gp-ucb") and seq > 5:
            raise JournalError(f"{self.path}: cannot be written (No space left on device).")
        append(self, lines, seq, sync)

    monkeypatch.setattr(FileJournal, "append_lines", full)
    code, out, err = orchestrate("run", "smoke", *QUICK)
    assert code == 1
    assert "error: gp-ucb.clairvoyant.seed0" in err
    assert "orchestrate resume smoke" in err
    assert "random" in out, "the other study is complete"
    monkeypatch.setattr(FileJournal, "append_lines", append)
    assert orchestrate("resume", "smoke", "--no-ray")[0] == 0


def test_a_time_limit_is_exit_code_3_and_resumable(orchestrate):
    code, out, _ = orchestrate("run", "smoke", *QUICK, "--set", "limits.total_seconds=1e-9")
    assert code == 3
    assert "orchestrate resume smoke" in out


def slow_campaign(folder: Path) -> Path:
    plan = {
        "objective": {"name": "faulty:Faulty", "folder": str(folder), "seconds": 0.25},
        "algorithms": ["random"],
        "trials": 40,
        "tracking": {"enabled": False},
    }
    path = folder / "slow.yaml"
    path.write_text(json.dumps(plan))
    return path


def wait_for_calls(folder: Path, count: int, process: subprocess.Popen) -> None:
    while len(calls(folder)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_interrupting_leaves_a_resumable_run_and_a_second_driver_is_told_who_holds_it(orchestrate, tmp_path):
    process = launch(tmp_path, "run", str(slow_campaign(tmp_path)), "--no-ray")
    wait_for_calls(tmp_path, 5, process)
    assert f"in use by pid {process.pid} on " in refused(orchestrate("resume", "slow", "--no-ray"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "Continue with: orchestrate resume slow --no-ray" in out
    assert "Traceback" not in err
    code, out, _ = orchestrate("resume", "slow", "--no-ray")
    assert code == 0
    events = read(tmp_path / "runs/slow/journals/random.honest.seed0.jsonl")
    assert len(observations(events)) == 45
    assert len(calls(tmp_path)) <= 46, "only the interrupted trial ran twice"


def test_version_and_short_help(orchestrate):
    code, out, _ = orchestrate("--version")
    assert code == 0
    assert re.fullmatch(r"rcgp-orchestrator \d+\.\d+.*\n", out)
    for arguments in (["-h"], ["run", "-h"]):
        code, out, _ = orchestrate(*arguments)
        assert code == 0
        assert "Usage: orchestrate" in out


def test_the_shell_completes_runs_and_campaigns(orchestrate, tmp_path, monkeypatch):
    orchestrate("run", "smoke", "--name", "mine", *QUICK)
    for line, word in (("orchestrate run forr", "forrester-clean"), ("orchestrate show mi", "mine")):
        monkeypatch.setenv("_ORCHESTRATE_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", "2")
        _, out, _ = orchestrate()
        assert word in out.split()


def test_brackets_in_folders_names_and_messages_are_printed_as_they_are(orchestrate, tmp_path):
    """Rich reads them as markup: a closing tag that was never opened ended every command in a traceback."""
    odd = "runs [/red]"
    code, out, err = orchestrate("run", "smoke", *QUICK, "--root", odd, "--set", "description='[/bold] text'")
    assert code == 0, err
    assert f"studies in {odd}/smoke" in out
    file = tmp_path / odd / "smoke/campaign.yaml"
    file.write_text(file.read_text().replace("[/bold]", "[/italic]"))
    code, out, err = orchestrate("list", "--root", odd)
    assert code == 0, err
    assert f"Runs in {odd}" in out
    assert "[/italic]" in out, "the refusal says what changed"
    assert "[/italic]" in refused(orchestrate("show", "smoke", "--root", odd))


@pytest.mark.parametrize("arguments", [["report", "any", "--from-mlflow"], ["ui"], ["ui", "--port", "1"]])
@pytest.mark.parametrize("damage", ["text", "torn"])
def test_a_damaged_database_is_one_line(orchestrate, tmp_path, arguments, damage):
    (tmp_path / "runs").mkdir()
    database = tmp_path / "runs/mlflow.db"
    if damage == "torn":
        with sqlite3.connect(database) as connection:
            connection.execute("create table t (x)")
            connection.executemany("insert into t values (?)", [("x" * 500,)] * 100)
        database.write_bytes(database.read_bytes()[:5000])
    else:
        database.write_text("not a database " * 500)
    line = refused(orchestrate(*arguments))
    assert "mlflow.db: damaged (" in line
    assert "orchestrate sync" in line
