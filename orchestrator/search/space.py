"""Tune search space <-> unit cube, parameter by parameter. Nothing else in the project knows both.

Tune puts placeholders in the place of classes, functions and other objects. Inside, a space has them as well: they are plain
data, and the same in every session. People get, and may give, the objects themselves.
"""

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

import numpy as np
from ray.tune.search.sample import Categorical, Domain
from ray.tune.search.variant_generator import assign_value, parse_spec_vars
from ray.tune.utils.util import unflatten_dict

from orchestrator.plain import Json, from_plain, to_plain
from orchestrator.search.cube import Condition, Cube
from orchestrator.search.dimensions import AnyConfig as AnyConfig
from orchestrator.search.dimensions import Branches, Choice, Dimension, Number, Path, parts_of
from orchestrator.search.dimensions import Config as Config
from orchestrator.search.domains import inner_domains, is_branched, read_branches, read_domain, refuse_function
from orchestrator.search.placeholders import Objects, resolved, with_placeholders
from orchestrator.trial_records import Array, Point


@dataclass(frozen=True)
class TuneSpace:
    """A Tune search space as a unit cube of `dim` coordinates that only holds points that can be tried."""

    dimensions: tuple[Dimension, ...]
    paths: tuple[Path, ...]
    template: Config  # the whole config, constants included, to be filled in at `paths`
    conditions: tuple[Condition | None, ...]
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
        reading = _Reading(known)
        for path, domain in domains:
            alone = reading.read(path, domain, None)
            if alone:
                assign_value(template, path, alone[0])
        if not reading.dimensions:
            raise ValueError("The search space is empty: give a parameter a range, such as tune.uniform(0, 1).")
        _refuse_ambiguity(reading)
        paths, conditions = tuple(reading.paths), tuple(reading.conditions)
        return cls(tuple(reading.dimensions), paths, template, conditions, known)

    @cached_property
    def cube(self) -> Cube:
        """The parameters as coordinates."""
        return Cube(self.dimensions, self.conditions)

    @property
    def dim(self) -> int:
        """The number of coordinates of the cube."""
        return self.cube.dim

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters, nested ones as `outer/inner`; two branches may each have one of the same name."""
        return tuple(dimension.name for dimension in self.dimensions)

    def project(self, points: Array) -> Array:
        """The nearest points that can be tried; `points` and the result have shape `m x dim`."""
        return self.cube.project(points)

    def values(self, x: Sequence[float] | Array) -> Config:
        """The values at `x` (shape `dim`) by the names of the parameters that are active there, as Tune has them."""
        return {self.dimensions[index].name: value for index, value in self.cube.decode(x).items()}

    def config(self, x: Sequence[float] | Array) -> Config:
        """The whole configuration at `x` (shape `dim`), constants and objects included."""
        return self.complete(self.values(x))

    def complete(self, values: Json) -> Config:
        """The values in their places, constants and objects included."""
        return cast(Config, resolved(self._filled(values), self.objects))

    def varying(self, values: Json) -> Config:
        """The branches of a configuration that vary, as Tune wants them suggested: it adds constants and objects itself."""
        return cast(Config, _branches(self._filled(values), set(self.paths)))

    def is_at(self, config: AnyConfig, x: Point) -> bool:
        """Whether that configuration is the point `x`; one that cannot be located says nothing, and is."""
        try:
            return bool(np.allclose(self.locate(config), x, rtol=0.0, atol=1e-6))
        except ValueError:
            return True

    def locate(self, config: AnyConfig) -> Point:
        """As `encode`, for the bookkeeping of trials."""
        return tuple(map(float, self.encode(config)))

    def encode(self, config: AnyConfig) -> Array:
        """The point (shape `dim`) of a configuration, nested or with `outer/inner` keys."""
        return self.cube.encode(self._found(config))

    def filled_up(self, values: Config, x: Sequence[float] | Array) -> Config:
        """The values that a person gave, by name; those that were left open are the ones at `x` (shape `dim`)."""
        found = self._found(values)
        slices = [where for _, where in self.cube.slices()]
        for index in self.cube.active_among(found):
            if index not in found:
                found[index] = self.dimensions[index].decode(np.asarray(x)[slices[index]])
        return {self.dimensions[index].name: found[index] for index in self.cube.active_among(found)}

    def read_point(self, config: AnyConfig) -> Config:
        """The values that a person wrote, by name and as Tune has them; a wrong one, or one that is no parameter, is refused."""
        known = {*self.names, *(_name(path) for path, _ in _leaves(self.template))}
        for name in (_name(path) for path, _ in _leaves(with_placeholders(config)[0])):
            if not any(name == k or name.startswith(f"{k}/") for k in known):
                raise ValueError(
                    f"{name} is no parameter of the space, which has {', '.join(dict.fromkeys(self.names))}"
                )
        found, read = self._found(config), {}
        for index in self.cube.active_among(found):
            if index in found:
                dimension = self.dimensions[index]
                coordinates = dimension.encode(found[index])
                read[dimension.name] = dimension.decode(coordinates) if isinstance(dimension, Choice) else found[index]
        for name in set(self.names) & set(config) - set(read):
            raise ValueError(f"{name} belongs to a branch that the point does not take: name the branch as well")
        return read

    def difference(self, other: "TuneSpace") -> str | None:
        """The first parameter in which two spaces differ, or None."""
        mine, theirs = ({name: d.describe() for name, d in s._by_full_name()} for s in (self, other))
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
            "template": to_plain(_hollow(self.template, self._outer())),
            "conditions": [None if c is None else [c.parent, c.value] for c in self.conditions],
            "shared": list(self.cube.shared),
        }

    @classmethod
    def from_state(cls, state: Json) -> "TuneSpace":
        """The space that `state_dict` wrote; its objects stay placeholders."""
        kinds: dict[str, type[Number] | type[Choice]] = {"Number": Number, "Choice": Choice, "Branches": Branches}
        dimensions = tuple(kinds[kind](**from_plain(fields)) for kind, fields in state["dimensions"])
        listed = state.get("conditions") or [None] * len(dimensions)  # there are old states on people's disks
        conditions = tuple(None if c is None else Condition(*c) for c in listed)
        space = cls(dimensions, tuple(from_plain(state["paths"])), from_plain(state["template"]), conditions)
        if space.cube.shared != tuple(state.get("shared", ())):
            name = space.cube.shared[0]
            remedy = "begin anew, with its results in RCGPSearch.from_results"
            raise ValueError(f"An earlier version saved this, to which {name} was another in each branch: {remedy}.")
        return space

    def _by_full_name(self) -> Iterator[tuple[str, Dimension]]:
        """Every parameter by a name that tells those of different branches apart."""
        for dimension, condition in zip(self.dimensions, self.conditions, strict=True):
            branch = "" if condition is None else f" in branch {condition.value} of {self.names[condition.parent]}"
            yield f"{dimension.name}{branch}", dimension

    def _outer(self) -> tuple[Path, ...]:
        """The paths of the parameters outside all branches."""
        return tuple(path for path, condition in zip(self.paths, self.conditions, strict=True) if condition is None)

    def _found(self, config: AnyConfig) -> dict[int, object]:
        """The values of a configuration by the number of the parameter, as far as it has them and they are active."""
        found: dict[int, object] = {}
        for index in self.cube.active_among(found):
            values = _lookup(config, self.names[index], self.paths[index])
            if values and not (values[0] is None and self._may_be_open(index)):
                found[index] = values[0]
        return found

    def _may_be_open(self, index: int) -> bool:
        """Whether None in the place of a parameter is the hole that a branch has there, and no value."""
        dimension = self.dimensions[index]
        chosen = isinstance(dimension, Choice) and None in dimension.values
        return self.conditions[index] is not None and not chosen

    def _filled(self, values: Json) -> Config:
        config = copy.deepcopy(self.template)
        found = self._found(values)
        for index in self.cube.active_among(found):  # a branch comes before what is in it
            assign_value(config, self.paths[index], found[index])
        return config


class _Reading:
    """What was read of a space so far: parameters, their paths and conditions, those of a branch after its choice."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.dimensions, self.paths = list[Dimension](), list[Path]()
        self.conditions = list[Condition | None]()

    def read(self, path: Path, domain: Domain, condition: Condition | None) -> list[object]:
        """Add the parameters of a domain; nothing, or the only value of a domain that leaves no choice, in a list."""
        if is_branched(domain):
            self._read_branches(path, domain, condition)
            return []
        value, dimension = read_domain(_name(path), domain, self._objects)
        if dimension is None:
            return [value]
        self._add(path, dimension, condition)
        return []

    def _read_branches(self, path: Path, domain: Categorical, condition: Condition | None) -> None:
        number = len(self.dimensions)
        self._add(path, read_branches(_name(path), domain), condition)
        for value, category in enumerate(domain.categories):
            for inner, inside in inner_domains(_name(path), category):
                alone = self.read((*path, *inner), inside, Condition(number, value))
                if alone:
                    raise ValueError(f"{_name((*path, *inner))} leaves no choice: write {alone[0]!r} in its place.")

    def _add(self, path: Path, dimension: Dimension, condition: Condition | None) -> None:
        self.dimensions.append(dimension)
        self.paths.append(path)
        self.conditions.append(condition)

    def branch(self, index: int) -> dict[int, int]:
        """The choices that lead to a parameter, and the value that each must take."""
        condition = self.conditions[index]
        return {} if condition is None else {**self.branch(condition.parent), condition.parent: condition.value}


def has_domains(config: AnyConfig) -> bool:
    """Whether anything is left to choose."""
    _, domains, grids = parse_spec_vars(dict(config))
    return bool(domains or grids)


def _saved(dimension: Dimension) -> Config:
    return {key: value for key, value in vars(dimension).items() if key != "meanings"}


def _refuse_ambiguity(reading: _Reading) -> None:
    """Refuse two parameters of one name that may be active together."""
    for first, second in itertools.combinations(range(len(reading.dimensions)), 2):
        name, one, other = reading.dimensions[first].name, reading.branch(first), reading.branch(second)
        together = all(one[choice] == other[choice] for choice in one.keys() & other.keys())
        if name == reading.dimensions[second].name and together:
            raise ValueError(f"{name} names two parameters: a key with a slash reads like a nested one, rename it.")


def _name(path: Path) -> str:
    return "/".join(str(key) for key in path)


def _lookup(config: AnyConfig, name: str, path: Path) -> list[object]:
    """The value under that name or at that path, in a list; an empty one if there is none."""
    if name in config:
        return [config[name]]
    inside = {key.removeprefix(f"{name}/"): config[key] for key in config if str(key).startswith(f"{name}/")}
    if inside:  # a flat configuration
        return [unflatten_dict(inside)]
    value: object = config
    for key in path:
        parts = parts_of(value)
        if parts is None or key not in parts:
            return []
        value = parts[key]
    return [value]


def _leaves(config: Config) -> list[tuple[Path, object]]:
    constants, domains, _ = parse_spec_vars(config)
    return [*constants, *domains]


def _branches(config: object, paths: set[Path]) -> object:
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
