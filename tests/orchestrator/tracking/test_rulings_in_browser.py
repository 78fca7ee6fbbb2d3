"""A person rules in MLflow's own page while a campaign runs; the driver dies once it has heard: the ruling holds, once."""

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit
from commands import launch, orchestrate
from mlflow import MlflowClient
from servers import MlflowServer

from orchestrator.campaign.runs import Run
from orchestrator.engine.events import Ruling, StudyEnded, of_type
from orchestrator.engine.history import events_of, observations
from orchestrator.tracking.rulings import ANSWER, RULED, RULING

SAID = [(2, "lie", "MLflow", "of its fan"), (1, "true", "MLflow", "I was there")]


def wait_for(driver: "subprocess.Popen[str]", found: Callable[[], Any], what: str) -> Any:
    """What `found` finds, as soon as it finds something; the driver must be at work."""
    deadline = time.monotonic() + 150.0
    while time.monotonic() < deadline and driver.poll() is None:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what}: not while the campaign ran; the driver ended with {driver.poll()}")


def set_tag(page: Any, name: str, value: str) -> None:
    """Set a tag on the run that the page shows, as a person would: pencil, key, value, plus, save."""
    page.get_by_label("Edit tags").first.click(timeout=120_000)
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").fill(name)
    page.keyboard.press("Enter")
    dialog.get_by_label("Value", exact=True).fill(value)
    dialog.get_by_label("Add tag").click()
    dialog.get_by_text(value).wait_for()
    dialog.get_by_role("button", name="Save").click()
    dialog.wait_for(state="detached")


def pages(server: MlflowServer, name: str) -> dict[str, str]:
    """The addresses of a run's study and of its trials, in MLflow."""
    client, found = MlflowClient(server.uri), {}
    for experiment in client.search_experiments(filter_string=f"name = '{name}'"):
        for run in client.search_runs([experiment.experiment_id]):
            tags = run.data.tags
            key = tags.get("orchestrate.kind", "") + tags.get("orchestrate.trial", "")
            found[key] = f"{server.uri}/#/experiments/{experiment.experiment_id}/runs/{run.info.run_id}"
    return found


def said(run: Run) -> list[tuple[int, str, str, str]]:
    """The rulings in the journal of the run's only study."""
    heard = of_type(events_of(run, run.studies[0]), Ruling)
    return [(r.number, r.ruling, r.author, r.because) for r in heard]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_rulings_set_in_the_page_hold_once_although_the_driver_is_killed(
    browser: Any, server: MlflowServer, tmp_path: Path
) -> None:
    plan = {
        "objective": {"name": "gated:Gated", "folder": str(tmp_path)},
        "algorithms": ["a2-rcgp-ucb"],
        "trials": 30,
        "initial": 4,
        "tracking": {"uri": server.uri, "nested": True},
    }
    (tmp_path / "gated.yaml").write_text(json.dumps(plan))
    driver = launch(tmp_path, "run", "gated.yaml", "--name", "ruled", "--no-ray", stdout=None, stderr=None)
    try:
        wait_for(driver, lambda: {"study", "trial2"} <= set(pages(server, "ruled")), "a trial in MLflow")
        links = pages(server, "ruled")
        run = Run.open(tmp_path / "runs", "ruled")
        for place, value in (("trial2", "lie because of its fan"), ("study", "1=true because I was there")):
            visit = Visit(browser, links[place])
            set_tag(visit.page, RULING, value)
            visit.shoot(f"mlflow-ruling-{place}")
            visit.page.close()
        wait_for(driver, lambda: sorted(said(run)) == sorted(SAID), "both rulings in the journal")
    finally:
        driver.kill()
        driver.wait()
    assert not of_type(events_of(run, run.studies[0]), StudyEnded), "the campaign was to be under way"

    (tmp_path / "go").touch()
    for _ in range(2):
        resumed = orchestrate(tmp_path, "resume", "ruled", "--no-ray")
        assert resumed.returncode == 0, resumed.stderr
        assert sorted(said(run)) == sorted(SAID)
    events = events_of(run, run.studies[0])
    weights = {o.number: o.weight for o in observations(events)}
    assert len(of_type(events, StudyEnded)) == 1
    assert sorted(weights) == list(range(34))
    assert weights[2] == 0.0
    assert weights[1] == 1.0
    client = MlflowClient(server.uri)
    tags = {place: client.get_run(link.rpartition("/")[2]).data.tags for place, link in links.items()}
    assert tags["trial2"][ANSWER] == "heard: lie because of its fan"
    assert tags["study"][RULED] == "1=true by MLflow because I was there; 2=lie by MLflow because of its fan"
