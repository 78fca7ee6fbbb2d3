"""MLflow's view of a sweep, from its journal: everything once, whatever is interrupted or told twice."""

import math
from pathlib import Path

import mlflow
import pytest
from mlflow.entities import Run, ViewType
from sweeps import LIE, TRIALS, append, last_words, life, loss, session, trial, whole

from orchestrator.errors import UserError
from orchestrator.experiments import experiment_frame
from orchestrator.tracking.store import Store
from orchestrator.tracking.sweep import (
    JOURNAL,
    Belief,
    Best,
    Closed,
    Line,
    Sweep,
    SweepReport,
    from_text,
    read_lines,
    to_text,
)
from orchestrator.tracking.sweep_entries import parent_entries
from orchestrator.tracking.sweep_view import SweepView, sync_sweep


def runs(uri: str, folder: Path, view: int = ViewType.ACTIVE_ONLY) -> dict[str, list[Run]]:
    """The runs of a sweep's experiment, by kind."""
    client = mlflow.MlflowClient(uri)
    experiment = client.get_experiment_by_name(f"experiment-{folder.name}")
    found = client.search_runs([experiment.experiment_id], run_view_type=view)
    return {kind: [r for r in found if r.data.tags["orchestrate.kind"] == kind] for kind in ("sweep", "trial")}


def histories(uri: str, found: dict[str, list[Run]]) -> dict[tuple[str, str], list[tuple[int, float]]]:
    client = mlflow.MlflowClient(uri)
    every = [run for kind in found.values() for run in kind]
    return {
        (run.info.run_id, key): [(m.step, m.value) for m in client.get_metric_history(run.info.run_id, key)]
        for run in every
        for key in run.data.metrics
    }


@pytest.fixture
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A folder whose name no other test has: they share a store."""
    return tmp_path / request.node.name[:60].strip("[]")


def test_a_sweep_is_one_parent_and_a_child_a_trial_with_its_trust(store: str, folder: Path) -> None:
    whole(folder)
    SweepView(folder, Store.open(store)).push(last=True)
    found = runs(store, folder)
    (parent,) = found["sweep"]
    assert parent.info.status == "FINISHED"
    assert parent.data.params == {"metric": "loss", "mode": "min", "algorithm": "a2-rcgp-ucb"}
    assert parent.data.metrics["believed_best"] == loss(2)
    assert parent.data.metrics["best_reported"] == -40.0
    assert parent.data.metrics["best_believed"] == pytest.approx(loss(2))
    assert parent.data.metrics["final_suspects"] == 1
    assert parent.data.tags["rcgp.best_trial"] == "train_t2"
    assert parent.data.tags["mlflow.note.content"].startswith("Use `x=0.2, act=relu`: believed best (train_t2,")
    assert "Under suspicion: 1 of 6 reports, train_t3." in parent.data.tags["mlflow.note.content"]
    files = {file.path for file in mlflow.MlflowClient(store).list_artifacts(parent.info.run_id)}
    assert {"report.html", "runs.csv"} <= files
    children = {child.data.tags["orchestrate.trial"]: child for child in found["trial"]}
    assert len(children) == len(found["trial"]) == TRIALS
    assert {child.data.tags["mlflow.parentRunId"] for child in found["trial"]} == {parent.info.run_id}
    assert {name: child.data.tags["rcgp.trust"] for name, child in children.items()} == {
        f"t{n}": "suspect" if n == LIE else "trusted" for n in range(TRIALS)
    }
    lie = children["t3"]
    assert (lie.data.metrics["rcgp/weight"], lie.data.metrics["rcgp/expected"]) == (0.01, 0.02)
    assert (lie.data.params, lie.data.tags["host"]) == ({"x": "0.3", "act": "relu"}, "node7")


def test_telling_it_again_changes_nothing(store: str, folder: Path) -> None:
    whole(folder)
    SweepView(folder, Store.open(store)).push(last=True)
    before = runs(store, folder)
    told = histories(store, before)
    assert f"{TRIALS} trials are in MLflow at" in sync_sweep(folder, store)
    SweepView(folder, Store.open(store)).push(last=True)
    after = runs(store, folder)
    assert {r.info.run_id for k in after.values() for r in k} == {r.info.run_id for k in before.values() for r in k}
    assert histories(store, after) == told


def test_a_push_that_finds_nothing_new_asks_nothing(store: str, folder: Path) -> None:
    append(folder, session(folder), *life(0))
    answers: list[int] = []
    view = SweepView(folder, Store.open(store, lambda: answers.append(1)))
    view.push()
    heard = len(answers)
    view.push()
    assert len(answers) == heard
    append(folder, *life(1))
    view.push()
    assert len(answers) - heard <= 4  # the child, its numbers, its end, the parent


def test_a_killed_session_is_shown_as_that_and_the_next_goes_on_in_the_same_runs(store: str, folder: Path) -> None:
    append(folder, session(folder), *life(0), *life(1), trial(2), SweepReport("t2", 1, 1003.0, {"loss": 0.4}))
    SweepView(folder, Store.open(store)).push(last=True)
    before = runs(store, folder)
    assert before["sweep"][0].info.status == "KILLED"
    assert sorted(child.info.status for child in before["trial"]) == ["FINISHED", "FINISHED", "KILLED"]

    # Tune lost its knowledge of t1 in the crash, resumed t2 and began t3
    append(folder, session(folder, ("t0", "t2"), at=2000.0), *life(2), *life(3), Closed(2010.0))
    SweepView(folder, Store.open(store)).push(last=True)
    after = runs(store, folder)
    assert [run.info.run_id for run in after["sweep"]] == [before["sweep"][0].info.run_id]
    assert after["sweep"][0].info.status == "FINISHED"
    assert sorted(child.data.tags["orchestrate.trial"] for child in after["trial"]) == ["t0", "t2", "t3"]
    assert {child.info.status for child in after["trial"]} == {"FINISHED"}
    kept = {child.data.tags["orchestrate.trial"]: child.info.run_id for child in before["trial"]}
    assert {c.info.run_id for c in after["trial"]} >= {kept["t0"], kept["t2"]}
    gone = runs(store, folder, ViewType.DELETED_ONLY)
    assert [child.data.tags["orchestrate.trial"] for child in gone["trial"]] == ["t1"]


def test_a_child_that_a_lost_answer_doubled_is_kept_once(store: str, folder: Path) -> None:
    append(folder, session(folder), *life(0))
    SweepView(folder, Store.open(store)).push()
    (child,) = runs(store, folder)["trial"]
    mlflow.MlflowClient(store).create_run(child.info.experiment_id, tags=child.data.tags)
    assert len(runs(store, folder)["trial"]) == 2
    SweepView(folder, Store.open(store)).push(last=True)
    assert [run.info.run_id for run in runs(store, folder)["trial"]] == [child.info.run_id]


def test_failed_trials_and_a_sweep_without_any_value_are_shown_too(store: str, folder: Path) -> None:
    append(folder, session(folder), trial(0), trial(0, status="FAILED", ended=1005.0), Closed(1006.0))
    SweepView(folder, Store.open(store)).push(last=True)
    found = runs(store, folder)
    assert found["trial"][0].info.status == "FAILED"
    assert "none of them can be judged yet" in found["sweep"][0].data.tags["mlflow.note.content"]
    append(folder, session(folder, ("t0",)), *life(1), *life(2), Best("t2", 0.0, 0.0, 1100.0), Closed(1101.0))
    SweepView(folder, Store.open(store)).push(last=True)
    trust = {c.data.tags["orchestrate.trial"]: c.data.tags.get("rcgp.trust") for c in runs(store, folder)["trial"]}
    assert trust["t0"] == "failed"


def test_the_trials_of_a_sweep_are_earlier_results_and_its_parent_is_none(store: str, folder: Path) -> None:
    whole(folder)
    SweepView(folder, Store.open(store)).push(last=True)
    frame = experiment_frame(f"experiment-{folder.name}", store)
    assert sorted(frame["config/x"]) == pytest.approx([n / 10 for n in range(TRIALS)])
    assert sorted(frame["loss"]) == pytest.approx(sorted(loss(n) for n in range(TRIALS)))


def test_without_a_searcher_a_model_of_the_parameters_judges(store: str, folder: Path) -> None:
    """As after a search of another kind: twenty honest values of a bowl, and one lie among them."""
    append(folder, session(folder))
    for n in range(20):
        x = (0.618 * n) % 1.0
        value = -40.0 if n == 11 else (x - 0.3) ** 2
        known = trial(n, params={"x": x})
        over = trial(n, params={"x": x}, status="FINISHED", ended=1002.0 + n)
        append(folder, known, SweepReport(f"t{n}", 1, 1001.0 + n, {"loss": value}), over)
    append(folder, Closed(1100.0))
    SweepView(folder, Store.open(store)).push(last=True)
    found = runs(store, folder)
    doubted = [c.data.tags["orchestrate.trial"] for c in found["trial"] if c.data.tags["rcgp.trust"] == "suspect"]
    assert doubted == ["t11"]
    assert 0.0 <= found["sweep"][0].data.metrics["believed_best"] < 0.01


def test_what_is_believed_after_a_trial_is_known_one_trial_later() -> None:
    """Otherwise a lie would be the best believed value for a moment, in MLflow for ever."""
    sweep = Sweep()
    sweep.add([session(Path("x")), *life(2), *life(LIE)])
    assert {e.key: e.value for e in parent_entries(sweep)}["best_believed"] == pytest.approx(loss(2))
    sweep.add([Belief("t3", 0.01, None, 1010.0, 2), *life(4)])
    curve = [e.value for e in parent_entries(sweep) if e.key == "best_believed"]
    assert curve == pytest.approx([loss(2), loss(2)])
    assert [e.value for e in parent_entries(sweep, last=True) if e.key == "best_reported"] == [loss(2), -40.0, -40.0]


@pytest.mark.parametrize("line", [*life(0), *last_words(), session(Path("x"), ("t0",))])
def test_a_line_comes_back_as_it_was(line: Line) -> None:
    assert from_text(to_text(line)) == line


def test_infinities_survive_and_half_a_line_waits(folder: Path) -> None:
    odd = SweepReport("t0", 1, 1.0, {"loss": math.inf, "other": -math.inf})
    append(folder, odd)
    path = folder / JOURNAL
    whole_size = path.stat().st_size
    with path.open("a") as file:
        file.write(to_text(odd)[:20])
    lines, place = read_lines(path)
    assert (lines, place) == ([odd], whole_size)
    with path.open("a") as file:  # the next session ends the torn line first
        file.write("\n" + to_text(Closed(2.0)) + "\n")
    assert read_lines(path, place)[0] == [Closed(2.0)]


def test_a_folder_without_a_sweep_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no mlflow-sweep.jsonl: give the folder of an experiment"):
        sync_sweep(tmp_path, "sqlite:///nowhere.db")
