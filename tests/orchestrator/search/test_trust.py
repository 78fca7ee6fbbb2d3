"""Which reports are doubted, which trial is believed best, and the warning when there are many lies."""

import logging
import re
from itertools import count

import pytest
from searching import drive, hill, searcher

from orchestrator.search.searcher import RCGPSearch


def lying(search: RCGPSearch, lies: dict[int, float], trials: int) -> None:
    numbers = count()
    drive(search, lambda config: lies.get(next(numbers), hill(config)), trials)


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["max", "min"])
def test_the_lucky_lie_is_doubted_and_is_not_the_best(sign: float) -> None:
    search = searcher(mode="max" if sign > 0 else "min", n_initial=6)
    numbers = count()
    drive(search, lambda c: sign * (50.0 if next(numbers) == 12 else hill(c)), 25)
    liar = search.suspects()[0]
    assert (liar.number, liar.reported, liar.status) == (12, sign * 50.0, "completed")
    assert liar.weight < 0.1
    assert liar.residual == pytest.approx(liar.reported - liar.expected)
    assert abs(liar.expected) < 5.0
    assert search.best(robust=False).number == 12
    assert search.best().number != 12
    assert hill(search.best().config) > 0.98
    assert search.best().expected == pytest.approx(sign * 1.0, abs=0.1)


def test_many_lies_give_one_warning_line(caplog: pytest.LogCaptureFixture) -> None:
    search = searcher(n_initial=8, suspect_share=0.1)
    with caplog.at_level(logging.WARNING):
        lying(search, {number: 1e3 * (-1) ** number * number for number in range(9, 30, 4)}, 32)
    lines = [record.getMessage() for record in caplog.records if "doubts" in record.getMessage()]
    assert len(lines) == 1
    assert re.fullmatch(r"RCGPSearch doubts \d+ of \d+ reports: look at searcher.suspects\(\).", lines[0])


def test_without_any_result_there_is_no_best() -> None:
    search = searcher()
    with pytest.raises(ValueError, match="there is no best one"):
        search.best()
    assert search.suspects() == []


def test_failures_are_told_in_a_line() -> None:
    search = searcher(on_error="ignore", n_initial=40)
    drive(search, lambda config: None if config["a"] > 0.6 else hill(config), 40)
    failed = sum(row.status == "failed" for row in search.observations)
    assert str(search.failures()).startswith(f"{failed} of 40 trials failed: only where a > 0.")
