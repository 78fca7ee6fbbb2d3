"""MLflow's page behind the printed link, in a real browser."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Visit
from servers import MlflowServer, free_port
from small_runs import finished
from sweeps import whole

from orchestrator.review.figures import PALETTE
from orchestrator.tracking.charts import SWEEPS_VIEW
from orchestrator.tracking.experiment import charts_page
from orchestrator.tracking.follower import sync
from orchestrator.tracking.store import Store
from orchestrator.tracking.sweep_view import sync_sweep

ALGORITHMS = ("gp-ucb", "a2-rcgp-ucb", "random")


@pytest.fixture(scope="module")
def link(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The link that `orchestrate ui` prints for a finished campaign."""
    folder = tmp_path_factory.mktemp("pages")
    run = finished(folder / "runs", name="seen")
    sync(run, f"sqlite:///{folder / 'runs/mlflow.db'}")
    command = [sys.executable, "-m", "orchestrator.cli", "ui", "seen", "--root", "runs", "--port", str(free_port())]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def drawn_colours(chart: Any) -> set[str]:
    """The colours of a chart's lines, as #RRGGBB."""
    styles = [line.get_attribute("style") or "" for line in chart.locator("path.js-line").all()]
    found = [style.partition("stroke: rgb(")[2].partition(")")[0] for style in styles]
    return {"#" + "".join(f"{int(part):02X}" for part in rgb.split(",")) for rgb in found if rgb}


@pytest.mark.slow
def test_the_printed_link_opens_the_means_in_the_reports_colours(browser: Any, link: str) -> None:
    visit = Visit(browser, link)
    page = visit.page
    chart = page.locator(".js-plotly-plot").first
    chart.locator("path.js-line").first.wait_for(timeout=120_000)
    page.wait_for_timeout(1500)
    visit.shoot("mlflow")
    assert drawn_colours(chart) == set(PALETTE[: len(ALGORITHMS)])
    body = page.inner_text("body")
    assert "Mean over seeds" in body
    assert "cumulative regret" in body
    assert "Use x=" in body
    assert {f"{algorithm} (mean)" for algorithm in ALGORITHMS} <= set(body.splitlines())
    assert visit.errors == []
    page.close()


@pytest.mark.slow
def test_a_sweep_of_a_plain_tuner_shows_its_trust(browser: Any, server: MlflowServer, tmp_path: Path) -> None:
    folder = tmp_path / "plain-tuner"
    whole(folder)
    sync_sweep(folder, server.uri)
    store = Store.open(server.uri)
    (experiment,) = store.experiments("name = 'experiment-plain-tuner'")
    (parent,) = store.runs(experiment.experiment_id, "tags.`orchestrate.kind` = 'sweep'")

    visit = Visit(browser, f"{server.uri}/{charts_page(experiment.experiment_id, SWEEPS_VIEW)}")
    visit.page.locator(".js-plotly-plot path.js-line").first.wait_for(timeout=120_000)
    visit.page.wait_for_timeout(1500)
    visit.shoot("mlflow-sweep")
    body = visit.page.inner_text("body")
    assert "Best so far: as reported, and as believed" in body
    assert "Trials that the others contradict" in body
    assert "plain-tuner" in body
    assert visit.errors == []
    visit.page.close()

    runs = f"{server.uri}/#/experiments/{experiment.experiment_id}/runs"
    visit = Visit(browser, f"{runs}/{parent.info.run_id}")
    visit.page.get_by_text("believed best").first.wait_for(timeout=120_000)
    visit.shoot("mlflow-sweep-parent")
    body = visit.page.inner_text("body")
    assert "Use x=0.2, act=relu: believed best (train_t2" in body
    assert "Under suspicion: 1 of 6 reports, train_t3." in body
    assert "rcgp.best_trial" in body
    visit.page.close()
