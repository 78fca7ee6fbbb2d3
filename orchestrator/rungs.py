"""Rungs: the few reports of a trial on its way that are kept, and which share of the full budget they stand for."""

import math
from collections.abc import Iterable
from typing import Protocol, TypedDict

Rungs = tuple[tuple[float, float], ...]
"""Pairs of resource (epochs, episodes, seconds) and value, both as they were reported, resource ascending."""

SPACING = 1.25
"""Reports nearer to each other than this ratio of resources tell the same: a thousand epochs leave some thirty rungs."""


class Ended(Protocol):
    """A trial that ended: what it reported on its way, and whether it ran in full."""

    @property
    def rungs(self) -> Rungs: ...
    @property
    def whole(self) -> bool: ...
    @property
    def finite(self) -> bool: ...


class Told(TypedDict, total=False):
    """What an optimizer is told of a trial's way besides its end; nothing of one that reported only that."""

    resource: float
    curve: list[tuple[float, float]]


def with_report(rungs: Rungs, resource: float, value: float) -> Rungs:
    """The rungs one report later; a trial that starts again from an earlier point takes back what it had reported since."""
    kept = [rung for rung in rungs if rung[0] < resource]
    # the last one is where the trial stands, and stays only if it is far enough from the rung before it
    if len(kept) > 1 and kept[-1][0] < SPACING * kept[-2][0]:
        kept.pop()
    return (*kept, (resource, value))


def rungs_of(progress: Iterable[tuple[float, float]], y: float) -> Rungs:
    """The rungs of a trial that ended with the report `y` (any float): what is not finite is no rung."""
    steps: dict[float, float] = dict(progress)
    rungs: Rungs = ()
    for resource, value in sorted((steps | {max(steps): y}).items() if steps else ()):
        rungs = with_report(rungs, resource, value) if math.isfinite(value) and resource > 0 else rungs
    return rungs


def largest(curves: Iterable[Rungs]) -> float:
    """The largest resource that any of these got to; 0 where none says."""
    return max((rungs[-1][0] for rungs in curves if rungs), default=0.0)


def told_as(ended: Ended, budget: float) -> Told:
    """What an optimizer is told of a trial's way: its share of what it would have got in full, and the rungs before.

    In full is `budget`, or where the trial ended of itself.
    """
    if not (ended.rungs and ended.finite):
        return {}
    full = ended.rungs[-1][0] if ended.whole else max(budget, ended.rungs[-1][0])
    *before, (share, _) = ((resource / full, value) for resource, value in ended.rungs)
    return {"resource": share, "curve": before}
