"""RCGPSearch across interruptions: retried errors, a changed space, a damaged state, a killed driver, Tune's own files."""

import json
import math
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import trainables
from killed_tuners import kill_at_the_gate, start, stop_between_saves
from ray import cloudpickle, tune
from ray.tune.search import ConcurrencyLimiter, Repeater
from trainables import crashes_until_repaired

from orchestrator import RCGPSearch
from orchestrator.plain import from_plain

cloudpickle.register_pickle_by_value(trainables)  # workers do not have the tests on their path
ONE_BY_ONE = tune.with_resources(crashes_until_repaired, {"cpu": 2})


def first_run(folder: Path, space: dict[str, Any], limit: int | None = None, n_trials: int = 6) -> RCGPSearch:
    """Six trials one by one, of which those with x > 0.5 crash."""
    search = RCGPSearch(n_initial=4)
    tune.Tuner(
        ONE_BY_ONE,
        param_space=space,
        tune_config=tune.TuneConfig(
            metric="loss",
            mode="min",
            search_alg=search,
            num_samples=n_trials,
            reuse_actors=True,
            max_concurrent_trials=limit,
        ),
        run_config=tune.RunConfig(storage_path=str(folder), name="run", verbose=0),
    ).fit()
    return search


def rows(search: RCGPSearch) -> dict[int | None, str]:
    """How each trial stands; each is there once."""
    assert len({row.number for row in search.observations}) == len(search.observations)
    return {row.number: row.status for row in search.observations}


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize(
    ("how", "limit"),
    [
        ("resume_errored", None),
        ("restart_errored", 1),
        pytest.param("resume_errored", 1, marks=pytest.mark.slow),
        pytest.param("restart_errored", None, marks=pytest.mark.slow),
    ],
)
def test_a_failed_trial_that_is_retried_after_a_restore_counts_with_its_value(
    tmp_path: Path, how: str, limit: int | None
) -> None:
    space = {"x": tune.uniform(0, 1), "folder": str(tmp_path)}
    before = first_run(tmp_path, space, limit)
    assert set(rows(before).values()) == {"completed", "failed"}
    (tmp_path / "repaired").touch()
    tuner = tune.Tuner.restore(str(tmp_path / "run"), ONE_BY_ONE, param_space=space, **{how: True})
    assert tuner.fit().errors == []
    after = RCGPSearch.load(tmp_path / "run")
    assert rows(after) == dict.fromkeys(rows(before), "completed")
    assert {row.x: -row.y for row in after.observations} == pytest.approx(
        {row.x: row.x[0] for row in after.observations}
    )
    assert after.pending == {}
    same_ids = {row.trial_id for row in after.observations} == {row.trial_id for row in before.observations}
    assert same_ids == (how == "resume_errored")


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
@pytest.mark.parametrize("limit", [None, pytest.param(1, marks=pytest.mark.slow)], ids=["unlimited", "limited"])
def test_a_changed_space_or_a_damaged_state_ends_the_restored_fit_and_loses_nothing(
    tmp_path: Path, limit: int | None
) -> None:
    space = {"x": tune.uniform(0, 1), "folder": str(tmp_path)}
    before = first_run(tmp_path, space, limit, n_trials=3)
    run = tmp_path / "run"
    files = {path.name: path.read_bytes() for path in run.glob("*state-*")}
    line = r"The space changed since the state was saved: x was a number in \[0.0, 1.0\]"
    changed = {**space, "x": tune.uniform(0, 2)}
    with pytest.raises(ValueError, match=line):
        tune.Tuner.restore(str(run), ONE_BY_ONE, param_space=changed, restart_errored=True).fit()
    state = max(run.glob("searcher-state-*.pkl"))
    state.write_text(state.read_text()[:-20])
    with pytest.raises(ValueError, match="is damaged and holds no searcher state"):
        tune.Tuner.restore(str(run), ONE_BY_ONE, restart_errored=True).fit()
    state.write_bytes(files[state.name])
    assert {path.name: path.read_bytes() for path in run.glob("*state-*")} == files
    assert RCGPSearch.load(run).get_state() == before.get_state()


@pytest.fixture(scope="module")
def finished_folder(local_ray: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RCGPSearch]:
    folder = tmp_path_factory.mktemp("finished")
    return folder, first_run(folder, {"x": tune.uniform(0, 1), "folder": str(folder)})


@pytest.fixture
def finished(finished_folder: tuple[Path, RCGPSearch], tmp_path: Path) -> RCGPSearch:
    """The searcher of a run that ended; its folder `run` lies in `tmp_path`, to be changed at will."""
    folder, search = finished_folder
    shutil.copytree(folder / "run", tmp_path / "run")
    return search


@pytest.mark.ray
def test_the_searcher_of_an_experiment_is_found_in_its_folder_behind_tunes_wrappers_too(
    finished: RCGPSearch, tmp_path: Path
) -> None:
    before = finished
    for wrapped in (ConcurrencyLimiter(RCGPSearch(), 1), Repeater(RCGPSearch(), 2)):
        wrapped.restore_from_dir(str(tmp_path / "run"))
        assert wrapped.searcher.get_state() == before.get_state()
        assert wrapped.suggest("next") is not None
    loaded = RCGPSearch.load(tmp_path / "run")
    assert (loaded.best(), loaded.suspects()) == (before.best(), before.suspects())
    with pytest.raises(ValueError, match=r"holds no searcher state \(searcher-state-\*.pkl\): is it the folder"):
        RCGPSearch.load(tmp_path)
    with pytest.raises(ValueError, match="does not exist"):
        RCGPSearch().restore(str(tmp_path / "nowhere"))


@pytest.mark.ray
@pytest.mark.usefixtures("finished")
def test_a_state_older_than_tunes_own_catches_up_with_the_trials_that_tune_will_not_report_again(
    tmp_path: Path,
) -> None:
    space = {"x": tune.uniform(0, 1), "folder": str(tmp_path)}
    state = max((tmp_path / "run").glob("searcher-state-*.pkl"))
    rows = sorted(json.loads(state.read_text())["search"]["trials"]["rows"], key=lambda row: int(row["number"]))
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
from ray.tune.search import Repeater
from orchestrator import RCGPSearch

folder, step = Path(sys.argv[1]), sys.argv[2]
AFTER = int(sys.argv[5]) if step == "start" else 0
SPACE = {"x": tune.uniform(0, 1), "kind": tune.choice(["a", "b", "c"]), "folder": str(folder)}

def trainable(config):
    from killed_tuners import wait_at_the_gate
    wait_at_the_gate(Path(config["folder"]), AFTER)
    with open(Path(config["folder"]) / "ran", "a") as log:
        log.write(f"{config['x']!r} {config['kind']}\\n")
    tune.report({"loss": (config["x"] - 0.3) ** 2})

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
if step == "start":
    search = RCGPSearch(n_initial=4, seed=1)
    repeats = json.loads(sys.argv[4])
    search = Repeater(search, 3, **repeats) if repeats is not None else search
    config = tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=30, reuse_actors=True)
    storage = tune.RunConfig(storage_path=str(folder), name="run", verbose=0)
    tuner = tune.Tuner(trainable, param_space=SPACE, tune_config=config, run_config=storage)
else:
    again = {} if step == "without space" else {"param_space": SPACE}
    tuner = tune.Tuner.restore(str(folder / "run"), trainable, **again)
grid = tuner.fit()
search = RCGPSearch.load(folder / "run")
rows = [[row.trial_id, row.number, row.status] for row in search.observations]
ids = [result.metrics["trial_id"] for result in grid]
summary = {"rows": rows, "ids": ids, "pending": len(search.pending), "failures": len(search.model_failures)}
Path(sys.argv[3]).write_text(json.dumps(summary))
"""


def start_and_kill(script: Path, folder: Path, after: int, repeats: dict[str, bool] | None = None) -> None:
    """A driver that gets SIGKILL when so many trials ran; with `repeats` behind a Repeater."""
    driver = start(script, str(folder), "start", str(folder / "summary.json"), json.dumps(repeats), str(after))
    kill_at_the_gate(driver, folder, after)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("repeats", [{}, {"set_index": False}], ids=["indexed", "alike"])
def test_a_repeater_after_sigkill_and_restore_makes_one_row_of_each_group(
    tmp_path: Path, repeats: dict[str, bool]
) -> None:
    script, summary = tmp_path / "driver.py", tmp_path / "summary.json"
    script.write_text(DRIVER)
    start_and_kill(script, tmp_path, 14, repeats)
    assert start(script, str(tmp_path), "with space", str(summary)).wait(timeout=180) == 0
    result = json.loads(summary.read_text())
    assert len(result["ids"]) == 30
    assert sorted(number for _, number, _ in result["rows"]) == list(range(10))
    assert {status for _, _, status in result["rows"]} == {"completed"}
    assert result["pending"] == 0


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize(("step", "after"), [("with space", 5), ("without space", 14)])
def test_after_sigkill_of_the_driver_tuner_restore_goes_on_with_all_that_was_known(
    tmp_path: Path, step: str, after: int
) -> None:
    script, summary, log = tmp_path / "driver.py", tmp_path / "summary.json", tmp_path / "ran"
    script.write_text(DRIVER)
    start_and_kill(script, tmp_path, after)
    known = json.loads(max((tmp_path / "run").glob("searcher-state-*.pkl")).read_text())["search"]["trials"]
    assert start(script, str(tmp_path), step, str(summary)).wait(timeout=180) == 0
    result = json.loads(summary.read_text())
    ids = [trial_id for trial_id, _, _ in result["rows"]]
    assert len(set(ids)) == len(ids) == len(set(result["ids"])) == 30
    assert set(ids) == set(result["ids"])
    assert sorted(number for _, number, _ in result["rows"]) == list(range(30))
    assert {status for _, _, status in result["rows"]} == {"completed"}
    assert ids[: len(known["rows"])] == [row["trial_id"] for row in known["rows"]]
    assert (result["pending"], result["failures"]) == (0, 0)
    lost = after - len(known["rows"])
    assert lost <= 4  # at most what was in flight or unsaved runs again
    assert len(log.read_text().splitlines()) <= 30 + 6


STOPPING_DRIVER = """
import json, sys, time, ray
from pathlib import Path
from ray import tune
from orchestrator import RCGPSearch, RobustASHAScheduler

folder, step = Path(sys.argv[1]), sys.argv[2]

def trainable(config):
    good = 1 - abs(config["x"] - 0.3)
    for epoch in range(1, 10):
        time.sleep(0.02)
        tune.report({"score": good * epoch / 9})

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
if step == "start":
    search, scheduler = RCGPSearch(n_initial=4, seed=1), RobustASHAScheduler(max_t=9, reduction_factor=3, witnesses=2)
    config = tune.TuneConfig(
        metric="score", mode="max", search_alg=search, scheduler=scheduler, num_samples=20, reuse_actors=True
    )
    storage = tune.RunConfig(storage_path=str(folder), name="run", verbose=0)
    tuner = tune.Tuner(trainable, param_space={"x": tune.uniform(0, 1)}, tune_config=config, run_config=storage)
else:
    tuner = tune.Tuner.restore(str(folder / "run"), trainable)
tuner.fit()
Path(sys.argv[3]).write_text(json.dumps(RCGPSearch.load(folder / "run").get_state()["search"]["trials"]))
"""


def saved_trials(folder: Path) -> list[dict[str, Any]]:
    """The rows of the newest searcher state in a folder; none before there is one, and while Tune is copying it."""
    try:
        states = [json.loads(state.read_text()) for state in sorted((folder / "run").glob("searcher-state-*.pkl"))]
    except ValueError:
        return []
    rows: list[dict[str, Any]] = states[-1]["search"]["trials"]["rows"] if states else []
    return rows


def kill_once_stopped_early(driver: subprocess.Popen[bytes], folder: Path, seconds: float = 500) -> None:
    """Halt the driver between two saves once a scheduler stopped a trial."""
    deadline = time.monotonic() + seconds
    while not any(spent(row) < 9 for row in saved_trials(folder)[5:]):
        assert driver.poll() is None, "it ended before a trial was stopped"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    stop_between_saves(driver, folder / "run")


def spent(row: dict[str, Any]) -> float:
    """The epochs of a row that was saved."""
    epochs: float = from_plain(row["rungs"])[-1][0]
    return epochs


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(1100)
def test_a_run_under_asha_that_is_killed_and_restored_goes_on_with_the_rows_it_had(tmp_path: Path) -> None:
    script, summary = tmp_path / "driver.py", tmp_path / "summary.json"
    script.write_text(STOPPING_DRIVER)
    driver = start(script, str(tmp_path), "start", str(summary))
    try:
        kill_once_stopped_early(driver, tmp_path)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    known = saved_trials(tmp_path)
    assert start(script, str(tmp_path), "restore", str(summary)).wait(timeout=500) == 0
    after = json.loads(summary.read_text())
    assert after["rows"][: len(known)] == known, "with their rungs, and stopped or not"
    assert sorted(row["number"] for row in after["rows"]) == list(range(20))
    assert after["pending"] == []
    assert after["budget"] == [9.0, 9.0]
    assert {spent(row) for row in after["rows"]} >= {1.0, 9.0}
    assert {spent(row) for row in after["rows"] if row["number"] < 2} == {9.0}, "the witnesses, before and after"


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
