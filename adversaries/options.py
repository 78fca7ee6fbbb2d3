"""Plain keyword options against what a class takes: one clear line for a wrong name, a wrong type or a missing one.

`objectives` and `adversaries` each hold this file: neither may import the other, and each is usable on its own.
"""

import inspect
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


def unknown(what: str, given: str, allowed: Iterable[str]) -> str:
    """The message for a name nobody knows."""
    names = sorted(allowed)
    close = get_close_matches(str(given), names, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"Unknown {what}: {given!r}.{hint} Allowed: {', '.join(names) or 'none'}."


def import_class(what: str, path: str) -> Any:
    """The class at the import path "package.module:Class"."""
    module, _, attribute = path.partition(":")
    if not module or not attribute.isidentifier():
        raise ValueError(f'{what} {path!r}: an import path reads "package.module:Class".')
    try:
        found = getattr(import_module(module), attribute, None)
    except Exception as error:  # the module is not ours: whatever it raises is why it cannot be imported
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"{what} {path!r} cannot be imported ({reason}). Is its folder on PYTHONPATH?") from error
    if not inspect.isclass(found):
        raise ValueError(f"{what} {path!r} cannot be imported: module {module} has no class {attribute}.")
    return found


def check_names(what: str, cls: Any, options: Mapping[str, Any]) -> None:
    """Refuse options the class does not take, and a lack of those it must have."""
    signature = inspect.signature(cls)
    allowed = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(allowed) == len(signature.parameters):
        for option in options:
            if option not in allowed:
                raise ValueError(unknown(f"option of {what}", option, allowed))
    try:
        signature.bind(**options)
    except TypeError as error:
        raise ValueError(f"{what}: {error}.") from None


def check_types(what: str, cls: Any, options: Mapping[str, Any]) -> None:
    """Refuse values of another type than the class declares; YAML, for one, reads 1e-3 as text."""
    hints = get_type_hints(cls)
    for option, value in options.items():
        if not _fits(value, hints[option]):
            wanted = str(getattr(hints[option], "__name__", hints[option]))
            remedy = " YAML wants 1.0e-3, not 1e-3." if isinstance(value, str) and _is_number(value) else ""
            raise ValueError(f"Option {option} of {what} must be of type {wanted}, got {value!r}.{remedy}")


def _fits(value: Any, hint: Any) -> bool:
    if isinstance(hint, UnionType):
        return any(_fits(value, h) for h in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, list | tuple) and all(_fits(v, get_args(hint)[0]) for v in value)
    if hint is NoneType:
        return value is None
    kind = (int, float) if hint is float else hint
    return isinstance(value, kind) and (hint is bool or not isinstance(value, bool))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
