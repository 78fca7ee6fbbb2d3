"""Who reported a result: the machine and the device that a trial ran on."""

import os
import socket
import sys
from dataclasses import dataclass
from typing import Self

from orchestrator.campaign.study import REPORTER, stream
from orchestrator.plain import Fields, Json

NAME = "ORCHESTRATE_REPORTER"
"""The environment variable that names a machine whose host name does not tell it from others."""


@dataclass(frozen=True)
class Reporter:
    """A machine, the GPU a trial used there (index and, where torch knows it, name), and the process."""

    host: str = ""
    gpu: str = ""
    pid: int = 0

    @property
    def name(self) -> str:
        """What it is called: the machine, with the index of its GPU where one was used; empty where nobody knows."""
        return f"{self.host}/gpu{self.gpu.split(' ')[0]}" if self.gpu else self.host

    def to_json(self) -> Json:
        """What is known of it."""
        return {key: value for key, value in vars(self).items() if value}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The reporter of an event; the first journals held none."""
        return cls(data.get("host", ""), data.get("gpu", ""), data.get("pid", 0))


UNKNOWN = Reporter()
"""Of whom nothing is known."""


def here(uses_gpu: bool = False) -> Reporter:
    """This process, as a reporter."""
    host = os.environ.get(NAME) or socket.gethostname()
    return Reporter(host, _gpu() if uses_gpu else "", os.getpid())


def _gpu() -> str:
    """The first GPU that this process may use; its name costs no import that the objective has not paid for."""
    index = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
    torch = sys.modules.get("torch")
    known = index and torch is not None and torch.cuda.is_available()
    return f"{index} {torch.cuda.get_device_name(0)}" if known and torch is not None else index


def simulated(seed: int, number: int, count: int, replicate_of: int | None = None) -> int:
    """Which of `count` simulated machines runs a trial, by its number alone; a replicate runs on another than its first run."""
    first = None if replicate_of is None else simulated(seed, replicate_of, count)
    others = [index for index in range(count) if index != first] or [0]
    return int(stream(seed, REPORTER, number).choice(others))


def simulated_reporter(seed: int, number: int, count: int, replicate_of: int | None = None) -> Reporter:
    """The simulated machine that runs a trial."""
    return Reporter(f"machine-{simulated(seed, number, count, replicate_of)}", pid=os.getpid())
