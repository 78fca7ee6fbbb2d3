"""Studies in one process: order, retries, fallbacks, and a resume that equals the run without a break."""

import dataclasses
import errno
import math
import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from faulty import calls

from objectives.functions import Forrester
from orchestrator.campaign.study import Component, Study
from orchestrator.engine import conductor as conductor_module
from orchestrator.engine import sequential
from orchestrator.engine.adversary import LocalAdversary
from orchestrator.engine.build import build_objective
from orchestrator.engine.disk import Disk
from orchestrator.engine.events import (
    AdversaryReported,
    OptimizerSaved,
    StudyEnded,
    TrialFailed,
    TrialSuggested,
    of_type,
)
from orchestrator.engine.history import observations
from orchestrator.engine.journal import FileJournal, JournalError, read
from orchestrator.engine.sequential import run_sequential
from orchestrator.errors import UserError
from rcgp import Optimizer
from rcgp.adaptive import AdaptiveSurrogate

SMALL = Study(
    Component("a2-rcgp-ucb"),
    Component("forrester"),
    Component("clairvoyant", {"budget": 3}),
    seed=1,
    trials=7,
    initial=3,
)


def run(study: Study, path: Path, **options):
    journal = FileJournal(path)
    try:
        run_sequential(study, journal, in_caller=True, **options)
    finally:
        journal.close()
    return observations(read(path))


def trace(found):
    """What must be equal between two ways to run one study."""
    return [repr((o.number, o.x, o.y, o.y_true, o.value, o.corrupted, o.failed, o.weight)) for o in found]


def faulty(tmp_path: Path, **options) -> Study:
    objective = Component("faulty:Faulty", {"folder": str(tmp_path)} | options)
    return Study(Component("random"), objective, seed=2, trials=5, initial=3, retries=2, crash_value=-9.0)


def test_every_trial_is_there_once_and_in_order(tmp_path):
    found = run(SMALL, tmp_path / "j")
    assert [o.number for o in found] == list(range(10))
    assert isinstance(read(tmp_path / "j")[-1], StudyEnded)


def test_no_trial_begins_before_the_last_result_is_on_disk_and_the_optimizer_thinks_meanwhile(tmp_path, monkeypatch):
    sync, begin, evaluate, ask = os.fsync, Disk.begin, Forrester.evaluate, Optimizer.ask
    on_its_way, evaluating, thinking = threading.Event(), [], []

    def slowly(fd):
        time.sleep(0.02)
        sync(fd)
        on_its_way.clear()

    def noted(when, call):
        return lambda *args, **more: (when.append(on_its_way.is_set()), call(*args, **more))[1]

    monkeypatch.setattr(os, "fsync", slowly)
    monkeypatch.setattr(Disk, "begin", lambda disk: (on_its_way.set(), begin(disk)))
    monkeypatch.setattr(Optimizer, "ask", noted(thinking, ask))
    monkeypatch.setattr(Forrester, "evaluate", noted(evaluating, evaluate))
    assert len(run(SMALL, tmp_path / "j")) == 10
    assert evaluating == [False] * 10
    assert thinking == [False] + [True] * 9


def test_a_disk_that_refuses_the_last_result_of_a_session_fails_it(tmp_path, monkeypatch):
    sync, evaluate, over = os.fsync, Forrester.evaluate, []

    def refuse(fd):
        raise OSError(errno.EIO, "Input/output error")

    def last(*args, **more):
        over.append(True)
        monkeypatch.setattr(os, "fsync", refuse)
        return evaluate(*args, **more)

    monkeypatch.setattr(Forrester, "evaluate", last)
    monkeypatch.setattr(sequential, "time", SimpleNamespace(time=lambda: float(len(over))))
    journal = FileJournal(tmp_path / "j")
    with pytest.raises(JournalError, match="Input/output error"):
        run_sequential(SMALL, journal, in_caller=True, until=0.5)
    monkeypatch.setattr(os, "fsync", sync)
    journal.close()
    assert observations(read(tmp_path / "j")) == []


def test_algorithms_share_initial_points_and_noise_and_nobody_corrupts_the_initial_points(tmp_path):
    names = ("random", "gp-ucb", "a2-rcgp-ucb")
    runs = [run(dataclasses.replace(SMALL, algorithm=Component(n)), tmp_path / n) for n in names]
    for a, b in pairwise(runs):
        assert [o.x for o in a[:3]] == [o.x for o in b[:3]]
        assert np.allclose([o.y_true - o.value for o in a], [o.y_true - o.value for o in b], atol=1e-12)
    for found in runs:
        assert not any(o.corrupted for o in found[:3])
        assert all(o.y == o.y_true for o in found if not o.corrupted)
    assert sum(o.corrupted for o in runs[0]) > 0


def test_a_run_cut_after_any_record_resumes_to_the_same_result(tmp_path):
    whole = run(SMALL, tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines) + 1):
        path = tmp_path / f"cut{kept}"
        path.write_bytes(b"".join(lines[:kept]) + (lines[kept][:9] if kept < len(lines) else b""))
        resumed = run(SMALL, path)
        assert trace(resumed) == trace(whole), f"cut after record {kept}"
        reports = of_type(read(path), AdversaryReported)
        assert len(reports) == len({r.number for r in reports}) == sum(o.corrupted for o in whole) <= 3


@pytest.mark.parametrize("name", ["gp-ucb", "a2-rcgp-ucb"])
def test_a_run_that_learns_from_failures_resumes_to_the_same_result(tmp_path, name):
    algorithm, objective = Component(name, {"regions": True}), Component("failing:Failing", {"parameters": 2})
    study = Study(algorithm, objective, seed=1, trials=9, initial=3, retries=0)
    whole = run(study, tmp_path / "whole")
    assert 0 < sum(math.isnan(o.y) for o in whole) < len(whole)
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    for kept in range(1, len(lines), 2):
        path = tmp_path / f"cut{kept}"
        path.write_bytes(b"".join(lines[:kept]))
        assert trace(run(study, path)) == trace(whole), f"cut after record {kept}"


def test_what_was_acknowledged_is_not_evaluated_again(tmp_path):
    study = faulty(tmp_path)
    run(study, tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    for kept in range(2, len(lines) + 1):
        (tmp_path / "calls").unlink(missing_ok=True)
        (tmp_path / "cut").write_bytes(b"".join(lines[:kept]))
        done = len(observations(read(tmp_path / "cut")))
        run(study, tmp_path / "cut")
        assert len(calls(tmp_path)) == study.total - done


def test_replaying_does_not_pay_for_acquisition(tmp_path, monkeypatch):
    run(SMALL, tmp_path / "j")

    def refuse(*args: object) -> None:
        raise AssertionError("replay asked")

    monkeypatch.setattr(Optimizer, "ask", refuse)
    run(SMALL, tmp_path / "j")
    assert len(observations(read(tmp_path / "j"))) == 10


@pytest.mark.parametrize("algorithm", ["random", "gp-ucb", "student-t-ucb", "a2-rcgp-ucb"])
def test_a_resume_goes_on_from_the_last_belief_to_the_same_result_bit_for_bit(tmp_path, monkeypatch, algorithm):
    study = dataclasses.replace(SMALL, algorithm=Component(algorithm))
    whole = trace(run(study, tmp_path / "plain"))
    monkeypatch.setattr(conductor_module, "SAVE_EVERY", 3)
    assert trace(run(study, tmp_path / "whole")) == whole, "writing beliefs down changes nothing"
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    assert len(of_type(read(tmp_path / "whole"), OptimizerSaved)) == 4, "and the last one in the end"
    for cut in range(1, len(lines), 2):
        path = tmp_path / f"cut{cut}"
        path.write_bytes(b"".join(lines[:cut]))
        assert trace(run(study, path)) == whole


def test_a_resume_thinks_only_what_no_belief_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(conductor_module, "SAVE_EVERY", 3)
    run(SMALL, tmp_path / "whole")
    judged = []
    update = AdaptiveSurrogate.update
    monkeypatch.setattr(
        AdaptiveSurrogate, "update", lambda self, X, y, *known: judged.append(len(y)) or update(self, X, y, *known)
    )

    ended = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").write_bytes(b"".join(ended[:-2]))  # before the last belief and the end

    def replayed(layout, name="cut"):
        judged.clear()
        monkeypatch.setattr(conductor_module, "STATE_LAYOUT", layout)
        journal = FileJournal(tmp_path / name)
        asked = conductor_module.Conductor(SMALL, build_objective(SMALL), journal).optimizer.ask()
        journal.close()
        return asked.tolist(), list(judged)

    known, few = replayed(conductor_module.STATE_LAYOUT)
    same, none = replayed(conductor_module.STATE_LAYOUT, "whole")
    thought, many = replayed("another")
    assert few == [10], "the last belief knew nine trials"
    assert many == list(range(3, 11)), "a belief of another layout is not read"
    assert none == [], "what was concluded in the end is not thought through again"
    assert known == same == thought


def test_a_failing_try_is_repeated_and_only_the_last_counts(tmp_path):
    found = run(faulty(tmp_path, faults={"2": "raise", "5": "raise"}, times=2), tmp_path / "j")
    failures = of_type(read(tmp_path / "j"), TrialFailed)
    assert [(f.number, f.attempt) for f in failures] == [(2, 0), (2, 1), (5, 0), (5, 1)]
    assert failures[0].reason == "ZeroDivisionError: on cue"
    assert [o.attempt for o in found] == [0, 0, 2, 0, 0, 2, 0, 0]
    assert not any(o.failed for o in found)


def test_a_trial_that_always_fails_gets_the_crash_value_once(tmp_path):
    found = run(faulty(tmp_path, faults={"4": "raise"}, times=99), tmp_path / "j")
    assert len(calls(tmp_path)) == 8 + 2, "three tries in all"
    assert [o.failed for o in found].count(True) == 1
    assert (found[4].y, found[4].attempt) == (-9.0, 2)
    assert math.isnan(found[4].y_true)
    assert found[4].value == pytest.approx(-sum((a - b) ** 2 for a, b in zip(found[4].x, (0.3, 0.7), strict=True)))


def test_a_run_cut_between_the_last_failure_and_its_verdict_gives_up_without_another_try(tmp_path):
    study = faulty(tmp_path, faults={"4": "raise"}, times=99)
    whole = run(study, tmp_path / "whole")
    lines = (tmp_path / "whole").read_bytes().splitlines(keepends=True)
    last = max(i for i, r in enumerate(read(tmp_path / "whole")) if isinstance(r, TrialFailed))
    (tmp_path / "cut").write_bytes(b"".join(lines[: last + 1]))
    (tmp_path / "calls").unlink()
    assert trace(run(study, tmp_path / "cut")) == trace(whole)
    assert len(calls(tmp_path)) == 3


@pytest.mark.parametrize("fault", ["nan", "inf", "-inf"])
def test_a_non_finite_value_is_data(tmp_path, fault):
    found = run(faulty(tmp_path, faults={"1": fault}, times=99), tmp_path / "j")
    assert str(found[1].y) == fault
    assert not found[1].failed
    assert len(calls(tmp_path)) == 8


@pytest.mark.parametrize("fault", ["none", "str", "bool", "list", "memory"])
def test_what_is_no_number_is_a_failed_trial_and_the_run_goes_on(tmp_path, fault):
    found = run(faulty(tmp_path, faults={"1": fault}, times=99), tmp_path / "j")
    assert [o.failed for o in found] == [False, True] + [False] * 6
    assert len(calls(tmp_path)) == 10


def test_a_time_limit_ends_a_hanging_trial_in_this_process(tmp_path):
    study = dataclasses.replace(faulty(tmp_path, faults={"3": "hang"}), trial_seconds=0.2)
    found = run(study, tmp_path / "j")
    assert [o.attempt for o in found] == [0, 0, 0, 1, 0, 0, 0, 0]
    assert of_type(read(tmp_path / "j"), TrialFailed)[0].reason == "over the time limit of 0.2 s"


def test_an_optimizer_that_throws_gives_a_flagged_quasi_random_point(tmp_path, monkeypatch):
    ask = Optimizer.ask

    def broken(self, pending=None):
        if self.n == 5:
            raise np.linalg.LinAlgError("singular kernel")
        return ask(self, pending)

    monkeypatch.setattr(Optimizer, "ask", broken)
    found = run(SMALL, tmp_path / "j")
    flagged = [s for s in of_type(read(tmp_path / "j"), TrialSuggested) if s.fallback]
    assert [(s.number, s.fallback) for s in flagged] == [(5, "LinAlgError: singular kernel")]
    assert len(found) == 10
    assert 0 <= found[5].x[0] <= 1


def test_a_killer_costs_a_try_and_never_more_than_its_budget(tmp_path):
    study = dataclasses.replace(faulty(tmp_path), adversary=Component("killer", {"budget": 2}))
    found = run(study, tmp_path / "j")
    events = read(tmp_path / "j")
    assert sum(r.kill for r in of_type(events, AdversaryReported)) == 2
    assert [f.reason for f in of_type(events, TrialFailed)] == ["killed by the adversary"] * 2
    assert all(o.y == o.y_true for o in found), "the second try brings the truth"


def test_a_killer_without_retries_leaves_the_crash_value(tmp_path):
    study = dataclasses.replace(faulty(tmp_path), adversary=Component("killer", {"budget": 2}), retries=0)
    found = run(study, tmp_path / "j")
    hit = [o for o in found if o.failed]
    assert [o.y for o in hit] == [-9.0, -9.0]
    assert all(o.corrupted and math.isfinite(o.y_true) for o in hit)


def test_a_changed_study_is_refused_with_the_difference(tmp_path):
    run(SMALL, tmp_path / "j")
    with pytest.raises(UserError, match=r"changed since it started \(trials: 7 -> 8\)"):
        run(dataclasses.replace(SMALL, trials=8), tmp_path / "j")


def test_an_adversary_that_changed_its_mind_is_noticed(tmp_path):
    run(SMALL, tmp_path / "j")
    events = read(tmp_path / "j")
    assert of_type(events, AdversaryReported)
    honest = dataclasses.replace(SMALL, adversary=Component("honest"))
    adversary = LocalAdversary(honest, build_objective(honest), lambda report: None)
    with pytest.raises(JournalError, match="was its code changed"):
        adversary.restore(events)


def test_time_is_up_stops_between_trials_and_resumes(tmp_path):
    assert run(SMALL, tmp_path / "j", until=0.0) == []
    assert len(run(SMALL, tmp_path / "j")) == 10


def test_progress_of_a_trial_is_kept(tmp_path):
    study = dataclasses.replace(
        faulty(tmp_path), objective=Component("faulty:Faulty", {"folder": str(tmp_path), "steps": 3})
    )
    found = run(study, tmp_path / "j")
    assert [step for step, _ in found[0].progress] == [1, 2, 3]
