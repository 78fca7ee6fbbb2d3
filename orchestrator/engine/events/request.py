"""What people ask of a study while it runs or rests: rulings on its trials, and trials that confirm its answer.

They are events like all others: written first to a file of the study's own in the run's folder (`request_file.py`), and into its
journal when the study hears of them. `id` tells one from another: each is obeyed once.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Self
from uuid import uuid4

from orchestrator.plain import Fields, Json

RULINGS = ("lie", "true", "again", "clear")
"""What can be said of a trial: not to be believed, to be believed, to be run again, or nothing any more."""


def _new_id() -> str:
    return uuid4().hex[:12]


@dataclass(frozen=True)
class Ruling:
    """What a person says of a trial, and why; the model obeys it over its own opinion."""

    kind: ClassVar[str] = "ruling"
    version: ClassVar[int] = 1

    number: int
    ruling: str
    author: str
    because: str
    at: float
    id: str = field(default_factory=_new_id)

    @property
    def extra(self) -> int:
        """The trials it adds to the plan."""
        return int(self.ruling == "again")

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(*(data[name] for name in ("number", "ruling", "author", "because", "at", "id")))


@dataclass(frozen=True)
class ConfirmationAsked:
    """More trials for the answer: `trials` repetitions of what decides it, among the best `candidates`."""

    kind: ClassVar[str] = "confirm"
    version: ClassVar[int] = 1

    trials: int
    candidates: int
    author: str
    at: float
    id: str = field(default_factory=_new_id)

    @property
    def extra(self) -> int:
        """The trials it adds to the plan."""
        return self.trials

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(*(data[name] for name in ("trials", "candidates", "author", "at", "id")))


Request = Ruling | ConfirmationAsked
"""What people ask of a study."""
