"""The files of a report: tables, figures, the page, and a film where the objective can be filmed."""

from pathlib import Path

from orchestrator.review.figures import write_figures, write_learning
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.foreign_page import foreign_data
from orchestrator.review.page import Film, page_data
from orchestrator.review.posterior import points_of
from orchestrator.review.report import Report
from orchestrator.review.webpage import write_html


def write_files(report: Report | ForeignReport) -> list[Path]:
    """Write table, figures and page; returns the files."""
    report.folder.mkdir(parents=True, exist_ok=True)
    return _write_foreign(report) if isinstance(report, ForeignReport) else _write_own(report)


def current_files(report: Report) -> list[Path]:
    """The files of a run's report; written now, unless they are newer than the journals."""
    page, journals = report.folder / "report.html", report.folder.parent / "journals"
    if page.exists() and page.stat().st_mtime > max(p.stat().st_mtime for p in journals.iterdir()):
        return sorted(p for p in report.folder.iterdir() if p.is_file())
    return write_files(report)


def _write_own(report: Report) -> list[Path]:
    tables = {"regret.csv": report.table, "trials.csv": report.frame}
    for name, table in tables.items():
        table.to_csv(report.folder / name, index=False)
    film = write_film(report)
    figures = write_figures(report)
    page = write_html(report.folder, page_data(report, film))
    return [page, *(report.folder / name for name in tables), *figures, *([film.path] if film else [])]


def _write_foreign(report: ForeignReport) -> list[Path]:
    table = report.folder / "runs.csv"
    report.frame.to_csv(table, index=False)
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
