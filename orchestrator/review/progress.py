"""Live progress of a run: bars on a terminal, plain lines elsewhere."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from orchestrator.campaign.runs import Run
from orchestrator.campaign.study import Study
from orchestrator.engine.events import AdversaryReported, Event, Observation, Request, Weighing
from orchestrator.engine.history import is_ended, is_fruitless
from rcgp import SUSPECT_WEIGHT

MANY = 12
"""Beyond this many studies one summary bar is easier to read."""
LINE_SECONDS = 10.0


@dataclass
class StudyProgress:
    """How far one study is, as its journal tells it."""

    total: int
    done: int = 0
    best: float = float("-inf")
    weights: dict[int, float] = field(default_factory=dict)
    corrupted: int = 0
    fruitless: set[int] = field(default_factory=set)

    def take(self, event: Event) -> None:
        """Learn from one event."""
        if isinstance(event, Weighing):
            self.weights |= event.weights
        if isinstance(event, Observation):
            self.done += 1
            self.fruitless |= {event.number} if is_fruitless(event) else set()
            self.best = max(self.best, event.value)  # max keeps its first argument before a NaN
        if isinstance(event, Request):
            self.total += event.extra
        self.corrupted += isinstance(event, AdversaryReported) and event.corrupted

    @property
    def suspects(self) -> int:
        """Observations under suspicion now."""
        return sum(w < SUSPECT_WEIGHT for number, w in self.weights.items() if number not in self.fruitless)


class _Rate(ProgressColumn):
    """Trials a second in this session."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "-/s", style="progress.data.speed")


class Bars:
    """A bar for each study, or one for all when there are many; until the first event the bar of all says what is awaited."""

    def __init__(self, run: Run, console: Console, awaited: str = "") -> None:
        self._studies = {study.key: StudyProgress(study.total) for study in run.studies}
        self._bars = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        total = sum(study.total for study in run.studies)
        self._all = self._bars.add_task("all studies" if len(run.studies) > 1 else run.name, total=total, note=awaited)
        self._each = {} if len(run.studies) > MANY else self._add_each(run)
        self._bars.start()

    def _add_each(self, run: Run) -> dict[str, TaskID]:
        return {s.key: self._bars.add_task(s.key, total=s.total, note="") for s in run.studies}

    def on_events(self, study: Study, events: Sequence[Event]) -> None:
        """Move the bars."""
        mine, all_of_them = self._studies[study.key], list(self._studies.values())
        for event in events:
            mine.take(event)
        self._move(self._all, all_of_them)
        if study.key in self._each:
            self._move(self._each[study.key], [mine])

    def _move(self, bar: TaskID, studies: Sequence[StudyProgress]) -> None:
        done, total = sum(s.done for s in studies), sum(s.total for s in studies)
        self._bars.update(bar, completed=done, total=total, note=note(studies))

    def close(self) -> None:
        """Leave the bars as they are."""
        self._bars.stop()


class Lines:
    """A line for each finished study and one every few seconds, for logs."""

    def __init__(self, run: Run, console: Console) -> None:
        self._studies = {study.key: StudyProgress(study.total) for study in run.studies}
        self._console = console
        self._start, self._last = time.time(), time.monotonic()
        self._fresh = 0

    def on_events(self, study: Study, events: Sequence[Event]) -> None:
        """Print when a study ends, or when it was quiet for a while."""
        mine = self._studies[study.key]
        for event in events:
            mine.take(event)
            self._fresh += isinstance(event, Observation) and event.at >= self._start
        if is_ended(events):
            self._print(f"{study.key}: {mine.done}/{mine.total} trials, {note([mine])}")
        elif time.monotonic() - self._last > LINE_SECONDS:
            self._print(self._overall())

    def _overall(self) -> str:
        studies = list(self._studies.values())
        done, total = sum(s.done for s in studies), sum(s.total for s in studies)
        rate = self._fresh / max(time.time() - self._start, 1e-9)
        left = f"{(total - done) / rate:.0f} s left, " if rate else ""
        return f"{done}/{total} trials, {rate:.1f}/s, {left}{note(studies)}"

    def _print(self, line: str) -> None:
        self._last = time.monotonic()
        self._console.print(line, highlight=False, soft_wrap=True, markup=False)

    def close(self) -> None:
        """Nothing to tidy up."""


def note(studies: Sequence[StudyProgress]) -> str:
    """Best true value so far, suspects, lies."""
    best = max(s.best for s in studies)
    shown = "-" if best == float("-inf") else f"{best:.4g}"
    suspects, corrupted = sum(s.suspects for s in studies), sum(s.corrupted for s in studies)
    return f"best {shown}, {suspects} suspect, {corrupted} corrupted"


def progress(run: Run, console: Console, awaited: str = "") -> Bars | Lines:
    """What suits the output; `awaited` is what the first trial waits for."""
    return Bars(run, console, awaited) if console.is_terminal else Lines(run, console)
