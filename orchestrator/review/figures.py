"""Figures for paper: PNG and PDF, colour-blind safe, told apart in grey by their dashes. Trials are numbered from 0."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame

from orchestrator.review.axes import labels, scale_of, ticks
from orchestrator.review.posterior import History
from orchestrator.review.regret import REGRETS, Bands
from orchestrator.review.report import Report
from orchestrator.review.resource import UNIT, is_known, resource_curves
from orchestrator.review.scale import drawable, value_range
from rcgp import SUSPECT_WEIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

    from orchestrator.review.foreign import ForeignReport

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B6B6B")
"""Okabe and Ito's colours, which people with any colour vision tell apart; black and yellow left out for dark pages."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 3)))
STYLE: "dict[RcKeyType, object]" = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "figure.dpi": 200,
    "savefig.dpi": 200,
}
Marks = NDArray[np.generic]
"""Numbers or categories along an axis."""
LEARNING = {"best_so_far": "best true value so far"}


def write_figures(report: Report) -> list[Path]:
    """Draw what the report has, each figure as PNG and PDF."""
    return save_figures(_figures(report), report.folder)


def write_learning(report: "ForeignReport") -> list[Path]:
    """Draw what is known of runs that others made: what they reported, and the best so far."""
    return save_figures((("learning", _learning_figure(r)) for r in [report]), report.folder)


def save_figures(figures: "Iterator[tuple[str, Figure]]", folder: Path) -> list[Path]:
    """Each figure is drawn in our style, kept and let go before the next."""
    import matplotlib as mpl

    files = []
    with mpl.rc_context(STYLE):
        for name, figure in figures:
            _arrange(figure)
            for suffix in ("png", "pdf"):
                files.append(folder / f"{name}.{suffix}")
                # drawn again from the same numbers, the same file: no date in it
                figure.savefig(files[-1], metadata={"CreationDate": None} if suffix == "pdf" else None)
    return files


def _arrange(figure: "Figure") -> None:
    """Let everything find its place, once: whoever saves a figure that has a layout draws all of it twice."""
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)
        figure.set_layout_engine(None)


def _figures(report: Report) -> "Iterator[tuple[str, Figure]]":
    if not report.table.empty:
        known = known_regrets(report.frame)
        yield "regret", curves_figure(report.bands, known)
        if is_known(report.frame):
            column, name = known.popitem()
            spent = list(resource_curves(report.frame, report.initial, column))
            yield "resource", curves_figure({column: spent}, {column: name}, UNIT)
        if report.objective.optimum is None:
            yield "learning", curves_figure(report.bands, LEARNING)
    if report.histories:
        yield "posterior", _posterior_figure(report.histories)


def known_regrets(frame: DataFrame) -> dict[str, str]:
    """The two regrets to draw: the sum, and that of what is handed over; where that is not known, of the best tried."""
    second = (
        "recommended_regret"
        if "recommended_regret" in frame and frame["recommended_regret"].notna().any()
        else "simple_regret"
    )
    return {name: REGRETS[name] for name in ("cumulative_regret", second)}


def curves_figure(bands: Mapping[str, Bands], columns: dict[str, str], unit: str = "trial") -> "Figure":
    """One panel for each column of the trials after the initial ones: mean and one standard error over seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.6 * len(columns), 2.9), layout="constrained")
    axes = figure.subplots(1, len(columns), squeeze=False)[0]
    for axis, (column, name) in zip(axes, columns.items(), strict=True):
        _draw_bands(axis, bands[column])
        axis.set(xlabel=unit, ylabel=name)
    handles, labels = axes[0].get_legend_handles_labels()
    if labels:  # none while only initial trials are back
        columns_of_legend = _even(len(labels), 5 if len(columns) > 1 else 2)
        figure.legend(handles, labels, loc="outside upper center", ncols=columns_of_legend)
    return figure


def _even(labels: int, most: int) -> int:
    """Columns of a legend whose rows are of about the same length."""
    return math.ceil(labels / math.ceil(labels / most))


def _draw_bands(axis: "Axes", bands: Bands) -> None:
    for i, (label, band) in enumerate(bands):
        numbers, color = band.index.to_numpy(), PALETTE[i % len(PALETTE)]
        mean, low, high = (drawable(band[name].to_numpy()) for name in ("mean", "low", "high"))
        axis.plot(numbers, mean, label=label, color=color, linestyle=DASHES[i % len(DASHES)], linewidth=1.4)
        axis.fill_between(numbers, low, high, color=color, alpha=0.18, linewidth=0)
    axis.margins(x=0.01)


def _learning_figure(report: "ForeignReport") -> "Figure":
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.2), layout="constrained")
    axis = figure.subplots()
    frame, (low, high) = report.frame, report.range
    for i, (column, label) in enumerate(report.CURVES.items()):
        axis.plot(frame["number"], frame[column].clip(low, high), DASHES[i], color=PALETTE[1 - i], label=label)
    suspect = frame["weight"] < SUSPECT_WEIGHT
    for chosen, marker, color, label in ((~suspect, "o", PALETTE[0], "run"), (suspect, "^", PALETTE[4], "suspect run")):
        axis.scatter(frame["number"][chosen], frame["value"][chosen].clip(low, high), s=16, marker=marker, color=color,
                     edgecolor="white", linewidth=0.4, label=label)  # fmt: skip
    axis.set(xlabel="run", ylabel=report.metric)
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def _posterior_figure(histories: Sequence[History]) -> "Figure":
    """What each algorithm believed in the end, side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.5 * len(histories), 2.6), layout="constrained")
    panels = figure.subplots(1, len(histories), squeeze=False, sharey=True)
    for axis, history in zip(panels[0], histories, strict=True):
        draw = _draw_line if history.grid.shape[1] == 1 else _draw_surface
        draw(axis, history)
        axis.set_title(_title(history, histories), fontsize=9)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=_even(len(labels), 2 * len(histories)))
    return figure


def _title(history: History, histories: Sequence[History]) -> str:
    algorithm, adversary = history.study.algorithm.label, history.study.adversary.label
    several = len({h.study.adversary.label for h in histories}) > 1
    return f"{algorithm} ({adversary})" if several else algorithm


def _axis_values(history: History, dimension: int) -> Marks:
    return np.array(ticks(history.objective.space.parameters[dimension], np.unique(history.grid[:, dimension])))


def _tried(history: History, dimension: int) -> Marks:
    """Where the trials stand on an axis."""
    parameter = history.objective.space.parameters[dimension]
    return np.array(labels(parameter, history.rows[f"param.{parameter.name}"].tolist()))


def _draw_line(axis: "Axes", history: History) -> None:
    """The posterior over one parameter; lies beyond the edge are shown at the edge."""
    (name,), x, posterior = history.objective.space.names, _axis_values(history, 0), history.posteriors[-1]
    mean, spread = drawable(posterior.mean), drawable(2 * posterior.std)
    axis.fill_between(x, mean - spread, mean + spread, alpha=0.2, linewidth=0)
    axis.plot(x, mean, label="posterior mean ± 2 s.d.", linewidth=1.4)
    truth = history.truth()
    if truth is not None:
        axis.plot(x, drawable(truth), "--", color="0.4", label="true function", linewidth=1)
    low, high = value_range(mean if truth is None else truth)
    _draw_points(axis, history, _tried(history, 0), history.rows["y"].clip(low, high).to_numpy())
    axis.set(xlabel=name, ylim=(low - 0.03 * (high - low), high + 0.03 * (high - low)))


def _draw_points(axis: "Axes", history: History, x: Marks, y: Marks) -> None:
    lies, suspects = history.rows["corrupted"].to_numpy(), history.posteriors[-1].weights < SUSPECT_WEIGHT
    groups = (
        (~lies & ~suspects, "o", PALETTE[0], "trusted"),
        (~lies & suspects, "^", PALETTE[4], "honest, suspected"),
        (lies & suspects, "X", PALETTE[2], "lie, suspected"),
        (lies & ~suspects, "X", PALETTE[1], "lie, trusted"),
    )
    for chosen, marker, color, label in groups:
        axis.scatter(
            x[chosen], y[chosen], s=26, marker=marker, color=color, edgecolor="white", linewidth=0.5, label=label
        )


def _draw_surface(axis: "Axes", history: History) -> None:
    """The posterior mean over two parameters, and where trials were made."""
    first, second = history.objective.space.parameters
    x, y = _axis_values(history, 0), _axis_values(history, 1)
    mean = np.ma.masked_invalid(drawable(history.posteriors[-1].mean)).reshape(len(x), len(y)).T
    if history.objective.space.continuous:
        axis.contourf(x, y, mean, levels=20, cmap="cividis")
    else:  # between values that can be tried there is nothing
        axis.pcolormesh(x, y, mean, shading="nearest", cmap="cividis")
    _draw_points(axis, history, _tried(history, 0), _tried(history, 1))
    axis.set(xlabel=first.name, ylabel=second.name)
    if scale_of(first) == "log":
        axis.set_xscale("log")
    if scale_of(second) == "log":
        axis.set_yscale("log")
    axis.grid(visible=False)
