"""The report as one page: no server, no network, light and dark. This file gathers its data; page.html draws it."""

import base64
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from pandas import DataFrame, Series

from orchestrator.campaign.study import Study
from orchestrator.review.axes import labels, scale_of, ticks
from orchestrator.review.figures import PALETTE
from orchestrator.review.posterior import History
from orchestrator.review.report import (
    Report,
    band_curves,
    forensics,
    forensics_table,
    latex,
    markdown,
    printable,
)

if TYPE_CHECKING:
    from orchestrator.review.foreign import ForeignReport

DARK_PALETTE = ("#5AB0E6", "#FF8A4C", "#35C79B", "#E79AC6", "#F5BD45", "#9AD4F7", "#B5B5B5")
CHARTS = {
    "cumulative_regret": ("Cumulative regret", "sum of (maximum - true value)"),
    "simple_regret": ("Simple regret", "maximum - best true value so far"),
    "best_so_far": ("Learning curve", "best true value so far"),
}


@dataclass(frozen=True)
class Film:
    """The best trial in motion, for objectives that can be filmed."""

    path: Path
    trial: int
    study: str
    value: float


def write_page(report: Report, film: Film | None = None) -> Path:
    """Write report.html and return its path."""
    return write_html(report.folder, report.name, page_data(report, film))


def write_html(folder: Path, name: str, data: dict[str, Any]) -> Path:
    """The page that draws the data, as one file."""
    from plotly.offline import get_plotlyjs

    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    parts = {
        "__TITLE__": name.replace("&", "&amp;").replace("<", "&lt;"),
        "__PLOTLY__": get_plotlyjs(),
        "__PALETTES__": json.dumps({"light": PALETTE, "dark": DARK_PALETTE}),
        "__DATA__": json.dumps(data, allow_nan=False, separators=(",", ":")).replace("</", "<\\/"),
    }
    for mark, text in parts.items():
        page = page.replace(mark, text, 1)
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def page_data(report: Report, film: Film | None = None) -> dict[str, Any]:
    """Everything the page shows, as strict JSON data."""
    return {
        "name": report.name,
        "description": report.description,
        "cards": _cards(report),
        "series": [label for label, _ in band_curves(report.frame, "cumulative_regret")],
        "regret": _regret(report),
        "final": _final(report),
        "forensics": _forensics(report.frame),
        "posterior": _posterior(report) if report.histories else None,
        "film": None if film is None else _film(film),
        "campaign": yaml.safe_dump(_described(report.studies), sort_keys=False, default_flow_style=None),
    }


def _cards(report: Report) -> list[dict[str, str]]:
    table, figures = report.headline, forensics_table(report.frame)
    first, several = table.iloc[0], report.table["adversary"].nunique() > 1
    under = f" under {first['adversary']}" if several else ""
    cards = [{"value": str(first["algorithm"]), "label": f"least cumulative regret{under}"}]
    if "to_baseline_mean" in table and first["to_baseline_mean"] < 0:
        ratio = (first["cumulative_regret_mean"] - first["to_baseline_mean"]) / first["cumulative_regret_mean"]
        cards.append({"value": f"{ratio:.1f} times less", "label": "than gp-ucb, which trusts every result"})
    counts = figures.groupby("algorithm", sort=False)[["lies", "caught", "suspects"]].sum()
    finder = counts.sort_values("caught", ascending=False, kind="stable").iloc[0]
    if finder["lies"]:
        cards.append({"value": f"{finder['caught']} of {finder['lies']} lies", "label": _found(finder)})
    trials, studies = len(report.frame), report.frame["study"].nunique()
    cards.append(
        {"value": f"{trials:,} trials", "label": f"in {studies} studies, {report.frame['failed'].sum()} failed"}
    )
    return cards


def _found(finder: "Series[Any]") -> str:
    alarms = finder["suspects"] - finder["caught"]
    if not finder["caught"]:
        return "found by any algorithm"
    return f"found by {finder.name}, with {alarms} false alarm" + ("" if alarms == 1 else "s")


def _regret(report: Report) -> dict[str, Any]:
    chosen = report.frame[report.frame["number"] >= report.initial]
    known = report.objective.optimum is not None
    names = ("cumulative_regret", "simple_regret") if known else ("best_so_far", "cumulative_regret")
    origin = "the known maximum" if known else "the best true value of any study here, because the maximum is unknown"
    return {
        "title": "Regret" if known else "Learning and regret",
        "text": f"Mean and one standard error over seeds. Regret is counted on the true value, from {origin}; the "
        f"{report.initial} initial trials, which all algorithms share, are left out.",
        "charts": [_chart(chosen, name, report.initial) for name in names],
    }


def _chart(chosen: DataFrame, name: str, initial: int) -> dict[str, Any]:
    title, axis = CHARTS[name]
    curves = [
        {"label": label, "x": (band.index.to_numpy() - initial + 1).tolist()}
        | {column: short(band[column]) for column in ("mean", "low", "high", "sem")}
        for label, band in band_curves(chosen, name)
    ]
    return {"title": title, "axis": axis, "curves": curves}


def _final(report: Report) -> dict[str, Any]:
    shown = printable(report.table).rename(columns=lambda c: str(c).replace("_", " "))
    best = report.table.groupby("adversary")["cumulative_regret_mean"].idxmin().tolist()
    return {
        "title": "Final regret",
        "text": "Mean ± standard error over seeds; differences are taken seed by seed on shared noise.",
        "table": _table(shown, words=2) | {"best": best},
        "forms": {"Markdown": markdown(shown), "LaTeX": latex(shown), "CSV": report.table.to_csv(index=False)},
    }


def _table(frame: DataFrame, words: int) -> dict[str, Any]:
    return {"columns": list(frame.columns), "rows": frame.astype(str).to_numpy().tolist(), "words": words}


def _forensics(frame: DataFrame) -> dict[str, Any] | None:
    verdicts = forensics(frame)
    if not (frame["corrupted"].any() or (frame["weight"] < 1.0).any()):
        return None
    table = forensics_table(frame)
    for column in ("precision", "recall"):
        table[column] = ["-" if math.isnan(v) else f"{v:.0%}" for v in table[column]]
    return {
        "text": "A suspect is a trial whose weight fell below 1. Precision: how many suspects were lies; recall: how "
        "many lies were suspected. gp-ucb and random suspect nobody.",
        "table": _table(table, words=2),
        "studies": list(dict.fromkeys(verdicts["study"])),
        "marks": {
            kind: _marks(verdicts[verdicts["verdict"] == kind]) for kind in ("caught", "missed", "alarm", "honest")
        },
    }


def _marks(rows: DataFrame) -> dict[str, Any]:
    triples = zip(rows["y"], rows["y_true"], rows["weight"], strict=True)
    detail = [f"reported {y:.4g}, true {t:.4g}, weight {w:.3g}" for y, t, w in triples]
    return {"trial": rows["number"].tolist(), "study": rows["study"].tolist(), "detail": detail}


def _posterior(report: Report) -> dict[str, Any]:
    first = report.histories[0]
    space, truth = first.objective.space, first.truth()
    axes = [ticks(p, np.unique(first.grid[:, i])) for i, p in enumerate(space.parameters)]
    labels = [_label(report, h.study) for h in report.histories]
    best = (report.headline["algorithm"].iloc[0], report.headline["adversary"].iloc[0])
    told = [(h.study.algorithm.label, h.study.adversary.label) for h in report.histories]
    chosen = told.index(best) if best in told else 0
    surface = "Response surface" if truth is None else "Belief over time"
    return {
        "title": surface if space.dim == 2 else "Belief over time",
        "text": "What each algorithm believed after every trial of its first seed. Crosses are lies, triangles lie "
        "beyond the edge; the colour is the trust the algorithm puts in an observation.",
        "names": list(space.names),
        "scales": [scale_of(p) for p in space.parameters],
        "cells": not space.continuous,
        "axes": [short(axis) for axis in axes],
        "x": short(axes[0]),
        "truth": None if truth is None else short(truth),
        "range": _range(report.histories, truth),
        "first": chosen,
        "studies": [_history(h, label) for h, label in zip(report.histories, labels, strict=True)],
    }


def _label(report: Report, study: Study) -> str:
    several = report.frame["adversary"].nunique() > 1
    return f"{study.algorithm.label} ({study.adversary.label})" if several else study.algorithm.label


def _range(histories: Iterable[History], truth: Any) -> list[float]:
    """Bounds of the values worth seeing: those of the truth where known, else of the honest results."""
    honest = [h.rows.loc[~h.rows["corrupted"] & ~h.rows["failed"], "y_true"].to_numpy() for h in histories]
    values = np.concatenate(honest) if truth is None else truth
    low, high = values[np.isfinite(values)].min(), values[np.isfinite(values)].max()
    edge = 0.25 * (high - low) if truth is not None else 0.0
    return [float(low - edge), float(high + edge)]


def _history(history: History, label: str) -> dict[str, Any]:
    rows, parameters = history.rows, history.objective.space.parameters
    return {
        "label": label,
        "x": [short(labels(p, rows[f"param.{p.name}"])) for p in parameters],
        "y": short(rows["y"]),
        "trial": rows["number"].tolist(),
        "corrupted": rows["corrupted"].tolist(),
        "steps": [
            {"told": b.told, "mean": short(b.mean), "std": short(b.std), "weights": short(b.weights)}
            for b in history.beliefs
        ],
    }


def _film(film: Film) -> dict[str, str]:
    source = base64.b64encode(film.path.read_bytes()).decode()
    text = f"One episode of trial {film.trial} of {film.study}, whose true mean return was {film.value:.4g}."
    return {"source": f"data:image/gif;base64,{source}", "text": text}


def short(values: Iterable[Any]) -> list[float | str | None]:
    """Five digits are enough to draw; what is not finite is left out, text stays."""
    return [v if isinstance(v, str) else float(f"{v:.5g}") if math.isfinite(v) else None for v in values]


def _described(studies: tuple[Study, ...]) -> dict[str, Any]:
    """The grid of studies, as the campaign's file would put it."""
    parts = {
        kind: list(
            {
                getattr(s, kind).label: {"name": getattr(s, kind).name} | dict(getattr(s, kind).options)
                for s in studies
            }.values()
        )
        for kind in ("objective", "algorithm", "adversary")
    }
    first = studies[0]
    sizes = {"trials": first.trials, "initial": first.initial, "workers": first.workers}
    return parts | {"seeds": sorted({s.seed for s in studies})} | sizes


# --- runs that others made --------------------------------------------------------------------------------------------


def foreign_data(report: "ForeignReport") -> dict[str, Any]:
    """Everything the page shows of an experiment that is not ours."""
    better = "higher" if report.mode == "max" else "lower"
    return {
        "name": report.name,
        "description": f"An MLflow experiment, read as it is: one trial for each run, in the order they were started. "
        f"{report.metric}: {better} is better.",
        "cards": _foreign_cards(report),
        "series": list(report.CURVES.values()),
        "regret": _foreign_curves(report),
        "final": _foreign_runs(report),
        "forensics": _foreign_forensics(report) if report.dimensions else None,
        "posterior": None,
        "film": None,
        "campaign": yaml.safe_dump(report.described(), sort_keys=False, default_flow_style=None),
    }


def _foreign_cards(report: "ForeignReport") -> list[dict[str, str]]:
    frame, sign = report.frame, 1.0 if report.mode == "max" else -1.0
    lost = int(frame["value"].isna().sum())
    cards = [{"value": f"{len(frame):,} runs", "label": f"{lost} without {report.metric}"}]
    finite = frame[np.isfinite(frame["value"])]
    if len(finite):
        best = finite.loc[(sign * finite["value"]).idxmax()]
        cards.append({"value": f"{best['value']:.4g}", "label": f"best {report.metric} reported, by {best['run']}"})
    if report.believed is not None:
        best = frame.loc[report.believed]
        told = f"believed best ({report.metric} {best['value']:.4g}, expected {best['expected']:.4g})"
        cards.append({"value": str(best["run"]), "label": told})
        cards.append({"value": f"{len(report.suspects)} doubted", "label": "runs that the others contradict"})
    return cards


def _foreign_curves(report: "ForeignReport") -> dict[str, Any]:
    numbers = report.frame["number"].tolist()
    curves = [
        {"label": label, "x": numbers, "mean": short(report.frame[column].clip(*report.range))}
        for column, label in report.CURVES.items()
    ]
    text = "The best so far, as the runs report it and without the runs that are doubted. What lies far beyond the "
    text += "others is drawn at the edge."
    return {
        "title": "Learning curve",
        "text": text,
        "unit": "run",
        "charts": [{"title": "Best so far", "axis": report.metric, "curves": curves}],
    }


def _foreign_runs(report: "ForeignReport") -> dict[str, Any]:
    shown = report.table(report.frame)
    best = [] if report.believed is None else [report.believed]
    csv = report.frame.to_csv(index=False)
    return {
        "title": "Runs",
        "last": True,
        "text": "Every run. Expected is what the model thinks of its parameters, weight how far it believes the report.",
        "table": _table(shown, words=2) | {"best": best},
        "forms": {"Markdown": markdown(shown), "LaTeX": latex(shown), "CSV": csv},
    }


def _foreign_forensics(report: "ForeignReport") -> dict[str, Any]:
    judged = report.frame[report.frame["weight"].notna()]
    return {
        "text": "Nobody knows which of these reports are wrong. A robust model (a2-rcgp-ucb) of the parameters below says "
        "which of them the others contradict: its suspects, least believed first. Triangles lie beyond the edge.",
        "table": _table(report.shown, words=2),
        "values": {
            "axis": report.metric,
            "range": list(report.range),
            "trial": judged["number"].tolist(),
            "name": judged["run"].tolist(),
            "y": short(judged["value"]),
            "expected": short(judged["expected"]),
            "weight": short(judged["weight"]),
        },
    }
