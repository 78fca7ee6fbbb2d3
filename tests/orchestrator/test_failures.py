"""Where trials fail, in words: a region is found, and none is seen where there is none."""

import math

import numpy as np
import pytest

from orchestrator.failures import Coordinate, Failures, between, failures_of


def measured(points: np.ndarray, failed: np.ndarray, **changes: list[object]) -> Failures | None:
    coordinates = [Coordinate(f"x{i}", points[:, i].tolist(), ordered=True) for i in range(points.shape[1])]
    coordinates += [Coordinate(name, values, ordered=False) for name, values in changes.items()]
    return failures_of(failed, (), coordinates, points)


@pytest.mark.parametrize("dim", [1, 4])
def test_a_region_is_told_by_the_coordinate_that_bounds_it(dim: int) -> None:
    rng = np.random.default_rng(dim)
    points = rng.random((60, dim))
    found = measured(points, points[:, 0] > 0.7)
    assert found is not None
    inside = int((points[:, 0] > 0.7).sum())
    assert found.telling[0].rule.name == "x0"
    assert found.telling[0].rule.low == pytest.approx(0.7, abs=0.05)
    assert str(found) == (
        f"{inside} of 60 trials failed: only where x0 > {found.telling[0].rule.low:g} ({inside} of {inside} trials there failed, "
        f"0 of {60 - inside} elsewhere)."
    )


def test_the_part_beyond_or_between_two_bounds_is_told() -> None:
    points = np.random.default_rng(0).random((80, 2))
    between_them = measured(points, np.abs(points[:, 1] - 0.5) < 0.2)
    beyond_them = measured(points, np.abs(points[:, 1] - 0.5) > 0.3)
    assert between_them is not None
    assert beyond_them is not None
    within, apart = between_them.telling[0].rule, beyond_them.telling[0].rule
    assert not within.apart
    assert (within.low, within.high) == pytest.approx((0.3, 0.7), abs=0.05)
    assert apart.apart
    assert (apart.low, apart.high) == pytest.approx((0.2, 0.8), abs=0.05)
    assert " < x1 < " in str(within)
    assert " or > " in str(apart)


def test_choices_and_a_second_parameter_are_told_of_the_trials_that_the_first_leaves() -> None:
    rng = np.random.default_rng(1)
    points = rng.random((120, 2))
    kernels = [str(k) for k in rng.choice(["a", "b", "c"], 120)]
    failed = (np.array(kernels) == "b") | (points[:, 1] > 0.75)
    found = measured(points, failed, kernel=list(kernels))
    assert found is not None
    assert {str(t.rule).split()[0] for t in found.telling} == {"kernel", "x1"}
    assert sum(t.failed_inside for t in found.telling) == failed.sum()
    assert "kernel = b (" in " ".join(map(str, found.telling))


def test_failures_at_random_have_no_place_but_for_one_search_in_forty() -> None:
    rng = np.random.default_rng(0)
    named = 0
    for _ in range(80):
        points, failed = rng.random((60, 5)), rng.random(60) < 0.25
        found = measured(points, failed)
        assert found is not None
        named += bool(found.telling)
    assert named <= 2


def test_one_place_that_is_tried_again_and_again_is_one_witness() -> None:
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.random((30, 2)), np.tile([[0.3, 0.55]], (20, 1)) + 0.002 * rng.random((20, 2))])
    failed = np.arange(50) >= 30
    failed[[3, 9, 17, 25]] = True
    found = measured(points, failed)
    assert found is not None
    assert not found.telling


def test_few_failures_and_nothing_but_failures_say_so() -> None:
    points = np.linspace(0, 1, 20)[:, None]
    few, all_ = measured(points, points[:, 0] > 0.9), measured(points, np.ones(20, dtype=bool))
    assert measured(points, np.zeros(20, dtype=bool)) is None
    assert few is not None
    assert all_ is not None
    assert math.isnan(few.placed)
    assert str(few) == "2 of 20 trials failed: too few to say where."
    assert str(all_) == "20 of 20 trials failed: nothing is known of where trials succeed."


def test_a_trial_without_a_value_is_in_no_part_of_its_range() -> None:
    rng = np.random.default_rng(3)
    momentum = [float(v) if i % 2 else None for i, v in enumerate(rng.random(80))]
    failed = np.array([v is not None and v > 0.6 for v in momentum])
    points = np.array([[0.5 if v is None else v] for v in momentum])
    found = failures_of(failed, (), [Coordinate("sgd/momentum", momentum, ordered=True)], points)
    assert found is not None
    assert found.telling[0].failed_inside == failed.sum()
    assert found.telling[0].failed_outside == 0
    assert found.telling[0].inside + found.telling[0].outside == 80


@pytest.mark.parametrize(
    ("low", "high", "log", "short"), [(0.29, 0.32, False, 0.3), (4, 5, False, 4.5), (1e-5, 1e-2, True, 3e-4)]
)
def test_a_bound_has_as_few_digits_as_keep_its_neighbours_apart(
    low: float, high: float, log: bool, short: float
) -> None:
    assert between(low, high, log) == short
