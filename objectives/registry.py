"""Objectives by name, or by import path, from plain keyword options."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib.machinery import PathFinder
from inspect import signature
from pkgutil import resolve_name
from traceback import format_exception_only
from types import NoneType
from typing import get_type_hints

from objectives.functions import Ackley, Branin, Forrester, Hartmann6, Levy, Rosenbrock
from objectives.lander import Lander
from objectives.protocol import Objective, Optimum, Resources
from objectives.resnet import ResNet
from objectives.space import Space

OBJECTIVES: dict[str, type[Objective]] = {
    cls.name: cls for cls in (Forrester, Branin, Hartmann6, Ackley, Levy, Rosenbrock, ResNet, Lander)
}

NEEDS = {"lander": "gymnasium", "resnet": "torchvision"} | dict.fromkeys(
    ("branin", "hartmann6", "ackley", "levy", "rosenbrock"), "botorch"
)
"""The library that an objective computes with, which the extra `campaigns` brings."""
KINDS: dict[str, tuple[type, ...]] = {
    "space": (Space,),
    "optimum": (Optimum, NoneType),
    "resources": (Resources,),
}
"""What the members of anybody's objective must be."""


def make_objective(name: str, **options: object) -> Objective:
    """The objective called `name`, or the class at the import path "package.module:Class", with these options."""
    cls = _find(name)
    _check_names(name, cls, options)
    if name in OBJECTIVES:
        _check_types(name, cls, options)
    try:
        objective = cls(**options)
    except ValueError:
        raise  # says itself which value is wrong
    except Exception as error:  # an abstract class, for one, says what it lacks
        raise ValueError(f"Objective {name!r} cannot be made with {options} ({_one_line(error)}).") from error
    _check_members(name, objective)
    return objective


def _find(name: str) -> Callable[..., Objective]:
    """The class of that name or import path."""
    if name in OBJECTIVES:
        _check_library(name)
        return OBJECTIVES[name]
    if ":" not in name:
        raise ValueError(f'Unknown objective: {name!r}. {_hint(name, OBJECTIVES)} Your own: "package.module:Class".')
    try:
        found = resolve_name(name)
    except Exception as error:  # the module is not ours: whatever it raises is why it cannot be imported
        reason = f"{name!r} cannot be imported ({_one_line(error)})"
        raise ValueError(f"Objective {reason}. Is its folder on PYTHONPATH?") from error
    if not isinstance(found, type):
        raise ValueError(f'Objective {name!r} is no class: an import path reads "package.module:Class".')
    return found


def _check_library(name: str) -> None:
    """Refuse at once an objective whose every evaluation would fail. Nothing is imported."""
    library = NEEDS.get(name)
    if library is not None and PathFinder.find_spec(library) is None:
        remedy = 'pip install "rcgp-orchestrator[campaigns]"'
        raise ModuleNotFoundError(
            f"Objective {name!r} needs the extra `campaigns`: {remedy} ({library} is not installed).", name=library
        )


def _check_names(name: str, cls: Callable[..., Objective], options: dict[str, object]) -> None:
    takes = signature(cls).parameters
    if not any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        for option in options:
            if option not in takes:
                raise ValueError(f"Unknown option of objective {name!r}: {option!r}. {_hint(option, takes)}")


def _check_types(name: str, cls: Callable[..., Objective], options: dict[str, object]) -> None:
    """Refuse values of another type than the class declares; lists stand for tuples."""
    from pydantic import TypeAdapter, ValidationError  # here, because `import objectives` needs NumPy only

    hints = get_type_hints(cls)
    for option, value in options.items():
        try:
            TypeAdapter(hints[option]).validate_python(tuple(value) if isinstance(value, list) else value, strict=True)
        except ValidationError:
            wanted = getattr(hints[option], "__name__", None) or str(hints[option])
            raise ValueError(f"Option {option} of objective {name!r} must be {wanted}, got {value!r}.") from None


def _check_members(name: str, objective: Objective) -> None:
    for member, kinds in KINDS.items():
        if hasattr(objective, member) and not isinstance(value := getattr(objective, member), kinds):
            raise ValueError(f"Objective {name!r}: {member} must be {kinds[0].__name__}, got {value!r:.80}.")
    lacking = [m for m in sorted(vars(Objective)) if m[0] != "_" and not hasattr(objective, m)]
    if lacking:
        remedy = "objectives.ObjectiveBase has a default for most"
        raise ValueError(f"Objective {name!r} lacks {', '.join(lacking)}; {remedy}.")
    if objective.dim != objective.space.dim:
        raise ValueError(f"Objective {name!r}: dim is {objective.dim}, but its space has {objective.space.dim}.")
    if objective.optimum is not None:
        _check_optimum(name, objective.space, objective.optimum)


def _check_optimum(name: str, space: Space, optimum: Optimum) -> None:
    try:
        space.check(optimum.x)
    except ValueError as error:
        raise ValueError(f"Objective {name!r}, its optimum: {error}") from None


def _one_line(error: BaseException) -> str:
    """Type and message of an error, even of one whose message cannot be formed."""
    return " ".join("".join(format_exception_only(error)).split())


def _hint(given: str, allowed: Iterable[str]) -> str:
    """What may have been meant, and all there is."""
    names = sorted(allowed)
    close = get_close_matches(given, names, n=1)
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Allowed: {', '.join(names) or 'none'}."
