"""Locks on files: one writer for a journal, one driver for a run."""

import fcntl
import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import UserError

_held: set[int] = set()
"""The descriptors of this process that hold a lock."""


class InUseError(UserError):
    """Another process holds the lock."""


def take_lock(fd: int, path: Path, timeout: float) -> None:
    """Lock an open file, waiting `timeout` seconds for whoever holds it."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise InUseError(f"{path}: another process is writing to it.") from None
            time.sleep(0.1)
        else:
            _held.add(fd)
            return


def close_lock(fd: int) -> None:
    """Close a file and let the next one in."""
    _held.discard(fd)
    with suppress(OSError):  # an objective in this process may have closed it
        fcntl.flock(fd, fcntl.LOCK_UN)  # closing is not enough while a child that was just made still shares the file
        os.close(fd)


def _forget_in_child() -> None:
    """A lock belongs to all processes that share the open file: a child that outlives its parent would keep it."""
    while _held:
        with suppress(OSError):
            os.close(_held.pop())


os.register_at_fork(after_in_child=_forget_in_child)


class Lock:
    """Keeps a second driver out of a run; the file says who is in."""

    def __init__(self, path: Path) -> None:
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise UserError(f"{path.parent}: cannot be written ({error.strerror}).") from None
        try:
            take_lock(self._fd, path, 0.0)
        except InUseError:
            holder = os.read(self._fd, 500).decode(errors="replace").strip() or "another process"
            os.close(self._fd)
            raise UserError(f"{path.parent} is in use by {holder}; wait for it or end it first.") from None
        with suppress(OSError):  # on a full disk it is locked all the same, and only nobody can read by whom
            os.ftruncate(self._fd, 0)
            os.write(self._fd, f"pid {os.getpid()} on {socket.gethostname()}\n".encode())

    def close(self) -> None:
        """Let the next driver in."""
        close_lock(self._fd)
