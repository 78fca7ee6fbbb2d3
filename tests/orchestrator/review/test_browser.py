"""What a reviewer sees, in a real browser: the report, as a page of its own.

Screenshots are left in the folder that SCREENSHOTS names, for whoever wants to look.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import finished

from orchestrator.review.files import write_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.report import Report

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


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


class Visit:
    """A page, and every error its scripts made."""

    def __init__(self, browser: Any, address: str, dark: bool = False) -> None:
        scheme = "dark" if dark else "light"
        self.page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme=scheme)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address, timeout=120_000)

    def shoot(self, name: str) -> None:
        folder = os.environ.get("SCREENSHOTS")
        if folder:
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    written = Report.of(finished(tmp_path_factory.mktemp("browser")))
    write_files(written)
    return written


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_report_draws_itself_without_errors_and_without_a_network(browser: Any, report: Report, dark: bool) -> None:
    visit = Visit(browser, (report.folder / "report.html").as_uri(), dark)
    page = visit.page
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.wait_for_selector("#posterior .main-svg", timeout=60_000)
    visit.shoot("report-dark" if dark else "report-light")
    assert visit.errors == []
    assert [url for url in visit.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.locator("#regret .chart").count() == 2
    for algorithm in ("gp-ucb", "a2-rcgp-ucb", "random"):
        assert page.locator("#regret .chart >> nth=0").get_by_text(algorithm, exact=True).count() == 1
    assert (
        page.locator("#regret .chart >> nth=0 >> css=.scatterlayer path.js-line").count() == 6
    )  # three lines, three bands
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(","))) < 384) == dark
    assert page.locator("#final tbody tr").count() == 3
    page.close()


def test_the_slider_goes_through_the_trials(browser: Any, report: Report) -> None:
    visit = Visit(browser, (report.folder / "report.html").as_uri())
    page = visit.page
    page.wait_for_selector("#posterior .main-svg", timeout=60_000)
    told = page.locator("#posterior .tools output")
    drawn = page.locator("#posterior .scatterlayer .point")
    assert told.inner_text() == "12 of 12 trials"
    assert drawn.count() == 12
    page.evaluate("const s = document.getElementById('slider'); s.value = 0; s.oninput()")
    assert told.inner_text() == "4 of 12 trials"
    page.wait_for_function("document.querySelectorAll('#posterior .scatterlayer .point').length === 4")
    page.select_option("#study", label="gp-ucb")
    page.click("#theme")
    page.get_by_role("button", name="▶ play").click()
    page.wait_for_function("document.querySelector('#posterior .tools output').textContent === '12 of 12 trials'")
    assert visit.errors == []
    page.close()


def test_the_report_of_foreign_runs_draws_itself(browser: Any, tmp_path: Path) -> None:
    values = [float(value) for value in np.cos(np.arange(20.0))]
    runs = pd.DataFrame(
        {
            "run/name": [f"try-{i}" for i in range(20)],
            "run/started": range(20),
            "run/status": "FINISHED",
            "config/x": np.arange(20.0),
            "score": [*values[:12], 50.0, *values[13:]],
        }
    )
    report = ForeignReport.of("theirs", runs, "score", "max", tmp_path)
    write_files(report)
    visit = Visit(browser, (tmp_path / "report.html").as_uri())
    page = visit.page
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.wait_for_selector("#forensics .main-svg", timeout=60_000)
    visit.shoot("foreign")
    assert visit.errors == []
    assert page.locator("#regret .scatterlayer path.js-line").count() == 2
    assert page.locator("#forensics .chart .point").count() == 40  # reported and expected
    assert "try-12" in page.locator("#forensics tbody").inner_text()
    assert page.locator("#trials tbody tr").count() == 20
    page.close()
