"""Two processes on one study, one of them killed: the other ends it, and every trial is there once."""

import os
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import optuna
import pytest
from optuna.storages import BaseStorage, JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from optuna.trial import Trial, TrialState

from orchestrator import RCGPSampler

FIRST, COMPLETED = 13, 16
"""So many trials complete before the killed process is given up, and in the end."""
HANGS = 6
"""Whoever runs the trial of this number never comes back from it."""


def open_storage(kind: str, folder: Path, patience: int) -> BaseStorage:
    """A journal file; or SQLite, where the trial of a process that was silent for so many seconds is run again."""
    if kind == "journal":
        return JournalStorage(JournalFileBackend(str(folder / "study.journal")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        retry = RetryHeartbeatStaleTrialCallback(max_retry=3)
        return RDBStorage(
            f"sqlite:///{folder}/study.db",
            engine_kwargs={"connect_args": {"timeout": 60}},
            heartbeat_interval=1,
            grace_period=patience,
            heartbeat_stale_trial_callback=retry,
        )


def objective(trial: Trial, folder: Path) -> float:
    value = (trial.suggest_float("x", 0, 1) - 0.3) ** 2 + (trial.suggest_float("y", 0, 1) - 0.6) ** 2
    with (folder / "evaluations").open("a") as log:
        log.write(f"{trial.number} {os.getpid()}\n")
    if trial.number == HANGS:
        time.sleep(300)
    return value - 1e6 if trial.number == 9 else value


def work(kind: str, folder: Path, completed: int, patience: int) -> None:
    """Go on until so many trials completed."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    storage = open_storage(kind, folder, patience)
    study = optuna.load_study(study_name="shared", storage=storage, sampler=RCGPSampler(seed=0))
    enough = MaxTrialsCallback(completed, states=(TrialState.COMPLETE,))
    study.optimize(lambda trial: objective(trial, folder), callbacks=[enough])


def start(kind: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, kind, str(folder)], cwd=Path(__file__).parents[3])


def evaluations(folder: Path) -> list[tuple[int, int]]:
    """Number and process of every evaluation that was started."""
    log = folder / "evaluations"
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(number), int(process)) for number, process in map(str.split, lines)]


def kill_whoever_hangs(folder: Path, workers: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.time() + 120
    while time.time() < deadline:
        for worker in workers:
            if (HANGS, worker.pid) in evaluations(folder):
                worker.send_signal(signal.SIGKILL)
                return
        time.sleep(0.05)
    raise AssertionError("nobody came to the trial that hangs")


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
def test_every_trial_is_there_once_when_one_of_two_processes_is_killed(kind: str, tmp_path: Path) -> None:
    storage = open_storage(kind, tmp_path, 100)
    study = optuna.create_study(study_name="shared", storage=storage)
    workers = [start(kind, tmp_path) for _ in range(2)]
    try:
        kill_whoever_hangs(tmp_path, workers)
        codes = [worker.wait(timeout=200) for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
    assert sorted(codes) == [-signal.SIGKILL, 0]
    if kind == "sqlite":
        time.sleep(3)  # until the killed one is given up
    work(kind, tmp_path, COMPLETED, patience=2)

    states = Counter(trial.state for trial in study.trials)
    lost = TrialState.RUNNING if kind == "journal" else TrialState.FAIL
    assert states[TrialState.COMPLETE] == COMPLETED
    assert study.trials[HANGS].state == lost
    assert [trial.number for trial in study.trials] == list(range(len(study.trials)))
    assert max(Counter(number for number, _ in evaluations(tmp_path)).values()) == 1
    assert len({process for _, process in evaluations(tmp_path)}) == 3

    ran = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
    assert len({tuple(trial.params.values()) for trial in ran}) == COMPLETED, "with one seed, and yet no point twice"
    sampler = RCGPSampler(seed=0)
    assert [suspect.number for suspect in sampler.suspects(study)] == [9]
    rows = sampler._common(study, sampler._shown(study)).trials.rows  # type: ignore[union-attr]
    assert sorted(int(str(row.trial_id)) for row in rows) == sorted(trial.number for trial in ran)


if __name__ == "__main__":
    work(sys.argv[1], Path(sys.argv[2]), FIRST, patience=100)
