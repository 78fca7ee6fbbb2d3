"""Tune search space <-> unit cube, parameter by parameter. Nothing else in the project knows both.

Tune puts placeholders in the place of classes, functions and other objects. Inside, a space has them as well: they are plain
data, and the same in every session. People get, and may give, the objects themselves.
"""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from ray.tune.search.variant_generator import assign_value, parse_spec_vars

from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search.dimensions import Choice, Dimension, Number
from orchestrator.search.domains import read_domain, refuse_function
from orchestrator.search.placeholders import Objects, resolved, with_placeholders
from orchestrator.trials import Array, Point

Config = dict[Any, Any]
AnyConfig = Mapping[Any, Any]
"""A configuration: keys and values are its user's own."""
Path = tuple[Any, ...]


@dataclass(frozen=True)
class TuneSpace:
    """A Tune search space as a unit cube of `dim` coordinates that only holds points that can be tried."""

    dimensions: tuple[Dimension, ...]
    paths: tuple[Path, ...]
    template: Config  # the whole config, constants included, to be filled in at `paths`
    objects: Objects = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, spec: AnyConfig, objects: Objects | None = None) -> "TuneSpace":
        """Read a `param_space`, nested dictionaries and lists included; `objects` are those that Tune took out of it."""
        template, found = with_placeholders(spec)
        known = {**(objects or {}), **found}
        constants, domains, grids = parse_spec_vars(template)
        for path, _ in grids:
            raise ValueError(f"{_name(path)} is a grid_search, which leaves nothing to choose: use tune.choice.")
        for path, value in constants:
            refuse_function(_name(path[:-1]), value)
        parsed = [(path, read_domain(_name(path), domain, known)) for path, domain in domains]
        for path, (value, dimension) in parsed:
            if dimension is None:
                assign_value(template, path, value)
        free = [(path, dimension) for path, (_, dimension) in parsed if dimension is not None]
        _refuse_ambiguity([_name(path) for path, _ in free])
        if not free:
            raise ValueError("The search space is empty: give a parameter a range, such as tune.uniform(0, 1).")
        return cls(tuple(d for _, d in free), tuple(p for p, _ in free), template, known)

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

    def values(self, x: Sequence[float] | Array) -> Config:
        """The values at `x` (shape `dim`) by the names of their parameters, as Tune has them."""
        point = np.asarray(x)
        return {dimension.name: dimension.decode(point[where]) for dimension, where in self._slices()}

    def config(self, x: Sequence[float] | Array) -> Config:
        """The whole configuration at `x` (shape `dim`), constants and objects included."""
        return self.complete(self.values(x))

    def complete(self, values: Json) -> Config:
        """The values in their places, constants and objects included."""
        return cast(Config, resolved(self._filled(values), self.objects))

    def varying(self, values: Json) -> Config:
        """The branches of a configuration that vary, as Tune wants them suggested: it adds constants and objects itself."""
        return cast(Config, _branches(self._filled(values), set(self.paths)))

    def locate(self, config: AnyConfig) -> Point:
        """As `encode`, for the bookkeeping of trials."""
        return tuple(map(float, self.encode(config)))

    def encode(self, config: AnyConfig) -> Array:
        """The point (shape `dim`) of a configuration, nested or with `outer/inner` keys."""
        found = self._found(config)
        for name in self.names:
            if name not in found:
                raise ValueError(f"{name} is missing")
        return np.concatenate([dimension.encode(found[dimension.name]) for dimension in self.dimensions])

    def read_point(self, config: AnyConfig) -> Config:
        """The values that a person wrote, by name and as Tune has them; a wrong one, or one that is no parameter, is refused."""
        known = {*self.names, *(_name(path) for path, _ in _leaves(self.template))}
        for name in (_name(path) for path, _ in _leaves(with_placeholders(config)[0])):
            if not any(name == k or name.startswith(f"{k}/") for k in known):
                raise ValueError(f"{name} is no parameter of the space, which has {', '.join(self.names)}")
        found = self._found(config)
        for dimension in self.dimensions:
            if dimension.name in found:
                coordinates = dimension.encode(found[dimension.name])
                if isinstance(dimension, Choice):
                    found[dimension.name] = dimension.decode(coordinates)
        return found

    def difference(self, other: "TuneSpace") -> str | None:
        """The first parameter in which two spaces differ, or None."""
        mine, theirs = ({d.name: d.describe() for d in s.dimensions} for s in (self, other))
        for name in [*mine, *theirs]:
            if mine.get(name) != theirs.get(name):
                return f"{name} was {mine.get(name, 'absent')} and is {theirs.get(name, 'absent')}"
        return None if list(mine) == list(theirs) else "the order of the parameters changed"

    def expect(self, other: "TuneSpace", refusal: str) -> None:
        """Refuse a space that is not this one, with the difference in the place of `{}`."""
        change = self.difference(other)
        if change is not None:
            raise ValueError(refusal.format(change))

    def state_dict(self) -> Json:
        """The space as strict JSON."""
        return {
            "dimensions": [[type(d).__name__, to_plain(_saved(d))] for d in self.dimensions],
            "paths": to_plain(list(self.paths)),
            "template": to_plain(_hollow(self.template, self.paths)),
        }

    @classmethod
    def from_state(cls, state: Json) -> "TuneSpace":
        """The space that `state_dict` wrote; its objects stay placeholders."""
        kinds: dict[str, type[Number] | type[Choice]] = {"Number": Number, "Choice": Choice}
        dimensions = tuple(kinds[kind](**from_plain(fields)) for kind, fields in state["dimensions"])
        return cls(dimensions, tuple(from_plain(state["paths"])), from_plain(state["template"]))

    def _found(self, config: AnyConfig) -> Config:
        """The values of a configuration by name, as far as it has them."""
        looked_up = (
            (d.name, _lookup(config, d.name, path)) for d, path in zip(self.dimensions, self.paths, strict=True)
        )
        return {name: values[0] for name, values in looked_up if values}

    def _filled(self, values: Json) -> Config:
        config = copy.deepcopy(self.template)
        for name, path in zip(self.names, self.paths, strict=True):
            assign_value(config, path, values[name])
        return config

    def _slices(self) -> Iterator[tuple[Dimension, slice]]:
        start = 0
        for dimension in self.dimensions:
            yield dimension, slice(start, start + dimension.width)
            start += dimension.width


def has_domains(config: AnyConfig) -> bool:
    """Whether anything is left to choose."""
    _, domains, grids = parse_spec_vars(dict(config))
    return bool(domains or grids)


def _saved(dimension: Dimension) -> Config:
    return {key: value for key, value in vars(dimension).items() if key != "meanings"}


def _refuse_ambiguity(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{name} names two parameters: a key with a slash reads like a nested one, rename it.")


def _name(path: Path) -> str:
    return "/".join(str(key) for key in path)


def _lookup(config: AnyConfig, name: str, path: Path) -> list[Any]:
    """The value under that name or at that path, in a list; an empty one if there is none."""
    if name in config:
        return [config[name]]
    value: Any = config
    for key in path:
        inside = key in value if isinstance(value, Mapping) else _has_index(value, key)
        if not inside:
            return []
        value = value[key]
    return [value]


def _has_index(value: Any, key: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and isinstance(key, int) and key < len(value)


def _leaves(config: Config) -> list[tuple[Path, Any]]:
    constants, domains, _ = parse_spec_vars(config)
    return [*constants, *domains]


def _branches(config: Any, paths: set[Path]) -> Any:
    """The keys of nested dictionaries that lead to `paths`; a list is replaced by Tune, and so stays whole."""
    if () in paths or not isinstance(config, dict):
        return config
    heads = {path[0] for path in paths}
    return {key: _branches(config[key], {p[1:] for p in paths if p[0] == key}) for key in config if key in heads}


def _hollow(template: Config, paths: tuple[Path, ...]) -> Config:
    """The template with the domains taken out: they are saved as dimensions."""
    hollow = copy.deepcopy(template)
    for path in paths:
        assign_value(hollow, path, None)
    return hollow
