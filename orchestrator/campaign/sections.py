"""The sections of a campaign file that have keys of their own."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt

from orchestrator.errors import closest
from orchestrator.halving import CHANCE, WITNESSES

Count = Annotated[StrictInt, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
SCHEDULERS = ("asha",)


class Section(BaseModel):
    """Keys and their values; a key that is not known is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Resources(Section):
    """What one trial takes; left out, the objective's own hint."""

    cpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class Limits(Section):
    """How long a trial may take, and the campaign in one go."""

    trial_seconds: Seconds | None = None
    total_seconds: Seconds | None = None


class Tracking(Section):
    """Where MLflow keeps its view of the journal."""

    enabled: StrictBool = True
    uri: str | None = None
    experiment: str | None = None
    nested: StrictBool | None = None
    """A run of its own for each trial; by default where trials run in parallel."""
    required: StrictBool = False
    """Refuse to start when the server cannot be reached."""
    patience: Seconds = 60.0
    """How long the end of a run waits for a server that takes its time; one that is silent is left much sooner."""


class Confirmation(Section):
    """How many of the last trials confirm the answer, and among how many candidates for it."""

    trials: Count = 5
    candidates: Count = 3


def as_confirmation(value: object) -> object:
    """`5` stands for five trials."""
    return {"trials": value} if isinstance(value, int) and not isinstance(value, bool) else value


def _known_scheduler(name: str) -> str:
    close = closest(name, SCHEDULERS)
    if close != name:
        meant = f" (did you mean {close!r}?)" if close else ""
        raise ValueError(f"must be one of {', '.join(SCHEDULERS)}{meant}")
    return name


class Halving(Section):
    """Early stopping: which rule, its rungs at `grace`, `grace` x `reduction`, ... steps, and whom it spares."""

    name: Annotated[str, AfterValidator(_known_scheduler)]
    grace: Count = 1
    reduction: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 3.0
    witnesses: Annotated[StrictInt, Field(ge=0)] = WITNESSES
    chance: Annotated[float, Field(ge=0, le=1)] = CHANCE


def as_scheduler(value: object) -> object:
    """`asha` stands for the rule with its defaults."""
    return {"name": value} if isinstance(value, str) else value


SECTIONS: dict[str, type[BaseModel]] = {
    "resources": Resources,
    "limits": Limits,
    "tracking": Tracking,
    "confirm": Confirmation,
    "scheduler": Halving,
}
"""What a campaign's keys hold, where that has keys itself."""
