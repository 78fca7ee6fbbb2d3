"""What the page shows of an experiment that others filled."""

import numpy as np
import yaml

from orchestrator.experiments import PARAMETER, is_blank
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.scale import short
from orchestrator.review.webpage import Data, columns, table
from rcgp import SUSPECT_WEIGHT


def foreign_data(report: ForeignReport) -> Data:
    """Everything the page shows of an experiment that is not ours."""
    better = "higher" if report.mode == "max" else "lower"
    text = "Every run. Expected is what the model thinks of its parameters, weight how far it believes the report."
    best = [] if report.believed is None else [report.believed]
    return {
        "name": report.name,
        "description": f"An MLflow experiment, read as it is: one trial for each run, in the order they were started. "
        f"{report.metric}: {better} is better.",
        "state": "",
        "answer": None if report.believed is None else _foreign_answer(report, report.believed),
        "cards": _foreign_cards(report),
        "series": list(report.CURVES.values()),
        "regret": _foreign_curves(report),
        "final": None,
        "forensics": _foreign_forensics(report) if report.dimensions else None,
        "posterior": None,
        "slices": None,
        "trials": columns(report.table(report.frame), "Runs", text, best),
        "film": None,
        "about": _foreign_about(report),
    }


def _foreign_answer(report: ForeignReport, row: int) -> Data:
    best = {str(name): report.frame[name].tolist()[row] for name in report.frame.columns}
    plain = {name: best[PARAMETER + name] for name in report.parameters if not is_blank(best[PARAMETER + name])}
    return {
        "title": "Use this",
        "parameters": [[name, str(value)] for name, value in plain.items()],
        "text": f"{best['run']}, believed best: {report.metric} {best['value']:.4g}, expected {best['expected']:.4g}.",
        "plain": None,
        "forms": {"YAML": yaml.safe_dump(plain, sort_keys=False), "Python": repr(plain)},
    }


def _foreign_about(report: ForeignReport) -> Data:
    described = yaml.safe_dump(report.described(), sort_keys=False, default_flow_style=None)
    return {"campaign": described, "facts": [], "timing": None}


def _foreign_cards(report: ForeignReport) -> list[dict[str, str]]:
    frame, sign = report.frame, 1.0 if report.mode == "max" else -1.0
    lost = int(frame["value"].isna().sum())
    cards = [{"value": f"{len(frame):,} runs", "label": f"{lost} without {report.metric}"}]
    cards += (
        []
        if report.failures is None
        else [{"value": f"{report.failures.failed} failed", "label": report.failures.where}]
    )
    finite = frame[np.isfinite(frame["value"])]
    if len(finite):
        best = finite.loc[(sign * finite["value"]).idxmax()]
        cards.append({"value": f"{best['value']:.4g}", "label": f"best {report.metric} reported, by {best['run']}"})
    if report.believed is not None:
        best = frame.loc[report.believed]
        told = f"believed best ({report.metric} {best['value']:.4g}, expected {best['expected']:.4g})"
        cards.append({"value": str(best["run"]), "label": told})
        cards.append({"value": f"{len(report.suspects)} suspect", "label": "runs that the others contradict"})
    return cards


def _foreign_curves(report: ForeignReport) -> Data:
    numbers = report.frame["number"].tolist()
    curves = [
        {"label": label, "x": numbers, "mean": short(report.frame[column].clip(*report.range))}
        for column, label in report.CURVES.items()
    ]
    text = "The best so far, as the runs report it and without the suspects. What lies far beyond the "
    text += "others is drawn at the edge."
    return {
        "title": "Learning curve",
        "text": text,
        "unit": "run",
        "charts": [{"title": "Best so far", "axis": report.metric, "curves": curves}],
    }


def _foreign_forensics(report: ForeignReport) -> Data:
    judged = report.frame[report.frame["weight"].notna()]
    return {
        "text": "Nobody knows which of these reports are wrong. A robust model (a2-rcgp-ucb) of the parameters below says "
        "which of them the others contradict: its suspects, least believed first. Triangles lie beyond the edge.",
        "table": table(report.shown, words=2),
        "values": {
            "axis": report.metric,
            "range": list(report.range),
            "suspect": SUSPECT_WEIGHT,
            "trial": judged["number"].tolist(),
            "name": judged["run"].tolist(),
            "y": short(judged["value"]),
            "expected": short(judged["expected"]),
            "weight": short(judged["weight"]),
        },
    }
