"""What to use: the recommendation, what is believed of it, and how it is pasted."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from small_runs import cut_short, finished

from orchestrator.campaign.runs import Run
from orchestrator.engine.events import StudyEnded, of_type
from orchestrator.engine.history import events_of
from orchestrator.review.answer import Answer, recommend
from orchestrator.review.report import Report, answer_of

CRASHES = [{"name": "crash", "value": 1000.0, "budget": 2}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("answer"), adversaries=CRASHES, trials=16)


def test_the_answer_is_what_the_best_study_recommends_and_no_lie(run: Run) -> None:
    answer = answer_of(run)
    assert answer is not None
    use = answer.use
    (end,) = of_type(events_of(run, use.study), StudyEnded)
    assert use.number == end.recommended
    assert use.study.algorithm.label == "a2-rcgp-ucb"
    assert use.mean < 20.0, "a lie of a thousand is not believed"
    assert f"Use x={use.parameters['x']:.4g}: believed" in answer.sentence()


def test_gp_ucb_stands_beside_it_on_the_same_seed(run: Run) -> None:
    answer = answer_of(run)
    assert answer is not None
    assert answer.plain is not None
    assert answer.plain.study.algorithm.label == "gp-ucb"
    assert answer.plain.study.seed == answer.use.study.seed


def test_parameters_are_pasted_as_they_were_tried(run: Run) -> None:
    answer = answer_of(run)
    assert answer is not None
    assert yaml.safe_load(answer.yaml()) == answer.use.parameters
    assert ast.literal_eval(answer.python()) == answer.use.parameters
    frame = Report.of(run).frame
    row = frame[(frame["study"] == answer.use.study.key) & (frame["number"] == answer.use.number)]
    assert answer.use.parameters == {"x": row["param.x"].item()}


def test_where_nobody_knows_the_truth_the_careful_algorithm_is_asked(tmp_path: Path) -> None:
    """The objective itself lies, upwards: regret counted on its reports praises whoever fell for it."""
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False, "faults": {"6": "inf"}}
    run = finished(
        tmp_path / "runs", objective=objective, adversaries=["honest"], seeds=1, algorithms=["gp-ucb", "fc-rcgp-ucb"]
    )
    answer = answer_of(run)
    assert answer is not None
    assert answer.use.study.algorithm.label == "fc-rcgp-ucb"


def test_before_the_end_the_study_that_is_furthest_answers(tmp_path: Path) -> None:
    run = finished(tmp_path, algorithms=["a2-rcgp-ucb"], seeds=2)
    cut_short(run, run.studies[0], 5)
    cut_short(run, run.studies[1], 9)
    answer = answer_of(run)
    assert answer is not None
    assert (answer.use.study.seed, answer.use.done) == (1, 9)
    assert "after 9 of 12 trials" in answer.sentence()


def test_without_a_model_the_report_is_all_there_is(tmp_path: Path) -> None:
    answer = answer_of(finished(tmp_path, algorithms=["random"], seeds=1))
    assert answer is not None
    assert f"believed {answer.use.reported:.4g}, as reported (no model)" in answer.sentence()


def test_what_no_trusted_report_supports_is_to_be_measured_again(run: Run) -> None:
    answer = answer_of(run)
    assert answer is not None
    alone = replace(answer.use, support=0)
    assert "no trusted report nearby: measure it again)." in Answer(alone).sentence()
    assert "1 trusted report nearby" in Answer(replace(alone, support=1)).sentence()


def test_of_several_seeds_the_one_believed_best_answers(run: Run) -> None:
    answer = answer_of(run)
    assert answer is not None
    ends = [of_type(events_of(run, s), StudyEnded)[0] for s in run.studies if s.algorithm == answer.use.study.algorithm]
    assert len(ends) == 2
    assert answer.use.mean == max(end.mean for end in ends if end.mean is not None)


def test_what_the_journal_concluded_is_what_a_replay_concludes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = answer_of(run)
    assert kept is not None
    monkeypatch.setattr("orchestrator.review.answer.concluded", lambda run, study: None)
    report = Report.of(run)
    again = recommend(kept.use.study, report.objective, report.frame, run)
    assert again is not None
    assert (again.number, again.mean, again.std) == (kept.use.number, kept.use.mean, kept.use.std)


def test_random_search_which_may_be_ahead_for_a_while_is_not_asked(run: Run, tmp_path: Path) -> None:
    """It would hand over the largest lie."""
    early = finished(tmp_path, adversaries=CRASHES, seeds=1)
    plain, careful, _ = early.studies
    cut_short(early, plain, 5)
    cut_short(early, careful, 5)
    answer = answer_of(early)
    assert answer is not None
    assert answer.use.study == careful
