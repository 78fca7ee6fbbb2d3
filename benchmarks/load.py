"""What a large campaign costs: time, memory and size of everything a person does with it, and how they grow.

    python benchmarks/load.py [--fast] [--only trials studies model flight] [--sizes SMALL LARGE]

trials   one study of 5,000 and of 20,000 random trials
studies  campaigns of 50 and of 200 studies of 20 random trials each
model    one study of 500 and of 2,000 trials of `a2-rcgp-ucb` on Branin
flight   500 trials in flight, on workers that exist only on a clock (benchmarks/scale.py)

Every command is a process of its own; seconds are by the clock, in brackets the processor's.
Growth is the ratio of the processor's seconds over the ratio of the sizes: 1 is linear, below 1 is better.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
COMMANDS = ("run", "show", "list", "report", "sync", "resume")


@dataclass(frozen=True)
class Cost:
    """Of one command: seconds by the clock and of the processor, and the most memory in bytes."""

    seconds: float
    worked: float
    memory: int

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.worked:.1f}), {self.memory / 2**20:.0f} MB"


@dataclass(frozen=True)
class Load:
    """A campaign to be carried: how it is called, how large it is, and what it says."""

    title: str
    size: int
    campaign: dict[str, object]


def random_trials(trials: int) -> Load:
    """One study without a model."""
    return Load(f"{trials:,} trials", trials, {"algorithms": ["random"], "trials": trials - 5})


def many_studies(studies: int) -> Load:
    """Many short studies."""
    return Load(f"{studies} studies", studies, {"algorithms": ["random"], "trials": 15, "seeds": studies})


def model_trials(trials: int) -> Load:
    """One study whose model learns from every trial."""
    return Load(f"{trials:,} trials of a2-rcgp-ucb", trials, {"algorithms": ["a2-rcgp-ucb"], "trials": trials - 5})


SECTIONS = {
    "trials": (random_trials, (5_000, 20_000), (250, 1_000)),
    "studies": (many_studies, (50, 200), (5, 20)),
    "model": (model_trials, (500, 2_000), (25, 100)),
}
"""What is built, its sizes, and those of --fast."""


def measured(arguments: Sequence[str], folder: Path) -> Cost:
    """One command of ours, run to its end."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "orchestrator.cli", *arguments]
    with (folder / "said.txt").open("ab") as said:
        process = subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {(folder / 'said.txt').read_text()[-2000:]}")
    return Cost(time.perf_counter() - begin, used.ru_utime + used.ru_stime, 1024 * used.ru_maxrss)


def carried(load: Load) -> Iterator[tuple[str, Cost | str]]:
    """The costs of everything that is done with a run, in the order a person would."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        adversaries = [{"name": "crash", "value": -500.0}]
        plan = {"objective": "branin", "initial": 5, "adversaries": adversaries, "tracking": {"enabled": False}}
        (folder / "load.yaml").write_text(yaml.safe_dump(plan | load.campaign))
        yield "run", measured(["run", "load.yaml", "--no-ray"], folder)
        for command in COMMANDS[1:]:
            which = [] if command == "list" else ["load"]
            yield command, measured([command, *which, *(["--no-ray"] if command == "resume" else [])], folder)
        yield "journal", f"{size_of(folder / 'runs/load/journals') / 2**20:.1f} MB"
        yield "report.html", f"{size_of(folder / 'runs/load/report/report.html') / 2**20:.1f} MB"


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def section(small: Load, large: Load) -> None:
    """Both sizes side by side, and how the commands grow, as a Markdown table."""
    print(f"\n| | {small.title} | {large.title} | growth |\n|---|---|---|---|", flush=True)
    for (what, little), (_, much) in zip(list(carried(small)), carried(large), strict=True):
        print(f"| `{what}` | {little} | {much} | {_growth(little, much, large.size / small.size)} |", flush=True)


def _growth(little: Cost | str, much: Cost | str, ratio: float) -> str:
    if isinstance(little, str) or isinstance(much, str):
        return ""
    return f"{much.worked / little.worked / ratio:.2f}"


def flight(workers: int, observations: int) -> None:
    """What `benchmarks/scale.py` says of so many trials in flight."""
    program = Path(__file__).with_name("scale.py")
    options = ["--algorithms", "a2-rcgp-ucb", "--workers", str(workers), "--observations", str(observations)]
    subprocess.run([sys.executable, program, *options], env=ENVIRONMENT, check=True)


def main() -> None:
    """The sections that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fast", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--sizes", nargs=2, type=int, metavar=("SMALL", "LARGE"), help="others than the usual two")
    parser.add_argument("--only", nargs="+", choices=[*SECTIONS, "flight"], default=[*SECTIONS, "flight"])
    given = parser.parse_args()
    for name in given.only:
        if name == "flight":
            flight(*((50, 100) if given.fast else (500, 1_000)))
        else:
            build, sizes, small = SECTIONS[name]
            section(*(build(size) for size in given.sizes or (small if given.fast else sizes)))


if __name__ == "__main__":
    main()
