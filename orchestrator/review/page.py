"""What the page shows of a campaign."""

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pandas import DataFrame, Series

from orchestrator.campaign.study import Study
from orchestrator.review import timing
from orchestrator.review.answer import Answer, Recommendation
from orchestrator.review.axes import labels, scale_of, ticks
from orchestrator.review.evidence_page import evidence_data, what
from orchestrator.review.facts import campaign_yaml, facts
from orchestrator.review.failures_page import failures_data
from orchestrator.review.forensics import VERDICTS, forensics, forensics_table
from orchestrator.review.parameters import importance
from orchestrator.review.posterior import History
from orchestrator.review.ranking import BASELINE, printable
from orchestrator.review.report import Report
from orchestrator.review.resource import resource_charts
from orchestrator.review.scale import Array, short, value_range
from orchestrator.review.tables import csv, in_seconds, latex, markdown
from orchestrator.review.webpage import Data, columns, table
from rcgp import SUSPECT_WEIGHT

CHARTS = {
    "cumulative_regret": ("Cumulative regret", "sum of (maximum - true value)"),
    "recommended_regret": ("Recommended regret", "maximum - recommended true value"),
    "simple_regret": ("Best tried regret", "maximum - best true value so far"),
    "best_so_far": ("Learning curve", "best true value so far"),
}
COMPARED = "differences are taken seed by seed on shared noise. A seed is won by who alone regrets least in it."
TRIALS_SHOWN = 20_000
"""More than this make a page that no browser likes."""
POINTS_SHOWN = 2_000
"""Points of one slice."""


@dataclass(frozen=True)
class Film:
    """The best trial in motion, for objectives that can be filmed."""

    path: Path
    trial: int
    study: str
    value: float


def page_data(report: Report, film: Film | None = None) -> Data:
    """Everything the page shows, as strict JSON data."""
    return {
        "name": report.name,
        "description": report.description,
        "state": report.state,
        "answer": None if report.answer is None else _answer(report, report.answer),
        "cards": _cards(report),
        "series": [label for label, _ in report.bands["cumulative_regret"]],
        "regret": None if report.table.empty else _regret(report),
        "final": None if report.table.empty else _final(report),
        "forensics": _forensics(report.frame),
        "evidence": evidence_data(report),
        "failures": failures_data(report),
        "posterior": _posterior(report) if report.histories else None,
        "slices": _slices(report) if report.objective.dim > 2 else None,
        "trials": _trials(report),
        "film": None if film is None else _film(film),
        "about": _about(report),
    }


def empty_data(report: Report) -> Data:
    """What the page shows before the first trial has come back."""
    parts = ("answer", "regret", "final", "forensics", "evidence", "failures", "posterior", "slices", "trials", "film")
    shown = {"name": report.name, "description": report.description, "state": report.state, "cards": [], "series": []}
    return shown | dict.fromkeys(parts) | {"about": {"campaign": campaign_yaml(report), "facts": [], "timing": None}}


# --- what to use ------------------------------------------------------------------------------------------------------


def _answer(report: Report, answer: Answer) -> Data:
    use, plain = answer.use, answer.plain
    study = use.study
    told = f"{study.algorithm.label}, seed {study.seed}, trial {use.number}. Believed value {use.believed}; {use.supported}."
    told = " ".join(part for part in (told, use.stands_on, use.disbelieved) if part)
    return {
        "title": "Use this" if use.done >= study.total else f"Use this, as of {use.done} of {study.total} trials",
        "parameters": [[name, _text(value)] for name, value in use.parameters.items()],
        "text": f"{told} {_truth(report, use)}".strip(),
        "plain": None
        if plain is None
        else f"{BASELINE}, which trusts every result, would hand over {_told(report, plain)}",
        "forms": {"YAML": answer.yaml(), "Python": answer.python()},
    }


def _told(report: Report, other: Recommendation) -> str:
    point = ", ".join(f"{name} = {_text(value)}" for name, value in other.parameters.items())
    return f"{point}: believed {other.believed}. {_truth(report, other)}".strip()


def _truth(report: Report, use: Recommendation) -> str:
    """What it is really worth, where somebody knows better than the report."""
    if math.isnan(use.true) or not (report.objective.optimum or use.true != use.reported):
        return ""
    best = report.objective.optimum
    return f"Its true value is {use.true:.4g}" + (f", the maximum {best.value:.4g}." if best else ".")


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


# --- what came out ----------------------------------------------------------------------------------------------------


def _cards(report: Report) -> list[dict[str, str]]:
    cards = [*_leader_cards(report), *_lie_cards(report.frame)]
    studies, failed = report.frame["study"].nunique(), int(report.frame["failed"].sum())
    far = f"{report.done:,} trials" if not report.state else f"{report.done:,} of {report.total:,}"
    label = f"in {studies} {'study' if studies == 1 else 'studies'}, {failed} failed"
    return [*cards, {"value": far, "label": label if not report.state else f"trials so far, {label}"}]


def _leader_cards(report: Report) -> list[dict[str, str]]:
    """Who regrets least, and how much less than plain GP-UCB; nothing is claimed before there is something to compare."""
    rows = report.headline
    if not report.leaders or len(rows) == 1:
        return []
    under = f" under {rows['adversary'].iloc[0]}" if report.table["adversary"].nunique() > 1 else ""
    if len(report.leaders) > 1:
        return [{"value": "no clear winner", "label": f"{' and '.join(report.leaders)} regret about as little{under}"}]
    first = rows[rows["algorithm"] == report.leaders[0]].iloc[0]
    seeds = f", wins in {first['wins']} of {first['seeds']} seeds" if first["seeds"] > 1 else ""
    if report.state:  # who is ahead may not stay ahead
        far = f"{first['trials']} of {report.studies[0].trials} trials"
        return [{"value": str(first["algorithm"]), "label": f"ahead after {far}{under}{seeds}"}]
    leader = {"value": str(first["algorithm"]), "label": f"least cumulative regret{under}{seeds}"}
    return [leader, *_ratio_card(rows, first)]


def _ratio_card(rows: DataFrame, first: "Series[Any]") -> list[dict[str, str]]:
    plain = rows.loc[rows["algorithm"] == BASELINE, "cumulative_regret_mean"]
    least = float(first["cumulative_regret_mean"])
    if plain.empty or not 0.0 < least < float(plain.iloc[0]) < math.inf:
        return []
    return [
        {"value": f"{plain.iloc[0] / least:,.1f} times less", "label": f"than {BASELINE}, which trusts every result"}
    ]


def _lie_cards(frame: DataFrame) -> list[dict[str, str]]:
    counts = forensics_table(frame).groupby("algorithm", sort=False)[["lies", "caught", "suspects"]].sum()
    if not counts["lies"].any():  # nor are there any counts where every trial failed
        return []
    finder = counts.sort_values("caught", ascending=False, kind="stable").iloc[0]
    alarms = finder["suspects"] - finder["caught"]
    found = f"found by {finder.name}, with {alarms} false alarm" + ("" if alarms == 1 else "s")
    label = found if finder["caught"] else "found by any algorithm"
    return [{"value": f"{finder['caught']} of {finder['lies']} lies", "label": label}]


def _regret(report: Report) -> Data:
    known = report.objective.optimum is not None
    names = [name for name in CHARTS if name in report.frame and report.frame[name].notna().any()]
    names = (
        [n for n in names if n != "best_so_far"]
        if known
        else ["best_so_far", *(n for n in names if "_regret" in n)][:3]
    )
    shared = ", which all algorithms share" if report.frame["algorithm"].nunique() > 1 else ""
    origin = "the known maximum" if known else "the best true value of any study here, because the maximum is unknown"
    return {
        "title": "Regret" if known else "Learning and regret",
        "text": f"{_over(report)} Regret is counted on the true value, from {origin}; trials are "
        f"numbered from 0, and the {report.initial} initial ones{shared}, are left out. Recommended is what "
        "an algorithm would hand over after so many trials; the best tried is what nobody can know without the truth.",
        "charts": [_chart(report, name) for name in names] + resource_charts(report.frame, report.initial),
    }


def _over(report: Report) -> str:
    return "One seed." if report.frame["seed"].nunique() == 1 else "Mean and one standard error over seeds."


def _chart(report: Report, name: str) -> Data:
    title, axis = CHARTS[name]
    curves = [
        {"label": label, "x": band.index.tolist()}
        | {column: short(band[column]) for column in ("mean", "low", "high", "sem")}
        for label, band in report.bands[name]
    ]
    return {"title": title, "axis": axis, "curves": curves}


def _final(report: Report) -> Data:
    shown, best = printable(report.table), report.table["algorithm"].isin(report.leaders)
    return {
        "title": "Final regret" if not report.state else "Regret so far",
        "text": f"{report.caption}; {COMPARED}" if "wins" in shown else f"{report.caption}.",
        "table": table(shown, 1 + ("adversary" in shown), np.flatnonzero(best & _in_headline(report)).tolist()),
        "forms": {"Markdown": markdown(shown), "LaTeX": latex(shown), "CSV": csv(report.table)},
    }


def _in_headline(report: Report) -> "Series[bool]":
    return report.table["adversary"].isin(report.headline["adversary"])


def _forensics(frame: DataFrame) -> Data | None:
    verdicts = forensics(frame)
    if not (frame["corrupted"].any() or (verdicts["weight"] < SUSPECT_WEIGHT).any()):
        return None
    counted = forensics_table(frame)
    for column in ("precision", "recall"):
        counted[column] = ["-" if math.isnan(v) else f"{v:.0%}" for v in counted[column]]
    return {
        "text": f"A suspect is a trial whose weight fell below {SUSPECT_WEIGHT:g}. Precision: how many suspects were lies; "
        f"recall: how many lies were suspected. {BASELINE} and random suspect nobody.",
        "table": table(counted, words=2),
        "studies": list(dict.fromkeys(verdicts["study"])),
        "marks": {kind: _marks(verdicts[verdicts["verdict"] == kind]) for kind in VERDICTS.values()},
    }


def _marks(rows: DataFrame) -> Data:
    triples = zip(rows["y"], rows["y_true"], rows["weight"], strict=True)
    detail = [f"reported {y:.4g}, true {t:.4g}, weight {w:.3g}" for y, t, w in triples]
    return {"trial": rows["number"].tolist(), "study": rows["study"].tolist(), "detail": detail}


# --- what was believed ------------------------------------------------------------------------------------------------


def _posterior(report: Report) -> Data:
    first = report.histories[0]
    space, truth = first.objective.space, first.truth()
    axes = [ticks(p, np.unique(first.grid[:, i])) for i, p in enumerate(space.parameters)]
    names = [_label(report, h.study) for h in report.histories]
    return {
        "title": "Response surface" if truth is None and space.dim == 2 else "Belief over time",
        "text": "What each algorithm believed after every trial of its first seed. Crosses are lies, triangles lie "
        "beyond the edge; the colour is the trust the algorithm puts in an observation.",
        "names": list(space.names),
        "scales": [scale_of(p) for p in space.parameters],
        "cells": not space.continuous,
        "axes": [short(axis) for axis in axes],
        "truth": None if truth is None else short(truth),
        "range": _range(report.histories, truth),
        "first": _first_shown(report),
        "studies": [_history(h, name) for h, name in zip(report.histories, names, strict=True)],
    }


def _first_shown(report: Report) -> int:
    """The study whose posterior is shown first: the answer's algorithm, else the first."""
    study = None if report.answer is None else report.answer.use.study
    shown = [(h.study.algorithm, h.study.adversary) for h in report.histories]
    return (
        shown.index((study.algorithm, study.adversary)) if study and (study.algorithm, study.adversary) in shown else 0
    )


def _label(report: Report, study: Study) -> str:
    several = report.frame["adversary"].nunique() > 1
    return f"{study.algorithm.label} ({study.adversary.label})" if several else study.algorithm.label


def _range(histories: Sequence[History], truth: Array | None) -> tuple[float, float]:
    """Bounds of the values worth seeing: those of the truth where known, else of the honest results."""
    if truth is not None:
        return value_range(truth)
    honest = [h.rows.loc[~h.rows["corrupted"] & ~h.rows["failed"], "y_true"].to_numpy() for h in histories]
    return value_range(np.concatenate(honest), edge=0.0)


def _history(history: History, label: str) -> Data:
    rows, parameters = history.rows, history.objective.space.parameters
    return {
        "label": label,
        "key": history.study.key,
        "x": [short(labels(p, rows[f"param.{p.name}"])) for p in parameters],
        "y": short(rows["y"]),
        "trial": rows["number"].tolist(),
        "corrupted": rows["corrupted"].tolist(),
        "steps": [
            {"told": p.told, "mean": short(p.mean), "std": short(p.std), "weights": short(p.weights)}
            for p in history.posteriors
        ],
    }


# --- trials and parameters --------------------------------------------------------------------------------------------


def _trials(report: Report) -> Data:
    frame, names = report.frame.head(TRIALS_SHOWN), report.objective.space.names
    shown = DataFrame({"study": frame["study"], "trial": frame["number"]})
    shown = shown.join(frame[[f"param.{name}" for name in names]].set_axis(list(names), axis=1), rsuffix=" (parameter)")
    shown = shown.assign(reported=frame["y"], true=frame["value"], expected=report.expected().reindex(frame.index))
    shown = shown.assign(weight=frame["weight"], what=what(frame), seconds=frame["seconds"], reporter=frame["reporter"])
    left_out = len(report.frame) - len(frame)
    more = f" The other {left_out:,} trials are in trials.csv." if left_out else ""
    text = "Click a column's name to sort by it. Expected is what the model says of a trial in the end, of a suspect without it."
    return columns(shown, "Trials", text + more)


def _slices(report: Report) -> Data:
    """Every parameter against what was reported, the one that explains most first."""
    every = max(1, math.ceil(len(report.frame) / POINTS_SHOWN))
    rows, space = report.frame.iloc[::every], report.objective.space
    shares = importance(report.frame, report.objective)
    ordered = sorted(space.parameters, key=lambda p: -shares.get(p.name, 0.0))
    honest = report.frame.loc[~report.frame["corrupted"] & ~report.frame["failed"], "y_true"]
    return {
        "text": "What was reported against each parameter; suspects are orange, and triangles lie beyond the edge. The share is "
        "how much of what random trees explain of the trusted reports is this parameter's.",
        "y": short(rows["y"]),
        "weights": short(rows["weight"]),
        "detail": [f"{study}, trial {n}" for study, n in zip(rows["study"], rows["number"], strict=True)],
        "range": value_range(honest.to_numpy()),
        "parameters": [
            {"name": p.name, "scale": scale_of(p), "share": shares.get(p.name)}
            | {"x": short(labels(p, rows[f"param.{p.name}"])), "axis": ticks(p, np.linspace(0.0, 1.0, p.count or 2))}
            for p in ordered
        ],
    }


# --- what was run -----------------------------------------------------------------------------------------------------


def _about(report: Report) -> Data:
    about: Data = {"campaign": campaign_yaml(report), "facts": list(facts(report).items()), "timing": None}
    if report.run is not None and timing.known(report.run):
        about["timing"] = table(in_seconds(timing.run_table(report.run)), words=1)
    return about


def _film(film: Film) -> dict[str, str]:
    source = base64.b64encode(film.path.read_bytes()).decode()
    text = f"One episode of trial {film.trial} of {film.study}, whose true mean return was {film.value:.4g}."
    return {"source": f"data:image/gif;base64,{source}", "text": text}
