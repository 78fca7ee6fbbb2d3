"""What other people and other programs do to the folder of a run, seen from the command line."""

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from commands import orchestrate
from small_runs import finished

from orchestrator import cli

PLAN = {"name": "mine", "objective": "forrester", "algorithms": "random", "trials": 2, "tracking": {"enabled": False}}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A storage root with one finished run."""
    finished(tmp_path, PLAN)
    return tmp_path


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str]:
    """Exit code and errors of a command."""
    monkeypatch.setattr(sys, "argv", ["orchestrate", *words])
    code = 0
    try:
        cli.main()
    except SystemExit as end:
        code = int(end.code or 0)
    return code, capsys.readouterr().err


@pytest.mark.parametrize("deed", [shutil.copytree, shutil.move, lambda old, new: os.symlink(old, new)])
def test_a_run_works_wherever_its_folder_is(deed, root, capsys, monkeypatch):
    deed(str(root / "mine"), str(root / "other"))
    for words in (["show", "other"], ["report", "other"], ["resume", "other", "--no-ray"]):
        assert command(capsys, monkeypatch, *words, "--root", str(root)) == (0, "")


def test_a_run_of_a_newer_version_names_what_is_not_known_and_hides_no_other(root, capsys, monkeypatch):
    shutil.copytree(root / "mine", root / "newer")
    with (root / "newer/campaign.yaml").open("a") as file:
        file.write("novelty: 1\n")
    code, said = command(capsys, monkeypatch, "show", "newer", "--root", str(root))
    assert code == 2
    assert "unknown key 'novelty'" in said
    assert command(capsys, monkeypatch, "list", "--root", str(root))[0] == 0


def without_privileges() -> None:
    """Let modes bind root too: the program that starts next may not overrule them."""
    drop_from_bounding_set, overrule_writes, overrule_reads = 24, 1, 2
    for capability in (overrule_writes, overrule_reads):
        ctypes.CDLL(None).prctl(drop_from_bounding_set, capability)


def restricted(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of somebody for whom modes count."""
    return orchestrate(root.parent, *words, "--root", str(root), preexec_fn=without_privileges)


@pytest.fixture
def shut() -> Iterator[Callable[[Path, int], None]]:
    """Change modes, and change them back when the test is over."""
    before: dict[Path, int] = {}

    def change(path: Path, mode: int) -> None:
        before.setdefault(path, path.stat().st_mode)
        path.chmod(mode)

    yield change
    for path, mode in before.items():
        path.chmod(mode)


def is_one_line(done: subprocess.CompletedProcess[str], path: str) -> None:
    """What was refused is said in one line that names the place."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")
    assert path in done.stderr.splitlines()[-1]


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_is_one_line_and_can_still_be_looked_at(root, shut):
    shut(root / "mine/lock", 0o444)
    shut(root / "mine", 0o555)
    shut(root, 0o555)
    assert restricted(root, "show", "mine").returncode == 0
    for words in (["report", "mine"], ["resume", "mine", "--no-ray"], ["sync", "mine"]):
        is_one_line(restricted(root, *words), "mine")
    is_one_line(restricted(root, "run", "smoke", "--no-ray"), "smoke")


@pytest.mark.slow
def test_a_folder_that_may_not_be_read_is_one_line_and_hides_no_other(root, shut):
    shutil.copytree(root / "mine", root / "other")
    shut(root / "mine", 0o000)
    is_one_line(restricted(root, "show", "mine"), "mine")
    listed = restricted(root, "list")
    assert listed.returncode == 0, listed.stderr
    assert "other" in listed.stdout
