"""The command line: orchestrate run | resume | list | show | report | rule | confirm | ui | sync | check."""

import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.errors import UserError, host_error
from orchestrator.terminal import counted, plain, print_error, print_frame, print_table, print_text

if TYPE_CHECKING:
    from orchestrator.campaign.campaign import Campaign

STARTED = time.time()

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Root = Annotated[
    Path | None, typer.Option(help="Folder that holds all runs.", envvar="ORCHESTRATE_ROOT", show_default="runs")
]
Address = Annotated[
    str | None, typer.Option(help="Ray cluster to use, 'auto' or HOST:PORT. [dim]Default: one on this machine.[/dim]")
]
NoRay = Annotated[bool, typer.Option("--no-ray", help="Run in this process, one trial after the other.")]


def _run_names(incomplete: str) -> list[str]:
    """What the shell completes the name of a run with."""
    from orchestrator.campaign.runs import names, storage_root

    return [name for name in names(storage_root()) if name.startswith(incomplete)]


def _campaign_names(incomplete: str) -> list[str]:
    from orchestrator.campaign.campaign import shipped

    return [name for name in shipped() if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(help="Name of the run.", show_default=False, autocompletion=_run_names)]


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"rcgp-orchestrator {version('rcgp-orchestrator')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Hyper-parameter search that keeps working when some of the results are lies.

    Exit codes: 0 all done, 1 a study failed, 2 bad input, 3 stopped by the time limit, 130 interrupted.
    """


@app.command("run")
def run_campaign(
    campaign: Annotated[
        str,
        typer.Argument(
            help="A shipped campaign's name, or a YAML file.", show_default=False, autocompletion=_campaign_names
        ),
    ],
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
    from orchestrator.engine.cluster import Connection

    given: dict[str, object] = {
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
    connection = None if no_ray else Connection.begin(address)
    from orchestrator.foreground import Foreground  # takes a second, while Ray starts

    raise typer.Exit(Foreground(started, no_ray, address, root, connection).execute(STARTED))


@app.command()
def resume(name: Name, address: Address = None, no_ray: NoRay = False, root: Root = None) -> None:
    """Continue a run from its journals, after whatever stopped it."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.foreground import Foreground

    run = Run.open(storage_root(root), name)
    raise typer.Exit(Foreground(run, no_ray, address, root).execute(STARTED))


@app.command("list")
def list_runs(root: Root = None) -> None:
    """List the runs and the shipped campaigns."""
    from orchestrator.campaign.campaign import Campaign, shipped
    from orchestrator.campaign.runs import names, storage_root

    where = storage_root(root)
    rows = [_listed(where, name) for name in names(where)]
    print_table(f"Runs in {where}", ["run", "campaign", "studies", "trials", "state"], rows)
    campaigns = [[n, str(len(c.studies())), c.description] for n in shipped() for c in [Campaign.load(n)]]
    print_table("Shipped campaigns", ["campaign", "studies", "what it is"], campaigns)


def _listed(where: Path, name: str) -> list[str]:
    """A run in one row; one that cannot be read says why and hides no other."""
    from orchestrator.campaign.runs import Run
    from orchestrator.engine.history import events_of, observations, planned, unfinished

    try:
        run = Run.open(where, name)
        found, left = [(study, events_of(run, study)) for study in run.studies], len(unfinished(run))
    except UserError as refusal:
        return [name, "-", "-", "-", str(refusal)]
    trials = f"{sum(len(observations(e)) for _, e in found)}/{sum(planned(s, e) for s, e in found)}"
    state = "complete" if not left else f"{len(run.studies) - left} of {len(run.studies)} studies"
    return [name, run.campaign.name, str(len(run.studies)), trials, state]


@app.command()
def show(
    name: Name,
    timing: Annotated[bool, typer.Option("--timing", help="Where the time went, instead.")] = False,
    root: Root = None,
) -> None:
    """Show the studies of a run: progress, best value, regret, suspects, corruptions."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.review import timing as clock
    from orchestrator.review.report import Report
    from orchestrator.review.tables import in_seconds

    run = Run.open(storage_root(root), name)
    if not timing:
        shown = Report.of(run)
        print_frame(name, shown.by_study())
        print_text(shown.advice)
        if shown.failures is not None:
            print_text(str(shown.failures))
        return
    if clock.known(run):
        print_frame(f"{name}: where the time went", in_seconds(clock.run_table(run)))
    else:
        typer.echo(f"{name}: no session of this run has ended yet; what each stage took is known when one does.")
    print_frame("Its studies, side by side: seconds each", in_seconds(clock.study_table(run)))


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
    live: Annotated[
        bool, typer.Option("--live", help="Serve a page that keeps itself up to date while the run goes on.")
    ] = False,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1 for --live.", min=0, max=65535, show_default="any")] = 0,
    root: Root = None,
) -> None:
    """Write the report of a run - page, figures, tables - and print the regret."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.foreground import print_report, serve_live
    from orchestrator.review.report import Report

    where = storage_root(root)
    if not from_mlflow:
        if metric or mode:
            raise UserError("--metric and --mode are for experiments that others filled: add --from-mlflow.")
        run = Run.open(where, name)
        serve_live(run, port) if live else print_report(Report.of(run))
        return
    if live:
        raise UserError("--live follows the journals of a run on this machine: leave out --from-mlflow.")
    from orchestrator.tracking.address import store_uri
    from orchestrator.tracking.readback import experiment_report

    print_report(experiment_report(name, tracking_uri or store_uri(where), where, metric, mode))


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


StudyName = Annotated[
    str | None,
    typer.Option("--study", help="Study, or a part of its name that only it has.", show_default="the only one"),
]


@app.command()
def rule(
    name: Name,
    trial: Annotated[int, typer.Argument(help="Number of the trial.", show_default=False)],
    ruling: Annotated[str, typer.Argument(help="What you say of it.", metavar="lie|true|again|clear")],
    because: Annotated[str, typer.Option(help="Why; kept with the ruling.")] = "",
    study: StudyName = None,
    root: Root = None,
) -> None:
    """Say what a trial is worth: the model obeys, in a run that is under way or when it is resumed."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.engine.rulings import ruled

    typer.echo(plain(ruled(Run.open(storage_root(root), name), study, trial, ruling, because)))


@app.command()
def confirm(
    name: Name,
    trials: Annotated[int, typer.Option(help="Trials to spend on it.", min=1, max=10_000)] = 5,
    candidates: Annotated[int, typer.Option(help="How many could be the answer.", min=1, max=1_000)] = 3,
    study: Annotated[
        str | None, typer.Option("--study", help="Study to confirm.", show_default="the one that the answer is from")
    ] = None,
    address: Address = None,
    no_ray: NoRay = False,
    root: Root = None,
) -> None:
    """Make sure of the answer: run again what decides it, on other machines where there are some."""
    from orchestrator.campaign.runs import Run, storage_root
    from orchestrator.foreground import Foreground, ask_confirmation

    run = Run.open(storage_root(root), name)
    if ask_confirmation(run, study, trials, candidates):
        raise typer.Exit(Foreground(run, no_ray, address, root).execute(STARTED))


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


def _print_plan(campaign: "Campaign") -> None:
    rows = [[s.key, str(s.total), str(s.workers)] for s in campaign.studies()]
    print_table(f"{campaign.name}: {counted(len(rows), 'study', 'studies')}", ["study", "trials", "workers"], rows)


def main() -> None:
    """Entry point: what cannot be done is one line and exit code 2, what the machine lacks one line and exit code 1."""
    if "--no-ray" not in sys.argv:  # there objectives run here: what they leave behind, models even, must not pile up
        gc.set_threshold(10_000)  # new objects; every 700, as by default, costs a tenth of imports and figures
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # nothing is written outside a run, whoever loads MLflow
    try:
        app(prog_name="orchestrate")
    except UserError as error:
        print_error(str(error))
        sys.exit(2)
    except OSError as error:
        lacking = host_error(error)
        if lacking is None:
            print_error(f"{error.filename or 'a file'}: {error.strerror or error}; mend it, or choose another --root.")
            sys.exit(2)
        print_error(f"{lacking} What was acknowledged is safe: 'orchestrate resume' goes on from there.")
        sys.exit(1)


if __name__ == "__main__":
    main()
