"""What MLflow's runs are called, and their parameters; the tags of whole runs are held by test_tracker.py."""

from mixed import Mixed

from orchestrator.engine.events import Observation
from orchestrator.tracking.tags import clean, trial_params


def test_a_trials_parameters_are_plain_texts() -> None:
    objective = Mixed()
    point = objective.space.from_units({"layers": 3, "kernel": "poly"})
    observation = Observation(0, tuple(point), 0.0, 0.0, 0.0)
    assert trial_params(observation, objective) == {"layers": "3", "kernel": "poly"}


def test_a_name_that_mlflow_would_refuse_is_made_one_it_takes() -> None:
    assert clean("learning rate [1/s] <b>") == "learning rate _1/s_ _b_"
    assert len(clean("x" * 1000)) == 250
