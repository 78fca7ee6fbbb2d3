"""What a machine may lack or refuse while a run is started, resumed or tracked: one line, a true exit code, nothing lost."""

import ctypes
import json
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import commands
import pytest

PLAN = {
    "objective": "forrester",
    "algorithms": ["random"],
    "trials": 3,
    "initial": 2,
    "tracking": {"enabled": False},
}


def started(folder: Path, *arguments: str, **changes: object) -> subprocess.CompletedProcess[str]:
    (folder / "small.yaml").write_text(json.dumps(PLAN | changes))
    return commands.orchestrate(folder, "run", "small.yaml", "--no-ray", *arguments)


def obey_permissions() -> None:
    """Root may write everywhere: give that right up, as all others have."""
    for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP


def few_files(count: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


def assert_one_line(done: subprocess.CompletedProcess[str], code: int, line: str) -> None:
    assert done.returncode == code, done.stdout + done.stderr
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_time_is_up_before_the_first_trial_and_before_the_first_chosen_one(orchestrate, tmp_path):
    slow = {"name": "faulty:Faulty", "folder": str(tmp_path), "seconds": 0.4}
    for seconds in ("1e-9", "0.6"):  # no trial at all; some of the four initial ones
        name = f"limit{seconds}".replace(".", "-")
        limit = f"limits.total_seconds={seconds}"
        (tmp_path / "slow.yaml").write_text(json.dumps(PLAN | {"objective": slow, "initial": 4, "trials": 1}))
        code, out, err = orchestrate("run", "slow.yaml", "--no-ray", "--name", name, "--set", limit)
        assert (code, err) == (3, ""), out
        assert "The time limit is reached. Continue with: orchestrate resume" in " ".join(out.split())
        for command, code in ((["report"], 0), (["show"], 0), (["show", "--timing"], 0), (["resume", "--no-ray"], 3)):
            found, _, err = orchestrate(*command, name)
            assert (found, err) == (code, ""), command


def test_a_run_folder_that_cannot_be_written_is_one_line(tmp_path):
    started(tmp_path, "--set", "limits.total_seconds=1e-9")
    folder = tmp_path / "runs" / "small"
    for path in (folder, folder / "journals", *folder.iterdir()):
        path.chmod(path.stat().st_mode & ~0o222)
    for command in (["resume", "small", "--no-ray"], ["sync", "small"]):
        assert_one_line(
            commands.orchestrate(tmp_path, *command, preexec_fn=obey_permissions), 2, "small: cannot be written"
        )
    assert commands.orchestrate(tmp_path, "show", "small", preexec_fn=obey_permissions).returncode == 0


@pytest.mark.parametrize("files", [7, 9])
def test_too_many_open_files_are_one_line_and_the_run_goes_on_later(orchestrate, tmp_path, files):
    (tmp_path / "small.yaml").write_text(json.dumps(PLAN | {"tracking": {"enabled": True}}))
    done = commands.orchestrate(tmp_path, "run", "small.yaml", "--no-ray", preexec_fn=few_files(files))
    assert_one_line(done, 1, "Too many open files; raise the limit with 'ulimit -n'.")
    assert orchestrate("resume", "small", "--no-ray")[0] == 0


@pytest.mark.parametrize(
    ("engine", "workers"),
    [("--no-ray", 1), pytest.param("", 1, marks=pytest.mark.ray), pytest.param("", 2, marks=pytest.mark.ray)],
    ids=["in the caller", "one process", "trial actors"],
)
def test_infinity_in_a_campaigns_own_options_runs_resumes_and_reports(request, orchestrate, tmp_path, engine, workers):
    if engine != "--no-ray":
        request.getfixturevalue("local_ray")
    (tmp_path / "infinite.yaml").write_text(
        "objective: forrester\nalgorithms: [a2-rcgp-ucb]\ntrials: 4\ninitial: 3\n"
        "adversaries: [{name: crash, value: -.inf, budget: 2}]\n"
        f"workers: {workers}\nresources: {{cpus: 0.5}}\ntracking: {{enabled: false}}\n"
    )
    limit = ["--set", "limits.total_seconds=1e-9"]
    assert orchestrate("run", "infinite.yaml", "--no-ray", "--name", "later", *limit)[0] == 3
    code, *said = orchestrate("run", "infinite.yaml", *engine.split())
    assert code == 0, said
    sync = [["sync", "infinite"]] if workers == 2 else []  # a store takes seconds to make
    for command in (["resume", "infinite", "--no-ray"], ["report", "infinite"], *sync):
        code, *said = orchestrate(*command)
        assert code == 0, said
    assert " 2 " in orchestrate("show", "infinite")[1], "two were corrupted"
    journal = (tmp_path / "runs/infinite/journals/a2-rcgp-ucb.crash.seed0.jsonl").read_text()
    for line in [*journal.splitlines(), (tmp_path / "runs/infinite/run.json").read_text()]:
        json.loads(line, parse_constant=pytest.fail)
