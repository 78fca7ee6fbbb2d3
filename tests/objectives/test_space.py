"""The unit cube on one side, named values in their own units on the other."""

import json
from collections.abc import Callable

import numpy as np
import pytest

from objectives import Choice, Parameter, Space

MIXED = Space(
    (
        Parameter("rate", 1e-4, 1e-1, log=True),
        Parameter("layers", 1, 4, integer=True),
        Parameter("dropout", 0.0, 0.5, step=0.1),
        Choice("kernel", ("rbf", "poly", "linear")),
    )
)


def test_the_objective_gets_values_of_the_declared_kinds() -> None:
    values = MIXED.to_units([0.5, 0.3, 0.9, 0.5])
    assert values == {"rate": pytest.approx(10**-2.5), "layers": 2, "dropout": 0.5, "kernel": "poly"}
    assert [type(v) for v in values.values()] == [float, int, float, str]


def test_what_was_tried_survives_json_and_comes_back_as_the_point_that_was_tried() -> None:
    points = MIXED.project(np.random.default_rng(0).random((200, 4)))
    for x in points:
        back = MIXED.from_units(json.loads(json.dumps(MIXED.to_units(x))))
        np.testing.assert_allclose(back, x, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(back[1:], x[1:])


def test_projecting_keeps_floats_and_moves_nothing_twice() -> None:
    asked = np.random.default_rng(1).random((300, 4))
    tried = MIXED.project(asked)
    np.testing.assert_array_equal(tried[:, 0], asked[:, 0])
    assert [len(np.unique(column)) for column in tried.T] == [300, 4, 6, 3]
    np.testing.assert_array_equal(MIXED.project(tried), tried)
    assert all(MIXED.to_units(a) == MIXED.to_units(b) for a, b in zip(asked, tried, strict=True))


def test_a_space_of_floats_alone_is_continuous() -> None:
    assert not MIXED.continuous
    assert Space(MIXED.parameters[:1]).continuous


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Space(()), "at least one"),
        (lambda: Space((Parameter("a", 0, 1), Parameter("a", 0, 2))), "repeated: a"),
        (lambda: Space((Parameter("a", 0, 1), Choice("a", ("b", "c")))), "repeated: a"),
        (lambda: Space((("a", 0, 1),)), r"consists of Parameter and Choice, got \('a', 0, 1\)"),  # type: ignore[arg-type]
        (lambda: Space((Parameter("a", 0, 1),)).from_units({"b": 1.0}), r"unknown: \['b'\], missing: \['a'\]"),
        (lambda: Space((Parameter("a", 0, 1),)).from_units({"a": 1.5}), r"a must lie in \[0, 1\], got 1.5"),
        (lambda: MIXED.to_units([0.5, 0.5]), r"x must have shape \(4,\)"),
        (lambda: MIXED.to_units([0.5, 0.5, np.nan, 0.5]), r"coordinate 2 \(dropout\) is nan"),
    ],
)
def test_impossible_spaces_and_values_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build()
