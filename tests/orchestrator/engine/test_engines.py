"""Studies on a real Ray: both engines agree, and neither lost processes nor a lost adversary change what is true."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from faulty import calls
from small_runs import HERE, started

from orchestrator import session
from orchestrator.campaign.runs import ledger_path
from orchestrator.campaign.study import Component, Scheduler, Study
from orchestrator.engine import runner
from orchestrator.engine.adversary import AdversaryActor
from orchestrator.engine.deadline import Deadlines
from orchestrator.engine.events import (
    AdversaryReported,
    Event,
    Observation,
    SessionStarted,
    TrialFailed,
    TrialSuggested,
    of_type,
)
from orchestrator.engine.history import events_of, observations, observations_of
from orchestrator.engine.journal import FileJournal, header, read
from orchestrator.engine.sequential import run_sequential

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]
PLAN = {"name": "test", "algorithms": "random", "initial": 2, "trials": 4, "resources": {"cpus": 1}}


HASTY = {"initial": 2, "workers": 2, "retries": 1, "trial_seconds": 2.0, "cpus": 0.5}


def parallel(study: Study, folder: Path) -> list[Event]:
    """Run a study with trial actors, directed from this process."""
    import ray

    from orchestrator.engine.parallel import run_parallel

    journal = FileJournal(folder / "study.jsonl")
    node = ray.get_runtime_context().get_node_id()
    try:
        assert run_parallel(study, journal, folder / "ledger.jsonl", node=node, paths=[str(HERE)])
    finally:
        journal.close()
    return read(folder / "study.jsonl")


def points(events):
    return [(o.number, o.x, o.y, o.y_true, o.value, o.corrupted, o.weight) for o in observations(events)]


def objective(folder: Path, **options):
    return {"name": "faulty:Faulty", "folder": str(folder)} | options


def assert_settled_once(events, study: Study) -> None:
    """Each trial is suggested once and settled once, and tries stay within bounds."""
    once = dict.fromkeys(range(study.total), 1)
    assert Counter(s.number for s in of_type(events, TrialSuggested)) == once
    assert Counter(o.number for o in of_type(events, Observation)) == once
    tries = Counter(f.number for f in of_type(events, TrialFailed))
    assert all(n <= study.retries + 1 for n in tries.values())


CLAIRVOYANT = Component("clairvoyant", {"budget": 3})
CLIMBING = Component("climbing:Climbing")


@pytest.mark.parametrize(
    "study",
    [
        Study(Component("a2-rcgp-ucb"), Component("forrester"), CLAIRVOYANT, trials=6, initial=3),
        Study(Component("random"), CLIMBING, Component("crash"), trials=8, initial=2, scheduler=Scheduler(witnesses=2)),
    ],
    ids=["plain", "stopping"],
)
def test_with_one_worker_both_engines_give_the_same_trials(tmp_path, study):
    journal = FileJournal(tmp_path / "sequential.jsonl")
    run_sequential(study, journal, in_caller=True)
    journal.close()
    alone, together = read(tmp_path / "sequential.jsonl"), parallel(study, tmp_path)
    assert points(together) == points(alone)
    assert [o.stopped for o in observations(together)] == [o.stopped for o in observations(alone)]
    assert any(o.stopped for o in observations(alone)) == (study.scheduler is not None)


def test_trial_actors_survive_what_their_trials_do(tmp_path):
    faults = {"2": "kill", "4": "exit", "6": "stop", "8": "raise", "9": "str"}
    study = Study(
        Component("random"),
        Component("faulty:Faulty", {"folder": str(tmp_path), "faults": faults}),
        Component("crash", {"value": -5.0, "budget": 2}),
        trials=8,
        **HASTY,
    )
    events = parallel(study, tmp_path)
    assert_settled_once(events, study)
    assert len(calls(tmp_path)) == study.total + len(faults)
    reasons = Counter(f.reason for f in of_type(events, TrialFailed))
    assert reasons["its process died"] == 2
    assert reasons["over the time limit of 2 s"] == 1
    assert reasons["ZeroDivisionError: on cue"] == 1
    assert sum(o.corrupted for o in observations(events)) == 2
    processes = {pid for _, pid in calls(tmp_path)}
    assert len(processes) <= 2 + 3, "actors are reused: a new one only for each that was lost"


def test_an_adversary_that_hangs_costs_its_trials_a_try_and_no_more(tmp_path):
    study = Study(
        Component("random"),
        Component("faulty:Faulty", {"folder": str(tmp_path)}),
        Component("stalling:Stalling", {"folder": str(tmp_path), "budget": 1}),
        trials=6,
        **HASTY,
    )
    events = parallel(study, tmp_path)
    assert (tmp_path / "stalled").exists()
    assert_settled_once(events, study)
    assert not any(o.failed for o in observations(events)), "a new one answered"
    reasons = {f.reason for f in of_type(events, TrialFailed)}
    assert reasons == {"over the time limit of 2 s"}


def test_a_killed_adversary_neither_refills_nor_forgets(tmp_path):
    import ray

    study = Study(
        Component("random"),
        Component("faulty:Faulty", {"folder": str(tmp_path), "seconds": 0.15}),
        Component("crash", {"value": -5.0, "budget": 3}),
        trials=14,
        initial=2,
        workers=2,
        cpus=0.5,
    )
    kills, over = [], threading.Event()

    def assassin() -> None:
        """SIGKILL the adversary's process as soon as it is back, three times."""
        while len(kills) < 3 and not over.wait(0.5):
            try:
                name = next(n for n in ray.util.list_named_actors() if n.startswith(f"adversary of {tmp_path}"))
                actor = ray.get_actor(name)
                os.kill(ray.get(actor.pid.remote(), timeout=5), signal.SIGKILL)
            except (StopIteration, ValueError, ray.exceptions.RayError, ProcessLookupError):
                continue
            kills.append(time.monotonic())

    thread = threading.Thread(target=assassin)
    thread.start()
    try:
        events = parallel(study, tmp_path)
    finally:
        over.set()
        thread.join()
    assert len(kills) >= 2
    assert_settled_once(events, study)
    decided = of_type(read(tmp_path / "ledger.jsonl"), AdversaryReported)
    assert sorted(r.number for r in decided) == list(range(2, 16)), "every decision once"
    assert sum(r.corrupted for r in decided) == 3
    told = sorted(r.number for r in of_type(events, AdversaryReported))  # two workers may come back in another order
    assert sorted(r.number for r in decided if r.corrupted) == told, "overspend 0"


@pytest.mark.parametrize(
    ("politely", "reason"),
    [
        (True, "the adversary raised SystemExit"),
        pytest.param(False, "the adversary's process died again and again", marks=pytest.mark.slow),
    ],
)
def test_an_adversary_that_leaves_at_every_try_costs_its_trial(tmp_path, politely, reason):
    study = Study(
        Component("random"),
        Component("forrester"),
        Component("hostile:Leaver", {"politely": politely}),
        trials=4,
        initial=2,
        workers=2,
        retries=0,
        cpus=0.5,
    )
    events = parallel(study, tmp_path)
    assert_settled_once(events, study)
    (failure,) = of_type(events, TrialFailed)
    assert failure.number == study.initial
    assert reason in failure.reason


def test_a_ledger_that_dies_before_or_after_writing_pays_once(tmp_path, monkeypatch):
    study = Study(Component("random"), Component("forrester"), Component("crash", {"budget": 2}), trials=9, initial=1)
    actor = AdversaryActor(study, tmp_path / "l")
    first = actor.report(1, 0, (0.5,), 1.0)
    monkeypatch.setattr(actor._ledger, "append", lambda *r: (_ for _ in ()).throw(RuntimeError("dies here")))
    with pytest.raises(RuntimeError):
        actor.report(2, 0, (0.5,), 1.0)  # decided, never written, never told
    actor._ledger.close()
    reborn = AdversaryActor(study, tmp_path / "l")
    assert reborn.report(1, 1, (0.5,), 1.0) == first
    assert [reborn.report(n, 0, (0.5,), 1.0).corrupted for n in range(2, 9)] == [True] + [False] * 6


def test_trials_may_begin_while_somebody_asks_which_are_under_way(tmp_path):
    """Both happen in threads of one actor: a study once ended with "dictionary changed size during iteration"."""
    study = Study(Component("random"), Component("forrester"), Component("crash", {"budget": 2}), trials=9, initial=1)
    actor = AdversaryActor(study, tmp_path / "l")
    sys.setswitchinterval(1e-6)
    beginning = threading.Thread(target=lambda: [actor.begin(number, 0, "node", 1) for number in range(5000)])
    beginning.start()
    try:
        while beginning.is_alive():
            actor.evaluating()
    finally:
        beginning.join()
        sys.setswitchinterval(0.005)
    assert len(actor.evaluating()) == 5000


def test_a_trial_that_completes_twice_or_was_never_started_leaves_one_row(tmp_path):
    from orchestrator.engine.build import build_objective
    from orchestrator.engine.conductor import Conductor
    from orchestrator.engine.parallel import StudySearch
    from orchestrator.engine.trial import Evaluation

    study = Study(Component("random"), Component("forrester"), trials=3, initial=2, workers=2)
    journal = FileJournal(tmp_path / "j")
    search = StudySearch(
        Conductor(study, build_objective(study), journal, shared=True), None, Deadlines(), float("inf")
    )
    first, second = search.suggest("a"), search.suggest("b")
    assert (first["number"], second["number"], search.suggest("c")) == (0, 1, None), "two workers, two trials"
    outcome = Evaluation(1.0, 1.0, 1.0, False, 0.1, "here")
    for trial in ("b", "b", "never", "a", "b"):
        search.on_trial_complete(trial_id=trial, result={"outcome": outcome}, error=False)
    search.on_trial_complete(trial_id="a", error=True)
    assert [o.number for o in observations(read(tmp_path / "j"))] == [1, 0]
    assert search.suggest("d")["number"] == 2
    journal.close()


def test_the_killer_kills_the_evaluating_process(tmp_path):
    study = Study(
        Component("random"),
        Component("faulty:Faulty", {"folder": str(tmp_path)}),
        Component("killer", {"budget": 2}),
        trials=4,
        initial=2,
        workers=2,
        retries=1,
        cpus=0.5,
    )
    events = parallel(study, tmp_path)
    assert_settled_once(events, study)
    assert [f.reason for f in of_type(events, TrialFailed)] == ["killed by the adversary"] * 2
    assert len(of_type(events, AdversaryReported)) == 2
    assert not any(o.failed or o.corrupted for o in observations(events)), "the second try brings the truth"


def test_parallel_studies_that_run_at_once_keep_apart(tmp_path):
    run = started(
        tmp_path / "runs",
        PLAN,
        objective="forrester",
        adversaries=[{"name": "crash", "value": -5.0, "budget": 2}],
        seeds=2,
        workers=2,
        trials=6,
        resources={"cpus": 0.25},
    )
    assert runner.execute(run) == runner.RunOutcome()
    for study in run.studies:
        alone = tmp_path / study.key
        journal = FileJournal(alone)
        run_sequential(study, journal, in_caller=True)
        journal.close()
        noise = {o.number: o.y_true - o.value for o in observations(read(alone))}
        found = observations_of(run, study)
        assert {o.number: o.y_true - o.value for o in found} == pytest.approx(noise), "its own seed"
        decided = of_type(read(ledger_path(run.journals, study)), AdversaryReported)
        assert sorted(r.number for r in decided) == list(range(study.initial, study.total)), "its own adversary"
        assert sum(o.y == -5.0 for o in found) == 2


def test_a_campaign_of_studies_survives_what_its_trials_do(tmp_path):
    faults = {"1": "kill", "3": "exit", "4": "stop", "5": "raise"}
    run = started(
        tmp_path / "runs",
        PLAN,
        objective=objective(tmp_path, faults=faults),
        adversaries=[{"name": "crash", "budget": 1, "value": -5.0}],
        limits={"trial_seconds": 2.0},
        retries=1,
    )
    assert runner.execute(run) == runner.RunOutcome()
    (study,) = run.studies
    events = events_of(run, study)
    assert_settled_once(events, study)
    assert len(calls(tmp_path)) == study.total + len(faults)
    assert "over the time limit of 2 s" in {f.reason for f in of_type(events, TrialFailed)}
    assert sum(o.corrupted for o in observations_of(run, study)) == 1


@pytest.mark.parametrize("node", ["gone", "here"])
def test_a_resume_leaves_machines_and_processes_of_the_past_alone(tmp_path, node):
    import ray

    run = started(tmp_path / "runs", PLAN, objective=objective(tmp_path), limits={"trial_seconds": 0.5})
    (study,) = run.studies
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        journal = FileJournal(run.journal(study))
        known = ray.get_runtime_context().get_node_id() if node == "here" else "0" * 56  # Ray was restarted since
        journal.append(header(study), SessionStarted(known, bystander.pid, 0.0, time.time()))
        journal.append(TrialSuggested(0, (0.5, 0.5), time.time()))
        journal.close()
        busy = (
            ray.remote(lambda: time.sleep(3)).options(num_cpus=2).remote()
        )  # the study has to wait, and the past grows old
        assert runner.execute(run) == runner.RunOutcome()
        ray.get(busy)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert sorted(o.number for o in observations_of(run, study)) == list(range(study.total))


def test_a_trial_that_always_kills_its_process_fails_once(tmp_path):
    run = started(
        tmp_path / "runs",
        PLAN,
        objective=objective(tmp_path, faults={"2": "exit"}, times=99),
        retries=1,
        crash_value=-7.0,
    )
    assert runner.execute(run) == runner.RunOutcome()
    found = observations_of(run, run.studies[0])
    assert [(o.number, o.y) for o in found if o.failed] == [(2, -7.0)]
    assert len(calls(tmp_path)) == 6 + 1


def test_a_parallel_campaign_goes_through_the_runner_and_comes_back_as_a_frame(tmp_path):
    frame = session.run(
        {"name": "p", "objective": "forrester", "algorithms": ["gp-ucb"], "trials": 6, "initial": 4, "workers": 2},
        root=tmp_path,
        adversaries=["crash"],
        seeds=[3],
        tracking={"enabled": False},
    )
    assert list(frame["number"]) == list(range(10))
    assert frame["corrupted"].sum() == 1
    assert frame["cumulative_regret"].is_monotonic_increasing


def test_without_ray_and_with_it_the_trials_are_the_same(tmp_path):
    plan = {"name": "same", "objective": "forrester", "algorithms": ["gp-ucb", "random"], "trials": 5, "seeds": 2}
    columns = ["study", "number", "param.x", "y", "y_true", "value", "corrupted", "weight", "cumulative_regret"]
    options = {"adversaries": ["crash"], "tracking": {"enabled": False}}
    here = session.run(plan, root=tmp_path / "a", ray=False, **options)
    there = session.run(plan, root=tmp_path / "b", **options)
    assert here[columns].equals(there[columns])
    assert len(here) == 4 * 10
