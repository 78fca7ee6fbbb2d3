"""What people ask of a study: rulings are obeyed, once, and lived through again; trials are repeated on other machines."""

import dataclasses
from pathlib import Path

import pytest

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Component, Confirm, Study
from orchestrator.engine import runner
from orchestrator.engine.build import build_objective
from orchestrator.engine.conductor import Conductor
from orchestrator.engine.events import Observation, Ruling, StudyEnded, TrialSuggested, of_type
from orchestrator.engine.history import events_of, is_ended, observations, rulings, unfinished
from orchestrator.engine.journal import FileJournal
from orchestrator.engine.reporter import here, simulated
from orchestrator.engine.rulings import confirm, find_study, rule
from orchestrator.engine.trial import Evaluation
from orchestrator.errors import UserError

PLAN = {
    "name": "plan",
    "objective": "forrester",
    "algorithms": ["a2-rcgp-ucb"],
    "trials": 9,
    "initial": 4,
    "tracking": {"enabled": False},
}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run that came to its end."""
    made = Run.create(tmp_path, "night", Campaign.from_dict(PLAN))
    runner.execute(made, ray=False)
    return made


def study_of(run: Run) -> Study:
    (study,) = run.studies
    return study


def resumed(run: Run) -> list[object]:
    assert runner.execute(run, ray=False) == runner.RunOutcome()
    return list(events_of(run, study_of(run)))


def test_a_ruling_is_obeyed_over_the_models_own_opinion_and_can_be_taken_back(run: Run) -> None:
    study = study_of(run)
    best = of_type(events_of(run, study), StudyEnded)[-1].recommended
    rule(run, study, best, "lie", "its disk was full", by="anna")
    assert unfinished(run) == [study]
    events = resumed(run)
    end = of_type(events, StudyEnded)[-1]
    weight = {o.number: o.weight for o in observations(events)}
    assert end.recommended != best
    assert weight[best] < 0.5
    assert len(of_type(events, StudyEnded)) == 2
    assert (rulings(events)[best].author, rulings(events)[best].because) == ("anna", "its disk was full")
    rule(run, study, best, "clear")
    events = resumed(run)
    assert rulings(events) == {}
    assert {o.number: o.weight for o in observations(events)}[best] > 0.5
    assert unfinished(run) == []
    assert resumed(run) == events, "nothing is obeyed twice"


def test_a_trial_that_is_to_be_run_again_is_a_replicate_of_its_first_run(run: Run) -> None:
    study = study_of(run)
    rule(run, study, 5, "again", "it was so hot")
    events = resumed(run)
    last = of_type(events, Observation)[-1]
    assert (last.number, last.replicate_of) == (13, 5)
    assert last.x == of_type(events, Observation)[5].x
    rule(run, study, 13, "again")
    assert of_type(resumed(run), Observation)[-1].replicate_of == 5, "of the first run, not of a replicate"


def test_more_trials_confirm_the_answer(run: Run) -> None:
    study = study_of(run)
    confirm(run, study, trials=4, candidates=2)
    events = resumed(run)
    repeated = [s.replicate_of for s in of_type(events, TrialSuggested)[13:]]
    assert len(repeated) == 4
    assert None not in repeated
    assert all(number < 13 for number in repeated if number is not None)
    assert is_ended(events)


def test_the_last_trials_of_a_study_confirm_its_answer(tmp_path: Path) -> None:
    made = Run.create(tmp_path, "sure", Campaign.from_dict(PLAN | {"confirm": {"trials": 3, "candidates": 1}}))
    events = resumed(made)
    asked = of_type(events, TrialSuggested)
    assert len(asked) == 13
    assert len({s.replicate_of for s in asked[10:]}) == 1
    assert asked[10].replicate_of is not None
    assert all(o.replicate_of == s.replicate_of for o, s in zip(of_type(events, Observation), asked, strict=True))


@pytest.mark.parametrize(
    ("number", "ruling", "message"),
    [
        (99, "lie", "trial 99 of a2-rcgp-ucb.honest.seed0 has not come back.*trials 0 to 12 have"),
        (3, "lies", "ruling 'lies': did you mean 'lie'\\? Allowed: again, clear, lie, true"),
    ],
)
def test_what_cannot_be_ruled_is_one_line(run: Run, number: int, ruling: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        rule(run, study_of(run), number, ruling)
    assert "\n" not in str(refusal.value)
    assert unfinished(run) == []


def test_a_study_is_found_by_a_part_of_its_name(tmp_path: Path) -> None:
    made = Run.create(
        tmp_path, "grid", Campaign.from_dict(PLAN | {"algorithms": ["a2-rcgp-ucb", "gp-ucb"], "seeds": 2})
    )
    assert find_study(made, "gp-ucb.honest.seed0").key == "gp-ucb.honest.seed0"
    assert find_study(made, "a2-rcgp-ucb.honest.seed1").seed == 1
    with pytest.raises(UserError, match="4 studies: say which with --study, one of a2-rcgp-ucb.honest.seed0, gp-ucb"):
        find_study(made, None)
    with pytest.raises(UserError, match="no study 'random'; Allowed: a2"):
        find_study(made, "random")
    many = Run.create(tmp_path, "many", Campaign.from_dict(PLAN | {"algorithms": ["random"], "seeds": 8}))
    with pytest.raises(UserError, match=r"8 studies: .*seed5 and 2 more\.$"):
        find_study(many, None)


def test_rulings_between_trials_are_lived_through_again_to_the_last_bit(tmp_path: Path) -> None:
    made = Run.create(tmp_path, "live", Campaign.from_dict(PLAN | {"trials": 26}))
    study = study_of(made)
    journal = FileJournal(made.journal(study))
    conductor = Conductor(study, build_objective(study), journal)
    said = {8: (3, "lie"), 12: (5, "true"), 15: (3, "clear"), 23: (7, "lie"), 26: (9, "again")}
    while (trial := conductor.next()) is not None:
        if trial.number in said:
            rule(made, study, *said[trial.number])
        conductor.observe(trial, Evaluation(trial.x[0], trial.x[0], trial.x[0], False, 0.0, "n"))
        if trial.number in (9, 20, 25, 29):
            journal.close()
            copy = FileJournal(made.journal(study))
            replayed = Conductor(study, build_objective(study), copy)
            copy.close()
            assert replayed.optimizer.state_dict() == conductor.optimizer.state_dict()
            journal = conductor.journal = FileJournal(made.journal(study))
    journal.close()
    events = events_of(made, study)
    assert [r.ruling for r in of_type(events, Ruling)] == ["lie", "true", "clear", "lie", "again"]
    assert len(of_type(events, Observation)) == 31


def test_simulated_machines_differ_between_a_trial_and_its_replicate() -> None:
    assert {simulated(0, number, 5) for number in range(60)} == set(range(5))
    assert all(simulated(0, 60 + n, 5, n) != simulated(0, n, 5) for n in range(60))
    assert simulated(0, 9, 1, 3) == 0, "there is no other"


def test_a_machine_can_be_given_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORCHESTRATE_REPORTER", "gpu-07")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,4")
    assert here().name == "gpu-07"
    assert here(uses_gpu=True).name == "gpu-07/gpu3"


def test_an_old_study_has_the_fingerprint_it_had() -> None:
    study = Study(Component("random"), Component("forrester"))
    assert "confirm" not in study.to_dict()
    sure = dataclasses.replace(study, confirm=Confirm(5))
    assert sure.fingerprint() != study.fingerprint()
    assert Study.from_dict(sure.to_dict()) == sure
    assert Study.from_dict(study.to_dict()) == study
