"""What is written down of a search: its own state, and what Tune itself remembers of the trials.

Tune saves its own state and the searcher's one after the other. A driver killed in between leaves trials that Tune knows and the
searcher does not: they will not be run, or not be reported, again.
"""

import json
import logging
import os
from dataclasses import dataclass
from pathlib import Path

from ray.tune.search.repeater import TRIAL_INDEX
from ray.tune.utils.util import flatten_dict

from orchestrator.plain import Json
from orchestrator.search.records import as_number, resource_in
from orchestrator.search.space import Config, TuneSpace
from orchestrator.trials import Point

log = logging.getLogger(__name__)

VERSION = 2


@dataclass(frozen=True)
class KnownTrial:
    """A trial as Tune remembers it: its place (None if that is not for the searcher to say), whether it ended, its report."""

    trial_id: str
    x: Point | None
    ended: bool
    value: float | None
    resource: float | None = None


def write_state(path: Path, state: Json) -> None:
    """Write a state as strict JSON, whole or not at all."""
    scratch = path.with_name(f".{path.name}.part")
    with scratch.open("w") as file:
        json.dump({"version": VERSION, **state}, file, allow_nan=False)
        file.flush()
        os.fsync(file.fileno())
    scratch.replace(path)


def read_state(path: Path) -> Json:
    """The state that was written there."""
    if not path.exists():
        raise ValueError(f"{path} does not exist: give the file of a searcher's state, or the folder of an experiment.")
    try:
        state = json.loads(path.read_text())
    except ValueError as error:
        raise ValueError(f"{path} is damaged and holds no searcher state: {error}.") from error
    if not isinstance(state, dict) or state.get("version") != VERSION:
        raise ValueError(f"{path} holds no searcher state of version {VERSION}.")
    return state


def newest_state(folder: Path, template: str) -> Path:
    """The latest state in the folder of an experiment; their names hold the time."""
    files = sorted(folder.glob(template.format("*")))
    if not files:
        raise ValueError(
            f"{folder} holds no searcher state ({template.format('*')}): is it the folder of an experiment?"
        )
    return files[-1]


def known_trials(folder: Path, space: TuneSpace, metric: str, time_attr: str | None) -> list[KnownTrial] | None:
    """The trials of the newest state of Tune in `folder`, in Tune's order; None if there is no such state, or none that reads."""
    files = sorted(folder.glob("experiment_state-*.json"))
    if not files:
        return None
    try:
        data = json.loads(files[-1].read_text())["trial_data"]
    except ValueError as error:  # Tune does not write it whole or not at all
        log.warning("%s is damaged (%s): what counts is what the searcher itself wrote down.", files[-1], error)
        return None
    saved = [(json.loads(trial), json.loads(runtime)) for trial, runtime in data]
    places = [_place(space, facts) for facts, _ in saved]
    # a Repeater runs each suggestion several times and reports the mean itself
    single = [None if places.count(x) > 1 else x for x in places]
    return [_known(facts, past, x, metric, time_attr) for (facts, past), x in zip(saved, single, strict=True)]


def _place(space: TuneSpace, facts: Config) -> Point | None:
    """Where a trial is; None if it is of another space, or marked as one of several repeats."""
    config = facts.get("_Trial__unresolved_config") or facts["config"]
    try:
        return None if TRIAL_INDEX in config else space.locate(config)
    except ValueError:
        return None


def _known(facts: Config, past: Config, x: Point | None, metric: str, time_attr: str | None) -> KnownTrial:
    failed, last = facts["status"] == "ERROR", flatten_dict(past.get("last_result") or {})
    value = None if failed else as_number(last.get(metric))
    ended = failed or facts["status"] == "TERMINATED"
    return KnownTrial(facts["trial_id"], x, ended, value, resource_in(last, time_attr))
