"""Live progress: counted in events, printed as it is written."""

from io import StringIO
from pathlib import Path

from rich.console import Console
from small_runs import finished

from orchestrator.engine.history import events_of
from orchestrator.engine.rulings import confirm, rule
from orchestrator.engine.runner import execute
from orchestrator.review.progress import Bars, Lines, StudyProgress, note, progress
from orchestrator.review.report import Report
from rcgp import SUSPECT_WEIGHT


def test_suspects_and_lies_are_counted_as_in_the_report(tmp_path: Path) -> None:
    run = finished(tmp_path, algorithms=["a2-rcgp-ucb"], seeds=1)
    far = StudyProgress(12)
    for event in events_of(run, run.studies[0]):
        far.take(event)
    frame = Report.of(run).frame
    assert (far.done, far.corrupted) == (12, frame["corrupted"].sum())
    assert far.suspects == (frame["weight"] < SUSPECT_WEIGHT).sum() > 0
    assert note([far]) == f"best {frame['value'].max():.4g}, {far.suspects} suspect, {far.corrupted} corrupted"


def test_trials_asked_for_on_top_of_the_plan_belong_to_the_total(tmp_path: Path) -> None:
    run = finished(tmp_path, algorithms=["random"], seeds=1)
    (study,) = run.studies
    rule(run, study, 3, "again")
    rule(run, study, 4, "lie")
    confirm(run, study, trials=2, candidates=1)
    for view in (Lines, Bars):
        out = StringIO()
        shown = view(run, Console(file=out, force_terminal=view is Bars, width=200))
        execute(run, ray=False, listeners=[shown])
        shown.close()
        assert "15/15" in out.getvalue()
    assert Report.of(run).by_study()["trials"].tolist() == ["15/15"]
    assert Report.of(run).state == ""
    assert Report.of(run).caption == "Regret after 11 trials, one seed"


def test_a_terminal_says_what_the_first_trial_waits_for_and_a_log_does_not(tmp_path: Path) -> None:
    run = finished(tmp_path, algorithms=["random"], seeds=2)
    for terminal in (True, False):
        out = StringIO()
        shown = progress(run, Console(file=out, force_terminal=terminal, width=120), awaited="waiting for Ray")
        assert out.getvalue().count("waiting for Ray") == terminal
        out.truncate(0)
        for study in run.studies:
            shown.on_events(study, events_of(run, study))
        shown.close()
        assert "24/24" in out.getvalue() or not terminal
        assert "waiting" not in out.getvalue().rpartition("all studies")[2], "the first event takes its place"


def test_square_brackets_are_printed_and_not_read(tmp_path: Path) -> None:
    run = finished(tmp_path, algorithms=["random"], seeds=1)
    for terminal, view in ((False, Lines), (True, Bars)):
        out = StringIO()
        shown = view(run, Console(file=out, force_terminal=terminal, width=200))
        if isinstance(shown, Lines):
            shown._print("[bold]x[/nonsense]")
        else:
            shown._bars.update(shown._all, description="[bold]x[/nonsense]", refresh=True)
        shown.close()
        assert "[bold]x[/nonsense]" in out.getvalue()
