"""How integers and choices are drawn, on axes of their own and in the report of a campaign."""

import json
from pathlib import Path

import numpy as np
import pytest
from small_runs import finished

from objectives import Choice, Parameter, Space
from orchestrator.review.axes import grid_of, labels, scale_of, ticks
from orchestrator.review.files import write_files
from orchestrator.review.page import page_data
from orchestrator.review.posterior import points_of
from orchestrator.review.report import Report

RATE, LAYERS = Parameter("rate", 1e-4, 1e-1, log=True), Parameter("layers", 1, 6, integer=True)
SIZE = Choice("size", (16, 32, 64))


def test_choices_are_categories_and_numbers_keep_their_scale() -> None:
    assert [scale_of(p) for p in (RATE, LAYERS, SIZE)] == ["log", "linear", "category"]


def test_a_choice_reads_the_same_however_a_table_kept_it() -> None:
    assert labels(SIZE, [16, 32.0, np.int64(64)]) == ["16", "32", "64"]
    assert labels(LAYERS, [1, 2]) == [1, 2]
    assert ticks(SIZE, np.array([0.1, 0.9])) == ["16", "64"]


def test_a_grid_has_each_value_that_can_be_tried_once() -> None:
    grid = grid_of(Space((LAYERS, SIZE)), 27)
    assert grid.shape == (6 * 3, 2)
    assert [LAYERS.value_at(u) for u in np.unique(grid[:, 0])] == [1, 2, 3, 4, 5, 6]
    assert grid_of(Space((RATE, SIZE)), 27).shape == (27 * 3, 2)


@pytest.mark.parametrize(
    ("objective", "axes", "scales"),
    [
        ("mixed:Mixed", [[1, 2, 3, 4, 5, 6], ["linear", "poly", "rbf"]], ["linear", "category"]),
        ("mixed:KernelAlone", [["linear", "poly", "rbf"]], ["category"]),
    ],
)
def test_integers_and_choices_are_reported_as_they_were_declared(
    tmp_path: Path, objective: str, axes: list[list[object]], scales: list[str]
) -> None:
    crash = [{"name": "crash", "budget": 2}]
    run = finished(tmp_path, objective=objective, algorithms=["a2-rcgp-ucb"], adversaries=crash, seeds=1)
    report = Report.of(run)
    posterior = json.loads(json.dumps(page_data(report), allow_nan=False))["posterior"]
    assert (posterior["axes"], posterior["scales"], posterior["cells"]) == (axes, scales, True)
    for axis, tried in zip(axes, posterior["studies"][0]["x"], strict=True):
        assert set(tried) <= set(axis)
    assert "posterior.png" in {path.name for path in write_files(report)}
    space, points = report.objective.space, points_of(report.frame, report.objective)
    np.testing.assert_array_equal(space.project(points), points)
