"""Where trials fail: how many, why, and which parameter alone tells them from the others - or that none does.

A rule is a part of one parameter's range - above, below, within or outside of bounds - or some of its choices. What it is worth
is counted on trials it was not made from: of five parts, the best rule of four foresees the fifth, beside the bare rate of
failures, in nats. Trials at one place stay together and count once, for repetitions and shared first trials are no new evidence.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
NEAR = 0.02
"""Trials that are less than this share of every range apart are one place: a search comes back to where it was."""
LEAST = 5
"""Fewer failures, or fewer successes, say nothing of where they are."""
FOLDS, CUTS = 5, 100
"""Parts in which rules are tried, and bounds that are tried along an axis."""
CLEAR = 3.0
"""Nats, beyond the logarithm of the number of parameters, from which on a rule tells something: at random one in eighty does."""
SURE = 0.9
"""The probability from which on failures are said to have a place that no parameter alone tells."""
PRIOR = 2.0
"""Trials at the common rate that nobody saw, in every part of a rule."""
TOLD = 3
"""Parameters that are named at most."""
MODELLED = 150
"""Trials, evenly spread, by which it is judged whether failures have a place."""


@dataclass(frozen=True)
class Coordinate:
    """One parameter of all trials: its values as people write them, None where a trial had none."""

    name: str
    values: Sequence[Any]
    ordered: bool
    """Whether it is a number, rather than a choice."""
    log: bool = False


@dataclass(frozen=True)
class Rule:
    """A part of one parameter's values: beyond or between bounds (`apart`: not between them), or some choices."""

    name: str
    low: float = -math.inf
    high: float = math.inf
    apart: bool = False
    choices: tuple[str, ...] | None = None

    def holds(self, coordinate: Coordinate) -> Mask:
        """For which trials, shape `n`; for none that has no value."""
        if self.choices is not None:
            return np.array([v is not None and str(v) in self.choices for v in coordinate.values])
        values = numbers(coordinate)
        inside = (values > self.low) & (values < self.high)
        return ~inside & ~np.isnan(values) if self.apart else inside

    def __str__(self) -> str:
        if self.choices is not None:
            return f"{self.name} = {' or '.join(self.choices)}"
        if self.apart:
            return f"{self.name} < {self.low:.10g} or > {self.high:.10g}"
        if math.isinf(self.low):
            return f"{self.name} < {self.high:.10g}"
        return (
            f"{self.name} > {self.low:.10g}"
            if math.isinf(self.high)
            else f"{self.low:.10g} < {self.name} < {self.high:.10g}"
        )


@dataclass(frozen=True)
class Telling:
    """A rule that tells failures from successes: how many trials it holds for, and how many failed there and elsewhere."""

    rule: Rule
    gain: float
    """Nats by which it foresees trials it was not made from better than the rate alone."""
    inside: int
    failed_inside: int
    outside: int
    failed_outside: int

    def __str__(self) -> str:
        there = f"{self.failed_inside} of {self.inside} trials there failed"
        return f"{self.rule} ({there}, {self.failed_outside} of {self.outside} elsewhere)"


@dataclass(frozen=True)
class Failures:
    """What is known of the failed among all trials."""

    trials: int
    failed: int
    kinds: tuple[tuple[str, int], ...]
    """What happened, in a word, and how often; nothing where nobody knows."""
    telling: tuple[Telling, ...]
    placed: float
    """The probability that failures have a place at all, rather than strike at random; NaN for too few to say."""

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds)
        how = f" ({kinds if len(self.kinds) > 1 else self.kinds[0][0]})" if self.kinds else ""
        return f"{self.failed} of {self.trials} trials failed{how}: {self.where}."

    @property
    def where(self) -> str:
        """Where they are, as far as that is known."""
        if self.failed == self.trials:
            return "nothing is known of where trials succeed"
        if min(self.failed, self.trials - self.failed) < LEAST:
            return "too few to say where"
        if self.telling:
            return f"{_how_far(self.telling[0])} where {self.telling[0]}"
        if self.placed > SURE:
            return "they have a place, but no parameter alone tells it"
        return "no parameter tells them from the others, they strike at random as far as can be seen"


def _how_far(told: Telling) -> str:
    if not told.failed_outside:
        return "only"
    return "mostly" if told.failed_inside > told.failed_outside else "more often"


def failures_of(
    failed: Mask, kinds: Sequence[str], coordinates: Sequence[Coordinate], points: Array
) -> Failures | None:
    """What is known of the `failed` (`n`) of the trials at `points` (`n x d`); None where none failed.

    `kinds` says in a word what happened to each failed one, in the same order; empty where nobody knows.
    """
    if not failed.any():
        return None
    counted, few = tuple(Counter(kinds).most_common()), min(int(failed.sum()), int((~failed).sum())) < LEAST
    if few or not coordinates:
        return Failures(len(failed), int(failed.sum()), counted, (), math.nan)
    telling = tuple(most_telling(failed, coordinates, points))
    return Failures(len(failed), int(failed.sum()), counted, telling, _placed(failed, points))


def most_telling(failed: Mask, coordinates: Sequence[Coordinate], points: Array) -> Iterator[Telling]:
    """The few parameters that tell the `failed` (`n`) from the others: the best, then the best among the trials it leaves."""
    left = np.ones(len(failed), dtype=bool)
    for _ in range(TOLD):
        if min((failed & left).sum(), (~failed & left).sum()) < LEAST:
            return
        told = _most_telling(failed[left], [_some(c, left) for c in coordinates], points[left])
        if told is None:
            return
        yield told
        left &= ~told.rule.holds(next(c for c in coordinates if c.name == told.rule.name))


def _most_telling(failed: Mask, coordinates: Sequence[Coordinate], points: Array) -> Telling | None:
    _, place, count = np.unique(np.round(points / NEAR), axis=0, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    weights, folds = 1.0 / count[place], _rank(place) % FOLDS
    gain, first = max(((_gain(failed, weights, folds, c), i) for i, c in enumerate(coordinates)))
    rule = best_rule(failed, weights, coordinates[first])
    if rule is None or gain < CLEAR + math.log(len(coordinates)):
        return None
    return _told(rule, gain, failed, coordinates[first])


def _told(rule: Rule, gain: float, failed: Mask, coordinate: Coordinate) -> Telling:
    there = rule.holds(coordinate)
    counts = (int(part.sum()) for part in (there, failed & there, ~there, failed & ~there))
    return Telling(rule, gain, *counts)


def _rank(place: NDArray[np.intp]) -> NDArray[np.intp]:
    """The places in the order in which they were first tried, so that early and late trials are in every part."""
    _, first, again = np.unique(place, return_index=True, return_inverse=True)
    rank: NDArray[np.intp] = np.argsort(np.argsort(first))[again.reshape(-1)]
    return rank


def _placed(failed: Mask, points: Array) -> float:
    from rcgp.random_failures import probability_of_region

    kept = np.linspace(0, len(points) - 1, min(len(points), MODELLED)).astype(np.intp)
    return (
        probability_of_region(points[kept], ~failed[kept], "matern52")
        if 0 < failed[kept].sum() < len(kept)
        else math.nan
    )


# --- one parameter ----------------------------------------------------------------------------------------------------


def numbers(coordinate: Coordinate) -> Array:
    """Its values (`n`), NaN where a trial had none."""
    return np.array([math.nan if value is None else float(value) for value in coordinate.values])


def _gain(failed: Mask, weights: Array, folds: NDArray[np.intp], coordinate: Coordinate) -> float:
    """By how much rules foresee the trials they were not made from better than the rate does, in nats."""
    total = 0.0
    for fold in range(FOLDS):
        kept = folds != fold
        rule = best_rule(failed[kept], weights[kept], _some(coordinate, kept))
        if rule is not None:
            total += _foresight(rule.holds(coordinate), failed, weights, kept)
    return total


def _foresight(there: Mask, failed: Mask, weights: Array, kept: Mask) -> float:
    """The same of one rule, made from the `kept`."""
    rate = _rate(failed, weights, kept, 0.5)
    inside, outside = (_rate(failed, weights, kept & part, rate) for part in (there, ~there))
    p, left = np.where(there, inside, outside), ~kept
    gained = np.where(failed, np.log(p / rate), np.log((1.0 - p) / (1.0 - rate)))
    return float((weights * gained)[left].sum())


def _rate(failed: Mask, weights: Array, part: Mask, prior: float) -> float:
    return float(((weights * failed)[part].sum() + PRIOR * prior) / (weights[part].sum() + PRIOR))


def _some(coordinate: Coordinate, kept: Mask) -> Coordinate:
    values = [value for value, keep in zip(coordinate.values, kept, strict=True) if keep]
    return Coordinate(coordinate.name, values, coordinate.ordered, coordinate.log)


def best_rule(failed: Mask, weights: Array, coordinate: Coordinate) -> Rule | None:
    """The rule under which the failures are most probable and more frequent than elsewhere; None where nothing varies."""
    find = _best_bounds if coordinate.ordered else _best_choices
    return find(failed, weights, coordinate)


def _best_bounds(failed: Mask, weights: Array, coordinate: Coordinate) -> Rule | None:
    values = numbers(coordinate)
    cuts = _cuts(values, coordinate.log)
    if not len(cuts):
        return None
    bins = np.searchsorted(cuts, values)
    known = ~np.isnan(values)
    lost, all_ = (_cumulated(bins[known], w[known], len(cuts) + 1) for w in (weights * failed, weights))
    first, last = np.triu_indices(len(cuts) + 2, 1)  # between any two edges, the outermost included
    inside, inside_all = lost[last] - lost[first], all_[last] - all_[first]
    sides = (first > 0).astype(float) + (last <= len(cuts))
    score = _likelihood(inside, inside_all, failed, weights) - sides * math.log(len(values))
    best = int(np.argmax(np.where(sides > 0, score, -np.inf)))
    edges = np.array([-math.inf, *cuts, math.inf])
    low, high = float(edges[first[best]]), float(edges[last[best]])
    within = inside[best] * weights.sum() >= (weights @ failed) * inside_all[best]
    return _bounded(coordinate.name, low, high, bool(within))


def _bounded(name: str, low: float, high: float, within: bool) -> Rule:
    """The part between the bounds or, where failures are rarer there, the part beyond them."""
    if within:
        return Rule(name, low, high)
    if math.isinf(low):
        return Rule(name, low=high)
    return Rule(name, high=low) if math.isinf(high) else Rule(name, low, high, apart=True)


def _cumulated(bins: NDArray[np.intp], weights: Array, count: int) -> Array:
    """The weight below each edge."""
    return np.concatenate([[0.0], np.cumsum(np.bincount(bins, weights, count))])


def _cuts(values: Array, log: bool) -> Array:
    """Bounds between neighbouring values, evenly spread over the trials, in as few digits as keep them apart."""
    tried = np.unique(values[~np.isnan(values)])
    if len(tried) < 2:
        return np.empty(0)
    where = np.unique(np.linspace(0, len(tried) - 2, min(CUTS, len(tried) - 1)).astype(int))
    return np.array([between(float(tried[i]), float(tried[i + 1]), log) for i in where])


def between(low: float, high: float, log: bool) -> float:
    """A number between two others in as few digits as possible."""
    middle = math.sqrt(low) * math.sqrt(high) if log and low > 0 else low + (high - low) / 2
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if low < short < high:
            return short
    return middle


def _best_choices(failed: Mask, weights: Array, coordinate: Coordinate) -> Rule | None:
    texts = np.array(["" if value is None else str(value) for value in coordinate.values])
    names = sorted({str(value) for value in coordinate.values if value is not None})
    if len(names) < 2:
        return None
    lost = np.array([(weights * failed)[texts == name].sum() for name in names])
    all_ = np.array([weights[texts == name].sum() for name in names])
    worst = np.argsort(-lost / all_, kind="stable")
    inside, inside_all = np.cumsum(lost[worst])[:-1], np.cumsum(all_[worst])[:-1]
    best = int(np.argmax(_likelihood(inside, inside_all, failed, weights)))
    return Rule(coordinate.name, choices=tuple(sorted(names[i] for i in worst[: best + 1])))


def _likelihood(inside: Array, inside_all: Array, failed: Mask, weights: Array) -> Array:
    """Log-likelihood of one rate of failures inside and another outside, for each of several parts."""
    return _binomial(inside, inside_all) + _binomial(weights @ failed - inside, weights.sum() - inside_all)


def _binomial(lost: Array, all_: Array) -> Array:
    rate = np.clip((lost + 0.5) / (all_ + 1.0), 1e-9, 1.0 - 1e-9)
    likelihood: Array = lost * np.log(rate) + (all_ - lost) * np.log(1.0 - rate)
    return likelihood
