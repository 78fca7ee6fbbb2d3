"""What the page shows of the evidence: who reported the suspects, and every suspect by itself."""

import math

from pandas import DataFrame

from orchestrator.machine_records import in_words
from orchestrator.review.evidence import Evidence
from orchestrator.review.report import Report
from orchestrator.review.reporters import table_of
from orchestrator.review.webpage import Data, table
from rcgp import SUSPECT_WEIGHT

SHOWN = 60
"""Suspects that are told one by one; all are in forensics.json."""


def evidence_data(report: Report) -> Data | None:
    """The section on evidence; None where nobody is suspected and nobody ruled."""
    found, machines = report.evidence, report.reporters
    if not found and not in_words(machines):
        return None
    more = f" The other {len(found) - SHOWN} are in forensics.json." if len(found) > SHOWN else ""
    text = "Who reported what is doubted, what the other trials lead to expect there, and what a second run or a person says."
    return {
        "text": text + more,
        "words": in_words(machines),
        "table": table(table_of(machines), 1) if len(machines) else None,
        "suspects": [_suspect(report, e) for e in found[:SHOWN]],
    }


def what(frame: DataFrame) -> list[str]:
    """A trial in a word, to be filtered by."""
    doubted, ruled = frame["weight"] < SUSPECT_WEIGHT, frame["ruling"].map(lambda r: f", ruled {r}" if r else "")
    again = frame["replicate_of"].map(lambda n: "" if math.isnan(n) else f", again {n:.0f}")
    stopped = frame["stopped"].map(lambda s: ", stopped" if s else "")
    words = zip(frame["failed"], frame["corrupted"], doubted, stopped + ruled + again, strict=True)
    return [
        ("failed" if failed else ("lie" if lie else "honest") + (", suspect" if suspect else "")) + more
        for failed, lie, suspect, more in words
    ]


def _suspect(report: Report, e: Evidence) -> Data:
    record = next((r for r in report.reporters if r.reporter == e.reporter), None)
    lines = [("reported", _figure(e.reported)), ("others expect", _expected(e)), ("weight", _figure(e.weight))]
    if e.reporter:
        theirs = "" if record is None else f" (suspects there: {record.suspects} of {record.trials} reports)"
        lines.append(("reporter", f"{e.reporter}{theirs}"))
    lines.append(("parameters", ", ".join(f"{name} = {_figure(value)}" for name, value in e.parameters.items())))
    lines += [("run again", f"trial {r['trial']}: {_figure(r['reported'])}{_on(r['reporter'])}") for r in e.replicates]
    if e.ruling is not None:
        why = f", because {e.ruling['because']}" if e.ruling["because"] else ""
        lines.append(("ruling", f"{e.ruling['ruling']}, by {e.ruling['author']}{why}"))
    curve = [[step, value if math.isfinite(value) else None] for step, value in e.curve]
    return {"title": _title(e), "study": e.study, "trial": e.trial, "lines": lines, "curve": curve}


def _title(e: Evidence) -> str:
    """A suspect in a line, so that a list of them can be read without opening any."""
    expected = "" if e.expected is None else f", others expect {_figure(e.expected)}"
    ruled = "" if e.ruling is None else f", ruled {e.ruling['ruling']}"
    return f"{e.study}, trial {e.trial}: reported {_figure(e.reported)}{_on(e.reporter)}{expected}{ruled}"


def _on(reporter: str) -> str:
    return f" on {reporter}" if reporter else ""


def _expected(e: Evidence) -> str:
    if e.expected is None:
        return "known when the study has ended"
    return _figure(e.expected) + ("" if e.low is None else f" ({_figure(e.low)} to {_figure(e.high)}, 95 %)")


def _figure(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
