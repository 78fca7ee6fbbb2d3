"""Where trials on other processes ask whether to go on. It imports no Tune, so that a lost desk is soon back."""

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import ray

from orchestrator.engine.trial import Try

if TYPE_CHECKING:
    from ray.actor import ActorHandle


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


def asks(desk: "ActorHandle[RungDesk]", trial: Try, step: int, value: float) -> bool:
    """Ask, and wait for the answer."""
    answer: bool = ray.get(desk.ask.remote(Question(trial, step, value)))
    return answer
