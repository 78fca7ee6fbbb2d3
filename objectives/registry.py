"""Objectives by name, or by import path, from plain keyword options."""

import inspect
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from objectives.functions import Ackley, Branin, Forrester, Hartmann6, Levy, Rosenbrock
from objectives.protocol import Objective

OBJECTIVES: dict[str, type[Objective]] = {
    cls.name: cls for cls in (Forrester, Branin, Hartmann6, Ackley, Levy, Rosenbrock)
}


def make_objective(name: str, **options: Any) -> Objective:
    """The objective called `name`, or the class at the import path "package.module:Class", with these options."""
    cls = _import_class(name) if ":" in name else OBJECTIVES.get(name)
    if cls is None:
        raise ValueError(_unknown("objective", name, OBJECTIVES) + ' Your own: "package.module:Class".')
    _check_options(name, cls, options)
    objective = cls(**options)
    lacking = [m for m in _members() if not hasattr(objective, m)]
    if lacking:
        raise ValueError(f"Objective {name!r} lacks {', '.join(lacking)}; objectives.Objective says what is needed.")
    return objective


def _members() -> list[str]:
    return sorted(m for m in vars(Objective) if not m.startswith("_"))


def _import_class(path: str) -> Any:
    """The class at "package.module:Class"."""
    module, _, attribute = path.partition(":")
    if not module or not attribute.isidentifier():
        raise ValueError(f'Import path {path!r} must read "package.module:Class".')
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:  # the module is not ours: whatever it raises is why it cannot be imported
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"Objective {path!r} cannot be imported ({reason}). Is its folder on PYTHONPATH?") from error
    if found is None:
        raise ValueError(f"Objective {path!r} cannot be imported: module {module} has no {attribute}.")
    if not callable(found):
        raise ValueError(f"Objective {path!r} is not a class but {found!r}.")
    return found


def _check_options(name: str, cls: Any, options: dict[str, Any]) -> None:
    """Refuse options the class does not take, naming those it does."""
    parameters = inspect.signature(cls).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    allowed = [p.name for p in parameters]
    for option in options:
        if option not in allowed:
            raise ValueError(_unknown(f"option of objective {name!r}", option, allowed))


def _unknown(what: str, given: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    close = get_close_matches(str(given), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown {what}: {given!r}.{hint} Allowed: {', '.join(names) or 'none'}."
