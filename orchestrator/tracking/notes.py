"""What MLflow shows as the description of a study: the answer first, then what to be careful with."""

from collections.abc import Sequence

import numpy as np

from objectives import Objective
from orchestrator.engine.events import Event, Observation, StudyEnded, of_type
from orchestrator.engine.history import is_fruitless, rulings
from orchestrator.tracking.rulings import in_words
from rcgp import SUSPECT_WEIGHT

LISTED = 20
"""Suspects that are named; more are counted."""


def study_note(seen: Sequence[Observation], events: Sequence[Event], objective: Objective) -> str:
    """The note of a complete study, in Markdown; `seen` are its trials."""
    end = of_type(events, StudyEnded)[-1]
    use = next(o for o in seen if o.number == end.recommended)
    point = ", ".join(f"{name}={_short(value)}" for name, value in objective.space.to_units(np.array(use.x)).items())
    answer = f"Use `{point}`: what this study recommends (trial {use.number}, reported {use.y:.4g}, weight {use.weight:.2g})."
    ruled = in_words(rulings(events))
    return f"{answer}\n\n{_suspects(seen)}" + (f"\n\nRuled by people: {ruled}." if ruled else "")


def _suspects(seen: Sequence[Observation]) -> str:
    suspects = [str(o.number) for o in seen if o.weight < SUSPECT_WEIGHT and not is_fruitless(o)]
    if not suspects:
        return f"None of {len(seen)} reports is under suspicion."
    more = f" and {len(suspects) - LISTED} more" if len(suspects) > LISTED else ""
    return f"Under suspicion: {len(suspects)} of {len(seen)} reports, trials {', '.join(suspects[:LISTED])}{more}."


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
