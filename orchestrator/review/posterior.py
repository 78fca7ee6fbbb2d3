"""What an optimizer believed, trial by trial: its observations are told again, in the order they came."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_optimizer
from orchestrator.engine.conductor import STATE_LAYOUT
from orchestrator.engine.events import OptimizerSaved, of_type
from orchestrator.engine.history import events_of
from orchestrator.engine.optimizer_state import restore_state
from orchestrator.engine.stopping import full_resource
from orchestrator.review.axes import grid_of
from orchestrator.review.resource import told_of

if TYPE_CHECKING:
    from rcgp import Optimizer

Array = NDArray[np.float64]
State = Mapping[str, object]
"""An optimizer's conclusions, as its journal keeps them now and then."""
GRID = {1: 161, 2: 27}
"""Points along each axis, for problems that can be drawn."""
FRAMES = {1: 40, 2: 24}
"""Positions of the slider; two-dimensional posteriors take more room."""
LIVED_AGAIN = 10
"""Trials that are thought through one by one; after these only what the journal kept is shown, which costs next to nothing."""


@dataclass(frozen=True)
class Posterior:
    """The posterior on the grid after `told` observations, and the trust in each of them."""

    told: int
    mean: Array
    std: Array
    weights: Array


@dataclass(frozen=True)
class History:
    """The posteriors of one study over time, on a grid `m x d` of the unit cube; `rows` are its trials as they came."""

    study: Study
    objective: Objective
    grid: Array
    rows: DataFrame
    posteriors: tuple[Posterior, ...]

    def truth(self) -> Array | None:
        """The true function on the grid, where it is known."""
        values = [self.objective.noiseless(x) for x in self.grid]
        return None if any(v is None for v in values) else np.array(values, dtype=float)


def histories(studies: Sequence[Study], frame: DataFrame, objective: Objective, run: Run | None) -> Iterator[History]:
    """The first seed of each algorithm and adversary, where one or two parameters let it be drawn."""
    if objective.dim not in GRID:
        return
    firsts = {(s.algorithm.label, s.adversary.label): s for s in reversed(studies)}
    for study in (s for s in studies if s in firsts.values()):
        rows = rows_of(frame, study)
        if study.algorithm.name != "random" and len(rows) > study.initial:
            yield _history(study, objective, rows, states_of(run, study))


def rows_of(frame: DataFrame, study: Study) -> DataFrame:
    """The trials of a study in the order they came back."""
    return frame[frame["study"] == study.key].sort_values("at", kind="stable")


def states_of(run: Run | None, study: Study) -> dict[int, State]:
    """The optimizer's state after so many observations, where the journal kept it."""
    saved = [] if run is None else of_type(events_of(run, study), OptimizerSaved)
    return {event.told: event.state for event in saved if event.layout == STATE_LAYOUT}


def _history(study: Study, objective: Objective, rows: DataFrame, states: Mapping[int, State]) -> History:
    grid, posteriors = grid_of(objective.space, GRID[objective.dim]), []
    frames = min(FRAMES[objective.dim], len(rows) - study.initial + 1)
    wanted = np.linspace(study.initial, len(rows), frames).round().astype(int).tolist()

    def look(told: int, optimizer: "Optimizer") -> None:
        while wanted and wanted[0] <= told:  # the next that is known, where not every trial is lived again
            wanted.pop(0)
            if not wanted or wanted[0] > told:
                posterior = optimizer.posterior(grid)
                posteriors.append(Posterior(told, posterior.mean, posterior.std, optimizer.weights()))

    replay(study, objective, rows, states, look)
    return History(study, objective, grid, rows, tuple(posteriors))


def replay(
    study: Study,
    objective: Objective,
    rows: DataFrame,
    states: Mapping[int, State],
    look: "Callable[[int, Optimizer], None]" = lambda told, optimizer: None,
) -> "Optimizer":
    """The study's optimizer as it was after its last trial; `look` is called whenever it is what it was when it was lived."""
    optimizer, last_kept = build_optimizer(study, objective), max(states, default=0)
    full = full_resource(study, objective)
    for told, (x, row) in enumerate(zip(points_of(rows, objective), rows.to_dict("records"), strict=True), start=1):
        error = row["standard_error"] if row["standard_error"] > 0 else None
        optimizer.tell(x, row["y"], standard_error=error, reporter=row["reporter"] or None, **told_of(row, full))
        if row["ruling"] in ("lie", "true"):
            optimizer.rule(told - 1, row["ruling"])
        if LIVED_AGAIN < told <= last_kept and told not in states:
            continue
        if told in states:
            restore_state(optimizer, states[told])
        elif told >= study.initial:
            optimizer.update()  # at every trial, as when it was lived: states build on each other
        if told >= study.initial:
            look(told, optimizer)
    return optimizer


def points_of(rows: DataFrame, objective: Objective) -> Array:
    """The trials as points of the unit cube, shape `n x d`."""
    space = objective.space  # some make it anew when asked
    names = space.names
    values = rows[[f"param.{name}" for name in names]].to_numpy(dtype=object).tolist()  # texts stay texts, ints ints
    points = [space.from_units(dict(zip(names, row, strict=True))) for row in values]
    return np.array(points).reshape(-1, objective.dim)
