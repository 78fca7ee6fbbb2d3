"""Ray, started here or joined: what goes wrong with it is one line, and who leaves it holds nothing of it."""

import weakref
from pathlib import Path

import pytest
import ray
from small_runs import started

from orchestrator.engine.cluster import cluster, connect
from orchestrator.errors import UserError


class SlowToStart:
    """Stands in for `ray.init` on a machine that is too busy for the first so many tries."""

    def __init__(self, failures: int) -> None:
        self.failures, self.tries = failures, 0

    def __call__(self, **options: object) -> None:
        self.tries += 1
        if self.tries <= self.failures:
            raise Exception("The current node timed out\nduring startup. This could happen")


def slow_to_start(monkeypatch: pytest.MonkeyPatch, failures: int) -> SlowToStart:
    """Ray's start fails so often; the Ray of the other tests is left alone."""
    init = SlowToStart(failures)
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    return init


def test_a_ray_that_starts_too_slowly_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    init = slow_to_start(monkeypatch, failures=2)
    with pytest.raises(UserError, match=r"^Ray at this machine: The current node timed out during startup"):
        connect(None)
    assert init.tries == 2


def test_a_ray_that_did_not_start_is_started_once_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    init = slow_to_start(monkeypatch, failures=1)
    connect(None)
    assert init.tries == 2
    assert "timed out during startup. This could happen. Once more." in caplog.text


class Handle:
    """Something that must be gone before Ray is."""


@pytest.mark.usefixtures("local_ray")
def test_who_is_interrupted_leaves_ray_without_a_handle_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handle that is dropped while Ray ends beside us ends the process, with Ray's words and exit code 1."""
    held: list[weakref.ref[Handle]] = []
    gone: list[bool] = []
    monkeypatch.setattr(ray, "kill", lambda writer: gone.append(held[0]() is None))

    def fleet() -> None:
        handle = Handle()
        held.append(weakref.ref(handle))
        try:
            raise ValueError("the first word")
        except ValueError as first:
            raise KeyboardInterrupt from first

    with pytest.raises(KeyboardInterrupt), cluster("auto", started(tmp_path)):
        fleet()
    assert gone == [True]
