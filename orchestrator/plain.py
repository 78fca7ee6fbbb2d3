"""Python values as strict JSON, which knows no NaN and no infinity, and back.

A number that is not finite is spelt nan, inf or -inf: as that word where only a number can stand, as `{"float": word}` where
anything can.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

Json = dict[str, Any]
"""A JSON object that is to be written."""
Fields = Mapping[str, Any]
"""A JSON object that was read."""
SCALARS = (bool, int, str, type(None))
NON_FINITE = ("nan", "inf", "-inf")


def spelled(value: float) -> float | str:
    """A number for a place where only a number can stand; `float` reads it back."""
    return float(value) if math.isfinite(value) else repr(float(value))


def to_strict_json(value: object) -> object:
    """Mappings, sequences and scalars as the JSON that a person expects."""
    if isinstance(value, Mapping):
        return {str(key): to_strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_strict_json(item) for item in value]
    return {"float": spelled(value)} if isinstance(value, float) and not math.isfinite(value) else value


def from_strict_json(data: object) -> Any:
    """What `to_strict_json` wrote, with lists for tuples."""
    if isinstance(data, list):
        return [from_strict_json(item) for item in data]
    if not isinstance(data, dict):
        return data
    if data.keys() == {"float"} and data["float"] in NON_FINITE:
        return float(data["float"])
    return {key: from_strict_json(item) for key, item in data.items()}


def to_plain(value: object) -> object:
    """`value` as strict-JSON data that keeps tuples and any keys; what is no plain data becomes `{"opaque": its type}`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": spelled(value)}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    return {"opaque": _type_name(value)}


def from_plain(data: object) -> Any:
    """The value that `to_plain` wrote; an opaque one cannot be rebuilt and raises."""
    if isinstance(data, list):
        return [from_plain(item) for item in data]
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "float":
        return float(content)
    if kind == "tuple":
        return tuple(from_plain(item) for item in content)
    if kind == "dict":
        return {from_plain(key): from_plain(item) for key, item in content}
    raise ValueError(f"The saved space holds a {content}, which is no plain data: pass `param_space` when restoring.")


def writable(text: str) -> str:
    """The text as every file and table takes it: half a character, which is no UTF-8, as an escape."""
    return text.encode(errors="backslashreplace").decode()


def _type_name(value: object) -> str:
    """A name that does not change between sessions (a repr may hold an address)."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
