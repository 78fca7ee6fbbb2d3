"""Run folders on people's disks: some that the first version wrote are kept here, and still open, show, report and resume.

`finished` and `interrupted` ran one trial at a time, the `parallel` ones two with a ledger; the interrupted ones lost their
driver in the middle. Their objective returned NaN and infinities and raised; their adversaries lied and killed.
"""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from orchestrator.campaign.runs import Run, ledger_path
from orchestrator.cli import app
from orchestrator.engine import runner
from orchestrator.engine.events import AdversaryReported, TrialSuggested, of_type
from orchestrator.engine.history import events_of, is_ended, observations, unfinished
from orchestrator.engine.journal import read

KEPT = Path(__file__).parent / "data" / "first_layout"
NAMES = ("finished", "interrupted", "parallel", "parallel-interrupted")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the kept runs, which finds their objective where it is now."""
    for name in NAMES:
        shutil.copytree(KEPT / name, tmp_path / name)
        started = json.loads((tmp_path / name / "run.json").read_text())
        (tmp_path / name / "run.json").write_text(json.dumps(started | {"paths": [str(KEPT)]}))
    return tmp_path


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments])
    assert done.exit_code == 0, done.output
    return done.output


def acknowledged(run: Run) -> set[tuple[str, int, str, float]]:
    return {(s.key, o.number, repr(o.y), o.at) for s in run.studies for o in observations(events_of(run, s))}


def test_they_are_listed_and_shown(root: Path) -> None:
    listed = said("list", "--root", str(root))
    assert listed.count("complete") == 2
    assert said("show", "finished", "--root", str(root)).count("26/26") == 4
    assert "suggest" in said("show", "finished", "--timing", "--root", str(root))


def test_what_they_hold_is_read_to_the_last_value(root: Path) -> None:
    run = Run.open(root, "finished")
    found = [o for s in run.studies for o in observations(events_of(run, s))]
    assert len(found) == 104
    assert {repr(o.y) for o in found} >= {"nan", "-inf", "-5.0"}
    assert any(o.attempt > 0 for o in found), "a failed try was repeated"
    assert sum(o.corrupted for o in found) == 4
    assert min(o.weight for o in found) < 0.5
    assert unfinished(run) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["finished", "interrupted"])
def test_they_are_reported(root: Path, name: str) -> None:
    said("report", name, "--root", str(root))
    assert (root / name / "report" / "report.html").stat().st_size > 10_000


def test_an_interrupted_one_is_resumed_and_loses_nothing(root: Path) -> None:
    before = acknowledged(Run.open(root, "interrupted"))
    run = Run.open(root, "interrupted")
    assert runner.execute(run, ray=False) == runner.RunOutcome()
    assert acknowledged(run) >= before
    for study in run.studies:
        events = events_of(run, study)
        assert is_ended(events)
        assert [s.number for s in of_type(events, TrialSuggested)] == list(range(study.total))
        assert sorted(o.number for o in observations(events)) == list(range(study.total))
        assert len(of_type(events, AdversaryReported)) == (2 if study.adversary.label == "crash" else 1)


@pytest.mark.ray
@pytest.mark.usefixtures("local_ray")
def test_an_interrupted_parallel_one_is_resumed_with_its_ledger(root: Path) -> None:
    run = Run.open(root, "parallel-interrupted")
    before = acknowledged(run)
    assert runner.execute(run) == runner.RunOutcome()
    assert acknowledged(run) >= before
    for study in run.studies:
        assert sorted(o.number for o in observations(events_of(run, study))) == list(range(study.total))
        decided = of_type(read(ledger_path(run.journals, study)), AdversaryReported)
        assert sum(r.corrupted for r in decided) == 2
