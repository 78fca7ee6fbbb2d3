"""The command line: orchestrate run | resume | list | show | report | ui | sync | check."""

import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.errors import UserError, host_error

if TYPE_CHECKING:
    from pandas import DataFrame

    from orchestrator.campaign.runs import Run
    from orchestrator.review.foreign import ForeignReport
    from orchestrator.review.report import Report
    from orchestrator.tracking.follower import Follower

STARTED = time.time()

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Hyper-parameter search that keeps working when some of the results are lies.\n\n"
    "Exit codes: 0 all done, 1 a study failed, 2 bad input, 3 stopped by the time limit, 130 interrupted.",
)

Root = Annotated[
    Path | None, typer.Option(help="Folder that holds all runs.", envvar="ORCHESTRATE_ROOT", show_default="runs")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster to use, 'auto' or HOST:PORT. [dim]Default: one on this machine.[/dim]")
]
NoRay = Annotated[bool, typer.Option("--no-ray", help="Run in this process, one trial after the other.")]
Name = Annotated[str, typer.Argument(help="Name of the run.", show_default=False)]


@app.command("run")
def run_campaign(
    campaign: Annotated[str, typer.Argument(help="A shipped campaign's name, or a YAML file.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="Name of the run.", show_default="the campaign's")] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds.")] = None,
    trials: Annotated[int | None, typer.Option(help="Trials per study, after the initial ones.")] = None,
    algorithms: Annotated[str | None, typer.Option(help="Algorithms, separated by commas.")] = None,
    workers: Annotated[int | None, typer.Option(help="Trials of a study that run at once.")] = None,
    address: Address = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Set any key, such as limits.trial_seconds=60.", metavar="KEY=VALUE"),
    ] = None,
    tracking_uri: Annotated[str | None, typer.Option(help="MLflow tracking server or database.")] = None,
    no_tracking: Annotated[bool, typer.Option("--no-tracking", help="Write nothing to MLflow.")] = False,
    require_tracking: Annotated[
        bool, typer.Option("--require-tracking", help="Refuse to start when MLflow cannot be reached.")
    ] = False,
    no_ray: NoRay = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything and show the studies; run none.")
    ] = False,
    root: Root = None,
) -> None:
    """Run a campaign: a grid of algorithms, adversaries and seeds."""
    from orchestrator.campaign.campaign import Campaign, find, parse_settings
    from orchestrator.engine import runner

    given: dict[str, Any] = {
        "seeds": seeds,
        "trials": trials,
        "algorithms": algorithms.split(",") if algorithms else None,
        "workers": workers,
        "tracking.uri": tracking_uri,
        "tracking.enabled": False if no_tracking else None,
        "tracking.required": True if require_tracking else None,
    }
    overrides = parse_settings(settings or []) | {k: v for k, v in given.items() if v is not None}
    loaded = Campaign.load(campaign, overrides)
    paths = [str(find(campaign).parent.resolve()), str(Path.cwd())]
    if dry_run:
        runner.check(loaded, paths, address=address)
        _print_plan(loaded)
        return
    started = runner.start(loaded, root=root, name=name, paths=paths, address=address)
    _execute(started, no_ray=no_ray, address=address, root=root)


@app.command()
def resume(name: Name, address: Address = None, no_ray: NoRay = False, root: Root = None) -> None:
    """Continue a run from its journals, after whatever stopped it."""
    from orchestrator.campaign.runs import Run, storage_root

    run = Run.open(storage_root(root), name)
    _execute(run, no_ray=no_ray, address=address, root=root)


@app.command("list")
def list_runs(root: Root = None) -> None:
    """List the runs and the shipped campaigns."""
    from orchestrator.campaign.campaign import Campaign, shipped
    from orchestrator.campaign.runs import names, storage_root

    where = storage_root(root)
    rows = [_listed(where, name) for name in names(where)]
    _table(f"Runs in {where}", ["run", "campaign", "studies", "trials", "state"], rows)
    campaigns = [[n, str(len(c.studies())), c.description] for n in shipped() for c in [Campaign.load(n)]]
    _table("Shipped campaigns", ["campaign", "studies", "what it is"], campaigns)


def _listed(where: Path, name: str) -> list[str]:
    """A run in one row; one that cannot be read says why and hides no other."""
    from orchestrator.campaign.runs import Run
    from orchestrator.engine.history import observations_of, unfinished

    try:
        run = Run.open(where, name)
        done, left = sum(len(observations_of(run, s)) for s in run.studies), len(unfinished(run))
    except UserError as refusal:
        return [name, "-", "-", "-", str(refusal)]
    state = "complete" if not left else f"{len(run.studies) - left} of {len(run.studies)} studies"
    return [name, run.campaign.name, str(len(run.studies)), f"{done}/{sum(s.total for s in run.studies)}", state]


@app.command()
def show(
    name: Name,
    timing: Annotated[bool, typer.Option("--timing", help="Where the time went, instead.")] = False,
    root: Root = None,
) -> None:
    """Show the studies of a run: progress, best value, regret, suspects, corruptions."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.review import timing as clock
    from orchestrator.review.report import study_table

    run = Run.open(storage_root(root), name)
    if not timing:
        _print_frame(name, study_table(run))
        return
    if clock.known(run):
        _print_frame(f"{name}: where the time went", clock.run_table(run))
    else:
        typer.echo(f"{name}: no session of this run has ended yet; what each stage took is known when one does.")
    _print_frame("Its studies, side by side: seconds each", clock.study_table(run))


TrackingUri = Annotated[
    str | None,
    typer.Option(help="MLflow tracking server or database.", show_default="the campaign's, else beside runs"),
]


@app.command()
def report(
    name: Annotated[str, typer.Argument(help="Name of the run, or of an MLflow experiment.", show_default=False)],
    from_mlflow: Annotated[
        bool, typer.Option("--from-mlflow", help="Read an MLflow experiment instead of the journals.")
    ] = False,
    metric: Annotated[str | None, typer.Option(help="Metric of an experiment that others filled.")] = None,
    mode: Annotated[
        str | None, typer.Option(help="Whether a high or a low metric is better.", metavar="max|min")
    ] = None,
    tracking_uri: TrackingUri = None,
    root: Root = None,
) -> None:
    """Write the report of a run - page, figures, tables - and print the regret."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.review.report import Report

    where = storage_root(root)
    if not from_mlflow:
        if metric or mode:
            raise UserError("--metric and --mode are for experiments that others filled: add --from-mlflow.")
        _report(Report.of(Run.open(where, name)))
        return
    from orchestrator.tracking.address import store_uri
    from orchestrator.tracking.readback import experiment_report

    _report(experiment_report(name, tracking_uri or store_uri(where), where, metric, mode))


@app.command()
def ui(
    name: Annotated[str | None, typer.Argument(help="Run to open.", show_default="the experiment list")] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.", min=1, max=65535)] = 5000,
    tracking_uri: TrackingUri = None,
    root: Root = None,
) -> None:
    """Start MLflow's pages on 127.0.0.1 and print the link to open."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.tracking.server import serve

    where = storage_root(root)
    serve(where, None if name is None else Run.open(where, name), port, tracking_uri)


@app.command()
def sync(name: Name, tracking_uri: TrackingUri = None, root: Root = None) -> None:
    """Bring MLflow up to date with the journals of a run."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.tracking.follower import sync as write

    typer.echo(write(Run.open(storage_root(root), name), tracking_uri))


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A cluster file, such as cluster.yaml.", show_default=False)],
    campaign: Annotated[
        list[str] | None,
        typer.Option(help="Campaign that will run there; may be repeated.", show_default="any shipped"),
    ] = None,
) -> None:
    """Check a cluster file without the cluster, then whether this machine can launch it; nobody on the network is asked."""
    from orchestrator.launch import check as findings

    found = findings(file, campaign or [])
    for finding in found:
        typer.echo(f"{'error' if finding.fatal else 'note'}: {finding.where}: {finding.text}", err=True)
    if any(finding.fatal for finding in found):
        raise typer.Exit(2)
    typer.echo(f"{file}: nothing wrong.")


def _execute(run: "Run", *, no_ray: bool, address: str | None, root: Path | None) -> None:
    """Run with live progress, then report; say how to resume when something stopped it."""
    from rich.console import Console

    from orchestrator.review.progress import progress
    from orchestrator.session import conduct

    console, unwritten = Console(), False
    again = f"orchestrate resume {run.name}" + (f" --root {root}" if root else "") + (" --no-ray" if no_ray else "")
    console.print(f"{run.name}: {len(run.studies)} studies in {run.folder}", highlight=False)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def report(follower: "Follower | None") -> None:
        nonlocal unwritten
        unwritten = _try_report(run)
        typer.echo(f"{'journals':>8}: {run.journals}")
        if follower is not None:
            typer.echo(f"{'MLflow':>8}: writing the rest; Ctrl-C leaves it for 'orchestrate sync {run.name}'")

    try:
        ending, follower = conduct(
            run, ray=not no_ray, address=address, listeners=[progress(run, console)], started=STARTED, report=report
        )
    except KeyboardInterrupt:
        console.print(f"Interrupted; nothing is lost. Continue with: {again}", highlight=False)
        raise typer.Exit(130) from None
    _say_tracked(run, follower, root)
    for key, reason in ending.errors.items():
        typer.echo(f"error: {key}: {reason}", err=True)
    if ending.errors or unwritten:
        typer.echo(f"When that is mended, continue with: {again}", err=True)
        raise typer.Exit(1)
    if ending.out_of_time:
        console.print(f"The time limit is reached. Continue with: {again}", highlight=False)
        raise typer.Exit(3)


def _try_report(run: "Run") -> bool:
    """Report; a disk that is full is said and returned, and must not hide what became of the studies."""
    from orchestrator.review.report import Report

    try:
        _report(Report.of(run))
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        return True
    return False


def _report(report: "Report | ForeignReport") -> None:
    from orchestrator.review.files import write_files

    if report.frame.empty:
        typer.echo(f"{report.name}: no trial is finished yet.")
        return
    try:
        files = write_files(report)
    except OSError as error:
        raise UserError(f"the report of {report.name} cannot be written ({error.strerror or error}).") from error
    _print_frame(report.caption, report.shown)
    for path in files:
        if path.suffix in (".html", ".csv", ".png"):
            typer.echo(f"{path.suffix[1:]:>8}: {path}")


def _say_tracked(run: "Run", follower: "Follower | None", root: Path | None) -> None:
    """How to look at the run in MLflow, or why not yet."""
    if follower is None:
        return
    where = f" --root {root}" if root else ""
    if follower.reason:
        typer.echo(f"  MLflow: behind ({follower.reason}). Catch up with: orchestrate sync {run.name}{where}", err=True)
    else:
        typer.echo(f"{'MLflow':>8}: orchestrate ui {run.name}{where}")


def _print_plan(campaign: Any) -> None:
    rows = [[s.key, str(s.total), str(s.workers)] for s in campaign.studies()]
    _table(f"{campaign.name}: {len(rows)} studies", ["study", "trials", "workers"], rows)


def _print_frame(title: str, frame: "DataFrame") -> None:
    rows = [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in row] for row in frame.itertuples(index=False)]
    _table(title, [str(c).replace("_", " ") for c in frame.columns], rows)


def _table(title: str, columns: list[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        words = any(row[i][:1].isalpha() and row[i] != "nan" for row in rows)
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console()
    if not console.is_terminal:
        console.width = 200  # a log has no edge to wrap at
    console.print(table)


def main() -> None:
    """Entry point: what cannot be done is one line and exit code 2, what the machine lacks one line and exit code 1."""
    try:
        app()
    except UserError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)
    except OSError as error:
        line = host_error(error)
        if line is None:
            raise
        typer.echo(f"error: {line} What was acknowledged is safe: 'orchestrate resume' goes on from there.", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
