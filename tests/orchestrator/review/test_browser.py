"""What a reviewer sees, in a real browser: the report, as a page of its own."""

import shutil
import subprocess
import tarfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browsing import Visit
from small_runs import cut_short, finished

from orchestrator.review.files import write_files
from orchestrator.review.foreign import ForeignReport
from orchestrator.review.live import LiveServer
from orchestrator.review.report import Report

AXE = "axe-core@4.14.0"


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rules of accessibility that browsers' own tools go by, as a script."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm to fetch axe-core with (Debian: apt-get install npm)")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run([npm, "pack", AXE], cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip(f"{AXE} cannot be fetched: {done.stderr.strip()[-200:]}")
    with tarfile.open(next(folder.glob("*.tgz"))) as packed:
        script = packed.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


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
    assert page.locator("#regret .chart").count() == 3
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


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Six parameters, five algorithms and two adversaries: whatever can be wide is."""
    adversaries = ["honest", {"name": "crash", "value": -50.0, "budget": 2}]
    algorithms = ["gp-ucb", "student-t-ucb", "diagnostics-gp", "fc-rcgp-ucb", "random"]
    run = finished(
        tmp_path_factory.mktemp("large"), objective="hartmann6", adversaries=adversaries, algorithms=algorithms, seeds=1
    )
    written = Report.of(run)
    write_files(written)
    return written


@pytest.fixture(scope="module", params=[1, 2, 4])
def failing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Many trials fail, in a region: along one parameter, on a map of two, by the telling one of four."""
    objective = {"name": "failing:Failing", "parameters": request.param}
    folder, algorithms = tmp_path_factory.mktemp("failing"), ["random", "a2-rcgp-ucb"]
    run = finished(folder, objective=objective, algorithms=algorithms, adversaries=["honest"], trials=20, retries=0)
    written = Report.of(run)
    write_files(written)
    return written


@pytest.mark.parametrize("width", [400, 1400])
def test_failures_are_drawn_where_they_are(browser: Any, failing: Report, width: int) -> None:
    visit = Visit(browser, (failing.folder / "report.html").as_uri(), width=width)
    page = visit.page
    page.wait_for_selector("#failures .main-svg", timeout=60_000)
    visit.shoot(f"failures-{failing.objective.dim}d-{width}")
    assert failing.failures is not None
    assert page.locator("#failures p").first.inner_text() == str(failing.failures)
    marks = page.locator("#failures .scatterlayer .trace.scatter").last.locator(".point")
    assert marks.count() == failing.failures.failed
    assert page.locator("#failures .heatmaplayer image").count() == (failing.objective.dim == 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.errors == []
    page.close()


@pytest.fixture(params=["report", "large"])
def shown(request: pytest.FixtureRequest) -> Report:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Report)
    return found


@pytest.mark.parametrize("width", [400, 1920])
def test_nothing_is_wider_than_the_window_and_no_legend_lies_on_a_title(
    browser: Any, shown: Report, width: int
) -> None:
    visit = Visit(browser, (shown.folder / "report.html").as_uri(), width=width)
    page = visit.page
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    visit.shoot(f"report-{shown.objective.dim}d-{width}")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    overlaps = page.evaluate(
        """[...document.querySelectorAll('.chart')].filter(chart => chart.querySelector('.legend')).filter(chart => {
          const box = name => chart.querySelector(name)?.getBoundingClientRect();
          const legend = box('.legend'), title = box('h3'), plot = box('.nsewdrag');
          return (title && legend.top < title.bottom - 1) || legend.bottom > plot.top + 4 || legend.right > innerWidth;
        }).map(chart => chart.textContent.slice(0, 80))"""
    )
    assert overlaps == []
    assert visit.errors == []
    page.close()


@pytest.mark.parametrize(
    ("name", "dark"), [("report", False), ("report", True), pytest.param("large", False, marks=pytest.mark.slow)]
)
def test_the_rules_of_accessibility_hold(
    browser: Any, request: pytest.FixtureRequest, axe: str, name: str, dark: bool
) -> None:
    shown = request.getfixturevalue(name)
    visit = Visit(browser, (shown.folder / "report.html").as_uri(), dark)
    page = visit.page
    page.wait_for_selector("body[data-ready=yes]", timeout=60_000)
    page.evaluate(axe)
    found = page.evaluate("axe.run()")["violations"]
    grave = {
        f["id"]: [n["html"][:120] for n in f["nodes"][:3]] for f in found if f["impact"] in ("critical", "serious")
    }
    assert grave == {}
    page.close()


def test_trials_are_sorted_and_filtered(browser: Any, report: Report) -> None:
    page = Visit(browser, (report.folder / "report.html").as_uri()).page
    page.wait_for_selector("#trials tbody tr", timeout=60_000)
    rows = page.locator("#trials tbody tr")
    assert rows.count() == 72
    page.locator("#trials").get_by_role("button", name="reported", exact=True).click()
    values = [float(text) for text in page.locator("#trials tbody tr td:nth-child(4)").all_inner_texts()]
    assert values == sorted(values)
    page.locator("#trials").get_by_role("button", name="reported", exact=True).click()
    assert page.locator("#trials th[aria-sort=descending]").inner_text() == "reported"
    page.get_by_role("searchbox").fill("a2-rcgp weight<0.5")
    frame = report.frame
    expected = frame[(frame["algorithm"] == "a2-rcgp-ucb") & (frame["weight"] < 0.5)]
    assert len(expected)
    assert rows.count() == len(expected)
    page.close()


def test_a_live_page_follows_the_run(browser: Any, tmp_path: Path) -> None:
    run = finished(tmp_path, seeds=1)
    whole = run.journal(run.studies[1]).read_bytes()
    cut_short(run, run.studies[1], 5)
    with LiveServer(run) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        visit = Visit(browser, server.link)
        page = visit.page
        page.get_by_text("29 of 36 trials.", exact=True).wait_for(timeout=60_000)
        visit.shoot("live")
        run.journal(run.studies[1]).write_bytes(whole)
        page.get_by_text("36 of 36 trials.", exact=True).wait_for(timeout=60_000)
        server.shutdown()
        thread.join()
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
