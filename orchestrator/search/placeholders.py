"""What Tune puts in the place of classes, functions and other objects before a searcher sees a space, and how to undo it."""

import copy
import inspect
from collections.abc import Mapping

from ray.tune.impl.placeholder import _FunctionResolver, _RefResolver, create_resolvers_map, inject_placeholders

from orchestrator.search.dimensions import AnyConfig, Config

Placeholder = tuple[str, str]
Objects = Mapping[Placeholder, object]
FUNCTION = _FunctionResolver.TOKEN
"""The first half of what stands for a `sample_from`."""


def with_placeholders(space: AnyConfig) -> tuple[Config, Objects]:
    """A copy of the space as Tune would pass it on, and the objects it left out; a second time changes nothing."""
    resolvers = create_resolvers_map()
    replaced = inject_placeholders(copy.deepcopy(dict(space)), resolvers)
    return replaced, _objects(resolvers)


def objects_known_to_tune() -> Objects:
    """The objects that Tune left out of the space it is passing on right now; nothing if it is not Tune who calls.

    They are in a local variable of `tune.run`, which waits further up the stack. There is no other way to them.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "ray.tune.tune" and "placeholder_resolvers" in frame.f_locals:
            return _objects(frame.f_locals["placeholder_resolvers"])
        frame = frame.f_back
    return {}


def resolved(value: object, objects: Objects) -> object:
    """The value with every placeholder replaced by its object."""
    if isinstance(value, dict):
        return {key: resolved(item, objects) for key, item in value.items()}
    if isinstance(value, list):
        return [resolved(item, objects) for item in value]
    if not isinstance(value, tuple):
        return value
    if len(value) == 2 and all(isinstance(part, str) for part in value) and value in objects:
        return objects[value]
    return tuple(resolved(item, objects) for item in value)


def _objects(resolvers: Mapping[object, list[object]]) -> Objects:
    found = [resolver for listed in resolvers.values() for resolver in listed]
    return {r.get_placeholder(): r.resolve() for r in found if isinstance(r, _RefResolver)}
