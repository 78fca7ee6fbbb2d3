"""What a run came to: trials, regret, a table and a figure. Regret is always counted on the true value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas import DataFrame

from objectives import Objective
from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.events import Observation
from orchestrator.engine.history import observations_of, summary
from orchestrator.review.posterior import History, histories

Array = NDArray[Any]


def trials_frame(run: Run) -> DataFrame:
    """One row per trial: where, what came back, what was true, what was believed, and the regret so far.

    Regret is measured from the known maximum, else from the best true value of any study of the run. A trial that
    never returned, on an objective whose noise-free value is unknown, counts as the run's worst.
    Cumulative regret starts after the initial trials, which all algorithms share.
    """
    objective = build_objective(run.studies[0])
    parts = [study_frame(study, observations_of(run, study), objective) for study in run.studies]
    return with_regret(pd.concat(parts, ignore_index=True), objective, run.campaign.initial)


def with_regret(frame: DataFrame, objective: Objective, initial: int) -> DataFrame:
    """The trials of several studies, and their regret."""
    if frame.empty:
        return frame
    best, worst = reference(frame["value"].to_numpy(), objective)
    for name in ("regret", "simple_regret", "cumulative_regret", "best_so_far"):
        frame[name] = np.nan
    for _, rows in frame.groupby("study", sort=False):
        numbers, values = rows["number"].to_numpy(), rows["value"].to_numpy()
        curves = regret_curves(numbers, values, best, worst, initial) | {"best_so_far": best_so_far(values)}
        for name, curve in curves.items():
            frame.loc[rows.index, name] = curve
    return frame


def reference(values: Array, objective: Objective) -> tuple[float, float]:
    """What regret is measured from, and what a trial without a value counts as."""
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    return float(highest if objective.optimum is None else objective.optimum.value), float(lowest)


def regret_curves(numbers: Array, values: Array, best: float, worst: float, initial: int) -> dict[str, Array]:
    """Regret, its least so far and its sum after the initial trials, of trials sorted by number."""
    regret = best - np.where(np.isfinite(values), values, worst)
    chosen = np.where(numbers >= initial, regret, 0.0)
    return {
        "regret": regret,
        "simple_regret": np.minimum.accumulate(regret),
        "cumulative_regret": np.cumsum(chosen),
    }


def best_so_far(values: Array) -> Array:
    """The highest value up to each trial; trials without one leave it as it is."""
    best: Array = np.fmax.accumulate(values) if len(values) else values
    return best


def study_frame(study: Study, seen: Sequence[Observation], objective: Objective) -> DataFrame:
    """The trials of one study by number, parameters in their own units."""
    rows: list[dict[str, Any]] = []
    for o in sorted(seen, key=lambda o: o.number):
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
                "at": o.at,
            }
            | parameters
        )
    return DataFrame(rows)


BASELINE = "gp-ucb"


def regret_table(frame: DataFrame) -> DataFrame:
    """Mean and standard error over seeds of the final regrets, one row per algorithm and adversary, best first.

    The differences to GP-UCB and to the best are taken seed by seed: algorithms share their noise, so that a
    difference is known better than either regret.
    """
    parts = [_adversary_table(str(name), rows) for name, rows in _final(frame).groupby("adversary", sort=False)]
    return pd.concat(parts, ignore_index=True)


def _final(frame: DataFrame) -> DataFrame:
    return frame.sort_values("number").groupby("study", sort=False).last()


def _adversary_table(adversary: str, last: DataFrame) -> DataFrame:
    groups = last.groupby("algorithm", sort=False)
    table = groups[["cumulative_regret", "simple_regret"]].agg(["mean", "sem"])
    table.columns = pd.Index(["_".join(column) for column in table.columns])
    table = table.assign(seeds=groups.size()).sort_values("cumulative_regret_mean", kind="stable")
    by_seed = last.pivot(index="seed", columns="algorithm", values="cumulative_regret")
    references = {"baseline": BASELINE, "best": str(table.index[0])}
    for name, reference_algorithm in references.items():
        if reference_algorithm in by_seed:
            paired = by_seed.sub(by_seed[reference_algorithm], axis=0)
            table[f"to_{name}_mean"], table[f"to_{name}_sem"] = paired.mean(), paired.sem()
    return table.reset_index().assign(adversary=adversary)


def printable(table: DataFrame) -> DataFrame:
    """The regret table for people: mean ± standard error in one column."""
    shown = table[["adversary", "algorithm", "seeds"]].copy()
    titles = {"to_baseline": f"minus {BASELINE}", "to_best": "minus best"}
    for name in ("cumulative_regret", "simple_regret", "to_baseline", "to_best"):
        if f"{name}_mean" in table:
            pairs = zip(table[f"{name}_mean"], table[f"{name}_sem"], strict=True)
            shown[titles.get(name, name)] = [_figure(mean, sem, name in titles) for mean, sem in pairs]
    return shown


def _figure(mean: float, sem: float, difference: bool) -> str:
    if np.isnan(mean) or (difference and mean == 0 and not sem > 0):
        return "-"
    sign = "+" if difference else ""
    if np.isnan(sem):
        return f"{mean:{sign}.4g}"
    digits = 0 if sem >= 10 or mean == sem == 0 else int(min(8, 1 - np.floor(np.log10(sem)))) if sem > 0 else 3
    return f"{mean:{sign},.{digits}f} ± {sem:,.{digits}f}"


def forensics(frame: DataFrame) -> DataFrame:
    """The trials, each with its verdict: caught, missed, alarm (honest but suspected) or honest.

    A suspect is a trial whose weight fell below 1. Trials that failed by themselves are left out: nobody lied there.
    """
    judged = frame[frame["corrupted"] | ~frame["failed"]]
    suspected = judged["weight"] < 1.0
    names = {(True, True): "caught", (True, False): "missed", (False, True): "alarm", (False, False): "honest"}
    verdict = [names[bool(lie), bool(held)] for lie, held in zip(judged["corrupted"], suspected, strict=True)]
    return judged.assign(verdict=verdict)


def forensics_table(frame: DataFrame) -> DataFrame:
    """How well each algorithm told lies from truths over all seeds: precision and recall of its suspicion."""
    rows = []
    for (adversary, algorithm), group in forensics(frame).groupby(["adversary", "algorithm"], sort=False):
        counts = group["verdict"].value_counts()
        caught, missed, alarm = (int(counts.get(k, 0)) for k in ("caught", "missed", "alarm"))
        rows.append(
            {
                "adversary": adversary,
                "algorithm": algorithm,
                "lies": caught + missed,
                "suspects": caught + alarm,
                "caught": caught,
                "precision": caught / (caught + alarm) if caught + alarm else np.nan,
                "recall": caught / (caught + missed) if caught + missed else np.nan,
            }
        )
    return DataFrame(rows)


def markdown(table: DataFrame) -> str:
    """A table as Markdown."""
    head = "| " + " | ".join(str(c).replace("_", " ") for c in table.columns) + " |"
    rows = ["| " + " | ".join(map(str, row)) + " |" for row in table.itertuples(index=False)]
    return "\n".join([head, "|" + "---|" * len(table.columns), *rows])


def latex(table: DataFrame) -> str:
    """A table as LaTeX, for booktabs."""
    head = " & ".join(str(c).replace("_", " ") for c in table.columns)
    rows = [
        " & ".join(str(v).replace("±", "$\\pm$").replace("_", "\\_") for v in r) for r in table.itertuples(index=False)
    ]
    lines = [
        f"\\begin{{tabular}}{{{'l' * 2 + 'r' * (len(table.columns) - 2)}}}",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
    ]
    return "\n".join([*lines, *(f"{row} \\\\" for row in rows), "\\bottomrule", "\\end{tabular}"])


@dataclass(frozen=True)
class Report:
    """What is shown of a run: its trials, what they were for, and where the files go."""

    name: str
    description: str
    studies: tuple[Study, ...]
    frame: DataFrame
    folder: Path

    @classmethod
    def of(cls, run: Run) -> "Report":
        """The report of a run as its journals tell it."""
        return cls(run.name, run.campaign.description, run.studies, trials_frame(run), run.folder / "report")

    @property
    def initial(self) -> int:
        """Trials before the algorithms choose their own."""
        return self.studies[0].initial

    @cached_property
    def table(self) -> DataFrame:
        """The final regrets."""
        return regret_table(self.frame)

    @property
    def headline(self) -> DataFrame:
        """The final regrets under the first adversary that lied: what a reader came for."""
        lied = self.frame.loc[self.frame["corrupted"], "adversary"].unique()
        adversary = next((a for a in self.table["adversary"] if a in lied), self.table["adversary"].iloc[0])
        return self.table[self.table["adversary"] == adversary]

    caption = "Regret after the last trial, mean and standard error over seeds"

    @property
    def shown(self) -> DataFrame:
        """The final regrets, for people."""
        return printable(self.table)

    def mean_curves(self) -> Iterator[tuple[str, int, float]]:
        """Mean and one standard error to either side, by name and trial, for each algorithm."""
        for kind in ("cumulative_regret", "simple_regret"):
            for label, curve in band_curves(self.frame, kind):
                for suffix, values in (("", curve["mean"]), (".low", curve["low"]), (".high", curve["high"])):
                    numbers = values.index.to_list()
                    yield from ((f"mean_{kind}/{label}{suffix}", n, v) for n, v in zip(numbers, values, strict=True))

    def verdict(self) -> str:
        """The result in one sentence."""
        first, several = self.headline.iloc[0], self.table["adversary"].nunique() > 1
        told = f"Least cumulative regret{f' under {first.adversary}' if several else ''}: {first['algorithm']}, "
        told += _figure(*_pair(first, "cumulative_regret"), False)
        baseline = self.headline[self.headline["algorithm"] == BASELINE]
        if baseline.empty or first["algorithm"] == BASELINE:
            return f"{told}."
        mean, sem = _pair(baseline.iloc[0], "cumulative_regret")
        return f"{told}; {BASELINE}: {_figure(mean, sem, False)} (mean ± standard error over {first['seeds']} seeds)."

    def note(self, link: str = "") -> str:
        """What was run and what came out, in Markdown."""
        more = [f"[Open the report]({link}) with all figures.", ""] if link else []
        return "\n".join([self.verdict(), "", self.description, "", *more, markdown(printable(self.table))])

    @cached_property
    def objective(self) -> Objective:
        """What was maximised."""
        return build_objective(self.studies[0])

    @cached_property
    def histories(self) -> list[History]:
        """What the optimizers believed over time, where it can be drawn."""
        return list(histories(self.studies, self.frame, frames=FRAMES[min(self.objective.dim, 2)]))


FRAMES = {1: 60, 2: 24}
"""Positions of the slider; two-dimensional posteriors take more room."""


def _pair(row: "pd.Series[Any]", name: str) -> tuple[float, float]:
    return float(row[f"{name}_mean"]), float(row[f"{name}_sem"])


def band_curves(frame: DataFrame, column: str) -> Iterator[tuple[str, DataFrame]]:
    """Mean and standard error over seeds by trial, for each algorithm (and adversary, where there are several)."""
    several = frame["adversary"].nunique() > 1
    for (adversary, algorithm), rows in frame.groupby(["adversary", "algorithm"], sort=False):
        curve = rows.groupby("number")[column].agg(["mean", "sem"]).fillna({"sem": 0.0})
        band = curve.assign(low=curve["mean"] - curve["sem"], high=curve["mean"] + curve["sem"])
        yield (f"{algorithm} ({adversary})" if several else str(algorithm)), band


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
                "trials": f"{figures.done}/{study.total}",
                "best": mine["value"].max() if len(mine) else float("nan"),
                "simple_regret": mine["simple_regret"].iloc[-1] if len(mine) else float("nan"),
                "cumulative_regret": mine["cumulative_regret"].iloc[-1] if len(mine) else float("nan"),
                "suspects": figures.suspects,
                "corrupted": figures.corrupted,
                "failed": figures.failed,
                "fallbacks": figures.fallbacks,
            }
        )
    return DataFrame(rows)
