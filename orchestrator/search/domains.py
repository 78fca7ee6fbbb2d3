"""Tune's domains - uniform, randint, choice, ... - read as parameters; what cannot be searched is refused in one line."""

import copy
import math
from collections.abc import Callable, Sequence
from operator import itemgetter

from ray.tune.search.sample import Categorical, Domain, Float, Function, Integer, LogUniform, Normal, Quantized
from ray.tune.search.variant_generator import assign_value, parse_spec_vars

from orchestrator.search.dimensions import Branches, Choice, Dimension, Number, Path, is_number, same
from orchestrator.search.placeholders import FUNCTION, Objects, resolved


def read_domain(name: str, domain: Domain, objects: Objects) -> tuple[object, Dimension | None]:
    """(None, dimension), or (the only value, None) for a domain that leaves no choice."""
    if isinstance(domain, Categorical):
        return _choice(name, domain.categories, objects)
    if isinstance(domain, Function):
        refuse_function(name, FUNCTION)
    if not isinstance(domain, Float | Integer):
        raise ValueError(f"{name} is a {type(domain).__name__}: use tune.uniform, tune.randint or tune.choice.")
    sampler = domain.get_sampler()
    step = sampler.q if isinstance(sampler, Quantized) else None
    base = sampler.sampler if isinstance(sampler, Quantized) else sampler
    if isinstance(base, Normal):
        raise ValueError(f"{name} is a randn, which has no bounds: use tune.uniform(low, high) instead.")
    _check_bounds(name, domain.lower, domain.upper, step, log=isinstance(base, LogUniform))
    return _number(name, domain, step, log=isinstance(base, LogUniform))


def refuse_function(name: str, part: object) -> None:
    """Tune hides a `sample_from` behind the tuple (token, hash), which is read part by part."""
    if isinstance(part, str) and part == FUNCTION:
        raise ValueError(f"{name} is a sample_from, which a model cannot learn: use tune.uniform, randint or choice.")


def _number(name: str, domain: Domain, step: float | None, log: bool) -> tuple[object, Dimension | None]:
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


def _inward(bound: float, step: float, rounding: Callable[[float], int]) -> float:
    """The multiple of `step` at `bound`, or the next one inside the range."""
    nearest = round(bound / step)
    index = nearest if math.isclose(bound / step, nearest) else rounding(bound / step)
    return float(f"{index * step:.12g}")


def _check_bounds(name: str, low: float, high: float, step: float | None, log: bool) -> None:
    for bound in (low, high, 1 if step is None else step):
        if not is_number(bound):
            raise ValueError(f"{name} has the bound {bound!r}: bounds and steps are finite numbers.")
    if not low < high:
        raise ValueError(f"{name} has low = {low:g} >= high = {high:g}: swap or widen them.")
    if log and low <= 0:
        raise ValueError(f"{name} has a log scale and low = {low:g}: a logarithm needs low > 0.")
    if step is not None and not 0 < step <= high - low:
        raise ValueError(f"{name} has a step of {step:g} in a range of {high - low:g}: make the step smaller.")


def _choice(name: str, categories: Sequence[object], objects: Objects) -> tuple[object, Dimension | None]:
    found: list[tuple[object, object]] = []  # as Tune has it, as people have it
    for category in categories:
        for _, value in parse_spec_vars({0: category})[0]:
            refuse_function(name, value)
        meaning = resolved(category, objects)
        if not any(same(known, meaning) for _, known in found):
            found.append((category, meaning))
    if not found:
        raise ValueError(f"{name} is a choice of nothing: list at least one value.")
    if len(found) == 1:
        return found[0][0], None
    ordered = len(found) > 2 and all(is_number(meaning) for _, meaning in found)
    values, meanings = zip(*(sorted(found, key=itemgetter(1)) if ordered else found), strict=True)
    return None, Choice(name, values, ordered, meanings)


def is_branched(domain: Domain) -> bool:
    """Whether it is a choice with domains inside."""
    return isinstance(domain, Categorical) and any(any(_inside(category)) for category in domain.categories)


def read_branches(name: str, domain: Categorical) -> Branches:
    """The branches of a choice, with a hole for every parameter inside; those follow from `inner_domains`."""
    branches, holes = [], []
    for category in domain.categories:
        paths = tuple(path for path, _ in inner_domains(name, category))
        branches.append(_with_holes(category, paths))
        holes.append(paths)
    choice = Branches(name, tuple(branches), holes=tuple(holes))
    for index, branch in enumerate(branches):
        if choice.index(branch) != index:
            remedy = 'a constant that tells it apart, such as {"name": "sgd", ...}'
            raise ValueError(f"{name} has two branches that look alike, {branch!r}: give each {remedy}.")
    return choice


def inner_domains(name: str, category: object) -> list[tuple[Path, Domain]]:
    """The domains inside one branch, by their paths."""
    domains, grids = _inside(category)
    if grids:
        raise ValueError(f"{name} has a grid_search inside a choice, which leaves nothing to choose: use tune.choice.")
    if isinstance(category, Domain):
        raise ValueError(
            f"{name} is a choice of a bare domain: put it into a branch of its own, as in {{'value': tune.uniform(0, 1)}}."
        )
    return domains


def _inside(category: object) -> tuple[list[tuple[Path, Domain]], list[object]]:
    """Domains and grids in a category, by their paths in it."""
    constants, domains, grids = parse_spec_vars({0: category})
    for path, value in constants:
        refuse_function("/".join(map(str, path[1:])), value)
    return [(tuple(path[1:]), domain) for path, domain in domains], grids


def _with_holes(category: object, paths: tuple[Path, ...]) -> object:
    hollow = copy.deepcopy({0: category})
    for path in paths:
        assign_value(hollow, (0, *path), None)
    return hollow[0]
