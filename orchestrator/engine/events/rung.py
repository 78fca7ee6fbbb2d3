"""A trial on its way reached a rung: the event that keeps what was decided there."""

from dataclasses import dataclass
from typing import ClassVar, Self

from orchestrator.plain import Fields, Json, spelled


@dataclass(frozen=True)
class RungReached:
    """A trial reported `value` after so many steps, and was stopped there or goes on. Decided once for every trial and rung."""

    kind: ClassVar[str] = "rung"
    version: ClassVar[int] = 1

    number: int
    step: int
    value: float
    stopped: bool
    at: float

    def to_json(self) -> Json:
        """Its members as strict JSON."""
        what = {"number": self.number, "step": self.step, "value": spelled(self.value)}
        return what | {"stopped": self.stopped, "at": self.at}

    @classmethod
    def from_json(cls, data: Fields) -> Self:
        """The event of those members."""
        return cls(data["number"], data["step"], float(data["value"]), data["stopped"], data["at"])
