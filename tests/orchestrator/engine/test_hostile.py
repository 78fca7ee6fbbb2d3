"""Objectives that misbehave cost their own trial at most; held at the command line, in every engine."""

import json

import pytest
from commands import orchestrate
from hostile import FAILING, HABITS

from orchestrator.campaign.runs import Run
from orchestrator.engine.events import TrialFailed, of_type
from orchestrator.engine.history import events_of, observations

REASONS = {
    "reports an array": "TypeError: report() was given array([1., 1., 1.]) (ndarray), not a number",
    "reports a text": "TypeError: report() was given '0.97' (str), not a number",
    "reports nothing": "TypeError: report() was given None (NoneType), not a number",
    "reports at no step": "TypeError: report() was given the step None (NoneType), not a number",
    "raises what cannot be shown": "UnspeakableError: its message cannot be shown",
    "raises GeneratorExit": "GeneratorExit",
    "leaves by sys.exit": "SystemExit: enough",
    "raises a BaseException": "OutsideError: from outside",
    "raises half a character": "ValueError: half \\udc80",
    "warns as errors": "UserWarning: [red]not[/red] markup \x1b[2J",
}


@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("engine", "workers"),
    [
        ("--no-ray", 1),
        pytest.param("", 1, marks=[pytest.mark.ray, pytest.mark.slow]),
        pytest.param("", 2, marks=pytest.mark.ray),
    ],
    ids=["in the caller", "one process", "trial actors"],
)
def test_bad_habits_cost_their_own_trial_at_most(tmp_path, engine, workers):
    plan = {
        "objective": {"name": "hostile:Hostile", "folder": str(tmp_path)},
        "algorithms": ["random"],
        "trials": len(HABITS) + 3,
        "initial": 3,
        "workers": workers,
        "retries": 0,
        "resources": {"cpus": 0.5},
        "tracking": {"enabled": False},
    }
    (tmp_path / "hostile.yaml").write_text(json.dumps(plan))
    done = orchestrate(tmp_path, "run", "hostile.yaml", *engine.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "report.html" in done.stdout, "the driver still has its standard output, and is where it was"
    run = Run.open(tmp_path / "runs", "hostile")
    (study,) = run.studies
    events = events_of(run, study)
    assert sorted(o.number for o in observations(events)) == list(range(study.total))
    assert sum(o.failed for o in observations(events)) == len(FAILING)
    assert sorted(f.reason for f in of_type(events, TrialFailed)) == sorted(REASONS.values())
