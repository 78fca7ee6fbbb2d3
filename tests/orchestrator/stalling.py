"""An adversary that does not answer, once; used by import path."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adversaries import Query, Report


@dataclass(frozen=True)
class Stalling:
    """Thinks for an hour about the trial of that number the first time it is asked, and says the truth otherwise."""

    folder: str
    number: int = 2

    def lie(self, query: Query, rng: np.random.Generator) -> Report | None:
        """The truth, sooner or later."""
        mark = Path(self.folder) / "stalled"
        if query.number == self.number and not mark.exists():
            mark.touch()
            time.sleep(3600.0)
        return None
