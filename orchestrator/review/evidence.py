"""What speaks for and against every suspect: what was expected there, who reported it, second runs, what people say."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pandas import DataFrame

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Observation, Ruling, of_type
from orchestrator.engine.history import ending, events_of, is_fruitless, observations, rulings
from orchestrator.machine_records import Record, in_words
from orchestrator.plain import Fields, Json, spelled
from orchestrator.review.reporters import records_of
from rcgp import SUSPECT_WEIGHT

FORMAT = 1
"""Changes when a script that reads the file would have to."""
SURE = 1.96
"""Deviations to either side that make an interval of 95 %."""


@dataclass(frozen=True)
class Evidence:
    """One doubted or ruled trial, as `forensics.json` tells it; numbers that are not finite are spelt."""

    study: str
    trial: int
    parameters: Mapping[str, object]
    reported: float
    weight: float
    expected: float | None
    """What the other trials lead to expect there, where the study has ended; with a 95 % interval."""
    low: float | None
    high: float | None
    reporter: str
    host: str
    gpu: str
    node: str
    pid: int
    attempt: int
    seconds: float
    standard_error: float | None
    curve: Sequence[tuple[int, float]]
    replicates: Sequence[Fields]
    """Other runs at the same point."""
    ruling: Mapping[str, object] | None

    @property
    def suspect(self) -> bool:
        """Whether the model doubts it, rather than a person alone."""
        return self.weight < SUSPECT_WEIGHT


def evidence_of(run: Run, study: Study, frame: DataFrame) -> list[Evidence]:
    """The doubted and the ruled trials of a study, the least trusted first."""
    events = events_of(run, study)
    seen, ruled, end = observations(events), rulings(events), ending(events)
    expected = {} if end is None else end.expected
    deviation = {} if end is None else end.deviations
    shown = [o for o in seen if (o.weight < SUSPECT_WEIGHT and not is_fruitless(o)) or o.number in ruled]
    if not shown:
        return []
    shown.sort(key=lambda o: o.weight)
    parameters = _parameters(frame[frame["study"] == study.key], [o.number for o in shown])
    return [
        _evidence(study, o, values, expected.get(o.number), deviation.get(o.number), seen, ruled)
        for o, values in zip(shown, parameters, strict=True)
    ]


def _evidence(
    study: Study,
    o: Observation,
    parameters: Mapping[str, object],
    mean: float | None,
    deviation: float | None,
    seen: Sequence[Observation],
    ruled: Mapping[int, Ruling],
) -> Evidence:
    known = mean is not None and deviation is not None and math.isfinite(mean + deviation)
    reach = SURE * (deviation or 0.0)
    return Evidence(
        study=study.key,
        trial=o.number,
        parameters=parameters,
        reported=o.y,
        weight=o.weight,
        expected=mean,
        low=mean - reach if known and mean is not None else None,
        high=mean + reach if known and mean is not None else None,
        reporter=o.reporter.name,
        host=o.reporter.host,
        gpu=o.reporter.gpu,
        node=o.node,
        pid=o.reporter.pid,
        attempt=o.attempt,
        seconds=o.seconds,
        standard_error=o.standard_error,
        curve=o.progress,
        replicates=[_replicate(other) for other in seen if other.x == o.x and other.number != o.number],
        ruling=asdict(ruled[o.number]) if o.number in ruled else None,
    )


def _parameters(rows: DataFrame, numbers: Sequence[int]) -> list[dict[str, object]]:
    """The parameters of those trials of a study, each in its own units."""
    names = [str(column) for column in rows.columns if str(column).startswith("param.")]
    values = rows.set_index("number")[names].loc[list(numbers)].to_numpy(dtype=object).tolist()
    return [{n.removeprefix("param."): v for n, v in zip(names, row, strict=True)} for row in values]


def _replicate(o: Observation) -> Json:
    said = {"trial": o.number, "reported": o.y, "weight": o.weight, "reporter": o.reporter.name, "node": o.node}
    return said | {"replicate_of": o.replicate_of}


def forensic_data(
    run: Run, studies: Sequence[Study], frame: DataFrame, rows: DataFrame, sentence: str
) -> dict[str, object]:
    """Everything a script may want to know, as strict JSON; `rows` are the trials by which machines are judged."""
    found = records_of(rows)
    data = {
        "format": FORMAT,
        "run": run.name,
        "answer": sentence,
        "in_words": in_words(found),
        "reporters": [_record(r) for r in found],
        "suspects": [vars(e) for study in studies for e in evidence_of(run, study, frame)],
        "rulings": [{"study": s.key} | asdict(r) for s in studies for r in of_type(events_of(run, s), Ruling)],
    }
    return {key: _strict(value) for key, value in data.items()}


def _record(record: Record) -> dict[str, object]:
    low, high = record.interval
    return asdict(record) | {"share": record.share, "low": low, "high": high}


def _strict(value: object) -> object:
    """Non-finite numbers by name, tuples as lists, NumPy's scalars as Python's."""
    if isinstance(value, str | int):  # most are
        return value
    if isinstance(value, Mapping):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    plain = value.item() if hasattr(value, "item") else value
    return spelled(plain) if isinstance(plain, float) else plain


def write_forensics(folder: Path, data: Mapping[str, object]) -> Path:
    """Keep it as `forensics.json`."""
    path = folder / "forensics.json"
    members = (f"{json.dumps(key)}: {_lines(value)}" for key, value in data.items())
    path.write_text("{\n" + ",\n".join(members) + "\n}\n")
    return path


def _lines(value: object) -> str:
    """Strict JSON, the members of a list in a line each: quicker to write, and to look through, than a line for every figure."""
    if not isinstance(value, list) or not value:
        return json.dumps(value, allow_nan=False)
    return "[\n" + ",\n".join(f" {json.dumps(item, allow_nan=False)}" for item in value) + "\n]"
