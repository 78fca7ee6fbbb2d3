"""What tests of several rooms share: a Ray, a browser, the command line in this process."""

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import FLAGS, Browser

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    """A Ray of this test session's own, with two cores."""
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")  # while it is open its event loop is in everybody's way
def browser() -> Iterator[Browser]:
    """A real browser without a window."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no Chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=program, args=FLAGS)
        yield running
        running.close()


@pytest.fixture
def orchestrate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Call the command line in this process; returns exit code, output and errors."""
    from orchestrator import cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(signal, "signal", lambda *args: None)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["orchestrate", *arguments])
        capfd.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        out = capfd.readouterr()
        return code, out.out, out.err

    return call
