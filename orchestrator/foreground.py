"""A run in the foreground of a terminal: live progress, then its report, then how to go on from there."""

import shlex
import signal
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from orchestrator.campaign.runs import Run
from orchestrator.engine.cluster import Connection
from orchestrator.engine.fleet import RunOutcome
from orchestrator.engine.rulings import confirm, find_study, is_live
from orchestrator.engine.watch import Listener
from orchestrator.errors import UserError
from orchestrator.review.files import write_files
from orchestrator.review.live import LiveServer
from orchestrator.review.preparation import Preparation
from orchestrator.review.progress import progress
from orchestrator.review.report import Report, answer_of
from orchestrator.session import conduct
from orchestrator.terminal import counted, print_error, print_frame, print_text
from orchestrator.tracking.follower import Follower

if TYPE_CHECKING:
    from orchestrator.review.foreign import ForeignReport

DONE, FAILED, OUT_OF_TIME, INTERRUPTED = 0, 1, 3, 130
"""Exit codes of a run."""


@dataclass
class Foreground:
    """One run on this terminal; `root` and `no_ray` are what has to be typed again to resume it."""

    run: Run
    no_ray: bool = False
    address: str | None = None
    root: Path | None = None
    connection: Connection | None = None
    _unwritten: bool = False

    def execute(self, started: float) -> int:
        """Run, report, and say how to resume when something stopped it; returns the exit code."""
        typer.echo(f"{self.run.name}: {counted(len(self.run.studies), 'study', 'studies')} in {self.run.folder}")
        signal.signal(signal.SIGTERM, _interrupt)
        try:
            outcome, follower = conduct(
                self.run,
                ray=not self.no_ray,
                address=self.address,
                listeners=self._listeners(),
                started=started,
                connection=self.connection,
                report=self._report,
            )
        except KeyboardInterrupt:
            typer.echo(f"Interrupted; nothing is lost. Continue with: {self._again}")
            return INTERRUPTED
        self._print_tracked(follower)
        return self._print_outcome(outcome)

    def _listeners(self) -> list[Listener]:
        """Who shows how far it is and, where the studies run elsewhere, who prepares their report meanwhile."""
        if self.no_ray:
            return [progress(self.run, Console())]
        return [progress(self.run, Console(), awaited="waiting for Ray"), Preparation()]

    @property
    def _again(self) -> str:
        return f"orchestrate resume {self.run.name}{self._root_option}{' --no-ray' if self.no_ray else ''}"

    @property
    def _root_option(self) -> str:
        return f" --root {shlex.quote(str(self.root))}" if self.root else ""

    def _report(self, follower: Follower | None) -> None:
        """Report; a disk that is full is said and kept in mind, and must not hide what became of the studies."""
        try:
            print_report(Report.of(self.run))
        except UserError as error:
            print_error(str(error))
            self._unwritten = True
        typer.echo(f"{'journals':>8}: {self.run.journals}")
        if follower is not None:
            typer.echo(f"{'MLflow':>8}: writing the rest; Ctrl-C leaves it for 'orchestrate sync {self.run.name}'")

    def _print_tracked(self, follower: Follower | None) -> None:
        """How to look at the run in MLflow, or why not yet."""
        if follower is None:
            return
        what = f"{self.run.name}{self._root_option}"
        if follower.reason:
            typer.echo(f"  MLflow: behind ({follower.reason}). Catch up with: orchestrate sync {what}", err=True)
        else:
            typer.echo(f"{'MLflow':>8}: orchestrate ui {what}")

    def _print_outcome(self, outcome: RunOutcome) -> int:
        for key, reason in outcome.errors.items():
            print_error(f"{key}: {reason}")
        if outcome.errors or self._unwritten:
            typer.echo(f"When that is mended, continue with: {self._again}", err=True)
            return FAILED
        if outcome.out_of_time:
            typer.echo(f"The time limit is reached. Continue with: {self._again}")
            return OUT_OF_TIME
        return DONE


def _interrupt(number: int, frame: FrameType | None) -> None:
    """SIGTERM as Ctrl-C. Ray hears it first, and sets an alarm that aborts whoever has not left after three seconds: a
    busy machine takes longer for a goodbye."""
    signal.alarm(0)
    raise KeyboardInterrupt


def print_report(report: "Report | ForeignReport") -> None:
    """Write the files of a report, and print its table, the answer and where the files are."""
    if report.frame.empty:
        typer.echo(f"{report.name}: no trial is finished yet.")
        return
    try:
        files = write_files(report)
    except OSError as error:
        raise UserError(f"the report of {report.name} cannot be written ({error.strerror or error}).") from error
    print_frame(report.caption, report.shown)
    print_text(report.advice)
    if report.failures is not None:
        print_text(str(report.failures))
    for path in files:
        if path.suffix in (".html", ".csv", ".png"):
            typer.echo(f"{path.suffix[1:]:>8}: {path}")


def serve_live(run: Run, port: int) -> None:
    """Keep a page of the run up to date until interrupted."""
    with LiveServer(run, port) as server:
        typer.echo(f"{server.link}  (Ctrl-C ends it; the run goes on)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


def ask_confirmation(run: Run, wanted: str | None, trials: int, candidates: int) -> bool:
    """Ask for trials that confirm the answer, of its own study or the wanted one; returns whether nobody is there to run them."""
    answer = answer_of(run) if wanted is None else None
    study = find_study(run, wanted) if answer is None else answer.use.study
    confirm(run, study, trials, candidates)
    live = is_live(run)
    if live:
        typer.echo(f"{study.key}: {trials} more trials at its end, to confirm the answer.")
    return not live
