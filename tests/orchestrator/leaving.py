"""An objective that leaves something behind in its process; used by import path."""

import os
import threading
from dataclasses import dataclass
from typing import Any

from faulty import Faulty


@dataclass(frozen=True)
class Leaving(Faulty):
    """Leaves something behind in its process."""

    what: str = ""

    def evaluate(self, x: Any, rng: Any, report: Any = None) -> float:
        value = float(super().evaluate(x, rng, report))
        if self.what == "variable":
            os.environ["LEFT_BEHIND"] = "1"
        if self.what == "thread":
            threading.Thread(target=threading.Event().wait, args=(5,), daemon=True).start()
        return value
