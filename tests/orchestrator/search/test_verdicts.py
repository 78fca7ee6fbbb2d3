"""Evidence in other people's Tune code: rulings, machines, standard errors, and trials that confirm the answer."""

from pathlib import Path

import pytest
from ray import tune

from orchestrator import RCGPSearch

SPACE = {"x": tune.uniform(0.0, 1.0)}


def search(trials: int, confirm: int | None = 0, horizon: int = 14) -> RCGPSearch:
    """A searcher that saw so many trials of a hill; every fourth ran on gpu-07, which said 40 once."""
    searcher = RCGPSearch(metric="score", mode="max", error_metric="sem", confirm=confirm)
    searcher.set_search_properties("score", "max", SPACE, num_samples=horizon)
    for number in range(trials):
        step(searcher, number)
    return searcher


def step(searcher: RCGPSearch, number: int) -> float:
    config = searcher.suggest(f"t{number}")
    assert config is not None
    score = 40.0 if number == 7 else -((config["x"] - 0.3) ** 2)
    host = "gpu-07" if number % 4 == 3 else "gpu-08"
    searcher.on_trial_complete(f"t{number}", {"score": score, "sem": 0.01, "hostname": host})
    return float(config["x"])


def test_machines_and_standard_errors_are_taken_from_what_tune_reports() -> None:
    searcher = search(10)
    assert [row.reporter for row in searcher.observations[:4]] == ["gpu-08", "gpu-08", "gpu-08", "gpu-07"]
    assert {row.standard_error for row in searcher.observations} == {0.01}
    assert [(s.trial_id, s.reporter) for s in searcher.suspects()] == [("t7", "gpu-07")]


def test_a_machine_that_stands_out_is_named_at_its_suspects() -> None:
    searcher = RCGPSearch(SPACE, metric="score", mode="max")
    for number in range(24):
        config = searcher.suggest(f"t{number}")
        assert config is not None
        bad = number % 3 == 0
        score = -((config["x"] - 0.3) ** 2) + (30.0 if bad and number > 6 else 0.0)
        searcher.on_trial_complete(f"t{number}", {"score": score, "hostname": "gpu-07" if bad else "gpu-08"})
    record = "5 of 5 suspects ran on gpu-07 (of 8 trials there), elsewhere 0 of 16"
    assert [s.reason.rpartition("; ")[2] for s in searcher.suspects()] == [record] * 5


def test_a_ruling_is_obeyed_taken_back_and_survives_a_restore(tmp_path: Path) -> None:
    searcher = search(10)
    best = searcher.best().trial_id
    assert best is not None
    searcher.rule(best, "lie", because="the disk was full")
    assert searcher.best().trial_id != best
    assert {s.trial_id: s.reason for s in searcher.suspects()}[best] == "ruled a lie: the disk was full"
    searcher.save(str(tmp_path / "state.pkl"))
    restored = RCGPSearch()
    restored.restore(str(tmp_path / "state.pkl"))
    assert restored.best().trial_id != best
    assert [(r.ruling, r.because) for r in restored.rulings] == [("lie", "the disk was full")]
    restored.rule(best, "clear")
    assert best not in {s.trial_id for s in restored.suspects()}


def test_a_trial_is_run_again_when_a_person_wants_it() -> None:
    searcher = search(6)
    searcher.rule("t2", "again")
    x = step(searcher, 6)
    assert x == search(6).observations[2].x[0]
    assert searcher.observations[-1].replicate_of == 2


def test_the_last_trials_confirm_the_answer() -> None:
    searcher = search(14, confirm=3)
    assert all(row.replicate_of is not None for row in searcher.observations[11:])
    assert search(14).observations[11].replicate_of is None


def test_where_nobody_says_how_many_the_answer_is_run_again_and_the_search_goes_on() -> None:
    again = [row for row in search(40, confirm=None, horizon=40).observations[36:] if row.replicate_of is not None]
    best = search(36, confirm=None, horizon=40).best().number
    assert [row.replicate_of for row in again][:1] == [best]
    assert len(again) < 4
    assert all(row.replicate_of is None for row in search(9, confirm=None, horizon=9).observations)


@pytest.mark.parametrize(
    ("trial", "ruling", "message"),
    [
        ("t99", "lie", "Trial 't99' has not come back"),
        ("t2", "lies", "ruling 'lies': did you mean 'lie'"),
        ("t2", None, "ruling None"),
    ],
)
def test_what_cannot_be_ruled_is_one_line(trial: str, ruling: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        search(4).rule(trial, ruling)


def test_confirm_has_to_know_the_end() -> None:
    searcher = RCGPSearch(metric="score", mode="max", confirm=3)
    with pytest.raises(ValueError, match="confirm=3 needs to know the last trials: give num_samples a number"):
        searcher.set_search_properties("score", "max", SPACE, num_samples=-1)
    with pytest.raises(ValueError, match="confirm must be a whole number of trials or None, got 1.5"):
        RCGPSearch(confirm=1.5)  # type: ignore[arg-type]
