"""The trials of a run as a table, and their regret. Regret is always counted on the true value."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.events import Event, TrialFailed, of_type
from orchestrator.engine.history import events_of, is_fruitless, observations, recommendations, rulings
from orchestrator.plain import writable
from orchestrator.review.resource import columns_of, spent_so_far

Array = NDArray[np.float64]
REGRETS = {
    "cumulative_regret": "cumulative regret",
    "recommended_regret": "recommended regret",
    "simple_regret": "best tried regret",
}
"""The three regrets and what people read: the sum of all trials, of the trial that would be handed over, of the best tried."""
LATER: dict[str, str | float] = {
    "reporter": "",
    "standard_error": np.nan,
    "replicate_of": np.nan,
    "ruling": "",
    "reason": "",
    "resource": np.nan,
    "stopped": False,
    "curve": "",
}
"""Columns that the first tables did not have."""
CURVES = ("regret", "simple_regret", "cumulative_regret", "best_so_far", "recommended_regret", "resource_spent")
"""Columns that grow from trial to trial of a study."""


def trials_frame(run: Run) -> DataFrame:
    """One row per trial: where, what came back, what was true, what was believed, and the regret so far.

    Regret is measured from the known maximum, else from the best true value of any study of the run. A trial that
    never returned, on an objective whose noise-free value is unknown, counts as the run's worst.
    Cumulative regret starts after the initial trials, which all algorithms share.
    """
    objective = build_objective(run.studies[0])
    rows = [row for study in run.studies for row in trial_rows(study, events_of(run, study), objective)]
    return with_regret(DataFrame(rows), objective, run.campaign.initial)


def with_regret(frame: DataFrame, objective: Objective, initial: int) -> DataFrame:
    """The trials of several studies, and their regret."""
    if frame.empty:
        return frame
    frame = frame.assign(**{name: value for name, value in LATER.items() if name not in frame})
    for name in ("standard_error", "replicate_of", "resource"):  # a table that was stored has no word for NaN
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    best, worst = reference(frame["value"].to_numpy(), objective)
    known = {name: np.full(len(frame), np.nan) for name in CURVES}
    for places in frame.groupby("study", sort=False).indices.values():
        rows = frame.iloc[places]
        numbers, values = rows["number"].to_numpy(), rows["value"].to_numpy()
        curves = regret_curves(numbers, values, best, worst, initial) | {"best_so_far": best_so_far(values)}
        curves["recommended_regret"] = _recommended_regret(rows, curves["regret"])
        curves["resource_spent"] = spent_so_far(rows["resource"].to_numpy(dtype=float))
        for name, curve in curves.items():
            known[name][places] = curve
    return frame.assign(**known)


def _recommended_regret(rows: DataFrame, regret: Array) -> Array:
    """The regret of what would be handed over once each trial was known; NaN before it was asked for the first time."""
    if "recommended" not in rows:
        return np.full(len(rows), np.nan)
    by_number = dict(zip(rows["number"].tolist(), regret.tolist(), strict=True))
    asked = rows["recommended"].map(by_number, na_action="ignore").ffill()
    return asked.to_numpy(dtype=float)


def reference(values: Array, objective: Objective) -> tuple[float, float]:
    """What regret is measured from, and what a trial without a value counts as."""
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    return float(highest if objective.optimum is None else objective.optimum.value), float(lowest)


def regret_curves(numbers: Array, values: Array, best: float, worst: float, initial: int) -> dict[str, Array]:
    """Regret, its least so far and its sum after the initial trials, of trials sorted by number."""
    with np.errstate(over="ignore"):  # a value near the largest float makes an infinite regret
        regret = best - np.where(np.isfinite(values), values, worst)
        total = np.cumsum(np.where(numbers >= initial, regret, 0.0))
    return {"regret": regret, "simple_regret": np.minimum.accumulate(regret), "cumulative_regret": total}


def best_so_far(values: Array) -> Array:
    """The highest value up to each trial; trials without one leave it as it is."""
    best: Array = np.fmax.accumulate(values) if len(values) else values
    return best


def study_frame(study: Study, events: Sequence[Event], objective: Objective) -> DataFrame:
    """The trials of one study by number (see `trial_rows`)."""
    return DataFrame(trial_rows(study, events, objective))


def trial_rows(study: Study, events: Sequence[Event], objective: Objective) -> list[dict[str, object]]:
    """The trials of one study by number, parameters in their own units.

    `recommended` is the trial that would have been handed over once this one was known, where that was asked; `reason` is why
    the last try of a trial that failed for good came to nothing.
    """
    rows: list[dict[str, object]] = []
    asked, ruled, space = recommendations(events), rulings(events), objective.space  # some make it anew when asked
    reasons = {e.number: writable(e.reason) for e in of_type(events, TrialFailed)}
    for o in sorted(observations(events), key=lambda o: o.number):
        parameters = {f"param.{k}": v for k, v in space.to_units(np.array(o.x)).items()}
        rows.append(
            {
                "study": study.key,
                "algorithm": study.algorithm.label,
                "adversary": study.adversary.label,
                "objective": study.objective.label,
                "seed": study.seed,
                "number": o.number,
                "y": o.y,
                "y_true": o.y_true,
                "value": o.value,
                "corrupted": o.corrupted,
                "failed": is_fruitless(o),
                "weight": o.weight,
                "seconds": o.seconds,
                "node": o.node,
                "attempt": o.attempt,
                "at": o.at,
                "recommended": float(asked.get(o.number, np.nan)),
                "reporter": o.reporter.name,
                "standard_error": np.nan if o.standard_error is None else o.standard_error,
                "replicate_of": np.nan if o.replicate_of is None else float(o.replicate_of),
                "ruling": ruled[o.number].ruling if o.number in ruled else "",
                "reason": reasons.get(o.number, "") if o.failed else "",
            }
            | columns_of(o, scheduled=study.scheduler is not None)
            | parameters
        )
    return rows


# --- comparing studies of which some are further than others -----------------------------------------------------------


def depths(frame: DataFrame, initial: int) -> DataFrame:
    """How many `trials` of its own choice each study - adversary, algorithm, seed - has settled without a gap."""
    keys = ["adversary", "algorithm", "seed"]
    chosen = frame[frame["number"] >= initial].sort_values("number", kind="stable")
    unbroken = chosen[chosen["number"] == initial + chosen.groupby(keys).cumcount()]
    return unbroken.groupby(keys, sort=False, as_index=False).agg(trials=("number", "size"))


def most_in_common(depth: "pd.Series[int]") -> tuple[int, list[int]]:
    """The trials and the seeds that make the largest comparison: seeds that are not that far are left out of it.

    `depth` holds the trials of each seed; five seeds with 30 trials say more than six with the 3 of the last.
    """
    reached = {int(n): depth.index[depth >= n].tolist() for n in depth.unique() if n > 0}
    trials = max(reached, key=lambda n: (n * len(reached[n]), n), default=0)
    return trials, reached.get(trials, [])


Bands = list[tuple[str, DataFrame]]
"""A label and its curve by trial: mean, standard error, and one of it to either side."""


def band_curves(frame: DataFrame, initial: int, columns: Sequence[str]) -> dict[str, Bands]:
    """Mean and standard error over seeds by trial, of several columns: a label and a band for each algorithm and adversary."""
    found: dict[str, Bands] = {column: [] for column in columns}
    several = frame["adversary"].nunique() > 1
    by_algorithm = frame.groupby(["adversary", "algorithm"], sort=False)
    for (adversary, algorithm), depth in depths(frame, initial).groupby(["adversary", "algorithm"], sort=False):
        trials, seeds = most_in_common(depth.set_index("seed")["trials"])
        mine = by_algorithm.get_group((adversary, algorithm))
        shown = mine[mine["seed"].isin(seeds) & mine["number"].between(initial, initial + trials - 1)]
        numbers, label = shown.groupby("number"), f"{algorithm} ({adversary})" if several else str(algorithm)
        for column in columns:
            found[column].append((label, _band(numbers[column].mean(), numbers[column].sem().fillna(0.0))))
    return found


def _band(mean: "pd.Series[float]", sem: "pd.Series[float]") -> DataFrame:
    return DataFrame({"mean": mean, "sem": sem, "low": mean - sem, "high": mean + sem})
