"""Regret, as the paper counts it: on the true value, from the known maximum or the best of all runs."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas import DataFrame, Series
from small_runs import finished, started

from objectives import make_objective
from orchestrator.campaign.runs import Run
from orchestrator.review.regret import (
    band_curves,
    best_so_far,
    depths,
    most_in_common,
    reference,
    regret_curves,
    trials_frame,
    with_regret,
)


def frame_of(folder: Path, objective: Any, **changes: Any) -> DataFrame:
    plan = {"algorithms": ["random"], "adversaries": ["honest"], "trials": 6, "initial": 2} | changes
    return trials_frame(finished(folder / "runs", objective=objective, **plan))


def test_regret_starts_after_the_initial_trials_and_a_lost_trial_counts_as_the_worst() -> None:
    values = np.array([1.0, 3.0, math.nan, 2.0, math.inf])
    curves = regret_curves(np.arange(5), values, best=4.0, worst=1.0, initial=2)
    assert curves["regret"].tolist() == [3.0, 1.0, 3.0, 2.0, 3.0]
    assert curves["simple_regret"].tolist() == [3.0, 1.0, 1.0, 1.0, 1.0]
    assert curves["cumulative_regret"].tolist() == [0.0, 0.0, 3.0, 5.0, 8.0]
    assert best_so_far(np.array([math.nan, 1.0, 0.5, 2.0])).tolist()[1:] == [1.0, 1.0, 2.0]


def test_regret_is_measured_from_the_known_maximum_else_from_the_best_seen() -> None:
    values = np.array([1.0, math.nan, 3.0])
    known, unknown = make_objective("forrester"), make_objective("lander")
    assert known.optimum is not None
    assert reference(values, known) == (known.optimum.value, 1.0)
    assert reference(values, unknown) == (3.0, 1.0)


def test_with_a_known_maximum_regret_is_the_distance_to_it(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, "forrester", adversaries=[{"name": "crash", "value": 1e6, "budget": 3}])
    assert frame["corrupted"].sum() == 6
    assert np.allclose(frame["regret"], 16 * np.sin(8.0) - frame["value"])
    assert (frame["regret"] >= 0).all(), "a lie of a million is no progress"
    for _, study in frame.groupby("study"):
        chosen = study["regret"].where(study["number"] >= 2, 0.0)
        assert np.allclose(study["cumulative_regret"], chosen.cumsum()), "initial trials are nobody's choice"
        assert np.allclose(study["simple_regret"], np.minimum.accumulate(study["regret"]))


def test_without_one_the_best_true_value_of_all_runs_stands_in(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False})
    assert np.array_equal(frame["value"], frame["y_true"])
    assert frame["regret"].min() == 0.0
    assert (frame["regret"] == 0.0).sum() == 1
    assert np.allclose(frame["regret"], frame["y_true"].max() - frame["y_true"])


def test_a_trial_that_never_returned_counts_as_the_worst(tmp_path: Path) -> None:
    objective = {"name": "faulty:Faulty", "folder": str(tmp_path), "known": False, "faults": {"3": "raise"}}
    frame = frame_of(tmp_path, objective, seeds=1, retries=0)
    failed = frame[frame["failed"]]
    assert list(failed["number"]) == [3]
    assert failed["regret"].item() == pytest.approx(frame["value"].max() - frame["value"].min())


def test_parameters_come_in_their_own_units(tmp_path: Path) -> None:
    frame = frame_of(tmp_path, "branin", seeds=1)
    assert frame["param.x1"].between(-5, 10).all()
    assert frame["param.x2"].between(0, 15).all()
    assert frame["param.x1"].min() < 0


def test_a_run_without_a_finished_trial_is_an_empty_frame(tmp_path: Path) -> None:
    run = started(tmp_path)
    assert trials_frame(Run.open(tmp_path, run.name)).empty


def trials(done: dict[int, int], algorithm: str = "a2", initial: int = 2) -> DataFrame:
    """The trials of studies that are so far: seed -> trials after the initial ones."""
    rows = [(seed, number) for seed, chosen in done.items() for number in range(initial + chosen)]
    frame = DataFrame(rows, columns=["seed", "number"]).assign(adversary="liar", algorithm=algorithm)
    return frame.assign(study=algorithm + frame["seed"].astype(str), cumulative_regret=frame["number"].astype(float))


def test_depth_counts_chosen_trials_up_to_the_first_that_is_still_out() -> None:
    frame = trials({0: 5, 1: 5, 2: 0})
    frame = frame[~((frame["seed"] == 1) & (frame["number"] == 4))]
    assert depths(frame, 2)[["seed", "trials"]].to_numpy().tolist() == [[0, 5], [1, 2]]


@pytest.mark.parametrize(
    ("depth", "trials", "seeds"),
    [
        ({0: 30, 1: 30, 2: 3}, 30, [0, 1]),  # a seed that has just begun does not cut the others short
        ({0: 17, 1: 18, 2: 20}, 17, [0, 1, 2]),
        ({0: 4, 1: 8}, 8, [1]),  # as much either way: the longer
        ({0: 0}, 0, []),
        ({}, 0, []),
    ],
)
def test_the_largest_comparison_wins(depth: dict[int, int], trials: int, seeds: list[int]) -> None:
    assert most_in_common(Series(depth, dtype=int)) == (trials, seeds)


def test_a_mean_curve_ends_where_its_seeds_end() -> None:
    ((label, curve),) = band_curves(trials({0: 10, 1: 10, 2: 2}), 2, ["cumulative_regret"])["cumulative_regret"]
    assert label == "a2"
    assert curve.index.tolist() == list(range(2, 12)), "numbered as the trials are, without the initial ones"
    assert curve["mean"].tolist() == [float(n) for n in range(2, 12)]


def test_recommended_regret_is_that_of_what_would_be_handed_over(tmp_path: Path) -> None:
    """A lie that is believed costs nothing in the best tried, and everything in what is handed over."""
    run = finished(tmp_path, algorithms=["random"], adversaries=[{"name": "crash", "value": 1e6, "budget": 1}], seeds=1)
    frame = trials_frame(run)
    lie = int(frame.loc[frame["corrupted"], "number"].item())
    after = frame[frame["number"] >= lie]
    assert set(after["recommended"]) == {lie}
    assert np.allclose(after["recommended_regret"], frame["regret"][lie])
    before = frame[frame["number"] < lie]
    highest = before["y"].expanding().apply(np.argmax).astype(int)
    assert before["recommended"].tolist() == highest.tolist()


def test_journals_that_do_not_say_it_have_no_recommended_regret(tmp_path: Path) -> None:
    frame = trials_frame(finished(tmp_path, algorithms=["random"], seeds=1)).drop(columns="recommended")
    again = with_regret(frame, make_objective("forrester"), 4)
    assert again["recommended_regret"].isna().all()
