"""Who regrets least: algorithms compared on the seeds and trials that all of them have."""

import numpy as np
import pandas as pd
from pandas import DataFrame

from orchestrator.review.regret import REGRETS, depths, most_in_common

BASELINE = "gp-ucb"
TIE, TIE_OF_WORST = 0.01, 0.001
"""A regret that is more by no more than this share of itself, or of the worst in the comparison, is no more."""


def regret_table(frame: DataFrame, initial: int) -> DataFrame:
    """Mean and standard error over seeds of the regrets, one row per algorithm and adversary, best first.

    Compared are the seeds and the number of trials that all algorithms have; one without a trial of its own choice is not
    ranked. The differences to GP-UCB and to the best are taken seed by seed: algorithms share their noise, so that a
    difference is known better than either regret. `wins` counts the seeds in which nobody else regrets as little.
    """
    chosen = frame[frame["number"] >= initial]
    parts = [_adversary_table(str(name), rows, initial) for name, rows in chosen.groupby("adversary", sort=False)]
    return pd.concat(parts, ignore_index=True) if parts else DataFrame(columns=["adversary", "algorithm"])


def _adversary_table(adversary: str, rows: DataFrame, initial: int) -> DataFrame:
    trials, last = compared(rows, initial)
    groups, columns = last.groupby("algorithm", sort=False), [c for c in REGRETS if c in last]
    table = groups[columns].agg(["mean", "sem"])
    table.columns = pd.Index(["_".join(column) for column in table.columns])
    table = table.assign(seeds=groups.size(), trials=trials).sort_values("cumulative_regret_mean", kind="stable")
    by_seed = last.pivot(index="seed", columns="algorithm", values="cumulative_regret")
    references = {"baseline": BASELINE, "best": str(table.index[0])}
    for name, reference_algorithm in references.items():
        if reference_algorithm in by_seed:
            paired = by_seed.sub(by_seed[reference_algorithm], axis=0)
            table[f"to_{name}_mean"], table[f"to_{name}_sem"] = paired.mean(), paired.sem()
    return table.assign(wins=_wins(by_seed)).reset_index().assign(adversary=adversary)


def compared(rows: DataFrame, initial: int) -> tuple[int, DataFrame]:
    """How many trials the algorithms of one adversary have in common, and the last of these in each study."""
    by_seed = depths(rows, initial).pivot(index="seed", columns="algorithm", values="trials").fillna(0)
    ranked = by_seed.sum().sort_values(ascending=False, kind="stable").index.tolist()
    while not (common := most_in_common(by_seed[ranked].min(axis=1)))[0]:
        ranked.pop()  # the least advanced shares no seed with the others yet
    trials, seeds = common
    shown = rows["seed"].isin(seeds) & rows["algorithm"].isin(ranked)
    return trials, rows[shown & (rows["number"] == initial + trials - 1)]


def _wins(by_seed: DataFrame) -> "pd.Series[int]":
    """In how many seeds an algorithm alone regrets least."""
    least = by_seed.apply(lambda row: _is_no_more(row, row.min(), row.max()), axis=1)
    return least[least.sum(axis=1) == 1].sum()


def _is_no_more(regret: "pd.Series[float]", least: float, worst: float) -> "pd.Series[bool]":
    return regret - least <= np.maximum(TIE * regret, TIE_OF_WORST * worst)


def leaders(table: DataFrame) -> list[str]:
    """The algorithms of one adversary's table that regret least: more than one where the seeds do not tell them apart."""
    known = table[table["cumulative_regret_mean"].notna()]
    if known.empty:
        return []
    means = known["cumulative_regret_mean"]
    unclear = known["to_best_mean"] <= 2.0 * known["to_best_sem"].fillna(0.0)
    return known.loc[unclear | _is_no_more(means, means.min(), means.max()), "algorithm"].tolist()


def rightest(table: DataFrame) -> list[str]:
    """The algorithms of one adversary's table that hand over the best: least recommended regret, ties included."""
    if "recommended_regret_mean" not in table:
        return []
    known = table[table["recommended_regret_mean"].notna()]
    means = known["recommended_regret_mean"]
    return known.loc[_is_no_more(means, means.min(), means.max()), "algorithm"].tolist()


def printable(table: DataFrame) -> DataFrame:
    """The regret table for people: mean ± standard error in one column, the adversary only where there are several."""
    shown = table[["adversary", "algorithm", "seeds", "trials"]].copy()
    titles = {"cumulative_regret": REGRETS["cumulative_regret"], "to_baseline": f"minus {BASELINE}"} | REGRETS
    for name, title in titles.items():
        if f"{name}_mean" in table and table[f"{name}_mean"].notna().any():
            pairs = zip(table[f"{name}_mean"], table[f"{name}_sem"], strict=True)
            shown[title] = [figure(mean, sem, difference=name == "to_baseline") for mean, sem in pairs]
    if table["algorithm"].nunique() > 1:  # nobody wins alone
        shown["wins"] = [f"{wins} of {seeds}" for wins, seeds in zip(table["wins"], table["seeds"], strict=True)]
    return shown if table["adversary"].nunique() > 1 else shown.drop(columns="adversary")


def figure(mean: float, sem: float, *, difference: bool = False) -> str:
    """Mean and standard error to the digits that mean something."""
    if np.isnan(mean) or (difference and mean == 0 and not sem > 0):
        return "-"
    sign = "+" if difference else ""
    if not np.isfinite(sem) or abs(mean) >= 1e9:
        return f"{mean:{sign}.4g}" + (f" ± {sem:.2g}" if np.isfinite(sem) else "")
    digits = 0 if sem >= 10 or mean == sem == 0 else int(min(8, 1 - np.floor(np.log10(sem)))) if sem > 0 else 3
    return f"{mean:{sign},.{digits}f} ± {sem:,.{digits}f}"
