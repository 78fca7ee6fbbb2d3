"""MLflow's page behind the printed link, in a real browser.

Screenshots are left in the folder that SCREENSHOTS names, for whoever wants to look.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import free_port
from small_runs import finished

from orchestrator.review.figures import PALETTE
from orchestrator.tracking.follower import sync

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
ALGORITHMS = ("gp-ucb", "a2-rcgp-ucb", "random")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


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


def shoot(page: Any, name: str) -> None:
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def drawn_colours(chart: Any) -> set[str]:
    """The colours of a chart's lines, as #RRGGBB."""
    styles = [line.get_attribute("style") or "" for line in chart.locator("path.js-line").all()]
    found = [style.partition("stroke: rgb(")[2].partition(")")[0] for style in styles]
    return {"#" + "".join(f"{int(part):02X}" for part in rgb.split(",")) for rgb in found if rgb}


@pytest.mark.slow
def test_the_printed_link_opens_the_means_in_the_reports_colours(browser: Any, link: str) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(link, timeout=120_000)
    chart = page.locator(".js-plotly-plot").first
    chart.locator("path.js-line").first.wait_for(timeout=120_000)
    page.wait_for_timeout(1500)
    shoot(page, "mlflow")
    assert drawn_colours(chart) == set(PALETTE[: len(ALGORITHMS)])
    body = page.inner_text("body")
    assert "Mean over seeds" in body
    assert "cumulative regret" in body
    assert "Use x=" in body
    assert {f"{algorithm} (mean)" for algorithm in ALGORITHMS} <= set(body.splitlines())
    assert errors == []
    page.close()
