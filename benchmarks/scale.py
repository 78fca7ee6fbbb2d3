"""How far one driver reaches: up to 1,000 workers and 10,000 observations, simulated in virtual time.

    python benchmarks/scale.py [--workers 1 100 1000] [--observations 1000 10000] [--window 40] [--trial-seconds 600]

The optimizer, the adversary and the journal (fsynced) are the real ones. Their time is measured - processor time, and the
disk's - so that a busy machine does not show; trials take no real time, they only end later on the clock. A study begins
with a journal of N random trials and one open trial for every worker but one; the figures are of a window of trials after
that. Idle time and staleness need many rounds of all workers: a queue with the measured seconds gives them.
Every configuration runs in a process of its own.

suggest     seconds of one suggestion, as the driver feels it: judging, refitting and the journal included
stale       results that came back between a suggestion and its own result: what the optimizer could not know
idle        share of the workers' time spent waiting for the driver, with trials of --trial-seconds on average
reach       workers that one driver keeps busy at that length of trial: trial seconds / seconds per trial of the driver
"""

import argparse
import heapq
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYTHONWARNINGS", "ignore")  # inherited by the processes that measure

import numpy as np

from orchestrator.campaign.study import Component, Study
from orchestrator.engine.adversary import LocalAdversary
from orchestrator.engine.build import build_objective
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.events import Observation, TrialSuggested
from orchestrator.engine.journal import FileJournal, header
from orchestrator.engine.trial import Try, evaluate, refuse_to_die

T = TypeVar("T")
INITIAL = 20
AT_ONCE = 250
"""Rows of the past that are absorbed together."""


@dataclass(frozen=True)
class Setting:
    """One point of the grid."""

    algorithm: str
    workers: int
    observations: int
    window: int
    trial_seconds: float
    patience: float

    @property
    def begun(self) -> int:
        """Trials suggested before the window: all but one worker have one."""
        return self.observations + self.workers - 1

    @property
    def study(self) -> Study:
        """A study that lasts `window` trials longer than its past."""
        return Study(
            Component(self.algorithm),
            Component("hartmann6"),
            Component("crash", {"value": -10.0, "budget": {"alpha": "1/3"}}),
            initial=INITIAL,
            trials=self.begun + self.window - INITIAL,
            workers=self.workers,
        )


def write_past(setting: Setting, path: Path) -> None:
    """A journal of settled trials at random points, and of the open ones."""
    study = setting.study
    objective, rng, journal = build_objective(study), np.random.default_rng(2), FileJournal(path)
    journal.append(header(study))
    for number, x in enumerate(rng.random((setting.begun, objective.dim))):
        suggested = TrialSuggested(number, tuple(x.tolist()), at=0.0)
        y = float(objective.evaluate(x, rng)) if number < setting.observations else 0.0
        settled = Observation(number, tuple(x.tolist()), y, y, y)
        journal.append(suggested, *([settled] if number < setting.observations else []), sync=False)
    journal.close()


class Late(Conductor):
    """A conductor that absorbs its past many rows at a time: one at a time takes as long as the study itself did."""

    def _update(self) -> None:
        if self.optimizer.n % AT_ONCE == 0:
            super()._update()


@dataclass
class Simulation:
    """A driver and its workers: the driver's seconds are real, the workers' are not."""

    setting: Setting
    journal: FileJournal
    clock: float = 0.0
    """The driver's time: real seconds at work, and jumps to the next result when there is nothing to do."""
    asks: list[float] = field(default_factory=list)
    tells: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        study = self.setting.study
        self.objective = build_objective(study)
        self.conductor = Late(study, self.objective, self.journal, shared=True)
        self.adversary = LocalAdversary(study, self.objective, self.conductor.record_report)
        self.rng = np.random.default_rng(0)
        self.free = study.workers
        self.running: list[tuple[float, int, Try]] = []

    def run(self) -> None:
        """Until the study is over, or the patience is."""
        deadline = time.perf_counter() + self.setting.patience
        while time.perf_counter() < deadline and (self._hand_out() | self._absorb()):
            pass

    def _spend(self, work: Callable[[], T], note: list[float]) -> T:
        start = time.process_time() + self.journal.seconds
        result = work()
        seconds = time.process_time() + self.journal.seconds - start
        self.clock += seconds
        note.append(seconds)
        return result

    def _absorb(self) -> bool:
        """Take in what has come back by now; with no worker free, go to the next result first."""
        if not self.running:
            return False
        if not self.free:
            self.clock = max(self.clock, self.running[0][0])
        while self.running and self.running[0][0] <= self.clock:
            _, _, trial = heapq.heappop(self.running)
            outcome = evaluate(self.conductor.study, self.objective, self.adversary, trial, refuse_to_die)
            self._spend(lambda t=trial, o=outcome: self.conductor.observe(t, o), self.tells)
            self.free += 1
        return True

    def _hand_out(self) -> bool:
        """A trial for one free worker."""
        if not self.free:
            return False
        trial = self._spend(self.conductor.next, self.asks)
        if trial is None:
            self.free = 0  # nothing left to hand out
            return False
        if trial.number < self.setting.begun:
            self.asks.clear()  # one of the past's open trials costs nothing
        self.free -= 1
        seconds = duration(self.rng, self.setting.trial_seconds)
        heapq.heappush(self.running, (self.clock + seconds, trial.number, trial))
        return True


def duration(rng: np.random.Generator, mean: float) -> float:
    """How long a trial takes: log-normal, half of them within 0.6 to 1.2 times the mean."""
    return mean * float(rng.lognormal(-0.125, 0.5))


def steady(costs: np.ndarray, workers: int, trial_seconds: float) -> tuple[float, float]:
    """Share of the workers' time spent waiting for a driver with these costs, and mean staleness, over 20 rounds or more."""
    rng, clock, waited, worked = np.random.default_rng(1), 0.0, 0.0, 0.0
    running = [(float(rng.uniform(0, trial_seconds)), 0) for _ in range(workers)]
    heapq.heapify(running)
    stale, total = 0, max(20 * workers, 2000)
    for told in range(total):
        ended, known = heapq.heappop(running)
        clock = max(clock, ended) + float(rng.choice(costs))
        seconds = duration(rng, trial_seconds)
        stale, waited, worked = stale + told - known, waited + clock - ended, worked + seconds
        heapq.heappush(running, (clock + seconds, told + 1))
    return waited / (waited + worked), stale / total


@dataclass(frozen=True)
class Figures:
    """What a configuration came to."""

    p50: float
    p95: float
    mean: float
    tell: float
    stale: float
    idle: float
    megabytes: float
    journal: float
    asks: int


def measure(setting: Setting) -> Figures:
    """Simulate one configuration; called in a process of its own, so that its memory is its own."""
    with tempfile.TemporaryDirectory() as folder:
        write_past(setting, Path(folder) / "study.jsonl")
        journal = FileJournal(Path(folder) / "study.jsonl")
        simulation = Simulation(setting, journal)
        simulation.run()
        journal.close()
        size = journal.path.stat().st_size / 1e6
    asks = np.array(simulation.asks[: setting.window])  # the last call finds nothing to hand out
    tell = float(np.median(simulation.tells)) if simulation.tells else 0.0
    idle, stale = steady(asks + tell, setting.workers, setting.trial_seconds)
    return Figures(
        float(np.median(asks)),
        float(np.quantile(asks, 0.95)),
        float(np.mean(asks)),
        tell,
        stale,
        idle,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        size,
        len(asks),
    )


def table(settings: Iterable[Setting]) -> None:
    """Measure and print, a line each."""
    print(
        f"{'algorithm':14} {'workers':>7} {'observed':>8} {'suggest p50':>11} {'p95':>8} {'tell':>8} {'per s':>8}",
        end="",
    )
    print(f" {'stale':>6} {'idle':>6} {'reach':>7} {'MB':>6} {'journal':>8} {'n':>4}")
    for s in settings:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            f = pool.submit(measure, s).result()
        busy = f.mean + f.tell
        print(
            f"{s.algorithm:14} {s.workers:7} {s.observations:8} {f.p50:10.3f}s {f.p95:7.3f}s {f.tell * 1e3:6.1f}ms"
            f" {1 / busy:8.2f} {f.stale:6.0f} {f.idle:6.1%} {s.trial_seconds / busy:7.0f} {f.megabytes:6.0f}"
            f" {f.journal:6.1f}MB {f.asks:4}",
            flush=True,
        )


def main() -> None:
    """The grid, as asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithms", nargs="+", default=["random", "a2-rcgp-ucb"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 100, 1000])
    parser.add_argument("--observations", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--window", type=int, default=40, help="trials after the first ones")
    parser.add_argument("--trial-seconds", type=float, default=600.0)
    parser.add_argument("--patience", type=float, default=120.0, help="real seconds for one configuration's window")
    given = parser.parse_args()
    table(
        Setting(algorithm, workers, observations, given.window, given.trial_seconds, given.patience)
        for algorithm in given.algorithms
        for observations in given.observations
        for workers in given.workers
    )


if __name__ == "__main__":
    main()
