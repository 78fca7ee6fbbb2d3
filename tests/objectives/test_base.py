"""What the base class adds to a space and an evaluation."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

from objectives import Objective, ObjectiveBase, Parameter, Progress, Resources, Space


class Line(ObjectiveBase):
    space: ClassVar[Space] = Space((Parameter("a", -1.0, 1.0),))

    def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
        return float(self.space.to_units(x)["a"])


def test_a_space_and_an_evaluation_make_an_objective() -> None:
    objective = Line()
    assert isinstance(objective, Objective)
    assert objective.evaluate(np.array([0.75]), np.random.default_rng(0)) == 0.5
    assert (objective.name, objective.dim, objective.optimum, objective.resources) == ("Line", 1, None, Resources())


def test_nobody_knows_the_value_without_noise_but_points_are_checked() -> None:
    assert Line().noiseless(np.array([0.75])) is None
    with pytest.raises(ValueError, match="unit cube"):
        Line().noiseless(np.array([1.5]))


def test_without_a_space_it_is_abstract() -> None:
    class Nowhere(ObjectiveBase):
        def evaluate(self, x: ArrayLike, rng: np.random.Generator, report: Progress | None = None) -> float:
            return 0.0

    with pytest.raises(TypeError, match="space"):
        Nowhere()  # type: ignore[abstract]
