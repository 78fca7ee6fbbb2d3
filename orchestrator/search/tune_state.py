"""What Tune itself wrote down of its trials: the other half of a restore.

Tune saves its own state and the searcher's one after the other. A driver killed in between leaves trials that Tune knows and the
searcher does not: they will not be run, or not be reported, again.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KnownTrial:
    """A trial as Tune remembers it: how it stands, with which configuration, and its last report."""

    trial_id: str
    status: str
    config: Mapping[str, Any]
    last_result: Mapping[str, Any]

    @property
    def ended(self) -> bool:
        return self.status in ("TERMINATED", "ERROR")


def known_trials(folder: str | Path) -> Iterator[KnownTrial]:
    """The trials of the newest experiment state in `folder`, in Tune's order; nothing if there is none."""
    files = sorted(Path(folder).glob("experiment_state-*.json"))
    if not files:
        return
    for trial, runtime in json.loads(files[-1].read_text())["trial_data"]:
        facts, past = json.loads(trial), json.loads(runtime)
        yield KnownTrial(facts["trial_id"], facts["status"], facts["config"], past.get("last_result") or {})
