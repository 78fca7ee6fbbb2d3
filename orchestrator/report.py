"""What a run came to: trials, regret, a table and a figure. Regret is always counted on the true value."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas import DataFrame

from objectives import Objective
from orchestrator.runs import Run, summary
from orchestrator.study import Study
from orchestrator.trial import build_objective


def trials_frame(run: Run) -> DataFrame:
    """One row per trial: where, what came back, what was true, what was believed, and the regret so far.

    Regret is measured from the known maximum, else from the best true value of any study of the run. A trial that
    never returned, on an objective whose noise-free value is unknown, counts as the run's worst.
    Cumulative regret starts after the initial trials, which all algorithms share.
    """
    objective = build_objective(run.studies[0])
    parts = [_study_frame(run, study, objective) for study in run.studies]
    frame = pd.concat(parts, ignore_index=True) if parts else DataFrame()
    if frame.empty:
        return frame
    best = frame["value"].max() if objective.optimum is None else objective.optimum.value
    frame["regret"] = best - frame["value"].fillna(frame["value"].min())
    by_study = frame.groupby("study", sort=False)["regret"]
    frame["simple_regret"] = by_study.cummin()
    chosen = frame["regret"].where(frame["number"] >= run.campaign.initial, 0.0)
    frame["cumulative_regret"] = chosen.groupby(frame["study"], sort=False).cumsum()
    return frame


def _study_frame(run: Run, study: Study, objective: Objective) -> DataFrame:
    rows: list[dict[str, Any]] = []
    for o in sorted(run.observations(study), key=lambda o: o.number):
        parameters = {f"param.{k}": v for k, v in objective.space.to_units(np.array(o.x)).items()}
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
                "failed": o.failed,
                "weight": o.weight,
                "seconds": o.seconds,
                "node": o.node,
                "attempt": o.attempt,
            }
            | parameters
        )
    return DataFrame(rows)


def regret_table(frame: DataFrame) -> DataFrame:
    """Mean and standard error over seeds of the final regrets, one row per algorithm and adversary."""
    last = frame.sort_values("number").groupby("study", sort=False).last()
    groups = last.groupby(["adversary", "algorithm"], sort=False)
    table = groups[["cumulative_regret", "simple_regret"]].agg(["mean", "sem"])
    table.columns = pd.Index(["_".join(column) for column in table.columns])
    return table.assign(seeds=groups.size()).reset_index().sort_values(["adversary", "cumulative_regret_mean"])


def printable(table: DataFrame) -> DataFrame:
    """The regret table for people: mean ± standard error in one column."""
    shown = table[["adversary", "algorithm", "seeds"]].copy()
    for name in ("cumulative_regret", "simple_regret"):
        pairs = zip(table[f"{name}_mean"], table[f"{name}_sem"], strict=True)
        shown[name] = [f"{mean:.4g}" + ("" if np.isnan(sem) else f" ± {sem:.2g}") for mean, sem in pairs]
    return shown


def write_figure(run: Run, frame: DataFrame, path: Path) -> Path:
    """Cumulative and simple regret, mean and one standard error over seeds, as a PNG."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, column in zip(axes, ("cumulative_regret", "simple_regret"), strict=True):
        _draw(axis, frame[frame["number"] >= run.campaign.initial], column, run.campaign.initial)
    axes[0].legend(frameon=False)
    figure.suptitle(run.name)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def _draw(axis: Any, frame: DataFrame, column: str, initial: int) -> None:
    for (adversary, algorithm), rows in frame.groupby(["adversary", "algorithm"], sort=False):
        curve = rows.groupby("number")[column].agg(["mean", "sem"]).fillna(0.0)
        step = curve.index.to_numpy() - initial + 1
        label = algorithm if frame["adversary"].nunique() == 1 else f"{algorithm}, {adversary}"
        (line,) = axis.plot(step, curve["mean"], label=label)
        low, high = curve["mean"] - curve["sem"], curve["mean"] + curve["sem"]
        axis.fill_between(step, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axis.set(xlabel="trial", ylabel=column.replace("_", " "))


def write_report(run: Run) -> tuple[DataFrame, list[Path]]:
    """The regret table, and the files written beside the journals: table and figure."""
    frame = trials_frame(run)
    if frame.empty:
        return frame, []
    table = regret_table(frame)
    path = run.folder / "regret.csv"
    table.to_csv(path, index=False)
    return table, [path, write_figure(run, frame, run.folder / "regret.png")]


def study_table(run: Run) -> DataFrame:
    """One row per study: progress, best true value, regret, suspects, corruptions, failures."""
    frame = trials_frame(run)
    rows = []
    for study in run.studies:
        figures = summary(run, study)
        mine = frame[frame["study"] == study.key] if len(frame) else frame
        rows.append(
            {
                "study": study.key,
                "trials": f"{figures['done']}/{study.total}",
                "best": mine["value"].max() if len(mine) else float("nan"),
                "simple_regret": mine["simple_regret"].iloc[-1] if len(mine) else float("nan"),
                "cumulative_regret": mine["cumulative_regret"].iloc[-1] if len(mine) else float("nan"),
                "suspects": figures["suspects"],
                "corrupted": figures["corrupted"],
                "failed": figures["failed"],
                "fallbacks": figures["fallbacks"],
            }
        )
    return DataFrame(rows)


def timing_table(run: Run) -> DataFrame:
    """Where the time of each study went, in seconds: suggest, evaluate, journal, other."""
    return DataFrame([{"study": s.key} | _split(run, s) for s in run.studies])


def _split(run: Run, study: Study) -> dict[str, float]:
    sessions: list[list[dict[str, Any]]] = []
    for record in run.records(study):
        if record["kind"] == "session":
            sessions.append([])
        if sessions:
            sessions[-1].append(record)
    wall = sum(s[-1]["at"] - s[0]["at"] for s in sessions if "at" in s[-1])
    suggest = sum(r["seconds"] for s in sessions for r in s if r["kind"] == "suggestion")
    evaluate = sum(r["seconds"] for s in sessions for r in s if r["kind"] == "observation")
    journal = sum(max((r.get("journal", 0.0) for r in s), default=0.0) for s in sessions)
    parallel = study.workers > 1  # evaluations overlap there, so nothing is left over
    other = 0.0 if parallel else max(0.0, wall - suggest - evaluate - journal)
    return {"wall": wall, "suggest": suggest, "evaluate": evaluate, "journal": journal, "other": other}
