"""What an evaluation may return."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np


class Words(float):
    """A number that does not want to be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    __str__ = __repr__


class Liar:
    """No number, however hard it pretends."""

    def __float__(self) -> float:
        raise SystemExit("no float")

    def __repr__(self) -> str:
        raise ValueError("no repr")


def _torch(kind: str, value: Any) -> Any:
    import torch

    return torch.tensor(value, dtype=getattr(torch, kind))


VALUES: dict[str, Callable[[], Any]] = {
    **{kind: (lambda kind=kind: getattr(np, kind)(1)) for kind in ("float16", "float32", "float64", "longdouble")},
    **{kind: (lambda kind=kind: getattr(np, kind)(1)) for kind in ("int8", "uint8", "int64", "uint64")},
    "int": lambda: 3,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: np.float32("-inf"),
    "huge": lambda: 1.7e308,
    "-huge": lambda: -1.7e308,
    "tiny": lambda: 5e-324,
    "-0": lambda: -0.0,
    "longdouble beyond": lambda: np.longdouble("1e4000"),
}
"""Numbers: each is a result."""
NONSENSE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "bool": lambda: True,
    "np.bool": lambda: np.True_,
    "str nan": lambda: "nan",
    "str number": lambda: "0.97",
    "bytes": lambda: b"1.0",
    "list": lambda: [1.0],
    "dict": lambda: {"accuracy": 0.9},
    "complex": lambda: 1 + 2j,
    "np.complex": lambda: np.complex64(1j),
    "int beyond": lambda: 10**400,
    "Liar": Liar,
    "generator": lambda: (x for x in [1.0]),
    "coroutine": lambda: print,
    "array": lambda: np.ones(3),
    "nat": lambda: np.datetime64("NaT"),
    "itself": lambda: VALUES,
}
"""No numbers: each fails its trial."""
DOUBTFUL: dict[str, Callable[[], Any]] = {
    "array 0-d": lambda: np.array(1.5),
    "array of one": lambda: np.ones(1),
    "torch float16": lambda: _torch("float16", 0.5),
    "torch bfloat16": lambda: _torch("bfloat16", 0.5),
    "torch int": lambda: _torch("int64", 2),
    "torch bool": lambda: _torch("bool", True),
    "torch complex": lambda: _torch("complex64", 1j),
    "torch vector": lambda: _torch("float32", [1.0, 2.0]),
    "torch with a gradient": lambda: _torch("float32", 0.5).requires_grad_(),
    "Decimal": lambda: Decimal("0.5"),
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Fraction": lambda: Fraction(1, 3),
    "timedelta": lambda: np.timedelta64(5, "s"),
    "Words": lambda: Words(0.5),
    "masked": lambda: np.ma.masked,
    "void": lambda: np.void(b"12345678"),
}
"""One may see them as numbers or not."""
