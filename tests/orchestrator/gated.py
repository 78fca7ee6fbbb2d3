"""An objective that takes its time until a file says go; used by import path."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from square import Square, quadratic


@dataclass(frozen=True)
class Gated(Square):
    """A quadratic that takes `seconds` while there is no file `go` in `folder`, and none from then on."""

    folder: str
    seconds: float = 5.0
    known: bool = True

    name = "gated"

    def evaluate(self, x: Any, rng: Any, report: Any = None) -> float:
        over = time.monotonic() + self.seconds
        while time.monotonic() < over and not (Path(self.folder) / "go").exists():
            time.sleep(0.05)
        return quadratic(x)
