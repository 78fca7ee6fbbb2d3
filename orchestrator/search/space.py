"""Tune search space <-> unit cube. Nothing else in the project knows both.

| Tune                                   | coordinates                                                      |
|----------------------------------------|------------------------------------------------------------------|
| uniform, loguniform                    | one, linear or logarithmic                                       |
| q..., randint, lograndint              | one, rounded to the values that can be tried, each with its cell |
| choice of numbers                      | one, by rank: batch sizes have an order                          |
| choice of two                          | one, 0 or 1                                                      |
| choice of anything else                | one-hot, one for each category: all categories are equally far   |
| constant, choice of one, range of one  | none                                                             |
"""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from ray.tune.search.sample import Categorical, Domain, Float, Function, Integer, LogUniform, Normal, Quantized
from ray.tune.search.variant_generator import assign_value, parse_spec_vars

from orchestrator.plain import from_plain, to_plain

Array = npt.NDArray[np.float64]
Path = tuple[Any, ...]
DIGITS = 6  # a millionth of its range tells two values of a float apart: closer ones count as the same point
FUNCTION_PLACEHOLDER = "__fn_ph"  # what `Tuner` puts in the place of a `sample_from` before a searcher sees the space


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

    def project(self, u: Array) -> Array:
        """The nearest points that can be tried; `u` and the result have shape `m x 1`."""
        clipped = np.clip(u, 0.0, 1.0)
        if self.step is None:
            return cast(Array, np.round(clipped, DIGITS))
        return self._locate(self._round(self._value(clipped)))

    def decode(self, u: Array) -> float | int:
        """The value at coordinate `u` (shape `1`): twelve digits are enough, and people read them."""
        value = float(self._round(self._value(np.clip(u, 0.0, 1.0)))[0])
        if self.integer:
            return int(value)
        extent = value if self.log else self.high - self.low
        return min(max(round(value, 12 - math.floor(math.log10(extent))), self.low), self.high)

    def encode(self, value: Any) -> Array:
        """The coordinate (shape `1`) of a value that can be tried."""
        u = np.clip(self._locate(np.array([self._checked(value)])), 0.0, 1.0)
        near = np.round(u, DIGITS)
        return near if self.step is None and abs(u - near) < 1e-10 else u  # a value that was decoded comes back exactly

    def _checked(self, value: Any) -> float:
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

    def _ends(self) -> tuple[float, float]:
        """Half a step beyond both ends, so that the first and the last value get whole cells."""
        margin = 0.0 if self.step is None else self.step / 2
        return float(self._scale(self.low - margin)), float(self._scale(self.high + margin))

    def _scale(self, value: Any) -> Any:
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
    """One of `values`: by rank if they are numbers, 0 or 1 if they are two, else one-hot."""

    name: str
    values: tuple[Any, ...]

    @property
    def ordered(self) -> bool:
        """Numbers have an order, and so share what is learned."""
        return len(self.values) > 2 and all(_is_number(value) for value in self.values)

    @property
    def width(self) -> int:
        """The number of coordinates."""
        return 1 if self.ordered or len(self.values) == 2 else len(self.values)

    def project(self, u: Array) -> Array:
        """The nearest points that can be tried; `u` and the result have shape `m x width`."""
        return self._coordinates(self._indices(u))

    def decode(self, u: Array) -> Any:
        """The value at coordinates `u` (shape `width`)."""
        return copy.deepcopy(self.values[int(self._indices(u[None])[0])])

    def encode(self, value: Any) -> Array:
        """The coordinates (shape `width`) of one of the values."""
        for equal in (_same, _equal_numbers):  # a table turns 16 into 16.0
            for index, known in enumerate(self.values):
                if equal(known, value):
                    return self._coordinates(np.array([index], dtype=np.intp)).ravel()
        raise ValueError(f"{self.name} = {value!r} is none of {list(self.values)}")

    def _indices(self, u: Array) -> npt.NDArray[np.intp]:
        if self.width > 1:
            return cast(npt.NDArray[np.intp], np.argmax(u, axis=1))
        cells = np.floor(np.clip(u[:, 0], 0.0, 1.0) * len(self.values))
        return np.minimum(cells, len(self.values) - 1).astype(np.intp)

    def _coordinates(self, indices: npt.NDArray[np.intp]) -> Array:
        if self.width > 1:
            return np.eye(self.width)[indices]
        return indices[:, None] / (len(self.values) - 1)


Dimension = Number | Choice


@dataclass(frozen=True)
class TuneSpace:
    """A Tune search space as a unit cube of `dim` coordinates that only holds points that can be tried."""

    dimensions: tuple[Dimension, ...]
    paths: tuple[Path, ...]
    template: dict[Any, Any]  # the whole config, constants included, to be filled in at `paths`

    @classmethod
    def parse(cls, spec: Mapping[Any, Any]) -> "TuneSpace":
        """Read a `param_space`, nested dictionaries and lists included."""
        template = copy.deepcopy(dict(spec))
        constants, domains, grids = parse_spec_vars(template)
        for path, _ in grids:
            raise ValueError(f"{_name(path)} is a grid_search, which leaves nothing to choose: use tune.choice.")
        for path, value in constants:
            _refuse_placeholder(_name(path), value)
        parsed = [(path, _dimension(_name(path), domain)) for path, domain in domains]
        for path, (value, dimension) in parsed:
            if dimension is None:
                assign_value(template, path, value)
        free = [(path, dimension) for path, (_, dimension) in parsed if dimension is not None]
        _refuse_ambiguity([_name(path) for path, _ in free])
        if not free:
            raise ValueError("The search space is empty: give a parameter a range, such as tune.uniform(0, 1).")
        return cls(tuple(d for _, d in free), tuple(p for p, _ in free), template)

    @property
    def dim(self) -> int:
        """The number of coordinates of the cube."""
        return sum(dimension.width for dimension in self.dimensions)

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, nested ones as `outer/inner`."""
        return tuple(dimension.name for dimension in self.dimensions)

    def project(self, points: Array) -> Array:
        """The nearest points that can be tried; `points` and the result have shape `m x dim`."""
        parts = [dimension.project(points[:, where]) for dimension, where in self._slices()]
        return np.concatenate(parts, axis=1)

    def config(self, x: Array) -> dict[Any, Any]:
        """The whole configuration at `x` (shape `dim`), constants included."""
        return self._filled([dimension.decode(x[where]) for dimension, where in self._slices()])

    def complete(self, config: Mapping[Any, Any]) -> dict[Any, Any]:
        """A configuration of the parameters with the constants added."""
        return self._filled(self._values(config))

    def varying(self, config: Mapping[Any, Any]) -> dict[Any, Any]:
        """The branches of a configuration that vary, as Tune wants them suggested: it merges in the constants itself."""
        return cast(dict[Any, Any], _branches(self.complete(config), set(self.paths)))

    def encode(self, config: Mapping[Any, Any]) -> Array:
        """The point (shape `dim`) of a configuration, nested or with `outer/inner` keys."""
        values = self._values(config)
        return np.concatenate([d.encode(value) for d, value in zip(self.dimensions, values, strict=True)])

    def encode_checked(self, config: Mapping[Any, Any]) -> Array:
        """As `encode`, for what a person wrote: a key that is no parameter is an error as well."""
        known = {*self.names, *(_name(path) for path, _ in _leaves(self.template))}
        for path, _ in _leaves(dict(config)):
            name = _name(path)
            if not any(name == k or name.startswith(f"{k}/") for k in known):
                raise ValueError(f"{name} is no parameter of the space, which has {', '.join(self.names)}")
        return self.encode(config)

    def difference(self, other: "TuneSpace") -> str | None:
        """The first parameter in which two spaces differ, or None."""
        mine, theirs = ({d.name: _describe(d) for d in s.dimensions} for s in (self, other))
        for name in [*mine, *theirs]:
            if mine.get(name) != theirs.get(name):
                return f"{name} was {mine.get(name, 'absent')} and is {theirs.get(name, 'absent')}"
        return None if list(mine) == list(theirs) else "the order of the parameters changed"

    def state_dict(self) -> dict[str, Any]:
        """The space as strict JSON."""
        return {
            "dimensions": [[type(d).__name__, to_plain(dict(vars(d)))] for d in self.dimensions],
            "paths": to_plain(list(self.paths)),
            "template": to_plain(_hollow(self.template, self.paths)),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "TuneSpace":
        """The space that `state_dict` wrote."""
        kinds: dict[str, type[Number] | type[Choice]] = {"Number": Number, "Choice": Choice}
        dimensions = tuple(kinds[kind](**from_plain(fields)) for kind, fields in state["dimensions"])
        return cls(dimensions, tuple(from_plain(state["paths"])), from_plain(state["template"]))

    def _values(self, config: Mapping[Any, Any]) -> list[Any]:
        return [_lookup(config, d.name, path) for d, path in zip(self.dimensions, self.paths, strict=True)]

    def _filled(self, values: list[Any]) -> dict[Any, Any]:
        config = copy.deepcopy(self.template)
        for path, value in zip(self.paths, values, strict=True):
            assign_value(config, path, value)
        return config

    def _slices(self) -> Iterator[tuple[Dimension, slice]]:
        start = 0
        for dimension in self.dimensions:
            yield dimension, slice(start, start + dimension.width)
            start += dimension.width


def _dimension(name: str, domain: Domain) -> tuple[Any, Dimension | None]:
    """(None, dimension), or (the only value, None) for a domain that leaves no choice."""
    if isinstance(domain, Categorical):
        return _choice(name, domain.categories)
    if isinstance(domain, Function):
        raise ValueError(f"{name} is a sample_from, which a model cannot learn: use tune.uniform, randint or choice.")
    if not isinstance(domain, Float | Integer):
        raise ValueError(f"{name} is a {type(domain).__name__}: use tune.uniform, tune.randint or tune.choice.")
    sampler = domain.get_sampler()
    step = sampler.q if isinstance(sampler, Quantized) else None
    base = sampler.sampler if isinstance(sampler, Quantized) else sampler
    if isinstance(base, Normal):
        raise ValueError(f"{name} is a randn, which has no bounds: use tune.uniform(low, high) instead.")
    _check_bounds(name, domain.lower, domain.upper, step, log=isinstance(base, LogUniform))
    return _number(name, domain, step, log=isinstance(base, LogUniform))


def _number(name: str, domain: Domain, step: float | None, log: bool) -> tuple[Any, Dimension | None]:
    """Tune's ends: randint and lograndint leave the upper bound out, and so do the q-versions at q = 1."""
    low, high = float(domain.lower), float(domain.upper)
    integer = isinstance(domain, Integer)
    if integer and step in (None, 1):
        low, high, step = math.ceil(low), math.ceil(high) - 1, 1
    elif step is not None:
        low, high = _inward(low, step, math.ceil), _inward(high, step, math.floor)
    if low == high:
        return (int(low) if integer else low), None
    if low > high:
        raise ValueError(f"{name} has no value to try: no multiple of {step:g} in [{domain.lower}, {domain.upper}].")
    return None, Number(name, low, high, None if step is None else float(step), log, integer)


def _inward(bound: float, step: float, rounding: Any) -> float:
    """The multiple of `step` at `bound`, or the next one inside the range."""
    nearest = round(bound / step)
    index = nearest if math.isclose(bound / step, nearest) else rounding(bound / step)
    return float(f"{index * step:.12g}")


def _check_bounds(name: str, low: Any, high: Any, step: Any, log: bool) -> None:
    for bound in (low, high, 1 if step is None else step):
        if isinstance(bound, bool) or not isinstance(bound, Real) or not math.isfinite(bound):
            raise ValueError(f"{name} has the bound {bound!r}: bounds and steps are finite numbers.")
    if not low < high:
        raise ValueError(f"{name} has low = {low:g} >= high = {high:g}: swap or widen them.")
    if log and low <= 0:
        raise ValueError(f"{name} has a log scale and low = {low:g}: a logarithm needs low > 0.")
    if step is not None and not 0 < step <= high - low:
        raise ValueError(f"{name} has a step of {step:g} in a range of {high - low:g}: make the step smaller.")


def _choice(name: str, categories: Sequence[Any]) -> tuple[Any, Dimension | None]:
    values: list[Any] = []
    for category in categories:
        _refuse_nested(name, category)
        if not any(_same(known, category) for known in values):
            values.append(category)
    if not values:
        raise ValueError(f"{name} is a choice of nothing: list at least one value.")
    if len(values) == 1:
        return values[0], None
    choice = Choice(name, tuple(values))
    return None, Choice(name, tuple(sorted(values))) if choice.ordered else choice


def _refuse_nested(name: str, category: Any) -> None:
    nested = category if isinstance(category, dict) else {0: category}
    constants, domains, grids = parse_spec_vars(nested)
    if domains or grids:
        raise ValueError(f"{name} has a domain inside a choice: give that parameter a key of its own in the space.")
    for _, value in constants:
        _refuse_placeholder(name, value)


def _refuse_placeholder(name: str, value: Any) -> None:
    """Tune hides a `sample_from` behind the tuple (token, hash), which is read element by element."""
    if isinstance(value, str) and value == FUNCTION_PLACEHOLDER:
        outer = name.rsplit("/", 1)[0]
        raise ValueError(f"{outer} is a sample_from, which a model cannot learn: use tune.uniform, randint or choice.")


def _refuse_ambiguity(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} names two parameters: a key with a slash reads like a nested one, rename it.")


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(value)


def _same(a: Any, b: Any) -> bool:
    """Equal and of the same kind: 1, 1.0 and True are three categories; arrays compare as wholes."""
    if a is b:
        return True
    if isinstance(a, Integral | np.integer) and isinstance(b, Integral | np.integer):
        return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
    return type(a) is type(b) and bool(np.all(a == b))


def _equal_numbers(a: Any, b: Any) -> bool:
    return _is_number(a) and _is_number(b) and bool(a == b)


def _name(path: Path) -> str:
    return "/".join(str(key) for key in path)


def _lookup(config: Mapping[Any, Any], name: str, path: Path) -> Any:
    if name in config:
        return config[name]
    value: Any = config
    for key in path:
        inside = key in value if isinstance(value, Mapping) else _has_index(value, key)
        if not inside:
            raise ValueError(f"{name} is missing")
        value = value[key]
    return value


def _has_index(value: Any, key: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and isinstance(key, int) and key < len(value)


def _leaves(config: dict[Any, Any]) -> list[tuple[Path, Any]]:
    constants, domains, _ = parse_spec_vars(config)
    return [*constants, *domains]


def _branches(config: Any, paths: set[Path]) -> Any:
    """The keys of nested dictionaries that lead to `paths`; a list is replaced by Tune, and so stays whole."""
    if () in paths or not isinstance(config, dict):
        return config
    heads = {path[0] for path in paths}
    return {key: _branches(config[key], {p[1:] for p in paths if p[0] == key}) for key in config if key in heads}


def _hollow(template: dict[Any, Any], paths: tuple[Path, ...]) -> dict[Any, Any]:
    """The template with the domains taken out: they are saved as dimensions."""
    hollow = copy.deepcopy(template)
    for path in paths:
        assign_value(hollow, path, None)
    return hollow


def _describe(dimension: Dimension) -> str:
    """What is compared and shown when a space changed; opaque categories count by their type."""
    if isinstance(dimension, Choice):
        return f"a choice of {to_plain(list(dimension.values))}"
    step = "" if dimension.step is None else f" in steps of {dimension.step:g}"
    scale = " on a log scale" if dimension.log else ""
    kind = "an integer" if dimension.integer else "a number"
    return f"{kind} in [{dimension.low!r}, {dimension.high!r}]{step}{scale}"
