"""Rulings through MLflow: a person sets the tag `orchestrate.ruling` on a trial or a study, and the run obeys.

On a trial: `lie`, `true`, `again` or `clear`; on a study: `17=lie, 23=true`. A reason may follow: `lie because of its fan`.
MLflow knows no author, and a tag stays: it is obeyed when it says something new of a trial, once.
"""

import logging
import re
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import Ruling
from orchestrator.engine.request_file import asked
from orchestrator.engine.rulings import rule
from orchestrator.errors import UserError
from orchestrator.experiments import KIND
from orchestrator.tracking.store import Store
from orchestrator.tracking.tags import RUN, STUDY, TRIAL

if TYPE_CHECKING:
    from mlflow.entities import Run as MlflowRun

log = logging.getLogger(__name__)

RULING, ANSWER, RULED = "orchestrate.ruling", "orchestrate.ruling.answer", "orchestrate.ruled"
"""Tags: what a person says, whether it was understood, and what holds now with author and reason."""
AUTHOR = "MLflow"
POLL_SECONDS = 2.0
PART = re.compile(r"\s*(?:(\d+)\s*=\s*)?(\w+)\s*(?:(?:because|:)\s*(.*?))?\s*")
EXPECTED = "expected 17=lie, 23=true on a study, or lie, true, again or clear on a trial"


class Tags:
    """The rulings that people set as tags of this run's MLflow runs."""

    def __init__(self, run: Run, store: Store, experiment: str) -> None:
        self._run, self._store, self._experiment = run, store, experiment
        self._studies = {study.key: study for study in run.studies}
        self._seen: dict[str, str] = {}
        self._looked = 0.0

    def collect(self, parents: Mapping[str, str]) -> None:
        """Write down what is new; `parents` are the studies by the id of their MLflow run. Looks every other second."""
        if time.monotonic() - self._looked < POLL_SECONDS:
            return
        query = f"tags.`{RUN}` = '{self._run.id}' and tags.`{RULING}` != ''"
        for found in self._store.runs(self._experiment, query):
            said = found.data.tags[RULING]
            if self._seen.get(found.info.run_id) != said:
                self._hear(found, parents)
                self._seen[found.info.run_id] = said
        self._looked = time.monotonic()

    def _hear(self, found: "MlflowRun", parents: Mapping[str, str]) -> None:
        tags = found.data.tags
        try:
            key = tags[STUDY] if tags[KIND] == "study" else parents[tags["mlflow.parentRunId"]]
            trial = int(tags[TRIAL]) if TRIAL in tags else None
            for number, ruling, because in list(parsed(tags[RULING], trial)):
                self._obey(self._studies[key], number, ruling, because)
            answer = f"heard: {tags[RULING]}"
        except KeyError:
            answer = "not understood: this run is neither a trial nor a study"
        except UserError as error:
            answer = f"not understood: {error}"
            log.warning("%s: %s", self._run.name, answer)
        if tags.get(ANSWER) != answer:
            self._store.tag(found.info.run_id, ANSWER, answer[:5000])

    def _obey(self, study: Study, number: int, ruling: str, because: str) -> None:
        """Pass a ruling on, unless it is what the tag said before."""
        mine = [
            r for r in asked(self._run, study) if isinstance(r, Ruling) and (r.author, r.number) == (AUTHOR, number)
        ]
        if not mine or (mine[-1].ruling, mine[-1].because) != (ruling, because):
            rule(self._run, study, number, ruling, because, by=AUTHOR)


def parsed(text: str, trial: int | None) -> Iterator[tuple[int, str, str]]:
    """Trial, ruling and reason of every part of a tag; `trial` is the one whose own tag it is."""
    for part in text.split(","):
        match = PART.fullmatch(part)
        number = trial if match is None or match[1] is None else int(match[1])
        if match is None or number is None:
            raise UserError(f"{part.strip()!r}: {EXPECTED}.")
        yield number, match[2].lower(), match[3] or ""


def in_words(rulings: Mapping[int, Ruling]) -> str:
    """What holds now: every ruling with its author and reason."""
    return "; ".join(f"{number}={_said(r)}" for number, r in sorted(rulings.items()))


def _said(ruling: Ruling) -> str:
    return f"{ruling.ruling} by {ruling.author}" + (f" because {ruling.because}" if ruling.because else "")


def trial_in_words(ruling: Ruling | None) -> str:
    """The ruling on one trial; empty where it was taken back."""
    return "" if ruling is None else _said(ruling)
