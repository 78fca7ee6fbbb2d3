"""A whole command, from Enter to prompt, beside the same loops in bare processes.

    python benchmarks/command.py [--campaign forrester] [--seeds 4] [--repeats 2]

Both are measured in turn, by the clock and in processor time of all their processes: on a machine that others use too, the
second says more. The bare processes ask, evaluate and tell - the same lies too - one per core: no journal, no Ray, no MLflow, no
report.
"""

import argparse
import ctypes
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import ADVERSARY, NOISE, Study, stream
from orchestrator.engine.events import Dated, SessionStarted, of_type
from orchestrator.engine.history import events_of

BECOME_SUBREAPER = 36
"""Linux: processes whose parent ended become our children."""
SAMPLE_SECONDS, TICKS = 0.1, os.sysconf("SC_CLK_TCK")
PARTS = {
    "tracking.follower": "MLflow's writer",
    "raylet/raylet": "Ray's own",
    "gcs_server": "Ray's own",
    "default_worker": "studies",
    "Agent": "Ray's own",
    "agent": "Ray's own",
    "ray::": "studies",
    "orchestrator.cli": "driver",
}
"""Whose a process is, by the first of these in its command line."""


class Measured(NamedTuple):
    """Seconds by the clock, of the processor, and those by whose they were."""

    wall: float
    cpu: float
    parts: dict[str, float]


def loops(studies: Sequence[Study]) -> None:
    """What nobody watches: ask, evaluate, lie where the campaign's adversary would, tell."""
    from orchestrator.engine.build import build_adversary, build_objective, build_optimizer

    for study in studies:
        objective = build_objective(study)
        adversary, optimizer = build_adversary(study, objective), build_optimizer(study, objective)
        for number in range(study.total):
            x = optimizer.ask()
            y = float(objective.evaluate(x, stream(study.seed, NOISE, number)))
            if number >= study.initial:
                y = adversary.report(number - study.initial, x, y, stream(study.seed, ADVERSARY, number)).y
            optimizer.tell(x, y)


def bare(campaign: str, seeds: int) -> None:
    """The campaign's loops in as many processes as there are cores."""
    studies = Campaign.load(campaign, {"seeds": seeds}).studies()
    cores = os.cpu_count() or 1
    fresh = multiprocessing.get_context("spawn")
    processes = [fresh.Process(target=loops, args=(studies[i::cores],)) for i in range(cores)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()


def measured(command: Sequence[str]) -> Measured:
    """Seconds until the prompt is back, and processor seconds of all that the command started, until the last of it is gone.

    Read from /proc all the time: Ray's raylet ignores the end of its workers, and what they took is then in nobody's sum.
    """
    begin, wall, spent = time.perf_counter(), 0.0, dict[tuple[int, int], float]()
    whose: dict[tuple[int, int], str] = {}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while found := descendants(os.getpid()):
        spent |= found
        whose |= {process: part for process in found if (part := part_of(process[0]))}
        if not wall and process.poll() is not None:
            wall = time.perf_counter() - begin
        if wall:
            _reap()
        time.sleep(SAMPLE_SECONDS)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    parts: dict[str, float] = defaultdict(float)
    for known, seconds in spent.items():
        parts[whose.get(known, "others")] += seconds
    return Measured(wall, sum(spent.values()), parts)


def part_of(pid: int) -> str:
    """Whose a process is; empty where its command line does not tell, or it is gone."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""
    return next((part for mark, part in PARTS.items() if mark in words), "")


def descendants(root: int) -> dict[tuple[int, int], float]:
    """Processor seconds so far of the processes below `root`, by their number and the tick they began at."""
    parents, seconds = dict[int, int](), dict[int, tuple[int, float]]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended since
            parents[int(entry.name)] = int(fields[1])
            seconds[int(entry.name)] = int(fields[19]), (int(fields[11]) + int(fields[12])) / TICKS
    below = {pid for pid in parents if root in _ancestors(pid, parents)}
    return {(pid, seconds[pid][0]): seconds[pid][1] for pid in below}


def _ancestors(pid: int, parents: dict[int, int]) -> Iterator[int]:
    while pid := parents.get(pid, 0):
        yield pid


def _reap() -> None:
    """Let those go that outlived the command and have ended since: they are our children now."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def start_up(run: Run) -> tuple[float, int]:
    """Seconds that a process of a run is without a study between two of them (median), and how many processes there were."""
    spans: dict[int, list[tuple[float, float]]] = {}
    for study in run.studies:
        events = events_of(run, study)
        (session,) = of_type(events, SessionStarted)
        spans.setdefault(session.pid, []).append((session.at, max(e.at for e in events if isinstance(e, Dated))))
    gaps = [b[0] - a[1] for ordered in map(sorted, spans.values()) for a, b in pairwise(ordered)]
    return statistics.median(gaps) if gaps else 0.0, len(spans)


def compare(folder: Path, campaign: str, seeds: int, repeats: int) -> None:
    """Print both, the best of `repeats` each."""
    if sys.platform != "linux":
        raise SystemExit(
            f"processor time of processes is read from /proc, which {sys.platform} has not: run this on Linux."
        )
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    alone = [sys.executable, __file__, "--bare", "--campaign", campaign, "--seeds", str(seeds)]
    whole = [sys.executable, "-m", "orchestrator.cli", "run", campaign, "--seeds", str(seeds), "--root", str(folder)]
    found = [(measured(alone), measured([*whole, "--name", f"whole{i}"])) for i in range(repeats)]
    (wall, cpu), (whole_wall, whole_cpu) = (
        (min(m.wall for m in each), min(m.cpu for m in each)) for each in zip(*found, strict=True)
    )
    parts = min((m for _, m in found), key=lambda m: m.cpu).parts
    gap, processes = start_up(Run.open(folder, f"whole{repeats - 1}"))
    print(f" command: {whole_wall:.1f} s, bare loops {wall:.1f} s: {whole_wall / wall:.2f} times  target <= 1.2")
    print(f"          {whole_cpu:.1f} s of processor, bare {cpu:.1f} s: {whole_cpu / cpu:.2f} times")
    print(
        f"          {', '.join(f'{part} {seconds:.1f}' for part, seconds in sorted(parts.items(), key=lambda p: -p[1]))} s"
    )
    print(f"          {processes} study processes, {1000 * gap:.0f} ms between two studies of one")


def main() -> None:
    """Print the comparison, or be the bare loops."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaign", default="forrester")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.bare:
        bare(given.campaign, given.seeds)
        return
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), given.campaign, given.seeds, given.repeats)


if __name__ == "__main__":
    main()
