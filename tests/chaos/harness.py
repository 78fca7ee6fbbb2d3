"""What every chaos test needs: drivers as processes, their journals counted, and the table."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from faulty import calls

from orchestrator.engine.events import AdversaryReported, Event, Header, Observation, TrialSuggested, of_type
from orchestrator.engine.history import is_ended
from orchestrator.engine.journal import read

LONG = os.environ.get("CHAOS") == "long"
"""Whether to inject hundreds of faults (make chaos) or a few of each (.ci/run)."""
HERE = Path(__file__).parent
ORCHESTRATOR_TESTS = HERE.parent / "orchestrator"
ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": os.pathsep.join(map(str, [HERE, ORCHESTRATOR_TESTS, HERE.parents[1]])),
    "RAY_USAGE_STATS_ENABLED": "0",
}
BUDGET = 6


def times(short: int, long: int) -> int:
    """How often, in the version that is asked for."""
    return long if LONG else short


# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What one kind of fault did. All but the first figure and the time must be 0."""

    fault: str
    injected: int
    lost: int = 0
    doubled: int = 0
    overspent: int = 0
    seconds: float = 0.0
    """The longest time from a fault until what it hit was settled or taken up again."""
    note: str = ""


TABLE: list[Row] = []
REMARKS: list[str] = []
"""What stands under the table."""


def enter_row(row: Row, at_least: int = 1) -> None:
    """Put a row into the table, and hold it to what the table promises."""
    TABLE.append(row)
    assert row.injected >= at_least, f"{row.fault}: injected {row.injected} times, at least {at_least} were planned"
    assert (row.lost, row.doubled, row.overspent) == (0, 0, 0), row


def lines() -> Iterator[str]:
    """The table, and its sums."""
    yield f"{'fault':44} {'injected':>8} {'lost':>6} {'doubled':>8} {'overspent':>10} {'recovery s':>11}"
    total = Row("all", *(sum(getattr(r, f) for r in TABLE) for f in ("injected", "lost", "doubled", "overspent")))
    for r in [*TABLE, total]:
        shown = f"{r.seconds:11.1f}" if r.seconds else " " * 11
        yield f"{r.fault:44} {r.injected:8} {r.lost:6} {r.doubled:8} {r.overspent:10} {shown}  {r.note}".rstrip()
    yield from REMARKS


# --- drivers ----------------------------------------------------------------------------------------------------------


def plan(folder: Path, **changes: Any) -> Path:
    """A campaign file: one study whose adversary may lie six times, on an objective that leaves traces."""
    campaign = {
        "name": "chaos",
        "objective": {"name": "havoc:Havoc", "folder": str(folder), "seconds": 0.05},
        "algorithms": ["random"],
        "adversaries": [{"name": "crash", "budget": BUDGET, "value": -3.0}],
        "trials": 30,
        "initial": 4,
        "resources": {"cpus": 1},
        "tracking": {"enabled": False},
    } | changes
    path = folder / "chaos.yaml"
    path.write_text(json.dumps(campaign))
    return path


class Driver:
    """`orchestrate run` or `resume`, as a process."""

    def __init__(self, folder: Path, *arguments: str, **options: Any) -> None:
        self.folder, self.started = folder, time.time()
        self._log = (folder / "driver.log").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orchestrator.cli", *arguments, "--root", str(folder / "runs")],
            **({"env": ENVIRONMENT} | options),
            cwd=folder,
            text=True,
            stdout=self._log,
            stderr=self._log,
        )

    @property
    def said(self) -> str:
        """All output of the folder's drivers."""
        return (self.folder / "driver.log").read_text()

    def alive(self) -> bool:
        """Whether it still runs; a driver that failed is an error."""
        code = self.process.poll()
        assert code in (None, 0), f"exit code {code}: {self.said[-3000:]}"
        return code is None

    def kill(self) -> float:
        """SIGKILL; returns the moment."""
        self.process.kill()
        self.process.wait()
        return time.time()

    def finish(self, seconds: float = 600.0) -> int:
        """Wait for the end; returns the exit code."""
        try:
            return self.process.wait(seconds)
        finally:
            if self.process.poll() is None:
                kill_tree(self.process.pid)
            self._log.close()


def wait_until(true: Callable[[], Any], driver: Driver, seconds: float = 300.0, pause: float = 0.02) -> bool:
    """Wait for something while the driver lives; returns whether it came."""
    deadline = time.monotonic() + seconds
    while not true():
        if not driver.alive():
            return bool(true())
        assert time.monotonic() < deadline, f"nothing for {seconds} s: {driver.said[-3000:]}"
        time.sleep(pause)
    return True


def seeded_moments(seed: int, count: int, trials: int) -> list[int]:
    """When to strike, in evaluations begun: spread over the run, sooner or later by luck."""
    rng = random.Random(seed)
    edges = [1 + i * (trials - 2) / count for i in range(count + 1)]
    return [int(rng.uniform(low, high)) for low, high in pairwise(edges)]


# --- processes --------------------------------------------------------------------------------------------------------


def parents() -> dict[int, int]:
    """The parent of every process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError, IndexError):  # it may have ended just now
                found[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def descendants(pid: int) -> list[int]:
    """All processes below one of ours."""
    above = parents()
    found = [pid]
    for candidate in found:
        found.extend(child for child, parent in above.items() if parent == candidate)
    return found[1:]


def named(pid: int, title: str) -> list[int]:
    """The processes below one of ours whose title begins so."""
    return [p for p in descendants(pid) if title_of(p).startswith(title)]


def title_of(pid: int) -> str:
    """What a process calls itself."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def strike(pid: int, sign: signal.Signals = signal.SIGKILL) -> bool:
    """Send a signal; returns whether there was somebody to hear it."""
    try:
        os.kill(pid, sign)
    except ProcessLookupError:
        return False
    return True


def kill_tree(pid: int) -> None:
    """SIGKILL a process of ours and all below it, as when a machine is switched off."""
    for process in [pid, *descendants(pid)]:
        strike(process)


# --- counting ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """What went wrong in a run."""

    lost: int = 0
    doubled: int = 0
    overspent: int = 0


def journals(folder: Path) -> list[Path]:
    """The journals of the folder's run, without the adversaries' ledgers."""
    return sorted(p for p in (folder / "runs/chaos/journals").glob("*.jsonl") if "ledger" not in p.name)


def settled(folder: Path) -> set[tuple[str, int, str, float]]:
    """Every acknowledged result: study, trial, value and moment."""
    found = ((p.stem, o) for p in journals(folder) for o in of_type(read(p), Observation))
    return {(study, o.number, repr(o.y), o.at) for study, o in found}


def audit(folder: Path, acknowledged: Iterable[Any] = (), budget: int = BUDGET) -> Count:
    """Each trial exactly once, nothing acknowledged forgotten, no more lies than paid for."""
    lost = len(set(acknowledged) - settled(folder))
    doubled = overspent = 0
    paths = journals(folder)
    assert paths, "no journal"
    for path in paths:
        events = read(path)
        study = of_type(events, Header)[0].study
        seen = Counter(o.number for o in of_type(events, Observation))
        asked = Counter(s.number for s in of_type(events, TrialSuggested))
        lost += study["initial"] + study["trials"] - len(seen)
        doubled += seen.total() - len(seen) + asked.total() - len(asked)
        overspent += overspend(path, events, budget)
        assert is_ended(events), f"{path} has no end"
        assert rows(path) == seen.total(), "the optimizer's rows are the journal's"
    return Count(lost, doubled, overspent)


def overspend(path: Path, events: Sequence[Event], budget: int) -> int:
    """Lies beyond the budget, or paid for twice, in the journal and in the adversary's own ledger."""
    ledger = path.with_name(path.name.replace(".jsonl", ".ledger.jsonl"))
    books = [events, *([read(ledger)] if ledger.exists() else [])]
    told = [[r.number for r in of_type(book, AdversaryReported) if r.corrupted] for book in books]
    twice = sum(len(numbers) - len(set(numbers)) for numbers in told)
    return max(0, len(set().union(*told)) - budget) + twice


def rows(path: Path) -> int:
    """How many observations an optimizer has that is rebuilt from a journal."""
    from orchestrator.campaign.study import Study
    from orchestrator.engine.build import build_objective
    from orchestrator.engine.conductor import Conductor
    from orchestrator.engine.journal import FileJournal

    journal = FileJournal(path)
    try:
        study = Study.from_dict(of_type(journal.events, Header)[0].study)
        return Conductor(study, build_objective(study), journal).optimizer.n
    finally:
        journal.close()


def trial_of(path: Path) -> dict[str, int]:
    """The number of every suggested trial, by its point as the objective's traces spell it."""
    return {np.asarray(s.x).tobytes().hex(): s.number for s in of_type(read(path), TrialSuggested)}


def begun(folder: Path) -> int:
    """How many evaluations have begun."""
    return len(calls(folder))
