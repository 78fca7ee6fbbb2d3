"""The numbers, tags and words MLflow is told of a sweep: functions of its journal, so that telling them twice changes nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.review.foreign import SIGNS, ForeignReport
from orchestrator.tracking.entries import Entry, milliseconds
from orchestrator.tracking.sweep import Belief, Sweep, SweepReport, SweepTrial
from orchestrator.tracking.sweep_report import in_order
from orchestrator.tracking.tags import clean
from rcgp import SUSPECT_WEIGHT

WEIGHT, EXPECTED = "rcgp/weight", "rcgp/expected"
TRUST = "rcgp.trust"
"""Tag of a trial: trusted, suspect, or failed."""
LISTED = 20
"""Suspects that are named; more are counted."""


@dataclass(frozen=True)
class BestTrial:
    """The trial believed best, what it reported and what is expected of it."""

    trial: SweepTrial
    reported: float
    expected: float


def params(trial: SweepTrial) -> dict[str, str]:
    """A trial's configuration, as MLflow takes it."""
    return {clean(name): str(value)[:6000] for name, value in trial.params.items()}


def report_entries(reports: Sequence[SweepReport]) -> list[Entry]:
    """What a trial reported, number by number."""
    return [
        Entry(clean(name), value, report.step, milliseconds(report.at))
        for report in reports
        for name, value in report.metrics.items()
    ]


def belief_entries(beliefs: Sequence[Belief]) -> list[Entry]:
    """How far a trial was believed, and what was expected in its place, as the sweep went on."""
    weights = [Entry(WEIGHT, b.weight, b.step, milliseconds(b.at)) for b in beliefs]
    known = [b for b in beliefs if b.expected is not None]
    return weights + [Entry(EXPECTED, b.expected or 0.0, b.step, milliseconds(b.at)) for b in known]


def parent_entries(sweep: Sweep, *, last: bool = False) -> list[Entry]:
    """The best so far, as reported and as believed, and the suspects at that time.

    A trial is weighed when the next suggestion is made: what is believed after a trial is known one trial later, or at the end.
    """
    ended = sweep.ended()
    known = len(ended) if last else len(ended) - 1
    rows: list[Entry] = []
    for step, trial in enumerate(ended[: max(known, 0)]):
        at, seen = milliseconds(trial.ended or 0.0), ended[: step + 1]
        doubted = {t.id for t in seen if _weight_then(sweep, t.id, step + 2) < SUSPECT_WEIGHT}
        rows.append(Entry("suspects", len(doubted), step, at))
        trusted = [t for t in seen if t.id not in doubted]
        best = {"best_reported": _best(sweep, seen), "best_believed": _best(sweep, trusted)}
        rows += [Entry(name, value, step, at) for name, value in best.items() if value is not None]
    return rows


def _weight_then(sweep: Sweep, trial: str, step: int) -> float:
    """How far it was believed when so many trials had ended."""
    weights = [b.weight for b in sweep.beliefs.get(trial, ()) if b.step <= step]
    return weights[-1] if weights else 1.0


def _best(sweep: Sweep, trials: Sequence[SweepTrial]) -> float | None:
    assert sweep.session is not None
    sign = SIGNS[sweep.session.mode]
    values = [value for t in trials if (value := sweep.value(t.id)) is not None and math.isfinite(value)]
    return sign * max(sign * value for value in values) if values else None


def final_entries(sweep: Sweep, report: ForeignReport | None) -> list[Entry]:
    """What the sweep came to: the believed best, and how many are under suspicion."""
    rows, at, step = parent_entries(sweep, last=True), milliseconds(sweep.ended_at), len(sweep.ended())
    best = best_of(sweep, report)
    if best is not None:
        rows += [
            Entry("believed_best", best.reported, step, at),
            Entry("believed_best_expected", best.expected, step, at),
        ]
    if report is not None:
        rows.append(Entry("final_suspects", len(report.suspects), step, at))
    return [*rows, Entry("trials", len(sweep.trials), step, at)]


def best_of(sweep: Sweep, report: ForeignReport | None) -> BestTrial | None:
    """The believed best: the searcher's own word, else that of the report's model."""
    if sweep.best is not None and sweep.best.id in sweep.trials:
        return BestTrial(sweep.trials[sweep.best.id], sweep.best.reported, sweep.best.expected)
    if report is None or report.believed is None:
        return None
    reported, expected = (report.frame[name].tolist()[report.believed] for name in ("value", "expected"))
    return BestTrial(in_order(sweep)[report.believed], reported, expected)


def trust(sweep: Sweep, report: ForeignReport | None) -> Mapping[str, tuple[list[Entry], dict[str, str]]]:
    """By trial: weight and expectation in the end, and the tag that people filter by."""
    if report is None:
        return {}
    at, step = milliseconds(sweep.ended_at), len(sweep.ended())
    found: dict[str, tuple[list[Entry], dict[str, str]]] = {}
    for trial, weight, expected in zip(in_order(sweep), report.frame["weight"], report.frame["expected"], strict=True):
        numbers = {WEIGHT: weight, EXPECTED: expected}
        rows = [Entry(key, float(value), step, at) for key, value in numbers.items() if not math.isnan(value)]
        word = "failed" if trial.status == "FAILED" else "suspect" if weight < SUSPECT_WEIGHT else "trusted"
        found[trial.id] = (rows, {TRUST: word} if rows or word == "failed" else {})
    return found


def note(sweep: Sweep, report: ForeignReport | None) -> str:
    """What MLflow shows as the description of the parent: the answer first, then what to be careful with."""
    best = best_of(sweep, report)
    if report is None or best is None:
        return f"{len(sweep.trials)} trials; none of them can be judged yet."
    point = ", ".join(f"{name}={_short(value)}" for name, value in best.trial.params.items())
    answer = (
        f"Use `{point}`: believed best ({best.trial.name}, reported {best.reported:.4g}, expected {best.expected:.4g})."
    )
    names = [str(name) for name in report.suspects["run"]]
    if not names:
        return f"{answer}\n\nNone of {len(report.frame)} reports is under suspicion."
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    doubted = f"Under suspicion: {len(names)} of {len(report.frame)} reports, {', '.join(names[:LISTED])}{more}."
    return f"{answer}\n\n{doubted} Their expected values are in `{EXPECTED}`, and `report.html` shows them."


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
