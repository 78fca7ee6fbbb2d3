"""What an Optuna trial says, and what a sampler leaves on it for other processes to see.

| state of the trial                                | meaning                                                             |
|---------------------------------------------------|---------------------------------------------------------------------|
| COMPLETE, a finite value                          | an observation, believed as far as the robust weights allow         |
| COMPLETE, an infinitely good value                | a lie: a row without influence                                      |
| COMPLETE, an infinitely bad value                 | a failed trial: the training diverged                               |
| FAIL: an exception, NaN, None, a lost heartbeat   | a failed trial                                                      |
| FAIL, and a retry of it (Optuna's callback) ended | the retry takes the place of the failure                            |
| PRUNED after a report                             | an observation at its last report                                   |
| PRUNED before any report, or after NaN            | a failed trial: whoever ran it found it not worth going on          |
| RUNNING                                           | pending: it shapes suggestions, until it was silent for very long   |
| a parameter is missing, or had another range      | it says nothing about this space                                    |

What a failed trial is worth is the sampler's `on_error`, as in `orchestrator.search.searcher`.
"""

import logging
import time
from dataclasses import dataclass
from datetime import datetime

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from orchestrator.sampler.space import Distributions
from orchestrator.search.dimensions import Config, is_number
from orchestrator.search.records import maximised

log = logging.getLogger(__name__)

SUGGESTED = "rcgp:suggested"
"""The system attribute with a suggestion, there before its parameters are: Optuna stores these one by one, as they are used."""
STANDARD_ERROR, REPORTER = "rcgp:standard_error", "rcgp:reporter"
"""User attributes that an objective may set: how uncertain its report is, and which machine or device it came from."""
Key = tuple[int, datetime | None]
Ending = tuple[TrialState, float | None]


def key_of(trial: FrozenTrial) -> Key:
    """What tells a trial from all others, those of other studies included."""
    return trial.number, trial.datetime_start


def ending_of(trial: FrozenTrial) -> Ending:
    """How it ended, as the storage has it."""
    return trial.state, trial.value


def started(trial: FrozenTrial) -> datetime:
    """When it began, as far as that is known."""
    return trial.datetime_start or trial.datetime_complete or datetime.max


def reported(trial: FrozenTrial, sign: float) -> float | None:
    """What a trial that ended reported, maximised; None if it failed: Optuna keeps no value then."""
    return maximised(last_report(trial) if trial.state == TrialState.PRUNED else trial.value, sign)


def last_report(trial: FrozenTrial) -> float | None:
    """The last value on the way: what a pruned trial counts as."""
    return trial.value if trial.last_step is None else float(trial.intermediate_values[trial.last_step])


@dataclass(frozen=True)
class Provenance:
    """What an objective said about its own report."""

    standard_error: float | None
    reporter: str | None


def provenance(trial: FrozenTrial) -> Provenance:
    """What the objective noted on the trial beside its value."""
    error, reporter = trial.user_attrs.get(STANDARD_ERROR), trial.user_attrs.get(REPORTER)
    usable = is_number(error) and error >= 0
    if error is not None and not usable:
        log.warning(
            "Trial %d has %s = %r, which is no number of at least 0: left out.", trial.number, STANDARD_ERROR, error
        )
    return Provenance(float(error) if usable else None, None if reporter is None else str(reporter))


def retried(trial: FrozenTrial) -> int | None:
    """The number of the failed trial that this one runs again, by Optuna's retry callback."""
    number: int | None = trial.system_attrs.get("failed_trial")
    return number


@dataclass(frozen=True)
class Published:
    """A suggestion as others see it: Optuna's internal values by name, and when it was made."""

    at: float
    values: dict[str, float]


def publish(study: Study, trial: FrozenTrial, params: Config, space: Distributions) -> Published:
    """Let the other processes know what this trial is about to try."""
    values = {name: float(space[name].to_internal_repr(value)) for name, value in params.items()}
    suggestion = Published(time.time(), values)
    study._storage.set_trial_system_attr(trial._trial_id, SUGGESTED, {"at": suggestion.at, "values": values})
    return suggestion


def published(trial: FrozenTrial) -> Published:
    """What was published of a trial; of one that was suggested by anything else, nothing since ever."""
    data = trial.system_attrs.get(SUGGESTED) or {"at": 0.0, "values": {}}
    return Published(data["at"], data["values"])


def parameters_of(trial: FrozenTrial, space: Distributions) -> dict[str, object]:
    """The parameters of a trial, those of a running one as far as they are known."""
    if trial.state.is_finished():
        params: dict[str, object] = trial.params
        return params
    values = published(trial).values
    suggested = {name: space[name].to_external_repr(value) for name, value in values.items() if name in space}
    return {**suggested, **trial.system_attrs.get("fixed_params", {}), **trial.params}
