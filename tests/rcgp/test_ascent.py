"""The ascent: SciPy's routine called directly takes the steps of the public function, and stops for the same reasons."""

import math

import numpy as np
import pytest

from rcgp import ascent
from rcgp.ascent import Box, Effort, _by_minimize, _directly
from rcgp.gaussian import Array

WAYS = [pytest.param(_directly, marks=pytest.mark.skipif(not ascent.DIRECT, reason="another SciPy")), _by_minimize]


def valley(x: Array) -> tuple[float, Array]:
    """Rosenbrock's function upside down: the maximum 0 is at (1, ..., 1), along a curved ridge."""
    step, rest = x[1:] - x[:-1] ** 2, 1.0 - x[:-1]
    gradient = np.zeros(len(x))
    gradient[1:] -= 200.0 * step
    gradient[:-1] += 400.0 * x[:-1] * step + 2.0 * rest
    return -float(np.sum(100.0 * step**2 + rest**2)), gradient


def box(dim: int, high: float) -> Box:
    return Box(np.full(dim, -1.0), np.full(dim, high))


@pytest.mark.skipif(not ascent.DIRECT, reason="another SciPy")
@pytest.mark.parametrize(
    "effort", [Effort(200, 1e-9, 1e-6), Effort(7, 1e-9, 1e-6), Effort(200, 1e-9, 1e-6, needed=5.0)]
)
@pytest.mark.parametrize("high", [0.8, 2.0])
@pytest.mark.parametrize("dim", [2, 15])
def test_both_ways_take_the_same_steps(dim: int, high: float, effort: Effort) -> None:
    start = np.random.default_rng(dim).uniform(-1.0, high, dim)
    (x, value), (expected, best) = (
        way(valley, start.copy(), box(dim, high), effort) for way in (_directly, _by_minimize)
    )
    np.testing.assert_array_equal(x, expected)
    assert value == best


@pytest.mark.parametrize("way", WAYS)
def test_the_maximum_is_found_and_what_cannot_be_reached_is_given_up(way: object) -> None:
    assert callable(way)
    calls = []

    def counted(x: Array) -> tuple[float, Array]:
        calls.append(1)
        return valley(x)

    start, effort = np.full(3, -0.5), Effort(500, 1e-12, 1e-8)
    x, value = way(counted, start.copy(), box(3, 2.0), effort)
    np.testing.assert_allclose(x, 1.0, atol=1e-4)
    to_the_top = len(calls)
    _, lower = way(counted, start.copy(), box(3, 2.0), Effort(500, 1e-12, 1e-8, needed=1000.0))
    assert len(calls) - to_the_top < 0.5 * to_the_top
    assert lower < value
    assert not Effort(1, 0.0, 0.0).is_hopeless(-math.inf, -1.0)  # nothing is needed


def test_a_start_outside_of_the_box_begins_at_its_border() -> None:
    x, _ = ascent.ascend(
        lambda x: (float(x.sum()), np.ones(2)), np.array([-9.0, 9.0]), box(2, 2.0), Effort(50, 1e-9, 1e-6)
    )
    np.testing.assert_array_equal(x, [2.0, 2.0])
