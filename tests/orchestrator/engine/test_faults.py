"""Faults of whole machines and drivers: killed, doubled, lost - and the run is complete all the same."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from commands import ENVIRONMENT, HERE, launch
from faulty import calls

from orchestrator import session
from orchestrator.engine.events import AdversaryReported, Event, TrialSuggested, of_type
from orchestrator.engine.history import observations
from orchestrator.engine.journal import read


def plan(folder: Path, **changes) -> dict:
    return {
        "name": "test",
        "objective": {"name": "faulty:Faulty", "folder": str(folder), "seconds": 0.03},
        "algorithms": ["a2-rcgp-ucb"],
        "adversaries": [{"name": "crash", "budget": 4, "value": -3.0}],
        "trials": 30,
        "initial": 4,
        "tracking": {"enabled": False},
    } | changes


def kill_and_resume(folder: Path, moments: list[int], *options: str, **changes) -> list[Event]:
    """Start a run, SIGKILL its driver when so many evaluations have begun, and resume it until it is complete."""
    (folder / "test.yaml").write_text(json.dumps(plan(folder, **changes)))
    process = launch(folder, "run", "test.yaml", *options)
    for moment in moments:
        while len(calls(folder)) < moment:
            assert process.poll() is None, process.communicate()
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process = launch(folder, "resume", "test", *options)
    said = process.communicate(timeout=240)
    assert process.returncode == 0, said
    return read(folder / "runs/test/journals/a2-rcgp-ucb.crash.seed0.jsonl")


def uninterrupted(folder: Path) -> list[Event]:
    (folder / "alone").mkdir()
    session.run(plan(folder / "alone"), root=folder / "whole", ray=False)
    return read(folder / "whole/test/journals/a2-rcgp-ucb.crash.seed0.jsonl")


def assert_equal_and_nothing_lost(events: list[Event], whole: list[Event], folder: Path, kills: int) -> None:
    def points(found):
        return [(o.number, o.x, o.y, o.y_true, o.corrupted, o.weight) for o in observations(found)]

    assert points(events) == points(whole)
    assert len(of_type(events, AdversaryReported)) == 4, "the budget was neither refilled nor lost"
    assert len(calls(folder)) <= 34 + kills, "at most the trial in flight runs again"


def test_a_driver_killed_at_three_seeded_moments_resumes_to_the_uninterrupted_run(tmp_path):
    moments = sorted(random.Random(5).sample(range(1, 34), 3))
    events = kill_and_resume(tmp_path, moments, "--no-ray")
    assert_equal_and_nothing_lost(events, uninterrupted(tmp_path), tmp_path, kills=3)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_a_driver_on_ray_killed_at_five_seeded_moments_resumes_to_the_uninterrupted_run(tmp_path):
    moments = sorted(random.Random(6).sample(range(1, 34), 5))
    events = kill_and_resume(tmp_path, moments)
    assert_equal_and_nothing_lost(events, uninterrupted(tmp_path), tmp_path, kills=5)


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(900)
def test_a_killed_driver_of_a_parallel_study_loses_and_doubles_nothing(tmp_path):
    moments = sorted(random.Random(7).sample(range(2, 33), 3))
    events = kill_and_resume(tmp_path, moments, workers=2, resources={"cpus": 0.5})
    assert sorted(o.number for o in observations(events)) == list(range(34))
    suggested = [s.number for s in of_type(events, TrialSuggested)]
    assert suggested == list(range(34)), "a lost trial is the same trial"
    charged = [r.number for r in of_type(events, AdversaryReported)]
    assert len(charged) == len(set(charged)) == 4
    ledger = read(tmp_path / "runs/test/journals/a2-rcgp-ucb.crash.seed0.ledger.jsonl")
    assert sum(r.corrupted for r in of_type(ledger, AdversaryReported)) == 4, "overspend 0"
    assert len(calls(tmp_path)) <= 34 + 2 * 3, "at most the trials in flight run again"


CLUSTER = """
import json, sys, threading, time
from pathlib import Path
import ray
from ray.cluster_utils import Cluster
from faulty import calls
from orchestrator.engine import runner
from orchestrator.campaign.campaign import Campaign

folder, lose = Path(sys.argv[1]), sys.argv[2] == "lose"
quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 3}
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": quick})
second = cluster.add_node(num_cpus=1)
ray.init(address=cluster.address, log_to_driver=False)
plan = json.loads((folder / "plan.json").read_text())
run = runner.start(Campaign.from_dict(plan), root=folder / "runs", paths=[sys.argv[3]])

def cut() -> None:
    while len(calls(folder)) < 12:
        time.sleep(0.01)
    cluster.remove_node(second, allow_graceful=False)

if lose:
    threading.Thread(target=cut, daemon=True).start()
outcome = runner.execute(run)
assert outcome == runner.RunOutcome(), outcome
ray.shutdown()
cluster.shutdown()
"""


def on_two_nodes(folder: Path, lose: str, **changes) -> dict[str, list[Event]]:
    (folder / "plan.json").write_text(json.dumps(plan(folder, **changes)))
    (folder / "script.py").write_text(textwrap.dedent(CLUSTER))
    done = subprocess.run(
        [sys.executable, folder / "script.py", str(folder), lose, str(HERE)],
        env=ENVIRONMENT,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    return {p.name: read(p) for p in (folder / "runs/test/journals").glob("*.jsonl") if "ledger" not in p.name}


@pytest.mark.ray
@pytest.mark.timeout(450)
def test_a_campaign_on_two_nodes_keeps_its_journals_on_the_drivers_node(tmp_path):
    journals = on_two_nodes(tmp_path, "keep", algorithms=["random"], seeds=4, trials=6, initial=2)
    assert len(journals) == 4
    for events in journals.values():
        assert [o.number for o in observations(events)] == list(range(8))
    assert len({o.node for events in journals.values() for o in observations(events)}) == 2, "both nodes worked"


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(450)
def test_a_campaign_that_loses_a_node_is_complete(tmp_path):
    journals = on_two_nodes(tmp_path, "lose", algorithms=["random"], seeds=4, trials=20, initial=2, retries=3)
    for events in journals.values():
        assert sorted(o.number for o in observations(events)) == list(range(22))
        assert len(of_type(events, AdversaryReported)) == 4
        assert not any(o.failed for o in observations(events))


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(450)
def test_a_parallel_study_that_loses_a_node_is_complete(tmp_path):
    journals = on_two_nodes(tmp_path, "lose", algorithms=["random"], trials=30, initial=2, retries=3, workers=2)
    (events,) = journals.values()
    assert sorted(o.number for o in observations(events)) == list(range(32))
    assert len(of_type(events, AdversaryReported)) == 4
    assert not any(o.failed for o in observations(events))
