"""BLAS threads: one while an optimizer thinks, and afterwards as many as the process had."""

from collections.abc import Iterator
from threading import Event, Thread

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from rcgp import make_optimizer
from rcgp.threads import one_blas_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_an_optimizer_thinks_with_one_thread_and_gives_the_others_back() -> None:
    seen: list[set[int]] = []

    def rounding(points: np.ndarray) -> np.ndarray:
        seen.append(threads())
        return points

    make_optimizer("random", 2, seed=0, n_initial=1, project=rounding).ask()
    assert seen == [{1}]
    assert threads() == {2}


def test_overlapping_suggestions_give_them_back_too() -> None:
    first, second = Event(), Event()

    @one_blas_thread
    def background() -> None:
        first.set()
        second.wait(10)

    @one_blas_thread
    def foreground() -> None:
        other.start()
        assert first.wait(10)
        assert threads() == {1}

    other = Thread(target=background)
    foreground()
    second.set()
    other.join()
    assert threads() == {2}


def test_an_error_gives_them_back_too() -> None:
    with pytest.raises(ValueError, match="Nothing was told"):
        make_optimizer("gp-ucb", 1, seed=0, n_initial=1).recommend()
    assert threads() == {2}


def test_where_there_is_one_anyway_nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        monkeypatch.setattr(ThreadpoolController, "limit", None)
        assert one_blas_thread(threads)() == {1}
