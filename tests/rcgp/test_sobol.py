"""Sobol points are SciPy's own, bit for bit, without its `stats`."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import qmc

from rcgp.sobol import sobol_points


@pytest.mark.parametrize("dim", [1, 2, 3, 6, 17, 36, 64, 65])
@pytest.mark.parametrize("count", [1, 2, 16, 512])
def test_points_are_those_of_scipy(dim: int, count: int) -> None:
    for seed in range(3):
        theirs = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng([seed, 1])).random(count)
        ours = sobol_points(dim, count, np.random.default_rng([seed, 1]))
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_a_number_that_is_no_power_of_two_is_the_beginning_of_more() -> None:
    some, more = (sobol_points(3, count, np.random.default_rng(0)) for count in (100, 128))
    np.testing.assert_array_equal(some, more[:100])


def test_an_optimizer_asks_without_loading_scipy_stats() -> None:
    code = """
import sys
from rcgp import make_optimizer
for name in ("a2-rcgp-ucb", "diagnostics-gp", "random"):
    optimizer = make_optimizer(name, 2, seed=0, n_initial=4)
    for i in range(8):
        optimizer.tell(optimizer.ask(), float(i))
    optimizer.ask()
print([m for m in ("scipy.stats", "torch") if m in sys.modules])
"""
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
