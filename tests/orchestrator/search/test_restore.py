"""RCGPSearch across interruptions: restarted errors, a changed space, a damaged state, a killed driver."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import trainables
from ray import cloudpickle, tune
from trainables import crashes_until_repaired

from orchestrator import RCGPSearch
from orchestrator.search.searcher import StateRefused

cloudpickle.register_pickle_by_value(trainables)  # workers do not have the tests on their path


def first_run(folder: Path, space: dict[str, Any]) -> RCGPSearch:
    """Six trials, of which those with x > 0.5 crash."""
    search = RCGPSearch(n_initial=4)
    tune.Tuner(
        crashes_until_repaired,
        param_space=space,
        tune_config=tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=6, reuse_actors=True),
        run_config=tune.RunConfig(storage_path=str(folder), name="run", verbose=0),
    ).fit()
    return search


def restored_search(tuner: tune.Tuner) -> RCGPSearch:
    """The searcher that Tune unpickled; a user who wants it keeps the one that was passed in."""
    search = tuner._local_tuner.get_run_config() and tuner._local_tuner._tune_config.search_alg
    assert isinstance(search, RCGPSearch)
    return search


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_restarted_errors_report_under_new_ids_and_a_changed_space_or_state_is_refused(tmp_path: Path) -> None:
    space = {"x": tune.uniform(0, 1), "folder": str(tmp_path)}
    before = first_run(tmp_path, space)
    failed = [row for row in before.observations if row.status == "failed"]
    assert 0 < len(failed) < 6

    run = str(tmp_path / "run")
    changed = tune.Tuner.restore(run, crashes_until_repaired, param_space={**space, "x": tune.uniform(0, 2)})
    with pytest.raises(
        StateRefused, match=r"The space changed since the state was saved: x was a number in \[0.0, 1.0\]"
    ):
        changed.fit()

    (tmp_path / "repaired").touch()
    tuner = tune.Tuner.restore(run, crashes_until_repaired, param_space=space, restart_errored=True)
    grid = tuner.fit()
    after = restored_search(tuner)
    assert grid.errors == []
    assert [row.trial_id for row in after.observations[:6]] == [row.trial_id for row in before.observations]
    again = after.observations[6:]
    assert sorted(row.number for row in again) == sorted(row.number for row in failed)
    assert {row.status for row in again} == {"completed"}
    assert not {row.trial_id for row in again} & {row.trial_id for row in before.observations}
    assert after.pending == {}

    state = max((tmp_path / "run").glob("searcher-state-*.json"))
    state.write_text(state.read_text()[:-20])
    damaged = tune.Tuner.restore(run, crashes_until_repaired, restart_errored=True)
    with pytest.raises(StateRefused, match="is damaged and holds no searcher state"):
        damaged.fit()


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_state_older_than_tunes_own_catches_up_with_the_trials_that_tune_will_not_report_again(
    tmp_path: Path,
) -> None:
    space = {"x": tune.uniform(0, 1), "folder": str(tmp_path)}
    first_run(tmp_path, space)
    state = max((tmp_path / "run").glob("searcher-state-*.json"))
    rows = sorted(json.loads(state.read_text())["rows"], key=lambda row: int(row["number"]))
    # the state as it was when two trials had ended, one ran, and three were not yet thought of
    old = RCGPSearch(space=space, metric="loss", mode="min", n_initial=4)
    for row in rows[:2]:
        failed = row["status"] == "failed"
        old.suggest(row["trial_id"])
        old.on_trial_complete(row["trial_id"], None if failed else {"loss": -row["y"]}, failed)
    old.suggest(rows[2]["trial_id"])
    old.save(str(state))

    restored = RCGPSearch(space=space, metric="loss", mode="min", n_initial=4)
    restored.restore_from_dir(str(tmp_path / "run"))
    assert restored.pending == {}
    known = sorted((row.number, row.trial_id, row.status) for row in restored.observations)
    assert [status for _, _, status in known] == [row["status"] for row in rows]
    assert {trial_id for _, trial_id, _ in known} == {row["trial_id"] for row in rows}
    assert [number for number, _, _ in known] == [0, 1, 2, 3, 4, 5]
    values = {row.trial_id: row.y for row in restored.observations if row.status == "completed"}
    assert values == {row["trial_id"]: row["y"] for row in rows if row["status"] == "completed"}


DRIVER = """
import json, sys, ray
from pathlib import Path
from ray import tune
from orchestrator import RCGPSearch

folder, step = Path(sys.argv[1]), sys.argv[2]
SPACE = {"x": tune.uniform(0, 1), "kind": tune.choice(["a", "b", "c"]), "folder": str(folder)}

def trainable(config):
    import time
    time.sleep(0.3)
    with open(Path(config["folder"]) / "ran", "a") as log:
        log.write(f"{config['x']!r} {config['kind']}\\n")
    tune.report({"loss": (config["x"] - 0.3) ** 2})

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
if step == "start":
    search = RCGPSearch(n_initial=4, seed=1)
    config = tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=30, reuse_actors=True)
    storage = tune.RunConfig(storage_path=str(folder), name="run", verbose=0)
    tuner = tune.Tuner(trainable, param_space=SPACE, tune_config=config, run_config=storage)
else:
    again = {} if step == "without space" else {"param_space": SPACE}
    tuner = tune.Tuner.restore(str(folder / "run"), trainable, **again)
grid = tuner.fit()
search = tuner._local_tuner._tune_config.search_alg
rows = [[row.trial_id, row.number, row.status] for row in search.observations]
ids = [result.metrics["trial_id"] for result in grid]
summary = {"rows": rows, "ids": ids, "pending": len(search.pending), "faults": len(search.faults)}
Path(sys.argv[3]).write_text(json.dumps(summary))
"""


ROOT = Path(__file__).parents[3]
ENVIRONMENT = {"TUNE_GLOBAL_CHECKPOINT_S": "0", "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(ROOT)}


def start(script: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(script), *arguments]
    return subprocess.Popen(command, env={**os.environ, **ENVIRONMENT}, stderr=subprocess.DEVNULL)


def wait_for_lines(path: Path, count: int, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not path.exists() or len(path.read_text().splitlines()) < count:
        assert time.monotonic() < deadline, f"{path} did not reach {count} lines"
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize(("step", "after"), [("with space", 5), ("without space", 14)])
def test_after_sigkill_of_the_driver_tuner_restore_goes_on_with_all_that_was_known(
    tmp_path: Path, step: str, after: int
) -> None:
    script, summary, log = tmp_path / "driver.py", tmp_path / "summary.json", tmp_path / "ran"
    script.write_text(DRIVER)
    driver = start(script, str(tmp_path), "start", str(summary))
    try:
        wait_for_lines(log, after)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    known = json.loads(max((tmp_path / "run").glob("searcher-state-*.json")).read_text())
    assert start(script, str(tmp_path), step, str(summary)).wait(timeout=180) == 0
    result = json.loads(summary.read_text())
    ids = [trial_id for trial_id, _, _ in result["rows"]]
    assert len(set(ids)) == len(ids) == len(set(result["ids"])) == 30
    assert set(ids) == set(result["ids"])
    assert sorted(number for _, number, _ in result["rows"]) == list(range(30))
    assert {status for _, _, status in result["rows"]} == {"completed"}
    assert ids[: len(known["rows"])] == [row["trial_id"] for row in known["rows"]]
    assert (result["pending"], result["faults"]) == (0, 0)
    lost = after - len(known["rows"])
    assert lost <= 4  # at most what was in flight or unsaved runs again
    assert len(log.read_text().splitlines()) <= 30 + 6


@pytest.mark.slow
def test_an_mlflow_experiment_continues_as_a_new_search(tmp_path: Path) -> None:
    import mlflow

    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    client = mlflow.MlflowClient(uri)
    experiment = client.create_experiment("earlier", artifact_location=str(tmp_path))
    for lr, act, loss in ((0.1, "relu", 1.0), (0.01, None, 0.5), (0.5, "tanh", math.nan)):
        run = client.create_run(experiment)
        client.log_param(run.info.run_id, "lr", lr)
        client.log_param(run.info.run_id, "act", act)
        client.log_metric(run.info.run_id, "loss", loss)
    space = {"lr": tune.loguniform(1e-3, 1.0), "act": tune.choice(["relu", "tanh", None])}
    search = RCGPSearch.from_results("earlier", "loss", "min", space=space, tracking_uri=uri)
    assert [(row.y, row.status) for row in search.observations][:2] == [(-1.0, "completed"), (-0.5, "completed")]
    assert search.observations[2].status == "failed"
    assert search.best().config == {"lr": 0.01, "act": None}
    with pytest.raises(ValueError, match="no experiment 'earlyer'; did you mean 'earlier'"):
        RCGPSearch.from_results("earlyer", "loss", "min", tracking_uri=uri)
