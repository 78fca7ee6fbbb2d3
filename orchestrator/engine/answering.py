"""The driver, who has the model, answers the trials that ask at the desk whether to go on."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import ray
from ray.tune import Callback

from orchestrator.engine.desk import Question, RungDesk
from orchestrator.engine.trial import Try

if TYPE_CHECKING:
    from ray.actor import ActorHandle

POLL_SECONDS = 0.05


class Answering(Callback):
    """Answers the trials at the desk while Tune waits for them; while the desk is away everything else goes on."""

    def __init__(self, desk: "ActorHandle[RungDesk]", stops: Callable[[Try, int, float], bool]) -> None:
        self._desk, self._stops, self._looked = desk, stops, 0.0
        self._asked: ray.ObjectRef[list[Question]] | None = None

    def on_step_begin(self, iteration: int, trials: list[Any], **info: object) -> None:
        """Look every so often who asks."""
        if time.monotonic() - self._looked < POLL_SECONDS:
            return
        waiting = self._waiting()
        if waiting:  # an answer that is lost with the desk is asked for again, and is the same
            self._desk.answer.remote({q: self._stops(q.trial, q.step, q.value) for q in waiting})
        self._looked = time.monotonic()

    def _waiting(self) -> list[Question]:
        """Who waits, as far as the desk says so in time; a killed one takes seconds to come back."""
        self._asked = self._asked or self._desk.waiting.remote()
        if not ray.wait([self._asked], timeout=POLL_SECONDS)[0]:
            return []
        waiting, self._asked = ray.get(self._asked), None
        return waiting

    def __getstate__(self) -> dict[str, object]:
        return {}  # Tune pickles its callbacks for a restore that never happens
