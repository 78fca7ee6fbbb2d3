"""A campaign with an objective and an adversary of one's own, from anywhere: run, killed, shown, resumed, reported."""

import re
import signal
import subprocess
import textwrap
import time
from pathlib import Path

import pytest
from commands import ENVIRONMENT, launch

from orchestrator.engine.history import observations
from orchestrator.engine.journal import read

EXAMPLES = Path(__file__).parents[2] / "examples"
OBJECTIVE = """
    import time
    from dataclasses import dataclass
    from typing import ClassVar
    from objectives import ObjectiveBase, Parameter, Space

    @dataclass(frozen=True)
    class Patient(ObjectiveBase):
        space: ClassVar[Space] = Space((Parameter("a", -1.0, 1.0),))

        def evaluate(self, x, rng, report=None):
            time.sleep(0.1)
            return -self.space.to_units(x)["a"] ** 2
"""
ADVERSARY = """
    from dataclasses import dataclass
    from adversaries import Report

    @dataclass(frozen=True)
    class Liar:
        size: float = 1e3

        def lie(self, query, rng):
            return Report(self.size, corrupted=True)
"""
CAMPAIGN = """
    objective: my_objective:Patient
    algorithms: [random]
    adversaries: [{name: "my_adversary:Liar", size: 1.0e+6, budget: 3}]
    trials: 30
    tracking: {enabled: false}
"""


def command(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """The command line in a process of its own and a working directory, with nothing on its path."""
    clean = {k: v for k, v in ENVIRONMENT.items() if k != "PYTHONPATH"}
    own = {"ORCHESTRATE_ROOT": str(folder.parent / "runs"), "ORCHESTRATE_TRACKING": "0"}
    return launch(folder, *arguments, env=clean | own)


def done(folder: Path, *arguments: str) -> str:
    """The output of a command that succeeds."""
    process = command(folder, *arguments)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    return out


def interrupted(process: "subprocess.Popen[str]", journals: Path, trials: int, sign: signal.Signals) -> int:
    """End a run when its first journal holds some more trials; returns the exit code."""
    while trials_in(journals) < trials:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(sign)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    return process.returncode


def trials_in(journals: Path) -> int:
    """Acknowledged trials of all studies."""
    return sum(len(observations(read(path))) for path in journals.glob("*seed?.jsonl"))


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A working directory that is neither the campaign's nor the runs'."""
    for name in ("parts", "elsewhere", "third"):
        (tmp_path / name).mkdir()
    (tmp_path / "parts/my_objective.py").write_text(textwrap.dedent(OBJECTIVE))
    (tmp_path / "parts/my_adversary.py").write_text(textwrap.dedent(ADVERSARY))
    (tmp_path / "parts/mine.yaml").write_text(textwrap.dedent(CAMPAIGN))
    return tmp_path / "elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize("engine", [["--no-ray"], pytest.param([], marks=pytest.mark.ray)])
def test_own_parts_survive_interrupts_and_kills_from_any_folder(elsewhere: Path, engine: list[str]) -> None:
    journals, third = elsewhere.parent / "runs/mine/journals", elsewhere.parent / "third"
    first = command(elsewhere, "run", "../parts/mine.yaml", *engine)
    assert interrupted(first, journals, 3, signal.SIGINT) == 130
    before = trials_in(journals)
    look_around(third, before, ["show", "mine"], ["list"])
    assert (
        interrupted(command(third, "resume", "mine", *engine), journals, before + 4, signal.SIGKILL) == -signal.SIGKILL
    )
    look_around(third, trials_in(journals), ["show", "mine"])
    assert "report.html" in done(third, "report", "mine")
    assert "report.html" in done(elsewhere, "resume", "mine", *engine)
    assert trials_in(journals) == 35
    assert "complete" in done(third, "list")


def look_around(folder: Path, trials: int, *command_lines: list[str]) -> None:
    """What only looks works on what is left of a run."""
    for command_line in command_lines:
        (shown,) = re.findall(r"(\d+)/35", done(folder, *command_line))
        assert int(shown) >= trials  # the workers of a driver that was killed may take some seconds to notice


@pytest.mark.slow  # the same with the files that people start from
def test_the_shipped_example_is_interrupted_and_goes_on_elsewhere(elsewhere: Path) -> None:
    journals = elsewhere.parent / "runs/own_objective/journals"
    process = command(elsewhere, "run", str(EXAMPLES / "own_objective.yaml"), "--no-ray", "--seeds", "1")
    assert interrupted(process, journals, 3, signal.SIGINT) == 130
    assert "gp-ucb.crash.seed0" in done(elsewhere, "show", "own_objective")
    assert "report.html" in done(elsewhere, "report", "own_objective")
    assert "report.html" in done(elsewhere, "resume", "own_objective", "--no-ray")
    assert trials_in(journals) == 50
