"""The algorithms by name, and the optimizer of each."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from rcgp.acquisition import UCB, Neighbours, Projection
from rcgp.adaptive import AdaptiveSurrogate
from rcgp.bounded import BoundedSurrogate
from rcgp.choices import did_you_mean, unknown
from rcgp.confidence import make_schedule
from rcgp.fixed_center import FixedCenterSurrogate
from rcgp.optimizer import Optimizer
from rcgp.surrogates import DiagnosticsSurrogate, GaussianSurrogate, StudentTSurrogate, Surrogate

SURROGATES: dict[str, type[Surrogate] | None] = {
    "gp-ucb": GaussianSurrogate,
    "student-t-ucb": StudentTSurrogate,
    "diagnostics-gp": DiagnosticsSurrogate,
    "fc-rcgp-ucb": FixedCenterSurrogate,
    "a2-rcgp-ucb": AdaptiveSurrogate,
    "random": None,
}
ALGORITHMS = tuple(SURROGATES)
RENAMED_OPTIONS = {"patience": "refit_divisor"}
"""Options that went by another name once: campaign files and programs that use it still run."""


def make_optimizer(
    name: str,
    dim: int,
    *,
    seed: int,
    n_initial: int,
    horizon: int | None = None,
    project: Projection | None = None,
    neighbours: Neighbours | None = None,
    avoid_repeats: bool = False,
    schedule: str | None = None,
    scale: float | None = None,
    corruptions: int | str = "estimated",
    max_rows: int = 1500,
    fill: int = 0,
    recheck: bool = False,
    look_again: bool = False,
    regions: bool = False,
    verify: bool = False,
    **options: Any,
) -> Optimizer:
    """The optimizer of that name on the unit cube of dimension `dim`.

    `n_initial` scrambled Sobol points come first. From then on a model judges reports and chooses points, but
    the first `fill` trials still fill space. `horizon` is the number of trials, where known (the theory schedule needs it).
    `project` rounds points to those that can be tried, and `neighbours` gives those that are one move away from one of them.
    With `avoid_repeats` none is asked twice while others are left (but suspects with `recheck`, and with `regions` what failed
    once where failures strike at random).
    `schedule` is "practical" (default), "paper" or "theory"; `scale` its multiplier. `corruptions` is their assumed number in
    the theory schedule: "estimated" from the weights, or fixed. Past `max_rows` observations the model is built on that many of
    them, so that a suggestion's cost stays bounded. With `recheck` a suspect that would be the best point is asked again.
    With `look_again` a search that has settled looks again, ever more seldom, at the rows that decide the answer.
    With `regions` whatever is no number teaches where trials succeed; with `verify` a claim far beyond all others is
    asked again where nothing can be tried beside it, and not believed if it is better by orders of magnitude; and runs of one
    point tell how much of the noise is noise, and not the objective's own.
    Further options are those of the algorithm's surrogate.
    """
    if name not in SURROGATES:
        raise ValueError(unknown("algorithm", name, ALGORITHMS))
    _check_whole_numbers(
        dim=(dim, 1), seed=(seed, 0), n_initial=(n_initial, 1), max_rows=(max_rows, 20), fill=(fill, 0)
    )
    if isinstance(corruptions, str) and corruptions != "estimated":
        raise ValueError(f"corruptions must be 'estimated' or a whole number, got {corruptions!r}.")
    if options.get("recipe") == "paper":  # the authors' own throughout
        schedule, options = schedule or "paper", {"kernel": "rbf", "bend": False, "compare_reporters": False} | options
    surrogate = make_surrogate(name, options, also=_general_options())
    return Optimizer(
        name,
        int(dim),
        seed=int(seed),
        n_initial=int(n_initial),
        surrogate=None if surrogate is None else BoundedSurrogate(surrogate, int(max_rows)),
        acquisition=UCB,
        schedule=make_schedule(schedule or "practical", horizon=horizon, scale=scale),
        corruptions=None if isinstance(corruptions, str) else corruptions,
        project=project,
        neighbours=neighbours,
        avoid_repeats=avoid_repeats,
        recheck=recheck,
        fill=int(fill),
        look_again=look_again,
        regions=regions,
        verify=verify,
    )


def make_surrogate(name: str, options: Mapping[str, Any], *, also: tuple[str, ...] = ()) -> Surrogate | None:
    """The surrogate of that algorithm (None: it has none); an unknown option is answered with these and those in `also`."""
    kind = SURROGATES[name]
    allowed = (*also, *(() if kind is None else (field.name for field in fields(kind))))
    current = {RENAMED_OPTIONS.get(option, option): value for option, value in options.items()}
    for option in current:
        if option not in allowed[len(also) :]:
            hint = did_you_mean(option, allowed)
            raise ValueError(f"{name} has no option {option!r}{hint}: choose from {', '.join(allowed)}.")
    return None if kind is None else kind(**current)


def _general_options() -> tuple[str, ...]:
    """What a person may write for every algorithm; `dim`, `project` and `neighbours` follow from the space."""
    parameters = inspect.signature(make_optimizer).parameters
    return tuple(name for name in parameters if name not in ("name", "dim", "project", "neighbours", "options"))


def _check_whole_numbers(**arguments: tuple[object, int]) -> None:
    """Refuse a value that is no whole number of at least so much."""
    for name, (value, least) in arguments.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
