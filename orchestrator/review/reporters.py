"""The records of the machines that reported the trials of a report, as tables."""

from collections.abc import Sequence

import numpy as np
from pandas import DataFrame

from orchestrator.machine_records import Record, records
from rcgp import SUSPECT_WEIGHT


def suspected(rows: DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which trials are suspects; those that failed by themselves reported nothing."""
    return ((rows["weight"] < SUSPECT_WEIGHT) & ~rows["failed"]).to_numpy(dtype=bool)


def records_of(rows: DataFrame) -> list[Record]:
    """The record of each machine that reported one of these trials, the worst first."""
    told = ~rows["failed"].to_numpy(dtype=bool)
    return records(zip(rows["reporter"][told].fillna("").astype(str), suspected(rows)[told].tolist(), strict=True))


def table_of(found: Sequence[Record]) -> DataFrame:
    """The records, for people."""
    rows = [
        {
            "reporter": r.reporter,
            "trials": r.trials,
            "suspects": r.suspects,
            "share": f"{r.share:.0%}",
            "95 % interval": f"{r.interval[0]:.0%} to {r.interval[1]:.0%}",
        }
        for r in found
    ]
    return DataFrame(rows)
