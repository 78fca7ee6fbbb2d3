"""Regret, as the paper counts it: on the true value, from the known maximum or the best of all runs."""

from pathlib import Path

import numpy as np
import pytest

from orchestrator import session
from orchestrator.campaign.runs import Run
from orchestrator.engine import runner
from orchestrator.review.report import trials_frame

HERE = str(Path(__file__).parents[1])


def frame_of(folder: Path, objective, **changes):
    plan = {"name": "r", "objective": objective, "algorithms": ["random"], "trials": 6, "initial": 2, "seeds": 2}
    return session.run(plan | {"tracking": {"enabled": False}} | changes, root=folder / "runs", ray=False)


def test_with_a_known_maximum_regret_is_the_distance_to_it(tmp_path):
    frame = frame_of(tmp_path, "forrester", adversaries=[{"name": "crash", "value": 1e6, "budget": 3}])
    assert frame["corrupted"].sum() == 6
    assert np.allclose(frame["regret"], 16 * np.sin(8.0) - frame["value"])
    assert (frame["regret"] >= 0).all(), "a lie of a million is no progress"
    for _, study in frame.groupby("study"):
        chosen = study["regret"].where(study["number"] >= 2, 0.0)
        assert np.allclose(study["cumulative_regret"], chosen.cumsum()), "initial trials are nobody's choice"
        assert np.allclose(study["simple_regret"], np.minimum.accumulate(study["regret"]))


def test_without_one_the_best_true_value_of_all_runs_stands_in(tmp_path):
    frame = frame_of(tmp_path, {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False})
    assert np.array_equal(frame["value"], frame["y_true"])
    assert frame["regret"].min() == 0.0
    assert (frame["regret"] == 0.0).sum() == 1
    assert np.allclose(frame["regret"], frame["y_true"].max() - frame["y_true"])


def test_a_trial_that_never_returned_counts_as_the_worst(tmp_path):
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False, "faults": {"3": "raise"}}
    frame = frame_of(tmp_path, objective, seeds=1, retries=0)
    failed = frame[frame["failed"]]
    assert list(failed["number"]) == [3]
    assert failed["regret"].item() == pytest.approx(frame["value"].max() - frame["value"].min())


def test_parameters_come_in_their_own_units(tmp_path):
    frame = frame_of(tmp_path, "branin", seeds=1)
    assert frame["param.x1"].between(-5, 10).all()
    assert frame["param.x2"].between(0, 15).all()
    assert frame["param.x1"].min() < 0


def test_a_run_without_a_finished_trial_is_an_empty_frame(tmp_path):
    from orchestrator.campaign.campaign import Campaign

    run = runner.start(Campaign.load("smoke"), root=tmp_path)
    assert trials_frame(Run.open(tmp_path, run.name)).empty
