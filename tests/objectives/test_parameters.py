"""Axes of a space: floats stay in their bounds, and integers, steps and choices are tried at their own positions."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives import Choice, Parameter

GRIDS = [
    (Parameter("a", 1, 8, integer=True), list(range(1, 9))),
    (Parameter("a", -3, 3, integer=True), list(range(-3, 4))),
    (Parameter("a", 16, 64, step=16, integer=True), [16, 32, 48, 64]),
    (Parameter("a", 1, 1000, log=True, integer=True), list(range(1, 1001))),
    (Parameter("a", 0.0, 0.5, step=0.1), [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]),
    (Parameter("a", -0.3, 0.3, step=0.1), [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]),
    (Parameter("a", 0.1 + 0.2, 0.7, step=0.1), [0.1 + 0.2, 0.4, 0.5, 0.6, 0.7]),
    (Parameter("a", 1e-4, 5e-4, step=1e-4, log=True), [1e-4, 2e-4, 3e-4, 4e-4, 5e-4]),
    (Choice("a", ("rbf", "poly", "sigmoid")), ["rbf", "poly", "sigmoid"]),
    (Choice("a", [True, False]), [True, False]),
    (Choice("a", (16, 32, 0.5, "auto")), [16, 32, 0.5, "auto"]),
]


@given(u=st.floats(0, 1), low=st.floats(-1e6, 1e6), width=st.floats(1e-3, 1e6))
@settings(max_examples=200)
def test_linear_axes_stay_in_their_bounds(u: float, low: float, width: float) -> None:
    axis = Parameter("a", low, low + width)
    assert axis.low <= axis.value_at(u) <= axis.high
    assert axis.position_of(axis.value_at(u)) == pytest.approx(u, abs=1e-6)


@given(u=st.floats(0, 1), low=st.floats(1e-12, 1e6), ratio=st.floats(1.001, 1e9))
@settings(max_examples=200)
def test_log_axes_stay_in_their_bounds(u: float, low: float, ratio: float) -> None:
    axis = Parameter("a", low, low * ratio, log=True)
    assert axis.low <= axis.value_at(u) <= axis.high
    assert axis.position_of(axis.value_at(u)) == pytest.approx(u, abs=1e-6)


@pytest.mark.parametrize("log", [False, True])
def test_rounding_never_leaves_the_bounds(log: bool) -> None:
    rng = np.random.default_rng(0)
    for low, width in zip(rng.uniform(0.1, 10, 500), rng.uniform(0.1, 100, 500), strict=True):
        axis = Parameter("a", low, low + width, log)
        assert axis.position_of(axis.value_at(1.0)) == pytest.approx(1.0)  # refuses what lies above `high`
        assert axis.position_of(axis.value_at(0.0)) == 0.0


def test_the_middle_of_a_log_axis_is_the_geometric_mean() -> None:
    assert Parameter("lr", 1e-5, 1e-1, log=True).value_at(0.5) == pytest.approx(1e-3)


def test_a_float_is_tried_where_it_is_asked_for() -> None:
    axis, u = Parameter("a", 0.1, 3.0, log=True), np.random.default_rng(0).random(50)
    assert axis.count is None
    np.testing.assert_array_equal(axis.project(u), u)


@pytest.mark.parametrize(("axis", "values"), GRIDS)
def test_exactly_these_values_can_be_tried(axis: Parameter | Choice, values: list[object]) -> None:
    assert axis.count == len(values)
    tried = [axis.value_at(u) for u in np.linspace(0, 1, 30_001 if len(values) > 100 else 2001)]
    assert list(dict.fromkeys(tried)) == values  # in this order, each of them, and no others
    assert {type(v) for v in tried} == {type(v) for v in values}


@pytest.mark.parametrize(("axis", "values"), GRIDS)
def test_every_value_comes_back_from_its_own_position(axis: Parameter | Choice, values: list[object]) -> None:
    positions = np.array([axis.position_of(v) for v in values])
    assert [axis.value_at(u) for u in positions] == values
    assert (np.diff(positions) > 0).all()
    np.testing.assert_array_equal(axis.project(positions), positions)


@pytest.mark.parametrize(("axis", "values"), GRIDS)
def test_what_is_asked_for_is_tried_at_the_position_of_its_value(
    axis: Parameter | Choice, values: list[object]
) -> None:
    u = np.random.default_rng(0).random((40, 3))
    expected = np.vectorize(lambda v: axis.position_of(axis.value_at(v)))(u)
    np.testing.assert_array_equal(axis.project(u), expected)


@given(low=st.integers(-50, 50), steps=st.integers(1, 40), step=st.integers(1, 9), u=st.floats(0, 1))
def test_integers_are_ints_on_the_grid_within_their_bounds(low: int, steps: int, step: int, u: float) -> None:
    axis = Parameter("a", low, low + steps * step, step=step, integer=True)
    value = axis.value_at(u)
    assert isinstance(value, int)
    assert value in range(low, low + steps * step + 1, step)
    assert axis.value_at(axis.position_of(value)) == value


@pytest.mark.parametrize("axis", [Parameter("a", 1, 5, integer=True), Choice("a", ("p", "q", "r", "s", "t"))])
def test_on_an_even_scale_every_value_is_equally_likely(axis: Parameter | Choice) -> None:
    counts = np.unique(axis.project(np.linspace(0, 1, 10_000, endpoint=False)), return_counts=True)[1]
    assert set(counts) <= {1999, 2000, 2001}


def test_on_a_log_scale_small_integers_have_more_room() -> None:
    axis = Parameter("a", 1, 100, log=True, integer=True)
    assert [axis.value_at(u) for u in (0.0, 0.1, 0.5, 1.0)] == [1, 1, 7, 100]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Parameter("a", 1.0, 1.0), r"'a' needs finite bounds, low < high; got \[1.0, 1.0\]"),
        (lambda: Parameter("a", 0.0, float("inf")), "finite"),
        (lambda: Parameter("a", float("nan"), 1.0), "finite"),
        (lambda: Parameter("a", "0", 1.0), r"finite bounds.*got \['0', 1.0\]"),  # type: ignore[arg-type]
        (lambda: Parameter("a", 0.0, 1.0, log=True), "'a' is on a log scale.*got 0.0"),
        (lambda: Parameter("", 0.0, 1.0), "name"),
        (lambda: Parameter("a", 0.0, 1.0, step=0.0), "positive step, got 0.0"),
        (lambda: Parameter("a", 0.0, 1.0, step="0.1"), "positive step, got '0.1'"),  # type: ignore[arg-type]
        (lambda: Parameter("a", 0.0, 1.0, step=0.3), "steps of 0.3 from 0.0 miss 1.0; high = 0.9 would do"),
        (lambda: Parameter("a", 0.0, 1.0, step=3.0), "steps of 3.0 from 0.0 miss 1.0; high = 3 would do"),
        (lambda: Parameter("a", 0.5, 8, integer=True), "must be whole; got low 0.5, high 8, step 1"),
        (lambda: Parameter("a", 0, 8, step=0.5, integer=True), "must be whole.*step 0.5"),
        (lambda: Parameter("a", 0.1, 1.1, step=0.5, log=True), "low > step / 2; got low 0.1, step 0.5"),
        (lambda: Parameter("a", 1, 8, integer=True).position_of(2.5), "a must be 1 plus a multiple of 1, got 2.5"),
        (lambda: Parameter("a", 1, 8, integer=True).position_of("2"), r"a must lie in \[1, 8\], got '2'"),
        (lambda: Choice("a", ()), "two or more different values, got \\[\\]"),
        (lambda: Choice("a", ("b",)), "two or more"),
        (lambda: Choice("a", ("b", "b")), "different"),
        (lambda: Choice("a", (1, True)), "different"),
        (lambda: Choice("a", "bc"), "got the text 'bc'"),
        (lambda: Choice("a", ("b", None)), "texts, finite numbers and booleans, got None"),  # type: ignore[arg-type]
        (lambda: Choice("a", ("b", [1])), r"got \[1\]"),  # type: ignore[arg-type, list-item]
        (lambda: Choice("", ("b", "c")), "name"),
        (lambda: Choice("a", ("b", "c")).position_of("d"), "a must be one of 'b', 'c'; got 'd'"),
    ],
)
def test_impossible_axes_and_values_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        build()
    assert "\n" not in str(refusal.value)
