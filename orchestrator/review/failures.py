"""Which trials of a campaign failed, why and where."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from objectives import Objective, Parameter, Space
from orchestrator.failures import Coordinate, Failures, Telling, failures_of
from orchestrator.plain import Json
from orchestrator.review.posterior import points_of

FORMAT = 1
"""Changes when a script that reads the file would have to."""
KINDS = {
    "time-out": r"over the time limit|\btimeout",
    "memory": r"memory ?error|out ?of ?memory|cannot allocate memory",
    "killed": r"killed by the adversary|its process died",
    "no number": r"not a number",
}
"""What happened, in a word, by what the reason says; everything else is a crash."""
Mask = NDArray[np.bool_]


def failed_in(frame: DataFrame) -> Mask:
    """Which trials (`n`) gave nothing."""
    return frame["failed"].to_numpy(dtype=bool)


def kind_of(reason: str) -> str:
    """A failure in a word."""
    return next((kind for kind, sign in KINDS.items() if re.search(sign, reason, re.IGNORECASE)), "crash")


def told_reasons(failed: DataFrame) -> list[tuple[str, str]]:
    """Of each of the `failed` trials the word, and what was written down."""
    return [_told(str(reason), float(y)) for reason, y in zip(failed["reason"], failed["y"], strict=True)]


def _told(reason: str, y: float) -> tuple[str, str]:
    if reason or math.isfinite(y):
        return kind_of(reason), reason
    return "NaN" if math.isnan(y) else "infinite", f"it reported {y}"


def coordinates(space: Space, frame: DataFrame) -> Iterator[Coordinate]:
    """The parameters of the trials."""
    for p in space.parameters:
        ordered = isinstance(p, Parameter)
        yield Coordinate(p.name, frame[f"param.{p.name}"].tolist(), ordered, isinstance(p, Parameter) and p.log)


def failures_in(frame: DataFrame, objective: Objective) -> Failures | None:
    """What is known of the failed trials of all studies: an objective fails in the same place for each. None where none did."""
    failed = failed_in(frame) if len(frame) else np.zeros(0, dtype=bool)
    if not failed.any():
        return None
    kinds = [kind for kind, _ in told_reasons(frame[failed])]
    return failures_of(failed, kinds, list(coordinates(objective.space, frame)), points_of(frame, objective))


# --- for a script -----------------------------------------------------------------------------------------------------


def failure_data(name: str, frame: DataFrame, names: Sequence[str], found: Failures) -> Json:
    """Everything a script may want to know of the failures among the trials of a run, as strict JSON."""
    return {
        "format": FORMAT,
        "run": name,
        "in_words": str(found),
        "trials": found.trials,
        "failed": found.failed,
        "kinds": dict(found.kinds),
        "placed": None if math.isnan(found.placed) else found.placed,
        "telling": [_telling(told) for told in found.telling],
        "failures": list(_failures(frame[failed_in(frame)], names)),
    }


def _telling(told: Telling) -> Json:
    rule = told.rule
    bounds = {"low": rule.low, "high": rule.high} if rule.choices is None else {}
    known = {key: value for key, value in bounds.items() if math.isfinite(value)}
    counts = {key: value for key, value in asdict(told).items() if key != "rule"}
    return (
        {"in_words": str(told), "parameter": rule.name, "apart": rule.apart, "choices": rule.choices} | known | counts
    )


def _failures(lost: DataFrame, names: Sequence[str]) -> Iterator[Json]:
    """One by one: study, trial, what happened, and with which parameters."""
    values = {name: lost[f"param.{name}"].tolist() for name in names}
    who = zip(lost["study"].tolist(), lost["number"].tolist(), told_reasons(lost), strict=True)
    for row, (study, trial, (kind, reason)) in enumerate(who):
        parameters = {name: values[name][row] for name in names}
        yield {"study": study, "trial": trial, "kind": kind, "reason": reason, "parameters": parameters}


def write_failures(folder: Path, data: Json) -> Path:
    """Keep it as `failures.json`."""
    path = folder / "failures.json"
    path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return path
