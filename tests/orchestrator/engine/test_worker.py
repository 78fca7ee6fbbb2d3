"""Study processes: used for one study after the other, and renewed when a study left something behind in them."""

from pathlib import Path
from typing import Any

import pytest
from faulty import calls
from small_runs import HERE, started

from orchestrator.engine import runner
from orchestrator.engine.crew import FALSE_STARTS, Crew, CrewError
from orchestrator.engine.driver_node import DriverNode
from orchestrator.engine.events import SessionStarted, of_type
from orchestrator.engine.history import events_of, observations_of
from orchestrator.engine.worker import StudyWorker

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]
PLAN = {"name": "test", "algorithms": "random", "initial": 2, "trials": 2, "resources": {"cpus": 1}}


def run_of(folder: Path, what: str = "", seeds: int = 5, **options: Any) -> Any:
    objective = {"name": "leaving:Leaving", "folder": str(folder), "what": what} | options
    return started(folder, PLAN, objective=objective, seeds=seeds)


def home_of(run: Any) -> DriverNode:
    import ray

    return DriverNode(run.journals, ray.get_runtime_context().get_node_id(), (str(HERE),))


def test_many_studies_share_few_processes(tmp_path: Path) -> None:
    run = run_of(tmp_path)
    assert runner.execute(run) == runner.RunOutcome()
    assert all(len(observations_of(run, study)) == 4 for study in run.studies)
    assert len({pid for _, pid in calls(tmp_path)}) <= 2


def test_a_study_whose_trial_failed_leaves_its_process_to_nobody(tmp_path: Path) -> None:
    run = run_of(tmp_path, seeds=4, faults={str(n): "raise" for n in range(16)}, times=9)
    assert runner.execute(run) == runner.RunOutcome()
    begun = [session.pid for study in run.studies for session in of_type(events_of(run, study), SessionStarted)]
    assert len(begun) == len(set(begun)) == 4


@pytest.mark.parametrize(("what", "fit"), [("", True), ("variable", False), ("thread", False)])
def test_a_process_says_what_was_left_behind_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, fit: bool
) -> None:
    monkeypatch.setenv("LEFT_BEHIND", "0")  # put back after the test
    run = run_of(tmp_path, what, seeds=1)
    returned = StudyWorker(home_of(run), parallel=False).run(run.studies[0], "", float("inf"))
    assert (returned.finished, returned.fit) == (True, fit)


def test_processes_that_never_start_end_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    run = run_of(tmp_path, seeds=1)
    crew = Crew(home_of(run), run.studies[0])
    monkeypatch.setattr(crew, "_actor", ray.remote(Stillborn))
    with pytest.raises(CrewError, match="no study process starts"):
        start_again_and_again(crew)
    crew.close()


def start_again_and_again(crew: Crew) -> None:
    for _ in range(10 * FALSE_STARTS):
        crew.resize(1)
        crew.wait(5.0)


class Stillborn:
    """An actor that dies before it is ready."""

    def __init__(self, *given: Any) -> None:
        raise RuntimeError("no such library here")
