"""RCGPMLflowCallback in people's own Tuners: real Tune, real MLflow, servers that are away, drivers that are killed."""

import json
import logging
import pickle
import time
from pathlib import Path
from typing import Any

import mlflow
import pytest
import trainables
from killed_tuners import kill_at_the_gate, ran, start
from mlflow.entities import Run
from ray import cloudpickle, tune
from ray.air.integrations.mlflow import MLflowLoggerCallback
from servers import free_port, mlflow_server
from trainables import bowl, lucky_lie

from orchestrator import RCGPMLflowCallback, RCGPSearch
from orchestrator.errors import UserError
from orchestrator.tracking.sweep import JOURNAL

cloudpickle.register_pickle_by_value(trainables)  # workers do not have the tests on their path
SQUARE = {"x": tune.uniform(0, 1), "y": tune.uniform(0, 1)}
ROOT = Path(__file__).parents[3]


def fit(
    folder: Path,
    callbacks: list[Any],
    search: Any = None,
    trials: int = 14,
    trainable: Any = lucky_lie,
    name: str = "sweep",
) -> Any:
    tuner = tune.Tuner(
        trainable,
        param_space=SQUARE,
        tune_config=tune.TuneConfig(
            metric="loss", mode="min", search_alg=search, num_samples=trials, reuse_actors=True, max_concurrent_trials=1
        ),
        run_config=tune.RunConfig(name=name, storage_path=str(folder), callbacks=callbacks, verbose=0),
    )
    return tuner.fit()


def runs(uri: str, experiment: str) -> dict[str | None, list[Run]]:
    client = mlflow.MlflowClient(uri)
    found = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    return {
        kind: [r for r in found if r.data.tags.get("orchestrate.kind") == kind] for kind in ("sweep", "trial", None)
    }


BAD: dict[str, tuple[Any, str]] = {
    "nothing": ({}, "RCGPMLflowCallback needs the searcher, or metric= and mode= of a search of another kind."),
    "no mode": ({"metric": "loss"}, "RCGPMLflowCallback needs the searcher, or metric="),
    "odd mode": ({"metric": "loss", "mode": "best"}, "mode must be 'min' or 'max', got 'best'."),
    "another searcher": ({"searcher": 3}, "searcher must be an RCGPSearch, got a int: leave it out and give metric="),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_callback_gets_one_line(case: str) -> None:
    arguments, line = BAD[case]
    with pytest.raises(UserError) as refused:
        RCGPMLflowCallback(**arguments)
    assert str(refused.value).startswith(line)


def test_what_tune_pickles_is_the_same_sweep_with_the_same_searcher() -> None:
    search = RCGPSearch()
    callback = RCGPMLflowCallback(search)
    again, its = pickle.loads(cloudpickle.dumps((callback, search)))
    assert again.sweep == callback.sweep
    assert again.searcher is its
    other = RCGPMLflowCallback(search)
    assert other.sweep != callback.sweep
    other.set_state(callback.get_state())
    assert other.sweep == callback.sweep


def test_what_goes_wrong_is_said_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    callback = RCGPMLflowCallback(metric="loss", mode="min")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            callback.on_trial_start(1, [], None)
    assert sum("the sweep goes on" in record.message for record in caplog.records) == 1


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_sweep_beside_rays_own_callback(store: str, tmp_path: Path) -> None:
    search = RCGPSearch(n_initial=6)
    mine = RCGPMLflowCallback(search, experiment="ours", tracking_uri=store, tags={"team": "blue"})
    theirs = MLflowLoggerCallback(tracking_uri=store, experiment_name="rays own")
    grid = fit(tmp_path, [mine, theirs], search)
    found = runs(store, "ours")
    (parent,) = found["sweep"]
    assert {c.data.tags["orchestrate.trial"] for c in found["trial"]} == {r.metrics["trial_id"] for r in grid}
    assert len(found["trial"]) == 14
    assert {c.data.tags["team"] for c in found["trial"]} == {"blue"}
    doubted = {s.trial_id for s in search.suspects()}
    assert doubted == {search.observations[8].trial_id}
    assert {
        c.data.tags["orchestrate.trial"] for c in found["trial"] if c.data.tags["rcgp.trust"] == "suspect"
    } == doubted
    weights = {c.data.tags["orchestrate.trial"]: c.data.metrics["rcgp/weight"] for c in found["trial"]}
    assert weights == pytest.approx({j.trial_id: j.weight for j in search.judgements()})
    best = search.best()
    assert parent.data.metrics["believed_best"] == pytest.approx(best.reported)
    assert json.loads(parent.data.tags["rcgp.best_params"]) == pytest.approx(best.config)
    assert parent.data.metrics["best_reported"] == -40.0
    assert {(c.data.params["x"], c.data.metrics["loss"]) for c in found["trial"]} == {
        (str(r.config["x"]), r.metrics["loss"]) for r in grid
    }
    assert len(runs(store, "rays own")[None]) == 14  # Ray's own, as ever
    assert len(found[None]) == 0


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_server_that_is_away_costs_the_sweep_nothing_and_is_written_later(
    store: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    start = time.monotonic()
    fit(tmp_path / "plain", [], RCGPSearch(n_initial=6))
    plain = time.monotonic() - start
    away = f"http://127.0.0.1:{free_port()}"
    search = RCGPSearch(n_initial=6)
    start = time.monotonic()
    with caplog.at_level(logging.WARNING):
        fit(tmp_path / "away", [RCGPMLflowCallback(search, experiment="later", tracking_uri=away)], search)
    assert time.monotonic() - start < 2.0 * plain + 15.0  # at the end the server gets one more chance
    assert "is behind (connection refused). Catch up with: RCGPMLflowCallback.sync(" in caplog.text
    folder = tmp_path / "away" / "sweep"
    assert (folder / JOURNAL).is_file()
    with mlflow_server(store, tmp_path / "server") as server:
        assert "14 trials are in MLflow" in RCGPMLflowCallback.sync(folder, server.uri)
        found = runs(server.uri, "later")
        assert (len(found["sweep"]), len(found["trial"])) == (1, 14)
        assert found["sweep"][0].data.metrics["believed_best"] == pytest.approx(search.best().reported)
        files = {f.path for f in mlflow.MlflowClient(server.uri).list_artifacts(found["sweep"][0].info.run_id)}
        assert "report.html" in files


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_a_search_of_another_kind_is_judged_at_the_end(store: str, tmp_path: Path) -> None:
    callback = RCGPMLflowCallback(experiment="random search", tracking_uri=store, metric="loss", mode="min")
    fit(tmp_path, [callback], trials=20)
    found = runs(store, "random search")
    suspects = [c for c in found["trial"] if c.data.tags["rcgp.trust"] == "suspect"]
    assert [c.data.metrics["loss"] for c in suspects] == [-40.0]
    assert found["sweep"][0].data.metrics["believed_best"] >= 0.0


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_one_callback_in_two_tuners_has_two_sweeps(store: str, tmp_path: Path) -> None:
    callback = RCGPMLflowCallback(experiment="twice", tracking_uri=store, metric="loss", mode="min")
    for name in ("first", "second"):
        fit(tmp_path, [callback], trials=3, trainable=bowl, name=name)
    found = runs(store, "twice")
    assert (len(found["sweep"]), len(found["trial"])) == (2, 6)


DRIVER = """
import sys, time
from pathlib import Path
import ray
from ray import tune
from orchestrator import RCGPMLflowCallback, RCGPSearch

folder, step = Path(sys.argv[1]), sys.argv[2]
SPACE = {"x": tune.uniform(0, 1), "folder": str(folder)}

def trainable(config):
    from killed_tuners import wait_at_the_gate
    wait_at_the_gate(Path(config["folder"]), after=8)
    with open(Path(config["folder"]) / "ran", "a") as log:
        log.write(f"{config['x']!r}\\n")
    tune.report({"loss": (config["x"] - 0.3) ** 2})

ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
if step == "start":
    search = RCGPSearch(n_initial=4, seed=1)
    callback = RCGPMLflowCallback(search, experiment="killed", tracking_uri=f"sqlite:///{folder / 'mlflow.db'}")
    config = tune.TuneConfig(metric="loss", mode="min", search_alg=search, num_samples=16, reuse_actors=True)
    storage = tune.RunConfig(storage_path=str(folder), name="run", verbose=0, callbacks=[callback])
    tuner = tune.Tuner(trainable, param_space=SPACE, tune_config=config, run_config=storage)
else:
    tuner = tune.Tuner.restore(str(folder / "run"), trainable, param_space=SPACE)
grid = tuner.fit()
(folder / "ids").write_text("\\n".join(result.metrics["trial_id"] for result in grid))
"""


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.parametrize("checkpoint_seconds", [0, 3600], ids=["nothing lost", "trials lost"])
def test_a_killed_driver_and_a_restored_tuner_leave_one_parent_and_every_trial_once(
    tmp_path: Path, checkpoint_seconds: float
) -> None:
    """With rare checkpoints Tune itself forgets trials that ended, and runs others in their place."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    driver = start(script, str(tmp_path), "start", checkpoint_seconds=checkpoint_seconds)
    kill_at_the_gate(driver, tmp_path, after=8)
    restored = start(script, str(tmp_path), "restore", checkpoint_seconds=checkpoint_seconds)
    assert restored.wait(timeout=240) == 0
    again = ran(tmp_path) - 16
    assert again >= 4 if checkpoint_seconds else again <= 2
    ids = (tmp_path / "ids").read_text().split()
    found = runs(f"sqlite:///{tmp_path / 'mlflow.db'}", "killed")
    assert len(found["sweep"]) == 1
    assert found["sweep"][0].info.status == "FINISHED"
    assert sorted(c.data.tags["orchestrate.trial"] for c in found["trial"]) == sorted(ids)
    assert len(ids) == 16
    assert {c.info.status for c in found["trial"]} == {"FINISHED"}
    assert {c.data.tags["mlflow.parentRunId"] for c in found["trial"]} == {found["sweep"][0].info.run_id}
    assert all(c.data.metrics["rcgp/weight"] <= 1.0 for c in found["trial"])
    assert "report.html" in {
        f.path
        for f in mlflow.MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}").list_artifacts(
            found["sweep"][0].info.run_id
        )
    }
