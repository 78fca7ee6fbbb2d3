"""What the adversary of a study decided: the event that keeps it."""

from dataclasses import dataclass
from typing import ClassVar, Self

from orchestrator.plain import Fields, Json, spelled


@dataclass(frozen=True)
class AdversaryReported:
    """The adversary's answer to one trial, honest or corrupted; `attempt` is the try it was made for.

    A study's journal holds the corrupted ones. The ledger of a study with several workers holds all, because their order matters.
    """

    kind: ClassVar[str] = "charge"
    version: ClassVar[int] = 1

    number: int
    attempt: int
    x: tuple[float, ...]
    y_true: float
    y: float
    corrupted: bool
    kill: bool = False
    reporter: int = 0
    """The simulated machine that it was told about."""

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        values = {"y_true": spelled(self.y_true), "y": spelled(self.y)}
        machine = {"reporter": self.reporter} if self.reporter else {}
        trial = {"number": self.number, "attempt": self.attempt, "x": list(self.x)}
        return trial | values | {"corrupted": self.corrupted, "kill": self.kill} | machine

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(
            number=data["number"],
            attempt=data["attempt"],
            x=tuple(data["x"]),
            y_true=float(data["y_true"]),
            y=float(data["y"]),
            corrupted=data["corrupted"],
            kill=data.get("kill", False),
            reporter=data.get("reporter", 0),
        )
