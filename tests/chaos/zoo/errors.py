"""What an evaluation may raise."""

import threading
from collections.abc import Callable
from typing import Any

Deed = Callable[[Any], Any]
"""An evaluation, given `report`."""


class Mute(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise ZeroDivisionError("no message")

    __repr__ = __str__


class Worse(BaseException):
    """An error that is no Exception."""


def error(what: BaseException) -> Deed:
    """A deed that raises it."""

    def deed(report: Any) -> Any:
        raise what

    return deed


def recurse(report: Any) -> Any:
    return recurse(report) + 1


def _chain(report: Any) -> Any:
    try:
        raise Mute
    except Mute as cause:
        raise RuntimeError("[/bold] [red]\x1b[31m<script>alert(1)</script>\n=1+1,\r\0 é \udc80") from cause


def _group(report: Any) -> Any:
    raise ExceptionGroup("[several]", [ValueError("a"), ExceptionGroup("more", [Mute()])])


def _unpicklable(report: Any) -> Any:
    error = RuntimeError("holds a lock")
    error.lock = threading.Lock()  # type: ignore[attr-defined]
    raise error


def _long(report: Any) -> Any:
    raise ValueError("x" * 3_000_000)


RAISED: dict[str, Deed] = {
    "Mute": error(Mute()),
    "SystemExit": error(SystemExit(0)),
    "SystemExit words": error(SystemExit("bye")),
    "GeneratorExit": error(GeneratorExit()),
    "StopIteration": error(StopIteration(1.0)),
    "StopAsyncIteration": error(StopAsyncIteration()),
    "BaseException": error(Worse("not caught by many")),
    "MemoryError": error(MemoryError()),
    "AssertionError": error(AssertionError()),
    "KeyError": error(KeyError(("a", 1))),
    "OSError": error(OSError(24, "Too many open files")),
    "TimeoutError": error(TimeoutError()),
    "recursion": recurse,
    "markup": _chain,
    "group": _group,
    "unpicklable": _unpicklable,
    "long message": _long,
}
