"""The rung rule by itself: who is behind, and who is spared."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from ray.tune.schedulers import TrialScheduler
from ray.tune.schedulers.async_hyperband import _Bracket

from orchestrator.halving import Ladder, Mercy


@pytest.mark.parametrize(("full", "grace", "reduction"), [(27, 1, 3.0), (30, 2, 4.0), (9, 1, 2.5), (4, 3, 3.0)])
def test_who_is_behind_is_who_tunes_own_scheduler_would_stop(full: int, grace: int, reduction: float) -> None:
    ladder, bracket, rng = Ladder(full, grace, reduction), _Bracket(grace, full, reduction, 0), np.random.default_rng(0)
    for number in range(60):
        for step in range(1, full):
            value = float(rng.random())
            theirs = bracket.on_result(SimpleNamespace(trial_id=str(number)), step, value) == TrialScheduler.STOP
            assert ladder.behind(number, step, value) == theirs
            if theirs:
                break


def test_what_is_no_number_is_behind_and_sets_no_mark_for_others() -> None:
    ladder = Ladder(9)
    assert not ladder.behind(0, 1, math.nan), "nobody was there before"
    assert not ladder.behind(1, 1, -5.0)
    assert ladder.behind(2, 1, math.nan)
    assert ladder.behind(3, 1, -6.0)
    assert not ladder.behind(3, 2, -6.0), "once a trial and rung"
    assert [ladder.rung(step) for step in (1, 2, 3, 8, 9)] == [1, 1, 3, 3, 3]
    assert (ladder.rung(3, before=2), ladder.rung(4, before=3)) == (3, None)


def test_the_first_and_the_promising_are_spared() -> None:
    mercy = Mercy(witnesses=2, chance=0.25)
    assert mercy.spares(1, lambda: pytest.fail("a witness needs no promise"))
    assert [mercy.spares(2, lambda p=p: p) for p in (0.2, 0.25)] == [False, True]
    assert [place for place in range(16) if mercy.spares(place, lambda: 0.0)] == [0, 1, 5, 10, 15], (
        "and one in five later"
    )
    assert not any(Mercy(witnesses=0).spares(place, lambda: 0.0) for place in range(16))
    for wrong in ({"witnesses": -1}, {"witnesses": True}, {"chance": 2.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Mercy(**wrong)
