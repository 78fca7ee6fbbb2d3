"""An objective with bad habits: each of them strikes one trial; used by import path."""

import builtins
import os
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from faulty import Faulty, enter

Report = Callable[[Any, Any], None]


class UnspeakableError(Exception):
    """An error that cannot be put into words."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


class OutsideError(BaseException):
    """An error that is no `Exception`."""


def _raise(error: BaseException) -> None:
    raise error


def _replace_builtins(report: Report) -> None:
    for name in ("len", "print", "open", "isinstance", "str", "float"):
        setattr(builtins, name, None)


def _ignore_signals(report: Report) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _close_descriptors(report: Report) -> None:
    for descriptor in (0, 1, 2):
        os.close(descriptor)


FAILING: dict[str, Callable[[Report], Any]] = {
    "reports an array": lambda report: report(1, np.ones(3)),
    "reports a text": lambda report: report(1, "0.97"),
    "reports nothing": lambda report: report(1, None),
    "reports at no step": lambda report: report(None, 1.0),
    "raises what cannot be shown": lambda report: _raise(UnspeakableError()),
    "raises GeneratorExit": lambda report: _raise(GeneratorExit()),
    "leaves by sys.exit": lambda report: sys.exit("enough"),
    "raises a BaseException": lambda report: _raise(OutsideError("from outside")),
    "raises half a character": lambda report: _raise(ValueError("half \udc80")),
    "warns as errors": lambda report: _raise(UserWarning("[red]not[/red] markup\n\x1b[2J")),
}
HARMLESS: dict[str, Callable[[Report], Any]] = {
    "closes the standard output": lambda report: sys.stdout.close(),
    "closes the standard error": lambda report: sys.stderr.close(),
    "closes descriptors": _close_descriptors,
    "replaces built-in functions": _replace_builtins,
    "changes the folder": lambda report: os.chdir("/"),
    "ignores signals": _ignore_signals,
    "lets NumPy raise": lambda report: np.seterr(all="raise"),
    "turns warnings into errors": lambda report: warnings.simplefilter("error"),
}
HABITS = FAILING | HARMLESS


@dataclass(frozen=True)
class Hostile(Faulty):
    """Trial after trial another habit, after three honest ones."""

    def evaluate(self, x: Any, rng: np.random.Generator, report: Any = None) -> Any:
        index, _ = enter(Path(self.folder), np.asarray(x).tobytes().hex())
        value = float(-np.sum((np.asarray(x) - (0.3, 0.7)) ** 2))
        habits = list(HABITS.values())
        if 0 <= index - 3 < len(habits):
            habits[index - 3](report)
        return value


@dataclass(frozen=True)
class Leaver:
    """An adversary that leaves at its first trial: politely, by `SystemExit`, or without a word."""

    politely: bool = True

    def lie(self, query: Any, rng: np.random.Generator) -> Any:
        """Leave, or tell the truth."""
        if query.number == 0:
            sys.exit(0) if self.politely else os._exit(0)
        return None
