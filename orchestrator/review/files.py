"""The files of a report: tables, figures, the page, and a film where the objective can be filmed."""

from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import Run
from orchestrator.failures import Failures
from orchestrator.review.evidence import forensic_data, write_forensics
from orchestrator.review.failures import failure_data, write_failures
from orchestrator.review.figures import write_figures, write_learning
from orchestrator.review.page import Film, page_data
from orchestrator.review.posterior import points_of
from orchestrator.review.report import Report
from orchestrator.review.tables import csv
from orchestrator.review.webpage import write_html

if TYPE_CHECKING:
    from orchestrator.review.foreign import ForeignReport


def write_files(report: "Report | ForeignReport") -> list[Path]:
    """Write table, figures and page; returns the files."""
    report.folder.mkdir(parents=True, exist_ok=True)
    return _write_own(report) if isinstance(report, Report) else _write_foreign(report)


def current_files(report: Report) -> list[Path]:
    """The files of a run's report; written now, unless they are newer than the journals."""
    page, journals = report.folder / "report.html", report.folder.parent / "journals"
    if page.exists() and page.stat().st_mtime > max(p.stat().st_mtime for p in journals.iterdir()):
        return sorted(p for p in report.folder.iterdir() if p.is_file())
    return write_files(report)


def _write_own(report: Report) -> list[Path]:
    tables = {"regret.csv": report.table, "trials.csv": report.frame}
    for name, table in tables.items():
        (report.folder / name).write_text(csv(table), encoding="utf-8")
    film = write_film(report)
    figures = write_figures(report)
    page = write_html(report.folder, page_data(report, film))
    known = [] if report.run is None else [_write_forensics(report, report.run)]
    known += [] if report.failures is None else [_write_failures(report, report.failures)]
    return [page, *known, *(report.folder / name for name in tables), *figures, *([film.path] if film else [])]


def _write_forensics(report: Report, run: Run) -> Path:
    """What a script may want to know of suspects, reporters and rulings."""
    rows = report.frame[report.frame["study"].isin([s.key for s in report.judged])]
    return write_forensics(report.folder, forensic_data(run, report.studies, report.frame, rows, report.advice))


def _write_failures(report: Report, found: Failures) -> Path:
    """What a script may want to know of the trials that failed."""
    return write_failures(report.folder, failure_data(report.name, report.frame, report.objective.space.names, found))


def _write_foreign(report: "ForeignReport") -> list[Path]:
    from orchestrator.review.foreign_page import foreign_data

    table = report.folder / "runs.csv"
    table.write_text(csv(report.frame), encoding="utf-8")
    figures = write_learning(report)
    return [write_html(report.folder, foreign_data(report)), table, *figures]


def write_film(report: Report) -> Film | None:
    """Film the trial with the best true value, where the objective knows how."""
    render = getattr(report.objective, "render", None)
    if render is None or report.frame["value"].isna().all():
        return None
    best = report.frame.loc[[report.frame["value"].idxmax()]]
    path = report.folder / "best.gif"
    render(points_of(best, report.objective)[0], path)
    return Film(path, int(best["number"].iloc[0]), str(best["study"].iloc[0]), float(best["value"].iloc[0]))
