"""The bookkeeping of trials: each exactly once in its place, whatever happens in which order; what the optimizer is told."""

import json
import math
import time
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.trials import FailureRule, Suggestion, Trials
from rcgp import Optimizer, make_optimizer

VALUES = st.sampled_from([0.0, 1.5, -3.0, 1e6, math.inf, -math.inf, math.nan])
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.none(), st.none()),
        st.tuples(st.just("report"), st.integers(0, 12), VALUES),
        st.tuples(st.just("retry"), st.integers(0, 12), st.none()),
        st.tuples(st.just("complete"), st.integers(0, 12), VALUES),
        st.tuples(st.just("fail"), st.integers(0, 12), st.none()),
        st.tuples(st.just("withdraw"), st.integers(0, 12), st.none()),
        st.tuples(st.just("elsewhere"), st.none(), VALUES),
        st.tuples(st.just("restore"), st.none(), st.none()),
    ),
    max_size=60,
)


def trials(algorithm: str = "random", failure_value: FailureRule = "pessimistic", **options: Any) -> Trials:
    make = partial(make_optimizer, dim=2, seed=3, n_initial=4)
    return Trials(partial(make, algorithm), partial(make, "random"), failure_value=failure_value, **options)


def restored(book: Trials, **options: Any) -> Trials:
    """Through strict JSON and back."""
    twin = trials(book.optimizer.algorithm, **options)
    twin.load_state_dict(json.loads(json.dumps(book.state_dict(), allow_nan=False)))
    return twin


def started(book: Trials, *points: tuple[float, float]) -> None:
    for x in points:
        book.start(Suggestion(x))


def told(book: Trials) -> list[float]:
    book.tell()
    return [float(y) for y in book.optimizer.state_dict()["y"]]


class Model:
    """The same rules in the plainest form: where each trial is."""

    def __init__(self) -> None:
        self.where: list[str] = []

    def apply(self, event: str, number: int | None) -> None:
        if event == "start":
            self.where.append("pending")
        if number is None or number >= len(self.where):
            return
        place = self.where[number]
        if event == "complete" and place in ("pending", "failed"):
            self.where[number] = "completed"
        elif event == "fail" and place == "pending":
            self.where[number] = "failed"
        elif event == "withdraw" and place == "pending":
            self.where[number] = "withdrawn"


def apply(book: Trials, event: str, number: int | None, value: float | None) -> Trials:
    if event == "start":
        book.start(book.ask(), trial_id=f"t{book.started}")
    elif event == "elsewhere":
        book.record((0.5, 0.5), value)
    elif event == "restore":
        return restored(book)
    elif event == "retry":
        if number in book.pending:
            book.retry(number)
    else:
        getattr(book, event)(*([number] if event in ("fail", "withdraw") else [number, value]))
    return book


@given(EVENTS)
def test_each_trial_is_in_exactly_one_place_whatever_happens_in_which_order(events: list[tuple[str, Any, Any]]) -> None:
    book, model = trials(), Model()
    for event, number, value in events:
        model.apply(event, number)
        book = apply(book, event, number, value)
    places = {
        **dict.fromkeys(book.pending, "pending"),
        **{r.number: r.status for r in book.rows if r.number is not None},
    }
    assert places == {n: place for n, place in enumerate(model.where) if place != "withdrawn"}
    assert len(book.pending) + len(book.rows) == len(places) + sum(e == "elsewhere" for e, _, _ in events)
    assert [book.number_of(f"t{n}") for n in range(book.started)] == list(range(book.started))


@given(EVENTS)
def test_a_restored_book_equals_the_original_and_asks_for_the_same(events: list[tuple[str, Any, Any]]) -> None:
    book = trials()
    for event, number, value in events:
        apply(book, event, number, value)
    twin = restored(book)
    assert twin.state_dict() == book.state_dict()
    assert twin.ask() == book.ask()
    assert twin.state_dict() == book.state_dict()


@given(EVENTS)
def test_the_optimizer_knows_every_row_once_in_the_order_of_arrival(events: list[tuple[str, Any, Any]]) -> None:
    book = trials(failure_value="ignore")
    for event, number, value in events:
        if event != "restore":
            apply(book, event, number, value)
    expected = [row.y for row in book.rows] if any(row.finite for row in book.rows) else []
    np.testing.assert_equal(told(book), expected)
    assert [tuple(x) for x in book.optimizer.state_dict()["X"]] == [row.x for row in book.rows][: len(expected)]


def test_what_comes_late_or_twice_or_from_nowhere_changes_nothing_and_says_so() -> None:
    book = trials()
    started(book, (0.1, 0.1), (0.2, 0.2))
    assert book.complete(0, 1.0)
    assert not any([book.complete(0, 9.0), book.fail(0), book.withdraw(0), book.report(0, 9.0)])
    assert not any([book.complete(7, 9.0), book.fail(7), book.withdraw(7), book.report(7, 9.0)])
    assert [(row.number, row.y) for row in book.rows] == [(0, 1.0)]
    assert list(book.pending) == [1]


def test_a_retry_that_succeeds_takes_the_place_of_the_failure_in_the_optimizer_too() -> None:
    book = trials("a2-rcgp-ucb", failure_value=-50.0)
    started(book, *[(0.1 * n, 0.5) for n in range(8)])
    for number in range(8):
        _ = book.fail(number) if number == 2 else book.complete(number, float(number))
    assert told(book) == [0.0, 1.0, -50.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    book.ask()
    assert book.complete(2, 2.0)
    assert not book.fail(2)
    assert told(restored(book, failure_value=-50.0)) == told(book) == [0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2.0]
    assert [row.number for row in book.rows] == [0, 1, 3, 4, 5, 6, 7, 2]
    lived = trials("a2-rcgp-ucb")
    started(lived, *[(0.1 * n, 0.5) for n in range(8)])
    for number in (0, 1, 3, 4, 5, 6, 7, 2):
        lived.complete(number, float(number))
        lived.tell()
        lived.optimizer.update()
    assert book.ask() == lived.ask()


@pytest.mark.parametrize(("rule", "worth"), [("pessimistic", 2.0), ("ignore", math.nan), (-5.5, -5.5)])
def test_what_a_failure_is_worth(rule: FailureRule, worth: float) -> None:
    book = trials(failure_value=rule)
    started(book, (0.1, 0.1), (0.2, 0.2), (0.3, 0.3))
    book.fail(0)
    assert told(book) == []  # nothing to compare with yet
    book.complete(1, 2.0)
    book.complete(2, 1.0)
    np.testing.assert_equal(told(book), [worth, 2.0, 1.0])


def test_pending_points_and_rows_not_told_yet_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    book, waiting = trials(), []
    monkeypatch.setattr(Optimizer, "ask", lambda _, pending: waiting.append(pending.tolist()) or np.zeros(2))
    started(book, (0.1, 0.1), (0.2, 0.2), (0.3, 0.3))
    book.fail(1)
    book.ask()
    assert waiting == [[[0.2, 0.2], [0.1, 0.1], [0.3, 0.3]]]


def test_a_forgotten_trial_shapes_nothing_and_may_still_end() -> None:
    book = trials(forget_after=10)
    started(book, (0.5, 0.5), (0.6, 0.6))
    for _ in range(21):
        book.record((0.1, 0.1), 1.0)
    assert book.in_flight() == []
    assert book.report(1, None)
    assert [trial.number for trial in book.in_flight()] == [1]
    assert book.complete(0, 2.0)
    assert len(trials().in_flight()) == 0
    assert restored(book, forget_after=10).in_flight() == book.in_flight()


def test_a_failing_model_gives_a_flagged_quasi_random_point_that_repeats_none(monkeypatch: pytest.MonkeyPatch) -> None:
    book = trials("gp-ucb")
    for _ in range(6):
        book.complete(book.start(book.ask()).number, 1.0)
    ask = Optimizer.ask

    def broken(self: Optimizer, pending: Any = None) -> Any:
        if self.algorithm != "random":
            raise np.linalg.LinAlgError("the kernel is singular")
        return ask(self, pending)

    monkeypatch.setattr(Optimizer, "ask", broken)
    flagged = [book.start(book.ask()) for _ in range(3)]
    assert {trial.model_failure for trial in flagged} == {"LinAlgError: the kernel is singular"}
    assert [failure.number for failure in book.model_failures] == [6, 7, 8]
    assert len({trial.x for trial in flagged} | {row.x for row in book.rows}) == 9
    monkeypatch.undo()
    assert book.ask().model_failure == ""


def test_a_restart_is_found_by_its_point_and_goes_on_under_its_new_name() -> None:
    book = trials()
    for index, name in enumerate(["a", "b", "c"]):
        book.start(Suggestion((0.1 * index, 0.0)), trial_id=name)
    book.fail(1)
    book.complete(2, 1.0)
    assert [book.unfinished_at((0.1 * index + 1e-12, 0.0)) for index in range(4)] == [0, 1, None, None]
    for number, name in ((0, "a again"), (1, "b again")):
        book.rename(number, name)
        assert book.number_of(name) == number
        assert book.complete(number, 2.0)
    assert [(row.number, row.trial_id) for row in book.rows] == [(2, "c"), (0, "a again"), (1, "b again")]


def test_the_attempts_of_a_trial_are_counted() -> None:
    book = trials()
    started(book, (0.1, 0.1))
    book.report(0, 5.0)
    assert (book.retry(0).attempt, book.retry(0).attempt) == (1, 2)
    assert restored(book).pending[0] == book.pending[0]
    assert book.pending[0].last_report is None


@given(st.lists(st.tuples(st.sampled_from([None, 0.0, 1.5, -3.0, 7.0]), st.booleans()), min_size=6, max_size=14))
def test_looking_in_between_changes_nothing_that_is_asked_later(ends: list[tuple[float | None, bool]]) -> None:
    """A failure is worth what was known when it arrived, whether or not somebody looked then."""
    looked, alone = trials("gp-ucb"), trials("gp-ucb")
    for number, (value, look) in enumerate(ends):
        for book in (looked, alone):
            started(book, (number / 14, (number * 5 % 14) / 14))
            book.fail(number) if value is None else book.complete(number, value)
        if look:
            looked.recommend()
            looked.optimizer.suspects()
    assert told(looked) == told(alone)
    assert looked.ask() == alone.ask()


RULINGS = st.tuples(st.just("rule"), st.integers(0, 7), st.sampled_from(["lie", "true", None]))
RULED = st.lists(st.one_of(RULINGS, st.sampled_from([("complete",), ("ask",), ("restore",)])), max_size=16)


@given(RULED)
@settings(max_examples=40, deadline=None)
def test_rulings_interleaved_with_results_and_restores_equal_a_fresh_replay(steps: list[tuple[Any, ...]]) -> None:
    """Whoever lives through the same rulings and results without a restore asks and trusts the same."""
    lived, disturbed = (trials("a2-rcgp-ucb") for _ in range(2))
    for book in (lived, disturbed):
        started(book, *((i / 16, (i * 3 % 16) / 16) for i in range(16)))
        for number in range(8):
            book.complete(number, 1e5 if number == 5 else float(number), reporter=f"node-{number % 2}")
    following = iter(range(8, 16))
    for name, *arguments in steps:
        if name == "restore":
            disturbed = restored(disturbed)
            continue
        number = next(following, None) if name == "complete" else None
        for book in (lived, disturbed):
            if name == "rule":
                book.rule(*arguments)
            elif name == "ask":
                book.ask()
            elif number is not None:
                book.complete(number, 0.3 * number, standard_error=0.1)
    assert lived.rows == disturbed.rows
    assert lived.ask() == disturbed.ask()
    assert np.array_equal(lived.optimizer.weights(), disturbed.optimizer.weights())


def test_a_ruling_before_and_after_the_optimizer_learned_of_a_trial_is_obeyed() -> None:
    book = trials("a2-rcgp-ucb")
    started(book, *((i / 8, (i * 3 % 8) / 8) for i in range(8)))
    for number in range(8):
        book.complete(number, float(number))
    book.rule(7, "lie")
    book.ask()
    book.rule(6, "lie")
    assert [row.ruling for row in book.rows[5:]] == [None, "lie", "lie"]
    assert list(book.optimizer.weights()[5:]) == [1.0, 0.0, 0.0]
    assert book.recommend().number == 5


@pytest.mark.parametrize(("number", "ruling"), [(8, "lie"), (30, "lie"), (2, "true")])
def test_a_ruling_on_what_is_not_there_is_refused(number: int, ruling: Any) -> None:
    book = trials()
    started(book, *((i / 10, 0.5) for i in range(9)))
    for i in range(8):
        book.complete(i, math.nan if i == 2 else 1.0)
    with pytest.raises(ValueError, match=f"Trial {number}"):
        book.rule(number, ruling)


def test_who_reported_it_how_exactly_and_why_is_kept() -> None:
    book = trials()
    book.start(Suggestion((0.1, 0.1)))
    book.start(Suggestion((0.1, 0.1), replicate_of=0))
    book.complete(0, 1.0, standard_error=0.2, reporter="gpu-07")
    book.complete(1, 1.1, reporter="gpu-08")
    told = [(row.standard_error, row.reporter, row.replicate_of) for row in restored(book).rows]
    assert told == [(0.2, "gpu-07", None), (None, "gpu-08", 0)]


def test_a_trial_costs_no_more_after_thousands_of_others() -> None:
    """As ratios of processor time, the best of several; whoever looks at every row for each trial has 16 times the work."""
    book = trials()
    few, many = (_seconds_after(book, rows) for rows in (500, 8000))
    assert many < 2.5 * few


def _seconds_after(book: Trials, rows: int) -> float:
    """The least that twenty trials take once there are so many rows."""
    while len(book.rows) < rows:
        book.record((0.5, len(book.rows) / rows), 1.0)
    book.tell()
    return min(_seconds_of_twenty(book) for _ in range(5))


def _seconds_of_twenty(book: Trials) -> float:
    start = time.process_time()
    for _ in range(20):
        book.complete(book.start(book.ask()).number, 1.0)
        book.tell()
    return time.process_time() - start
