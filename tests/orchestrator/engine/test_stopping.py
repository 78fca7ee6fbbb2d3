"""Studies with a scheduler: who is stopped, what is kept of it, and a resume that decides nothing twice."""

import dataclasses
from pathlib import Path

import pytest

from orchestrator.campaign.study import Component, Scheduler, Study
from orchestrator.engine import conductor as conductor_module
from orchestrator.engine.events import Event, RungReached, TrialSuggested, of_type
from orchestrator.engine.history import observations
from orchestrator.engine.journal import FileJournal, read
from orchestrator.engine.sequential import run_sequential
from orchestrator.engine.watch import Heartbeat

STUDY = Study(
    Component("a2-rcgp-ucb"),
    Component("climbing:Climbing"),
    Component("crash", {"value": 0.9, "budget": 3}),
    seed=2,
    trials=10,
    initial=4,
    scheduler=Scheduler(grace=1, reduction=3.0, witnesses=3),
)


def run(study: Study, path: Path) -> list[Event]:
    journal = FileJournal(path)
    try:
        run_sequential(study, journal, in_caller=True)
    finally:
        journal.close()
    return read(path)


def trace(events: list[Event]) -> list[str]:
    return [repr((o.number, o.x, o.y, o.y_true, o.stopped, o.progress, o.weight)) for o in observations(events)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a study that ran without a break."""
    path = tmp_path_factory.mktemp("whole") / "journal"
    run(STUDY, path)
    return path


def test_a_trial_that_is_behind_ends_at_a_rung_and_says_so(whole: Path) -> None:
    events = read(whole)
    found, rungs = observations(events), of_type(events, RungReached)
    stopped = [o for o in found if o.stopped]
    assert stopped
    assert {len(o.progress) for o in stopped} <= {1, 3}, "at a rung"
    assert {len(o.progress) for o in found if not o.stopped} == {9}
    assert not any(o.stopped for o in found[:4]), "witnesses, and those before there is a model, run in full"
    assert not {o.number for o in stopped} & {5, 10}, "one in five is a witness later too"
    assert all(o.y_true == o.progress[-1][1] for o in stopped)
    assert any(o.corrupted and o.y == 0.9 for o in found)
    assert len(rungs) == len({(r.number, r.step) for r in rungs}) <= 2 * len(found), "few a trial"
    assert {(r.number, r.step) for r in rungs if r.stopped} == {(o.number, len(o.progress)) for o in stopped}


def test_a_run_cut_after_any_record_resumes_to_the_same_result(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, lines = trace(read(whole)), whole.read_bytes().splitlines(keepends=True)
    monkeypatch.setattr(conductor_module, "SAVE_EVERY", 3)
    for kept in range(9, len(lines), 7):
        path = tmp_path / f"cut{kept}"
        path.write_bytes(b"".join(lines[:kept]))
        assert trace(run(STUDY, path)) == expected, f"cut after record {kept}"
        assert len(of_type(read(path), RungReached)) == len(of_type(read(whole), RungReached))


def test_without_a_model_the_rule_is_plain_halving_and_repeats_run_in_full(tmp_path: Path) -> None:
    """Random search spares nobody but the witnesses; an objective that swallows errors is left all the same."""
    stubborn = Component("climbing:Climbing", {"stubborn": True, "folder": str(tmp_path)})
    study = dataclasses.replace(STUDY, algorithm=Component("random"), objective=stubborn, trials=16)
    events = run(study, tmp_path / "journal")
    found = observations(events)
    assert sum(o.stopped for o in found) > 8
    assert len((tmp_path / "calls").read_text().splitlines()) == len(found)


def test_a_rung_is_no_new_sign_of_a_trial_that_may_hang() -> None:
    heartbeat = Heartbeat(pid=1)
    heartbeat.take([TrialSuggested(0, (0.5,), at=0.0)])
    before = heartbeat.at
    heartbeat.take([RungReached(0, 1, 0.5, stopped=False, at=1.0)])
    assert (heartbeat.at, heartbeat.evaluating) == (before, True)
