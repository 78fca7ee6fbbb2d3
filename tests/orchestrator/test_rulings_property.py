"""Rulings in any order, between tells and restores: always what a fresh replay of the same moments gives."""

from functools import partial
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.trials import Suggestion, Trials
from rcgp import make_optimizer

MOMENTS = st.lists(
    st.one_of(
        st.tuples(st.just("trial"), st.floats(0.0, 1.0), st.sampled_from([0.0, 1.0, 40.0])),
        st.tuples(st.just("rule"), st.integers(0, 30), st.sampled_from(["lie", "true", None])),
        st.tuples(st.just("update")),
    ),
    min_size=6,
    max_size=18,
)


def fresh() -> Trials:
    make = partial(make_optimizer, dim=1, seed=0, n_initial=3)
    return Trials(partial(make, "a2-rcgp-ucb"), partial(make, "random"))


def live(trials: Trials, moment: tuple[Any, ...]) -> None:
    if moment[0] == "trial":
        started = trials.start(Suggestion((moment[1],)))
        trials.complete(started.number, moment[1] + moment[2], reporter=f"machine-{started.number % 3}")
    elif moment[0] == "rule" and trials.rows:
        trials.rule(moment[1] % len(trials.rows), moment[2])
    elif moment[0] == "update":
        trials.tell()
        trials.optimizer.update()


@settings(max_examples=25, deadline=None, derandomize=True)
@given(moments=MOMENTS, breaks=st.sets(st.integers(0, 17), max_size=4))
def test_rulings_between_tells_and_restores_equal_a_fresh_replay(moments: list[Any], breaks: set[int]) -> None:
    broken, whole = fresh(), fresh()
    for index, moment in enumerate(moments):
        if index in breaks:
            state, broken = broken.state_dict(), fresh()
            broken.load_state_dict(state)
        live(broken, moment)
        live(whole, moment)
    assert broken.state_dict() == whole.state_dict()
    for trials in (broken, whole):
        trials.tell()
        trials.optimizer.update()
    assert broken.state_dict() == whole.state_dict()
    assert [row.ruling for row in broken.rows] == [row.ruling for row in whole.rows]
    ruled = {index: row.ruling for index, row in enumerate(whole.rows) if row.ruling}
    if whole.optimizer.n >= 3:
        weights = whole.optimizer.weights()
        assert all(weights[index] < 0.5 for index, ruling in ruled.items() if ruling == "lie")
        assert all(weights[index] > 0.5 for index, ruling in ruled.items() if ruling == "true")
