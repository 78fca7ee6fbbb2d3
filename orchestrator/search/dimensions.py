"""The parameters of a space, one by one: values <-> coordinates of the unit cube.

| parameter                              | coordinates                                                      |
|----------------------------------------|------------------------------------------------------------------|
| a float, linear or logarithmic         | one                                                              |
| an integer, or a float with a step     | one, rounded to the values that can be tried, each with its cell |
| a choice of numbers                    | one, by rank: batch sizes have an order                          |
| a choice of two                        | one, 0 or 1                                                      |
| a choice of anything else              | one-hot, one for each category: all categories are equally far   |
| a choice of branches                   | as any other; what a branch holds has coordinates of its own     |
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from orchestrator.plain import to_plain
from orchestrator.trial_records import Array

Config = dict[Any, Any]
"""A configuration: keys and values are its user's own."""
AnyConfig = Mapping[Any, Any]
"""A configuration that is only read."""
Path = tuple[object, ...]
"""The keys and places that lead to a value inside nested dictionaries and lists."""
DIGITS = 6  # a millionth of its range tells two values of a float apart: closer ones count as the same point


@dataclass(frozen=True)
class Number:
    """A float or an integer in [low, high]; with a `step` only the multiples of it can be tried."""

    name: str
    low: float
    high: float
    step: float | None = None
    log: bool = False
    integer: bool = False

    width = 1
    neutral = 0.5
    """Its coordinate where it is inactive, in another branch."""

    def project(self, u: Array) -> Array:
        """The nearest points that can be tried; `u` and the result have shape `m x 1`."""
        clipped = np.clip(u, 0.0, 1.0)
        if self.step is None:
            return cast(Array, np.round(clipped, DIGITS))
        return self._locate(self._round(self._value(clipped)))

    def beside(self, u: Array) -> Array:
        """The coordinates (`k x 1`) one step up and one step down from `u` (shape `1`); none of a number without steps."""
        if self.step is None:
            return np.empty((0, 1))
        values = self._round(self._value(u)) + np.array([-self.step, self.step])
        return self._locate(values[(values >= self.low) & (values <= self.high)])[:, None]

    def decode(self, u: Array) -> float | int:
        """The value at coordinate `u` (shape `1`): twelve digits are enough, and people read them."""
        value = float(self._round(self._value(np.clip(u, 0.0, 1.0)))[0])
        if self.integer:
            return int(value)
        extent = value if self.log else self.high - self.low
        return min(max(round(value, 12 - math.floor(math.log10(extent))), self.low), self.high)

    def encode(self, value: object) -> Array:
        """The coordinate (shape `1`) of a value that can be tried."""
        u = np.clip(self._locate(np.array([self._checked(value)])), 0.0, 1.0)
        near = np.round(u, DIGITS)
        return near if self.step is None and abs(u - near) < 1e-10 else u  # a value that was decoded comes back exactly

    def describe(self) -> str:
        """What is compared, and shown, when a space changed."""
        step = "" if self.step is None else f" in steps of {self.step:g}"
        scale = " on a log scale" if self.log else ""
        kind = "an integer" if self.integer else "a number"
        return f"{kind} in [{self.low!r}, {self.high!r}]{step}{scale}"

    def _checked(self, value: object) -> float:
        if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
            raise ValueError(f"{self.name} = {value!r} is not a number")
        number = float(value)
        slack = 1e-9 * (self.high - self.low)
        if not self.low - slack <= number <= self.high + slack:
            raise ValueError(f"{self.name} = {value!r} is outside [{self.low:g}, {self.high:g}]")
        rounded = float(self._round(np.array([number]))[0])
        if abs(number - rounded) > slack:
            raise ValueError(f"{self.name} = {value!r} is not a multiple of its step {self.step:g}")
        return rounded

    def _ends(self) -> Array:
        """Half a step beyond both ends, so that the first and the last value get whole cells."""
        margin = 0.0 if self.step is None else self.step / 2
        return self._scale(np.array([self.low - margin, self.high + margin]))

    def _scale(self, value: Array) -> Array:
        return np.log(value) if self.log else value

    def _locate(self, value: Array) -> Array:
        start, end = self._ends()
        return cast(Array, (self._scale(value) - start) / (end - start))

    def _value(self, u: Array) -> Array:
        start, end = self._ends()
        scaled = start + u * (end - start)
        return np.clip(np.exp(scaled) if self.log else scaled, self.low, self.high)

    def _round(self, value: Array) -> Array:
        return value if self.step is None else np.clip(np.round(value / self.step) * self.step, self.low, self.high)


@dataclass(frozen=True)
class Choice:
    """One of `values`: by rank if they are `ordered` numbers, which share what is learned; 0 or 1 if they are two; else one-hot.

    `meanings` are what people call the values, where Tune put placeholders in the place of classes and other objects.
    """

    name: str
    values: tuple[object, ...]
    ordered: bool = False
    meanings: tuple[object, ...] = field(default=(), compare=False, repr=False)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1 if self.ordered or len(self.values) == 2 else len(self.values)

    @property
    def neutral(self) -> float:
        """Its coordinates where it is inactive, in another branch: as far from one value as from the next."""
        return 0.5 if self.width == 1 else 1.0 / self.width

    def project(self, u: Array) -> Array:
        """The nearest points that can be tried; `u` and the result have shape `m x width`."""
        return self._coordinates(self.indices(u))

    def beside(self, u: Array) -> Array:
        """The coordinates (`k x width`) of all values."""
        return self._coordinates(np.arange(len(self.values), dtype=np.intp))

    def decode(self, u: Array) -> object:
        """The value at coordinates `u` (shape `width`), as Tune has it."""
        return copy.deepcopy(self.values[int(self.indices(u[None])[0])])

    def encode(self, value: object) -> Array:
        """The coordinates (shape `width`) of one of the values."""
        return self._coordinates(np.array([self.index(value)], dtype=np.intp)).ravel()

    def index(self, value: object) -> int:
        """Which of the values it is, by either name; a table turns 16 into 16.0, and JSON a tuple into a list."""
        for equal in (same, _equal_numbers, _equal_as_json):
            for names in (self.values, self.meanings):
                for index, known in enumerate(names):
                    if equal(known, value):
                        return index
        raise ValueError(f"{self.name} = {value!r} is none of {list(self.meanings or self.values)}")

    def describe(self) -> str:
        """What is compared, and shown, when a space changed."""
        return f"a choice of {to_plain(list(self.values))}"

    def indices(self, u: Array) -> npt.NDArray[np.intp]:
        """Which of the values is at each row of `u` (`m x width`), shape `m`."""
        if self.width > 1:
            return cast(npt.NDArray[np.intp], np.argmax(u, axis=1))
        cells = np.floor(np.clip(u[:, 0], 0.0, 1.0) * len(self.values))
        return np.minimum(cells, len(self.values) - 1).astype(np.intp)

    def _coordinates(self, indices: npt.NDArray[np.intp]) -> Array:
        if self.width > 1:
            return np.eye(self.width)[indices]
        return indices[:, None] / (len(self.values) - 1)


@dataclass(frozen=True)
class Branches(Choice):
    """One of several branches: `values` are dictionaries or lists with None in the `holes`, where their own parameters belong."""

    holes: tuple[tuple[Path, ...], ...] = ()

    def index(self, value: object) -> int:
        """The branch whose constants these are; of several the one whose parameters are all there."""
        for whole in (True, False):
            for index, (branch, holes) in enumerate(zip(self.values, self.holes, strict=True)):
                if _fits(branch, value, holes, whole=whole):
                    return index
        raise ValueError(f"{self.name} = {value!r} is none of its branches {list(self.values)}")


Dimension = Number | Choice


def _fits(branch: object, value: object, holes: tuple[Path, ...], *, whole: bool) -> bool:
    """Whether a value is of that branch: the same constants, and no others; with `whole` every parameter too."""
    if () in holes:
        return True
    parts, given = parts_of(branch), parts_of(value)
    if parts is None:
        return any(equal(branch, value) for equal in (same, _equal_numbers, _equal_as_json))
    if given is None or isinstance(branch, Mapping) != isinstance(value, Mapping) or given.keys() - parts.keys():
        return False
    inside = {key: tuple(hole[1:] for hole in holes if hole[0] == key) for key in parts}
    return all(
        _fits(part, given[key], inside[key], whole=whole) if key in given else not whole and () in inside[key]
        for key, part in parts.items()
    )


def parts_of(value: object) -> Mapping[object, object] | None:
    """What is inside a dictionary by key, inside a list or tuple by place; None of what has no parts."""
    if isinstance(value, Mapping):
        return value
    return dict(enumerate(value)) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else None


def is_number(value: object) -> bool:
    """Whether it has a place in an order of numbers."""
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def same(a: object, b: object) -> bool:
    """Equal and of the same kind: 1, 1.0 and True are three categories; arrays compare as wholes."""
    if a is b:
        return True
    if isinstance(a, Integral | np.integer) and isinstance(b, Integral | np.integer):
        return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
    return type(a) is type(b) and bool(np.all(a == b))


def _equal_numbers(a: object, b: object) -> bool:
    return is_number(a) and is_number(b) and bool(a == b)


def _equal_as_json(a: object, b: object) -> bool:
    return isinstance(a, list | tuple | dict) and isinstance(b, list | dict) and bool(_listed(a) == b)


def _listed(value: object) -> object:
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value
