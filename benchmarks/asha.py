"""Asynchronous successive halving without Ray: the rule of Tune's `AsyncHyperBandScheduler`, and workers in simulated time."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Protocol

from orchestrator.halving import Ladder
from rcgp.gaussian import Array

Reports = Callable[[int, Array], Array]
"""What trial `number` at `x` reports, epoch by epoch."""


class Asha:
    """Who goes on: at a rung, whoever is in the upper 1/`reduction` of those that were there before."""

    def __init__(self, max_t: int, grace: int = 1, reduction: float = 3.0) -> None:
        self._max_t, self._ladder = max_t, Ladder(max_t, grace, reduction)

    def stops(self, number: int, epoch: int, value: float) -> bool:
        """Whether the trial that reports `value` after `epoch` epochs is stopped."""
        return epoch >= self._max_t or self._ladder.behind(number, epoch, value)


class Player(Protocol):
    """Suggests, learns, may stop trials by a rule of its own, and says in the end what it would hand over."""

    def ask(self, number: int) -> Array: ...
    def stops(self, number: int, epoch: int, value: float) -> bool: ...
    def end(self, number: int, curve: list[float]) -> None: ...
    def recommend(self) -> Array: ...


def play(player: Player, reports: Reports, epochs: int, workers: int) -> int:
    """Run trials on so many workers until so many epochs are spent; the number of trials."""
    queue: list[tuple[float, int]] = []
    curves: dict[int, tuple[Array, list[float]]] = {}
    spent, number, clock = 0, 0, 0.0
    while True:
        while len(queue) < workers and spent + len(queue) < epochs:
            curves[number] = (reports(number, player.ask(number)), [])
            heapq.heappush(queue, (clock + 1.0, number))
            number += 1
        if not queue:
            return number
        clock, running = heapq.heappop(queue)
        values, seen = curves[running]
        seen.append(float(values[len(seen)]))
        spent += 1
        if player.stops(running, len(seen), seen[-1]) or spent >= epochs:
            player.end(running, seen)
            if spent >= epochs:
                for _, left in queue:
                    if curves[left][1]:
                        player.end(left, curves[left][1])
                return number
        else:
            heapq.heappush(queue, (clock + 1.0, running))
