"""What an objective may change in the process that evaluates it, put back after every trial.

An objective is anybody's code. It may close the standard output, change the folder, replace a built-in function: its own
trial may suffer from that, the next one and the engine may not.
"""

import builtins
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOBase
from typing import TextIO

import numpy as np

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STREAMS = {"stdout": 1, "stderr": 2}


class _Unclosable(TextIOBase):
    """A stream that an objective may close without closing it for everybody else."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def close(self) -> None:
        """Nothing: it is not the objective's."""


@contextmanager
def restored() -> Iterator[None]:
    """Evaluate an objective in the block; the process is afterwards what it was before."""
    with _streams(), _signals(), _folder(), np.errstate(), warnings.catch_warnings():
        names = dict(vars(builtins))
        try:
            yield
        finally:
            vars(builtins).update(names)


@contextmanager
def _streams() -> Iterator[None]:
    """The standard output and error, as objects and as descriptors."""
    before = {name: getattr(sys, name) for name in STREAMS}
    copies = {fd: copy for fd in STREAMS.values() if (copy := _copy(fd)) is not None}
    for name, stream in before.items():
        setattr(sys, name, None if stream is None else _Unclosable(stream))
    try:
        yield
    finally:
        for name, stream in before.items():
            setattr(sys, name, stream)
        for fd, copy in copies.items():
            _put_back(fd, copy)


def _copy(fd: int) -> int | None:
    try:
        return os.dup(fd)
    except OSError:  # this process has none
        return None


def _put_back(fd: int, copy: int) -> None:
    with suppress(OSError):  # the objective closed the copy too: nothing can be done
        if not _is_open(fd):
            os.dup2(copy, fd)
        os.close(copy)


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


@contextmanager
def _signals() -> Iterator[None]:
    """Ctrl-C and a polite end, which only the main thread can change."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) is not handler:
                signal.signal(number, handler)


@contextmanager
def _folder() -> Iterator[None]:
    """The working directory, which paths of the run may be relative to."""
    try:
        before = os.open(".", os.O_RDONLY)
    except OSError:  # it was deleted
        yield
        return
    try:
        yield
    finally:
        with suppress(OSError):
            os.fchdir(before)
            os.close(before)
