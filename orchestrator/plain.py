"""Python values as strict JSON and back: tuples, NaN and non-string keys survive the journey."""

import math
from typing import Any

import numpy as np

SCALARS = (bool, int, str, type(None))


def to_plain(value: Any) -> Any:
    """`value` as strict-JSON data; what is no plain data becomes `{"opaque": its type}`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [to_plain(item) for item in value]}
    if isinstance(value, dict):
        return {"dict": [[to_plain(key), to_plain(item)] for key, item in value.items()]}
    return {"opaque": _type_name(value)}


def from_plain(data: Any) -> Any:
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


def _type_name(value: Any) -> str:
    """A name that does not change between sessions (a repr may hold an address)."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"
