"""The note of a study in MLflow."""

from objectives import make_objective
from orchestrator.engine.events import Observation, StudyEnded
from orchestrator.tracking.notes import LISTED, study_note


def seen(*weights: float) -> list[Observation]:
    return [Observation(n, (0.25,), float(n), float(n), float(n), weight=w) for n, w in enumerate(weights)]


def test_its_first_line_is_the_answer_and_the_second_what_to_doubt() -> None:
    note = study_note(seen(1.0, 0.9, 0.1), [StudyEnded(1, 10.0)], make_objective("forrester"))
    first, _, last = note.splitlines()
    assert first == "Use `x=0.25`: what this study recommends (trial 1, reported 1, weight 0.9)."
    assert last == "Under suspicion: 1 of 3 reports, trials 2."
    assert study_note(seen(1.0), [StudyEnded(0, 1.0)], make_objective("forrester")).endswith("is under suspicion.")


def test_many_suspects_are_counted() -> None:
    note = study_note(seen(1.0, *[0.0] * (LISTED + 5)), [StudyEnded(0, 1.0)], make_objective("forrester"))
    assert note.endswith(f", {LISTED} and 5 more.")
