"""What people ask of a run, checked before it is written down: a ruling on a trial, trials that confirm its answer."""

import math
import time

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import RULINGS, ConfirmationAsked, Ruling
from orchestrator.engine.history import observations_of
from orchestrator.engine.request_file import ask, author
from orchestrator.errors import UserError, did_you_mean

SAID = {
    "lie": "is a lie",
    "true": "is true",
    "again": "is to be run again",
    "clear": "is the model's to judge again",
}
"""Rulings, in words."""
LISTED = 6
"""Studies that are named where several could be meant."""


def find_study(run: Run, wanted: str | None) -> Study:
    """The study of that name, or the only one with this in its name; the run's only one where none is named."""
    exact = [study for study in run.studies if study.key == wanted]
    found = exact or [study for study in run.studies if wanted is None or wanted in study.key]
    if len(found) == 1:
        return found[0]
    if not found:
        raise UserError(
            f"{run.name} has no study {wanted!r}; {did_you_mean(wanted or '', (s.key for s in run.studies))}"
        )
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    names = ", ".join(study.key for study in found[:LISTED]) + more
    meant = f"{len(found)} studies" if wanted is None else f"{len(found)} studies with {wanted!r} in their name"
    raise UserError(f"{run.name} has {meant}: say which with --study, one of {names}.")


def rule(
    run: Run, study: Study, number: int, ruling: str, because: str = "", by: str | None = None, at: float | None = None
) -> Ruling:
    """Rule on a trial; a study that runs obeys before its next trial, one that does not when it is resumed."""
    check_ruling(ruling)
    settled = {o.number: o for o in observations_of(run, study)}
    if number not in settled:
        known = f"trials 0 to {max(settled)} have" if settled else "none has"
        raise UserError(f"trial {number} of {study.key} has not come back, so there is nothing to rule on; {known}.")
    if ruling == "true" and (settled[number].failed or not math.isfinite(settled[number].y)):
        raise UserError(
            f"trial {number} of {study.key} reported no finite number, which cannot be true: rule it a lie."
        )
    event = Ruling(number, ruling, by or author(), because, time.time() if at is None else at)
    ask(run, study, event)
    return event


def ruled(run: Run, wanted: str | None, number: int, ruling: str, because: str) -> str:
    """Rule on a trial of the study that is meant; returns a line that says so, and what comes next."""
    study = find_study(run, wanted)
    rule(run, study, number, ruling, because)
    when = "The run hears it before its next trial." if is_live(run) else f"Next: orchestrate resume {run.name}"
    return f"Trial {number} of {study.key} {SAID[ruling]}. {when}"


def check_ruling(ruling: str) -> None:
    """Refuse what is no ruling."""
    if ruling not in RULINGS:
        raise UserError(f"ruling {ruling!r}: {did_you_mean(ruling, RULINGS)}")


def confirm(run: Run, study: Study, trials: int, candidates: int) -> ConfirmationAsked:
    """Ask for trials, on top of the study's own, that repeat what decides its answer."""
    if not observations_of(run, study):
        raise UserError(f"{study.key} has no trial that came back yet: there is nothing to confirm.")
    event = ConfirmationAsked(trials, candidates, author(), time.time())
    ask(run, study, event)
    return event


def is_live(run: Run) -> bool:
    """Whether a driver is at this run now."""
    try:
        run.lock().close()
    except UserError:
        return True
    return False
