"""Rulings that people set as tags in MLflow: heard once, shown with author and reason, refused in one line."""

from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from orchestrator.campaign.campaign import Campaign
from orchestrator.campaign.runs import Run
from orchestrator.engine.events import Observation, Ruling, StudyEnded, of_type
from orchestrator.engine.history import events_of, observations, rulings
from orchestrator.errors import UserError
from orchestrator.session import conduct
from orchestrator.tracking.rulings import ANSWER, RULED, RULING, parsed

PLAN: dict[str, Any] = {
    "name": "night",
    "objective": "forrester",
    "algorithms": ["a2-rcgp-ucb"],
    "trials": 4,
    "initial": 4,
    "tracking": {"nested": True},
}


def test_a_tag_is_read_with_its_reason() -> None:
    assert list(parsed("17=lie, 23=true because it ran again", None)) == [(17, "lie", ""), (23, "true", "it ran again")]
    assert list(parsed("LIE: its fan", 5)) == [(5, "lie", "its fan")]
    for text, trial in (("lie", None), ("17 is a lie", None), ("", 3)):
        with pytest.raises(UserError, match="expected 17=lie, 23=true on a study, or lie, true, again or clear"):
            list(parsed(text, trial))


def test_tags_on_a_study_and_on_a_trial_are_heard_on_resume_and_once(store: str, tmp_path: Path) -> None:
    plan = PLAN | {"tracking": {"nested": True, "uri": store}}
    run = Run.create(tmp_path, "night", Campaign.from_dict(plan))
    conduct(run, ray=False)
    client = MlflowClient(store)
    (experiment,) = client.search_experiments(filter_string="name = 'night'")
    by_kind: dict[str, Any] = {}
    for found in client.search_runs([experiment.experiment_id]):
        tags = found.data.tags
        by_kind[tags["orchestrate.kind"] + tags.get("orchestrate.trial", "")] = found.info.run_id
    client.set_tag(by_kind["study"], RULING, "2=lie because of its fan, 99=lie")
    client.set_tag(by_kind["trial3"], RULING, "again")
    (study,) = run.studies
    for _ in range(2):
        conduct(run, ray=False)
        events = events_of(run, study)
        assert [(r.number, r.ruling, r.author, r.because) for r in of_type(events, Ruling)] == [
            (3, "again", "MLflow", ""),
            (2, "lie", "MLflow", "of its fan"),
        ] or [(r.number, r.ruling) for r in of_type(events, Ruling)] == [(2, "lie"), (3, "again")]
        assert len(of_type(events, StudyEnded)) == 2
    assert of_type(events, Observation)[-1].replicate_of == 3
    assert {o.number: o.weight for o in observations(events)}[2] < 0.5
    assert list(rulings(events)) == [2]
    tags = client.get_run(by_kind["study"]).data.tags
    assert "trial 99 of a2-rcgp-ucb.honest.seed0 has not come back" in tags[ANSWER]
    assert tags[RULED] == "2=lie by MLflow because of its fan"
    assert "Ruled by people: 2=lie by MLflow" in tags["mlflow.note.content"]
    assert client.get_run(by_kind["trial2"]).data.tags[RULED] == "lie by MLflow because of its fan"
    assert client.get_run(by_kind["trial3"]).data.tags[ANSWER] == "heard: again"
    assert client.get_run(by_kind["trial2"]).data.metrics["weight"] < 0.5
    assert client.get_run(by_kind["study"]).info.status == "FINISHED"
