"""What an evaluation may do to the process it runs in, and to `report`."""

import builtins
import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np

from zoo.errors import Deed
from zoo.values import Liar

OUTLIVE = 3.0
"""Seconds that a child stays after whoever made it; nothing may wait for it."""


def _fork(report: Any) -> float:
    if os.fork() == 0:
        time.sleep(OUTLIVE)
        os._exit(0)
    return 1.0


def _fork_twice(report: Any) -> float:
    """Parent and child come back: the study must not go on in two processes."""
    os.fork()
    return 1.0


def _spawn(report: Any) -> float:
    subprocess.Popen(["sleep", str(OUTLIVE)], start_new_session=True, env={})
    return 1.0


def _threads(report: Any) -> float:
    for _ in range(20):
        threading.Thread(target=time.sleep, args=(OUTLIVE / 10,), daemon=True).start()
    return 1.0


def _folder(report: Any) -> float:
    os.chdir("/")
    return 1.0


def _umask(report: Any) -> float:
    os.umask(0o777)
    return 1.0


def _close_streams(report: Any) -> float:
    sys.stdout.close()
    sys.stderr.close()
    return 1.0


def _close_descriptors(report: Any) -> float:
    os.close(1)
    os.close(2)
    return 1.0


def _replace_streams(report: Any) -> float:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]
    return 1.0


def _ignore_signals(report: Any) -> float:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return 1.0


def _patch(report: Any) -> float:
    builtins.open = builtins.print = builtins.len = None  # type: ignore[assignment]
    return 1.0


def _shout(report: Any) -> float:
    print("\x1b[2J[/] 100%\r" * 50_000)
    print("\udc80".encode(errors="replace"), file=sys.stderr)
    return 1.0


def _memory(report: Any) -> float:
    return float(len(bytearray(200 << 20)) > 0)


def _environment(report: Any) -> float:
    for name in ("HOME", "PATH", "PYTHONPATH", "ORCHESTRATE_ROOT", "TMPDIR"):
        os.environ[name] = "/nonexistent"
    return 1.0


def _settings(report: Any) -> float:
    import torch

    np.seterr(all="raise")
    torch.set_default_dtype(torch.float16)
    torch.manual_seed(0)
    warnings.simplefilter("error")
    sys.setrecursionlimit(120)
    gc.disable()
    return 1.0


def _change_x(report: Any) -> float:
    return 1.0  # `Zoo.evaluate` overwrites the point it was given


def _descriptors(report: Any) -> float:
    for _ in range(200):
        os.open("/dev/null", os.O_RDONLY)
    return 1.0


DONE: dict[str, Deed] = {
    "fork": _fork,
    "fork twice": _fork_twice,
    "child outlives": _spawn,
    "threads": _threads,
    "folder": _folder,
    "umask": _umask,
    "streams closed": _close_streams,
    "descriptors closed": _close_descriptors,
    "streams replaced": _replace_streams,
    "signals ignored": _ignore_signals,
    "builtins": _patch,
    "shout": _shout,
    "memory": _memory,
    "environment": _environment,
    "settings": _settings,
    "x overwritten": _change_x,
    "descriptors": _descriptors,
}


def _reports(*pairs: tuple[Any, Any]) -> Deed:
    def deed(report: Any) -> float:
        for step, value in pairs:
            report(step, value)
        return 1.0

    return deed


def _report_later(report: Any) -> float:
    threading.Timer(0.05, report, args=(1, 0.5)).start()
    return 1.0


REPORTED: dict[str, Deed] = {
    "report nan": _reports((1, float("nan")), (2, float("inf")), (2, 0.5), (-7, 1e308)),
    "report many": _reports(*((i, i / 100) for i in range(2000))),
    "report array": _reports((1, np.ones(2))),
    "report str": _reports((1, "0.5")),
    "report None": _reports((1, None)),
    "report step": _reports(("one", 0.5)),
    "report step nan": _reports((float("nan"), 0.5)),
    "report step beyond": _reports((10**30, 0.5)),
    "report Liar": _reports((1, Liar())),
    "report later": _report_later,
}


def hang(report: Any) -> float:
    time.sleep(3600)
    return 1.0


def _hang_stubbornly(report: Any) -> float:
    deadline = time.monotonic() + 3600
    while time.monotonic() < deadline:
        try:
            time.sleep(3600)
        except Exception:
            continue
    return 1.0


def _segfault(report: Any) -> float:
    import ctypes

    return float(ctypes.string_at(0)[0])


HANGS: dict[str, Deed] = {"hang": hang, "hang stubbornly": _hang_stubbornly}
"""Only a time limit ends them."""
DEATHS: dict[str, Deed] = {
    "exit": lambda report: os._exit(0),
    "kill": lambda report: os.kill(os.getpid(), signal.SIGKILL),
    "abort": lambda report: os.abort(),
    "segfault": _segfault,
}
"""They take the process with them: survived where it is not the driver's own."""
