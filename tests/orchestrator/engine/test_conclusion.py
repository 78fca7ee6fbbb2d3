"""What an optimizer makes of all it was told."""

import math

import numpy as np
import pytest

from orchestrator.engine.conclusion import Conclusion, conclude
from rcgp import make_optimizer


def test_a_lie_is_neither_recommended_nor_expected() -> None:
    optimizer = make_optimizer("a2-rcgp-ucb", 1, seed=0, n_initial=4)
    numbers = list(range(10, 22))
    points = np.linspace(0.0, 1.0, 12)
    for number, x in zip(numbers, points, strict=True):
        optimizer.tell(np.array([x]), 1e6 if number == 20 else -float((x - 0.6) ** 2))
        optimizer.update()
    last = conclude(optimizer, numbers)
    assert last.recommended in (16, 17)
    assert last.mean == pytest.approx(0.0, abs=0.1)
    assert set(last.expected) == set(numbers)
    assert last.expected[20] == pytest.approx(-((points[10] - 0.6) ** 2), abs=0.3)


def test_random_search_has_no_model_and_before_the_first_value_there_is_only_a_trial() -> None:
    optimizer = make_optimizer("random", 1, seed=0, n_initial=1)
    assert conclude(optimizer, [7]) == Conclusion(7)
    optimizer.tell(np.array([0.5]), 1.0)
    assert conclude(optimizer, [7]).std == math.inf
