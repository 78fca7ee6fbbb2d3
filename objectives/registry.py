"""Objectives by name, or by import path, from plain keyword options."""

from typing import Any

from objectives.functions import Ackley, Branin, Forrester, Hartmann6, Levy, Rosenbrock
from objectives.lander import Lander
from objectives.options import check_names, check_types, import_class, unknown
from objectives.protocol import Objective
from objectives.resnet import ResNet

OBJECTIVES: dict[str, type[Objective]] = {
    cls.name: cls for cls in (Forrester, Branin, Hartmann6, Ackley, Levy, Rosenbrock, ResNet, Lander)
}


def make_objective(name: str, **options: Any) -> Objective:
    """The objective called `name`, or the class at the import path "package.module:Class", with these options."""
    return _make_own(name, options) if ":" in name else _make_ours(name, options)


def _make_ours(name: str, options: dict[str, Any]) -> Objective:
    if name not in OBJECTIVES:
        raise ValueError(unknown("objective", name, OBJECTIVES) + ' Your own: "package.module:Class".')
    what, cls = f"objective {name!r}", OBJECTIVES[name]
    check_names(what, cls, options)
    check_types(what, cls, options)
    return cls(**options)


def _make_own(path: str, options: dict[str, Any]) -> Objective:
    cls = import_class("Objective", path)
    check_names(f"objective {path!r}", cls, options)
    try:
        objective: Objective = cls(**options)
    except TypeError as error:  # an abstract class says itself what it lacks
        raise ValueError(f"Objective {path!r}: {error}.") from error
    lacking = [m for m in sorted(vars(Objective)) if m[0] != "_" and not hasattr(objective, m)]
    if lacking:
        raise ValueError(
            f"Objective {path!r} lacks {', '.join(lacking)}; objectives.ObjectiveBase has a default for most."
        )
    return objective
