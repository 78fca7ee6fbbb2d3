"""How a parameter is drawn: numbers on a linear or a logarithmic axis, choices as categories."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from objectives import Choice, Parameter, Space


def scale_of(parameter: Parameter | Choice) -> str:
    """ "linear", "log" or "category", as Matplotlib and Plotly call them."""
    if isinstance(parameter, Choice):
        return "category"
    return "log" if parameter.log else "linear"


def labels(parameter: Parameter | Choice, values: Iterable[str | float]) -> list[str | float]:
    """Values as they stand on the axis: numbers as they are, choices as text, however a table kept them."""
    if isinstance(parameter, Choice):
        return [str(parameter.value_at(parameter.position_of(value))) for value in values]
    return list(values)


def ticks(parameter: Parameter | Choice, positions: NDArray[np.float64]) -> list[str | float]:
    """The values at positions of the unit interval, as they stand on the axis."""
    return labels(parameter, (parameter.value_at(float(u)) for u in positions))


def grid_of(space: Space, most: int) -> NDArray[np.float64]:
    """A grid of the points that can be tried, `m x d`, at most so many along an axis; the first changes slowest."""
    even = np.linspace(0.0, 1.0, most)
    axes = [np.unique(parameter.project(even)) for parameter in space.parameters]
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)
