"""What happens in a study: a frozen event for each record of its journal. `records` knows them all, and their JSON."""

from orchestrator.engine.events.adversary import AdversaryReported
from orchestrator.engine.events.records import (
    FORMAT,
    Dated,
    Event,
    Header,
    Observation,
    OptimizerSaved,
    Point,
    SessionStarted,
    StudyEnded,
    TrialFailed,
    TrialSuggested,
    UnknownEventError,
    Weighing,
    from_json,
    of_type,
    to_json,
)
from orchestrator.engine.events.request import RULINGS, ConfirmationAsked, Request, Ruling
from orchestrator.engine.events.rung import RungReached

__all__ = [
    "FORMAT",
    "RULINGS",
    "AdversaryReported",
    "ConfirmationAsked",
    "Dated",
    "Event",
    "Header",
    "Observation",
    "OptimizerSaved",
    "Point",
    "Request",
    "Ruling",
    "RungReached",
    "SessionStarted",
    "StudyEnded",
    "TrialFailed",
    "TrialSuggested",
    "UnknownEventError",
    "Weighing",
    "from_json",
    "of_type",
    "to_json",
]
