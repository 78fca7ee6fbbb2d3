"""What MLflow is given of a study, in its words; the rest of `entries` is held by test_tracker.py, against a real MLflow."""

from mixed import Mixed

from orchestrator.campaign.study import Observation
from orchestrator.tracking.entries import trial_params


def test_a_trials_parameters_are_plain_texts() -> None:
    objective = Mixed()
    point = objective.space.from_units({"layers": 3, "kernel": "poly"})
    observation = Observation(0, tuple(point), 0.0, 0.0, 0.0)
    assert trial_params(observation, objective) == {"layers": "3", "kernel": "poly"}
