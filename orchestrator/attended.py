"""A session that a person attends: live progress, the report on the terminal, and how to go on when something stopped it."""

import shlex
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.errors import UserError
from orchestrator.terminal import plain, print_frame

if TYPE_CHECKING:
    from orchestrator.campaign.runs import Run
    from orchestrator.review.foreign import ForeignReport
    from orchestrator.review.report import Report
    from orchestrator.tracking.follower import Follower


def attend(run: "Run", *, no_ray: bool, address: str | None, root: Path | None, started: float) -> None:
    """Run with live progress, then report; say how to resume when something stopped it."""
    from rich.console import Console

    from orchestrator.review.progress import progress
    from orchestrator.session import conduct

    console, unwritten = Console(), False
    again = f"orchestrate resume {run.name}" + _root_option(root) + (" --no-ray" if no_ray else "")
    typer.echo(f"{run.name}: {len(run.studies)} studies in {run.folder}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def report(follower: "Follower | None") -> None:
        nonlocal unwritten
        unwritten = _try_report(run)
        typer.echo(f"{'journals':>8}: {run.journals}")
        if follower is not None:
            typer.echo(f"{'MLflow':>8}: writing the rest; Ctrl-C leaves it for 'orchestrate sync {run.name}'")

    try:
        ending, follower = conduct(
            run, ray=not no_ray, address=address, listeners=[progress(run, console)], started=started, report=report
        )
    except KeyboardInterrupt:
        typer.echo(f"Interrupted; nothing is lost. Continue with: {again}")
        raise typer.Exit(130) from None
    _say_tracked(run, follower, root)
    for key, reason in ending.errors.items():
        fail(f"{key}: {reason}")
    if ending.errors or unwritten:
        typer.echo(f"When that is mended, continue with: {again}", err=True)
        raise typer.Exit(1)
    if ending.out_of_time:
        typer.echo(f"The time limit is reached. Continue with: {again}")
        raise typer.Exit(3)


def _try_report(run: "Run") -> bool:
    """Report; a disk that is full is said and returned, and must not hide what became of the studies."""
    from orchestrator.review.report import Report

    try:
        print_report(Report.of(run))
    except UserError as error:
        fail(str(error))
        return True
    return False


def print_report(report: "Report | ForeignReport") -> None:
    from orchestrator.review.files import write_files

    if report.frame.empty:
        typer.echo(f"{report.name}: no trial is finished yet.")
        return
    try:
        files = write_files(report)
    except OSError as error:
        raise UserError(f"the report of {report.name} cannot be written ({error.strerror or error}).") from error
    print_frame(report.caption, report.shown)
    typer.echo(plain(report.advice))
    for path in files:
        if path.suffix in (".html", ".csv", ".png"):
            typer.echo(f"{path.suffix[1:]:>8}: {path}")


def _say_tracked(run: "Run", follower: "Follower | None", root: Path | None) -> None:
    """How to look at the run in MLflow, or why not yet."""
    if follower is None:
        return
    where = _root_option(root)
    if follower.reason:
        typer.echo(f"  MLflow: behind ({follower.reason}). Catch up with: orchestrate sync {run.name}{where}", err=True)
    else:
        typer.echo(f"{'MLflow':>8}: orchestrate ui {run.name}{where}")


def _root_option(root: Path | None) -> str:
    """As it has to be typed again."""
    return f" --root {shlex.quote(str(root))}" if root else ""


def fail(message: str) -> None:
    """One line, whatever an exception or a file's name brought along."""
    typer.echo(f"error: {plain(message)}", err=True)
