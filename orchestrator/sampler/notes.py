"""What is doubted, where Optuna people look: user attributes of trials and of the study.

Optuna lets nobody change a trial that is finished, its attributes included. So a trial is noted on just before: what it was
believed then. What is believed now is an attribute of the study, and `sampler.suspects(study)`.
"""

import logging
import math

from optuna.study import Study
from optuna.trial import FrozenTrial

from orchestrator.sampler.space_model import SpaceModel
from orchestrator.search.records import SuspectTrial

log = logging.getLogger(__name__)

WEIGHT, EXPECTED, SUSPECTS = "rcgp:weight", "rcgp:expected", "rcgp:suspects"
SHOWN = ("weight", "reported", "expected")


def write_notes(study: Study, trial: FrozenTrial, model: SpaceModel) -> None:
    """Note what is believed of a trial that is about to be stored as finished; a model that fails stops no search."""
    try:
        belief = model.belief(trial.number)
        suspects = [suspect for suspect in model.suspects() if suspect.status == "completed"]
    except Exception as error:
        log.warning("Trial %d gets no notes: the model failed.", trial.number, exc_info=error)
        return
    if belief is not None:
        study._storage.set_trial_user_attr(trial._trial_id, WEIGHT, _short(belief[0]))
        study._storage.set_trial_user_attr(trial._trial_id, EXPECTED, _short(belief[1]))
    doubted = {suspect.trial_id for suspect in suspects}
    if doubted != model.noted:  # another trial is doubted, or one no longer is
        model.noted = doubted
        study._storage.set_study_user_attr(study._study_id, SUSPECTS, _table(suspects))


def _table(suspects: list[SuspectTrial]) -> dict[str, dict[str, float | str]]:
    """Weight, report and expectation of the suspects, by the number of their trial."""
    rows = sorted(suspects, key=lambda suspect: int(str(suspect.trial_id)))
    return {str(row.trial_id): {name: _short(getattr(row, name)) for name in SHOWN} for row in rows}


def _short(number: float) -> float | str:
    """Six digits; what is infinite as text, which every reader of JSON takes."""
    return float(f"{number:.6g}") if math.isfinite(number) else str(number)
