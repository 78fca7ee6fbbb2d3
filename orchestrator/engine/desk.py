"""Where trials on other processes ask whether to go on, and the driver, who has the model, answers."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ray
from ray.tune import Callback

from orchestrator.engine.trial import Try

if TYPE_CHECKING:
    from ray.actor import ActorHandle

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Question:
    """A trial reports `value` after so many steps: is it stopped there?"""

    trial: Try
    step: int
    value: float = field(compare=False)  # may be NaN, which equals nothing


class RungDesk:
    """Holds questions until they are answered. A Ray actor with a thread for every worker; restarted, it is asked again."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: set[Question] = set()
        self._answers: dict[Question, bool] = {}

    def ask(self, question: Question) -> bool:
        """The answer, once there is one."""
        with self._changed:
            if question not in self._answers:
                self._waiting.add(question)
            self._changed.wait_for(lambda: question in self._answers)
            return self._answers[question]

    def waiting(self) -> list[Question]:
        """The questions without an answer."""
        with self._changed:
            return list(self._waiting)

    def answer(self, answers: dict[Question, bool]) -> None:
        """Let those who asked go on, or not."""
        with self._changed:
            self._answers |= answers
            self._waiting -= answers.keys()
            self._changed.notify_all()


class Answering(Callback):
    """Answers the trials at the desk while Tune waits for them."""

    def __init__(self, desk: "ActorHandle[RungDesk]", stops: Callable[[Try, int, float], bool]) -> None:
        self._desk, self._stops, self._looked = desk, stops, 0.0

    def on_step_begin(self, iteration: int, trials: list[Any], **info: object) -> None:
        """Look every so often who asks."""
        if time.monotonic() - self._looked < POLL_SECONDS:
            return
        waiting: list[Question] = ray.get(self._desk.waiting.remote())
        if waiting:
            ray.get(self._desk.answer.remote({q: self._stops(q.trial, q.step, q.value) for q in waiting}))
        self._looked = time.monotonic()

    def __getstate__(self) -> dict[str, object]:
        return {}  # Tune pickles its callbacks for a restore that never happens


def asks(desk: "ActorHandle[RungDesk]", trial: Try, step: int, value: float) -> bool:
    """Ask, and wait for the answer."""
    answer: bool = ray.get(desk.ask.remote(Question(trial, step, value)))
    return answer
