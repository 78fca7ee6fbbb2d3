"""Figures for paper: PNG and PDF, colour-blind safe, told apart in grey by their dashes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.report import Report, band_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#6B6B6B")
"""Okabe and Ito's colours, which people with any colour vision tell apart; black and yellow left out for dark pages."""
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (7, 2)), (0, (1, 3)))
STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}
REGRETS = {"cumulative_regret": "cumulative regret", "simple_regret": "simple regret"}


def write_figures(report: Report) -> list[Path]:
    """Draw what the report has, each figure as PNG and PDF."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    files = []
    with plt.rc_context(STYLE):
        for name, figure in _figures(report):
            for suffix in ("png", "pdf"):
                files.append(report.folder / f"{name}.{suffix}")
                figure.savefig(files[-1])
            plt.close(figure)
    return files


def _figures(report: Report) -> "list[tuple[str, Figure]]":
    return [("regret", _regret_figure(report))]


def _regret_figure(report: Report) -> "Figure":
    """Cumulative and simple regret, mean and one standard error over seeds."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.9), layout="constrained")
    for axis, column in zip(axes, REGRETS, strict=True):
        _draw_bands(axis, report, column)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(len(labels), 5))
    return figure


def _draw_bands(axis: Any, report: Report, column: str) -> None:
    chosen = report.frame[report.frame["number"] >= report.initial]
    for i, (label, band) in enumerate(band_curves(chosen, column)):
        steps, color = band.index.to_numpy() - report.initial + 1, PALETTE[i % len(PALETTE)]
        axis.plot(steps, band["mean"], label=label, color=color, linestyle=DASHES[i % len(DASHES)], linewidth=1.4)
        axis.fill_between(steps, band["low"], band["high"], color=color, alpha=0.18, linewidth=0)
    axis.set(xlabel="trial", ylabel=REGRETS[column])
    axis.margins(x=0.01)
