"""A clock that jumps: trials are limited by one that does not, a whole session by the one on the wall."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small_runs import started

from orchestrator.engine import runner
from orchestrator.engine.history import observations_of

DAY = 86_400.0
PLAN = {"name": "clock", "objective": "forrester", "algorithms": ["random"], "seeds": 1, "trials": 8, "initial": 2}


@pytest.fixture
def jumping(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[float]], None]:
    """Let the clock on the wall jump by so many seconds, each time somebody looks, until the list is at its end."""

    def let(jumps: list[float]) -> None:
        real, offset = time.time, [0.0]

        def now() -> float:
            offset[0] += jumps.pop(0) if jumps else 0.0
            return real() + offset[0]

        monkeypatch.setattr(time, "time", now)

    return let


def test_no_trial_is_over_its_limit_because_the_clock_jumped(tmp_path: Path, jumping) -> None:
    run = started(tmp_path, PLAN, limits={"trial_seconds": 60.0})
    jumping([DAY, -3 * DAY] * 10)
    assert not runner.execute(run, ray=False).errors
    seen = observations_of(run, run.studies[0])
    assert [o.number for o in seen] == list(range(10))
    assert not any(o.failed for o in seen)
    assert min(o.seconds for o in seen) >= 0.0
    times = [o.at for o in seen]
    assert times != sorted(times), "the journal tells the time as it was shown"


def test_a_session_ends_when_the_clock_says_so_and_the_next_one_goes_on(tmp_path: Path, jumping) -> None:
    run = started(tmp_path, PLAN, limits={"total_seconds": 3600.0})
    jumping([0.0] * 12 + [DAY])
    assert runner.execute(run, ray=False).out_of_time
    assert len(observations_of(run, run.studies[0])) < 10
    assert not runner.execute(run, ray=False).out_of_time
    assert [o.number for o in observations_of(run, run.studies[0])] == list(range(10))
