"""MLflow as a view of the journals: a run of its own for every study, and for every trial where trials are expensive.

Whatever is written here can be written again without changing anything: MLflow's runs are found by their tags, rows
carry the journal's dates, files are replaced, and a tag says how many trials a run holds once it holds them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from objectives import Objective
from orchestrator.campaign.runs import Run, import_from
from orchestrator.campaign.study import Study
from orchestrator.engine.build import build_objective
from orchestrator.engine.events import Dated, Event, Observation, Ruling
from orchestrator.engine.history import events_of, is_ended, is_fruitless, rulings
from orchestrator.experiments import KIND, TABLE
from orchestrator.plain import spelled
from orchestrator.review.regret import study_frame
from orchestrator.tracking import entries
from orchestrator.tracking.entries import Entry, WeightedTrial, by_number
from orchestrator.tracking.experiment import NOTE, open_experiment, own_runs
from orchestrator.tracking.notes import study_note
from orchestrator.tracking.rulings import RULED, Tags, in_words, trial_in_words
from orchestrator.tracking.store import Store
from orchestrator.tracking.summary import SUMMARY, Summary
from orchestrator.tracking.tags import (
    CLOSED,
    RUN,
    STAGE,
    STUDY,
    TRIAL,
    WRITTEN,
    provenance,
    run_name,
    study_params,
    study_tags,
    trial_params,
)


@dataclass
class StudyRun:
    """The MLflow run of a study, and what it holds."""

    id: str
    written: int = -1
    """Trials it holds; -1 before it holds its parameters."""
    stage: str = "running"
    size: int = -1
    """Length of the journal when it was last read."""
    children: dict[int, str] | None = None
    closed: int | None = None
    """Length of the journal when the study ended; one that grew since goes on."""
    ruled: str | None = None
    """The rulings it shows."""

    @classmethod
    def recalled(cls, run_id: str, tags: Mapping[str, str]) -> "StudyRun":
        """A run that is there already, as its tags tell it."""
        closed = int(tags[CLOSED]) if CLOSED in tags else None
        known = cls(run_id, int(tags.get(WRITTEN, -1)), tags.get(STAGE, "running"), closed=closed)
        known.ruled = tags.get(RULED)
        return known

    def is_closed(self, size: int) -> bool:
        """Whether all of a journal of that length is here."""
        return self.stage in ("ended", "complete") and self.closed in (None, size)


@dataclass(frozen=True)
class Fresh:
    """What a study's run has not got yet: rows, parameters, and how many trials it holds then."""

    rows: list[Entry]
    params: Mapping[str, str]
    written: int


class Tracker:
    """Keeps MLflow's view of one run. `push` brings it up to date; interrupted anywhere, the next push completes it."""

    def __init__(
        self,
        run: Run,
        store: Store,
        on_long_work: Callable[[], None] = lambda: None,
        await_report: Callable[[], object] = lambda: None,
    ) -> None:
        """`on_long_work` is called before what takes long; `await_report` returns when whoever runs the studies has reported."""
        import_from(run.paths)
        self.run, self.store, self._on_long_work, self._await_report = run, store, on_long_work, await_report
        self._objective: Objective = build_objective(run.studies[0])
        self.experiment = open_experiment(run, store)
        self._tags = Tags(run, store, self.experiment)
        found = own_runs(store, self.experiment, run, "study", STUDY)
        self._runs = {key: StudyRun.recalled(known.info.run_id, known.data.tags) for key, known in found.items()}
        summary = own_runs(store, self.experiment, run, SUMMARY, KIND).get(SUMMARY)
        self._concluded = "" if summary is None else summary.data.tags.get(CLOSED, "")
        """Length of all journals when the campaign was summed up last."""

    def push(self, *, last: bool = False) -> None:
        """Write what is in the journals and not in MLflow yet; `last` says that the session is over.

        What people say by tags is read first, and goes into the journals by the study's own hand.
        """
        self._tags.collect({known.id: key for key, known in self._runs.items()})
        for study in self.run.studies:
            self._push_study(study, last)
        stages = {known.stage if (known := self._runs.get(s.key)) else "missing" for s in self.run.studies}
        if last and stages <= {"ended", "complete"}:
            self._conclude()

    def _push_study(self, study: Study, last: bool) -> None:
        path = self.run.journal(study)
        size = path.stat().st_size if path.exists() else 0
        known = self._runs.get(study.key)
        if not size or (known and (known.is_closed(size) or (known.size == size and not last))):
            return
        if known and known.stage in ("ended", "complete"):
            known.stage = "paused"  # more was asked of it
        events = events_of(self.run, study)
        known = known or self._create_run(study, events)
        if known.written < 0:
            self.store.log_objective(known.id, study.objective)
        trials, known.size = entries.weighted_trials(events), size
        fresh = self._fresh(study, known, trials)
        if is_ended(events):  # all of it at once: most studies are over before anybody looks
            self._end_study(study, known, events, fresh)
        elif fresh is not None:
            self._log(known, fresh, {STAGE: "running"})
        self._show_rulings(study, known, rulings(events))
        if last and known.stage != "ended":
            self._pause_study(study, known, events)

    def _create_run(self, study: Study, events: Sequence[Event]) -> StudyRun:
        begun = next((e.at for e in events if isinstance(e, Dated)), 0.0)
        tags = study_tags(self.run, study)
        made = self.store.create_run(self.experiment, entries.milliseconds(begun), tags, run_name(self.run, study))
        known = self._runs[study.key] = StudyRun(made)
        return known

    def _fresh(self, study: Study, known: StudyRun, trials: Sequence[WeightedTrial]) -> Fresh | None:
        """What its run has not got of the trials; None where it has all."""
        written = max(0, known.written)
        if not trials[written:] and known.written >= 0:
            return None
        if known.stage == "paused":
            self.store.reopen_run(known.id)
            known.stage = "running"
        regrets = self._live_regret(study, trials, written)
        rows = entries.trial_entries(trials, written) + regrets
        if study.scheduler is not None:
            rows += entries.resource_entries([t.observation for t in trials], regrets, written)
        if self._nested(study):
            self._push_children(study, known, [t.observation for t in trials[written:]])
        params = study_params(study, self._objective) if known.written < 0 else {}
        return Fresh(entries.bends(rows), params, len(trials))

    def _log(self, known: StudyRun, fresh: Fresh | None, tags: Mapping[str, str], more: Sequence[Entry] = ()) -> None:
        """Write what is new and `more` rows; the tags come last, and say what it holds then."""
        fresh = fresh or Fresh([], {}, known.written)
        self.store.log(known.id, [*fresh.rows, *more], {WRITTEN: str(fresh.written), **tags}, fresh.params)
        known.written = fresh.written

    def _live_regret(self, study: Study, trials: Sequence[WeightedTrial], start: int) -> list[Entry]:
        """Regret while the study runs, where the maximum is known; elsewhere it waits for the end of the campaign."""
        if self._objective.optimum is None:
            return []
        seen = [t.observation for t in trials]
        best, worst = self._objective.optimum.value, float("nan")
        return [e for e in entries.regret_entries(seen, best, worst, study.initial, start) if "_nan" not in e.key]

    def _end_study(self, study: Study, known: StudyRun, events: Sequence[Event], fresh: Fresh | None) -> None:
        seen = by_number(events)
        rows = entries.bends(entries.weight_entries(seen, events)) + entries.final_entries(seen, events)
        if entries.needs_no_other(seen, self._objective):
            rows += entries.final_regrets_of(seen, self._objective, study.initial)
        if self._nested(study):
            self._weigh_children(known, seen, events)
        tags = {NOTE: study_note(seen, events, self._objective)} | self._write_table(study, known, events)
        self.store.end_run(known.id, "FINISHED", entries.ended_at(events))
        self._log(known, fresh, tags | {CLOSED: str(known.size), STAGE: "ended"}, rows)  # last: now it holds all
        known.closed, known.stage = known.size, "ended"

    def _show_rulings(self, study: Study, known: StudyRun, ruled: Mapping[int, Ruling]) -> None:
        """What people say of the trials now, on the study and on the trials that have a run of their own."""
        words = in_words(ruled)
        if words == (known.ruled or ""):
            return
        before = {int(part.partition("=")[0]) for part in (known.ruled or "").split("; ") if part[:1].isdigit()}
        children = self._children(known) if self._nested(study) else {}
        for number in sorted((before | set(ruled)) & children.keys()):
            self.store.tag(children[number], RULED, trial_in_words(ruled.get(number)))
        self.store.tag(known.id, RULED, words)
        known.ruled = words

    def _pause_study(self, study: Study, known: StudyRun, events: Sequence[Event]) -> None:
        """The session ended before the study did: show what there is, as it is."""
        seen = by_number(events)
        if seen and known.stage != "paused":
            table = self._write_table(study, known, events)
            self.store.end_run(known.id, "KILLED", entries.milliseconds(seen[-1].at))
            self.store.log(known.id, tags=table | {STAGE: "paused"})
            known.stage = "paused"

    def _write_table(self, study: Study, known: StudyRun, events: Sequence[Event]) -> dict[str, str]:
        """Every trial in its own units; written as MLflow's tables are, because `log_table` would append. Returns its tag."""
        frame = study_frame(study, events, self._objective)
        rows = [[spelled(v) if isinstance(v, float) else v for v in row] for row in frame.astype(object).to_numpy()]
        self.store.write(known.id, json.dumps({"columns": list(frame.columns), "data": rows}), TABLE)
        return {"mlflow.loggedArtifacts": json.dumps([{"path": TABLE, "type": "table"}])}

    def _conclude(self) -> None:
        """All studies are over: what could only be said of all of them together, unless it was said of these journals."""
        length = str(sum(self.run.journal(study).stat().st_size for study in self.run.studies))
        if self._concluded == length:
            return
        summary = Summary(self.run, self.store, self.experiment, self._objective).write(
            {key: known.id for key, known in self._runs.items()}, self._on_long_work, self._await_report
        )
        self.store.tag(summary, CLOSED, length)
        self._concluded = length

    # --- a run for each trial -----------------------------------------------------------------------------------------

    def _nested(self, study: Study) -> bool:
        wanted = self.run.campaign.tracking.nested
        return study.workers > 1 if wanted is None else wanted

    def _push_children(self, study: Study, known: StudyRun, fresh: Sequence[Observation]) -> None:
        children = self._children(known)
        for o in fresh:
            if o.number not in children:
                children[o.number] = self._create_child(study, known, o)
            self.store.log(children[o.number], entries.child_entries(o), params=trial_params(o, self._objective))
            status = "FAILED" if is_fruitless(o) else "FINISHED"
            self.store.end_run(children[o.number], status, entries.milliseconds(o.at))

    def _children(self, known: StudyRun) -> dict[int, str]:
        if known.children is None:
            under = f" and tags.`mlflow.parentRunId` = '{known.id}'"
            mine = own_runs(self.store, self.experiment, self.run, "trial", TRIAL, under)
            known.children = {int(number): child.info.run_id for number, child in mine.items()}
        return known.children

    def _create_child(self, study: Study, known: StudyRun, o: Observation) -> str:
        tags = {KIND: "trial", RUN: self.run.id, TRIAL: str(o.number), "mlflow.parentRunId": known.id}
        begun, name = entries.milliseconds(o.at - o.seconds), f"{run_name(self.run, study)}/trial{o.number}"
        return self.store.create_run(self.experiment, begun, tags | provenance(), name)

    def _weigh_children(self, known: StudyRun, seen: Sequence[Observation], events: Sequence[Event]) -> None:
        children = self._children(known)
        for o, entry in zip(seen, entries.weight_entries(seen, events), strict=True):
            self.store.log(children[o.number], [entry])
