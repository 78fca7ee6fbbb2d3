"""Views of a run: they hear everything once, and cannot hurt what they look at."""

import io
import json

import pytest
from rich.console import Console
from small_runs import started

from orchestrator.campaign.runs import Run
from orchestrator.engine import runner
from orchestrator.engine.events import Event, Observation, SessionStarted, TrialFailed, TrialSuggested
from orchestrator.engine.history import events_of
from orchestrator.engine.watch import Heartbeat
from orchestrator.review.progress import Bars, Lines

PLAN = {
    "name": "w",
    "objective": "forrester",
    "algorithms": ["random"],
    "seeds": 2,
    "trials": 4,
    "adversaries": ["crash"],
}


class Ear:
    def __init__(self) -> None:
        self.heard: dict[str, list[Event]] = {}
        self.closed = 0

    def on_events(self, study, events):
        self.heard.setdefault(study.key, []).extend(events)

    def close(self):
        self.closed += 1


class Broken(Ear):
    def on_events(self, study, events):
        super().on_events(study, events)
        raise ConnectionError("the server is down")


def test_a_listener_hears_every_record_once_and_a_broken_one_is_dropped(tmp_path):
    run, ear, broken = started(tmp_path, PLAN), Ear(), Broken()
    assert runner.execute(run, ray=False, listeners=[broken, ear]) == runner.RunOutcome()
    assert ear.heard == {s.key: events_of(run, s) for s in run.studies}
    assert ear.closed == 1
    assert len(broken.heard) == 1, "it failed once and was not asked again"


def test_on_resume_a_listener_hears_the_past_first(tmp_path):
    run = started(tmp_path, PLAN)
    runner.execute(run, ray=False)
    ear = Ear()
    runner.execute(Run.open(tmp_path, "w"), ray=False, listeners=[ear])
    assert ear.heard == {s.key: events_of(run, s) for s in run.studies}


def test_lines_tell_how_each_study_ended(tmp_path):
    run, out = started(tmp_path, PLAN), io.StringIO()
    runner.execute(run, ray=False, listeners=[Lines(run, Console(file=out))])
    for study in run.studies:
        assert f"{study.key}: 9/9 trials, best " in out.getvalue()
    assert "1 corrupted" in out.getvalue()


def test_bars_show_every_study_and_one_bar_is_enough_for_many(tmp_path):
    few, many = started(tmp_path / "few", PLAN), started(tmp_path / "many", PLAN, seeds=13)
    for run, rows in ((few, 3), (many, 1)):
        out = io.StringIO()
        runner.execute(run, ray=False, listeners=[Bars(run, Console(file=out, force_terminal=True, width=120))])
        shown = out.getvalue()
        assert f"{9 * len(run.studies)}/{9 * len(run.studies)}" in shown.replace(" ", "")
        assert (few.studies[0].key in shown) is (rows > 1)


def test_a_run_is_found_again_as_it_was_started(tmp_path):
    run = started(tmp_path, PLAN)
    again = Run.open(tmp_path, "w")
    assert again.campaign == run.campaign
    assert again.paths == run.paths
    assert json.loads((run.folder / "run.json").read_text())["campaign"]["trials"] == 4


SESSION = SessionStarted("node", 7, 0.0, at=1.0)
ASKED = TrialSuggested(0, (0.5,), at=2.0)
FAILED = TrialFailed(0, 0, "why", at=3.0)
SEEN = Observation(0, (0.5,), 1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("events", "evaluating"),
    [
        ([SESSION], False),
        ([SESSION, ASKED], True),
        ([SESSION, ASKED, FAILED], True),
        ([SESSION, ASKED, SEEN], False),
        ([SESSION, ASKED, SEEN, SESSION], False),
        ([SESSION, ASKED, SESSION], True),
        ([SESSION, ASKED, FAILED, SESSION], True),
    ],
)
def test_a_trial_that_a_session_left_is_timed_in_the_next_one(events, evaluating):
    heartbeat = Heartbeat()
    heartbeat.take(events)
    assert heartbeat.evaluating is evaluating
