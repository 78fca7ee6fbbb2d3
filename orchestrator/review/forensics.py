"""Which lies were suspected, and which truths: known only where an adversary of ours told them."""

import numpy as np
from pandas import DataFrame

from rcgp import SUSPECT_WEIGHT

VERDICTS = {(True, True): "caught", (True, False): "missed", (False, True): "alarm", (False, False): "honest"}
"""By whether a trial was a lie, and whether it was suspected."""
COLUMNS = ("adversary", "algorithm", "lies", "suspects", "caught", "precision", "recall")


def forensics(frame: DataFrame) -> DataFrame:
    """The trials, each with its verdict: caught, missed, alarm (honest but suspected) or honest.

    Trials that failed by themselves are left out: nobody lied there.
    """
    judged = frame[frame["corrupted"] | ~frame["failed"]]
    pairs = zip(judged["corrupted"], judged["weight"] < SUSPECT_WEIGHT, strict=True)
    return judged.assign(verdict=[VERDICTS[bool(lie), bool(suspected)] for lie, suspected in pairs])


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
    return DataFrame(rows, columns=COLUMNS)  # none while every trial failed
