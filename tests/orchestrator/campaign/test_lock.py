"""Locks: held by one process, and by nobody once it is gone."""

import os
import signal
from pathlib import Path

import pytest

from orchestrator.campaign.lock import Lock
from orchestrator.errors import UserError


def fork_that_waits() -> int:
    """A child that stays until it is killed."""
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    return pid


def end(child: int) -> None:
    """Kill a child and see it off."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def holder_with_a_child(path: Path) -> tuple[int, int]:
    """A process that holds the lock, and its child, which is there when this returns."""
    reader, writer = os.pipe()
    holder = os.fork()
    if holder == 0:
        lock = Lock(path)
        child = os.fork()
        if child == 0:
            os.write(writer, str(os.getpid()).encode())
        signal.pause()
        lock.close()
    return holder, int(os.read(reader, 20))


def test_a_second_one_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    with pytest.raises(UserError, match=f"in use by pid {os.getpid()} on "):
        Lock(tmp_path / "lock")
    lock.close()
    Lock(tmp_path / "lock").close()


def test_a_child_does_not_keep_a_lock_that_was_let_go(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    child = fork_that_waits()
    lock.close()
    Lock(tmp_path / "lock").close()
    end(child)


def test_a_child_that_outlives_the_killed_holder_does_not_keep_its_lock(tmp_path: Path) -> None:
    holder, grandchild = holder_with_a_child(tmp_path / "lock")
    with pytest.raises(UserError, match=f"in use by pid {holder} on "):
        Lock(tmp_path / "lock")
    end(holder)
    Lock(tmp_path / "lock").close()
    os.kill(grandchild, signal.SIGKILL)


def test_the_end_of_a_child_does_not_open_the_lock(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "lock")
    end(fork_that_waits())
    with pytest.raises(UserError, match="in use by"):
        Lock(tmp_path / "lock")
    lock.close()


def test_a_lock_whose_owner_is_gone_on_another_host_is_taken(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("pid 4711 on elsewhere\n")
    Lock(tmp_path / "lock").close()
    assert f"pid {os.getpid()} on " in (tmp_path / "lock").read_text()
