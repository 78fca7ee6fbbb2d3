"""What an objective does to its process ends with its trial."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from orchestrator.engine.process_state import restored


def mask() -> int:
    """The modes that new files do not get."""
    now = os.umask(0)
    os.umask(now)
    return now


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "folder": (lambda: os.chdir("/"), os.getcwd),
    "umask": (lambda: os.umask(0o777), mask),
    "recursion": (lambda: sys.setrecursionlimit(200), sys.getrecursionlimit),
    "warnings": (lambda: warnings.simplefilter("error"), lambda: list(warnings.filters)),
    "builtins": (lambda: __builtins__.update(len=None), lambda: __builtins__["len"]),
    "stream": (lambda: setattr(sys, "stderr", None), lambda: sys.stderr),
    "signals": (lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN), lambda: signal.getsignal(signal.SIGTERM)),
    "numpy": (lambda: np.seterr(all="raise"), np.geterr),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_undone(change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    spoil, state = CHANGES[change]
    before = state()
    with restored():
        spoil()
        assert state() != before
    assert state() == before


def test_a_descriptor_that_became_another_file_is_put_back(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with restored():
        os.close(1)
        assert os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT) == 1
    os.write(1, b"seen")
    assert capfd.readouterr().out == "seen"
    assert (tmp_path / "other").read_text() == ""


def test_a_child_that_comes_back_from_a_fork_ends(tmp_path: Path) -> None:
    with restored():
        child = os.fork()
    (tmp_path / str(os.getpid())).touch()
    assert os.waitpid(child, 0) == (child, 0)
    assert [p.name for p in tmp_path.iterdir()] == [str(os.getpid())], "only the parent goes on"


def test_what_the_objective_prints_goes_where_it_went_even_after_it_closed_that(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with restored():
        print("an epoch")
        sys.stdout.close()
        print("after all")
    assert capsys.readouterr().out == "an epoch\nafter all\n"


def test_no_descriptor_is_left_over() -> None:
    before = os.listdir("/proc/self/fd")
    with restored():
        pass
    assert os.listdir("/proc/self/fd") == before
