"""What tracking costs: 10,000 trials (50 studies x 200) written to a local MLflow store, and what the driver pays.

    python benchmarks/tracking.py [--studies 50] [--trials 200]

The journals are written first, with the values of a real function and no optimizer, so that only tracking is measured.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.events import Event, Observation, SessionStarted, StudyEnded, TrialSuggested
from orchestrator.engine.journal import FileJournal, header
from orchestrator.tracking.follower import Follower
from orchestrator.tracking.store import Store
from orchestrator.tracking.tracker import Tracker

INITIAL = 5


def main() -> None:
    """Write the journals, then time MLflow's view of them: from scratch, a second time, and as the driver sees it."""
    arguments = _arguments()
    with TemporaryDirectory() as folder:
        run = _run(Path(folder), arguments.studies, arguments.trials)
        trials = sum(study.total for study in run.studies)
        print(f"{len(run.studies)} studies, {trials:,} trials\n")
        _measure_driver(run, trials)
        _measure_writing(run, trials)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--studies", type=int, default=50)
    parser.add_argument("--trials", type=int, default=200, help="per study, the initial ones included")
    return parser.parse_args()


def _run(root: Path, studies: int, trials: int) -> Run:
    plan = {
        "name": "tracking",
        "objective": "forrester",
        "algorithms": ["gp-ucb", "a2-rcgp-ucb"],
        "adversaries": [{"name": "clairvoyant", "budget": 5}],
        "seeds": max(1, studies // 2),
        "trials": trials - INITIAL,
        "initial": INITIAL,
    }
    run = Run.create(root, "tracking", Campaign.from_dict(plan))
    for study in run.studies:
        _write_journal(run, study)
    return run


def _write_journal(run: Run, study: Study) -> None:
    """A journal as a study would leave it: suggestions with changing weights, observations, the end."""
    objective, rng = build_objective(study), np.random.default_rng([study.seed, len(study.algorithm.label)])
    journal = FileJournal(run.journal(study))
    events: list[Event] = [header(study), SessionStarted("here", os.getpid(), 0.0, time.time())]
    for number in range(study.total):
        x = (float(rng.random()),)
        weights = {number - 1: 0.5} if number % 20 == 7 else {}
        events.append(TrialSuggested(number, x, 0.0, weights=weights))
        value = float(objective.noiseless(np.array(x)) or 0.0)
        events.append(Observation(number, x, value + float(rng.standard_normal()), value, value))
    events.append(StudyEnded(0, time.time()))
    journal.append(*events)
    journal.close()


def _measure_driver(run: Run, trials: int) -> None:
    """The follower is a process of its own: the driver only starts it and hears how it fares."""
    started, own = time.perf_counter(), time.process_time()
    follower = Follower(run)
    follower.require(600.0)
    follower.close()
    driver, wall = time.process_time() - own, time.perf_counter() - started
    beside = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = beside.ru_utime + beside.ru_stime
    print(f"beside a campaign: {wall:6.1f} s in all, store made and report written (behind: {follower.reason or 'no'})")
    print(f"  driver's CPU:    {1000 * driver / trials:6.3f} ms a trial   (goal: under 3)")
    print(f"  follower's CPU:  {1000 * used / trials:6.3f} ms a trial\n")


def _measure_writing(run: Run, trials: int) -> None:
    uri = f"sqlite:///{run.folder.parent / 'again.db'}"
    started = time.perf_counter()
    store = Store.open(uri)
    print(f"making a store:    {time.perf_counter() - started:6.1f} s")
    for name in ("writing", "writing again"):
        started, cpu = time.perf_counter(), time.process_time()
        Tracker(run, store).push()
        wall, used = time.perf_counter() - started, time.process_time() - cpu
        print(f"{name + ':':18} {wall:6.1f} s, {1000 * used / trials:6.3f} ms of CPU a trial")


if __name__ == "__main__":
    main()
