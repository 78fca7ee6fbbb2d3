"""The benchmark of learning curves: its ASHA is Tune's, and it runs as it is called."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from ray.tune.experiment import Trial
from ray.tune.schedulers import AsyncHyperBandScheduler, TrialScheduler

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from asha import Asha  # noqa: E402


def test_the_simulated_asha_decides_as_tunes_does() -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ours = Asha(27, grace=1, reduction=3.0)
        theirs = AsyncHyperBandScheduler(metric="y", mode="max", max_t=27, grace_period=1, reduction_factor=3)
        trials = [Trial("any", stub=True) for _ in range(40)]
        alive, epoch = list(range(40)), dict.fromkeys(range(40), 0)
        for trial in trials:
            theirs.on_trial_add(None, trial)
        while alive:
            number = int(rng.choice(alive))
            epoch[number] += 1
            value = float(rng.normal())
            report = {"training_iteration": epoch[number], "y": value}
            stops = theirs.on_trial_result(None, trials[number], report) == TrialScheduler.STOP
            assert ours.stops(number, epoch[number], value) == stops
            if stops:
                alive.remove(number)


def test_the_benchmark_prints_a_table(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/curves.py", "--players", "random", "--problems", "slow", "--lies", "none"]
    command += ["--seeds", "0:2", "--out", str(tmp_path / "rows.jsonl")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "| random | " in printed
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 2
