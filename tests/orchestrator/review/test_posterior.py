"""What was believed over time: told again, it is what was lived."""

from pathlib import Path

import pytest
from small_runs import finished

from orchestrator.campaign.runs import Run
from orchestrator.engine.history import observations_of
from orchestrator.review import posterior
from orchestrator.review.posterior import replay, rows_of, states_of
from orchestrator.review.report import Report


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return finished(tmp_path_factory.mktemp("posterior"))


def test_posteriors_told_again_are_those_that_were_lived(run: Run) -> None:
    history = {h.study.algorithm.label: h for h in Report.of(run).histories}
    assert set(history) == {"gp-ucb", "a2-rcgp-ucb"}
    lived = history["a2-rcgp-ucb"]
    seen = observations_of(run, lived.study)
    assert lived.posteriors[-1].weights.tolist() == [o.weight for o in seen]
    assert [p.told for p in lived.posteriors] == [*range(4, 11), 12], "ten are lived again, and the end is kept"
    truth = lived.truth()
    assert truth is not None
    assert truth.max() == pytest.approx(15.83, abs=0.05)


def test_what_the_journal_kept_spares_the_thinking_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished(tmp_path, algorithms=["a2-rcgp-ucb"], seeds=1, trials=60)
    report, (study,) = Report.of(run), run.studies
    rows, states = rows_of(report.frame, study), states_of(run, study)
    assert len(states) >= 2
    whole = replay(study, report.objective, rows, {})
    looked: list[int] = []
    monkeypatch.setattr(posterior, "LIVED_AGAIN", 10)
    spared = replay(study, report.objective, rows, states, lambda told, _: looked.append(told))
    assert spared.weights().tolist() == whole.weights().tolist()
    assert spared.recommend() == whole.recommend()
    assert set(range(11, max(states))) & set(looked) == {told for told in states if 10 < told < max(states)}
