"""What is maximised. Importing this package is cheap: torch, gymnasium and the like wait for the first evaluation."""

from objectives.base import ObjectiveBase
from objectives.parameters import Choice, Parameter
from objectives.protocol import Objective, Optimum, Progress, Resources, full_steps, prepare
from objectives.registry import OBJECTIVES, make_objective
from objectives.space import Point, Space

__all__ = [
    "OBJECTIVES",
    "Choice",
    "Objective",
    "ObjectiveBase",
    "Optimum",
    "Parameter",
    "Point",
    "Progress",
    "Resources",
    "Space",
    "full_steps",
    "make_objective",
    "prepare",
]
