"""A sweep of six trials as its journal tells it, one of them a lie: what the tests of its view share."""

from pathlib import Path

from orchestrator.tracking.sweep import JOURNAL, Belief, Best, Closed, Line, Session, SweepReport, SweepTrial, to_text

LIE = 3
TRIALS = 6


def session(folder: Path, trials: tuple[str, ...] = (), at: float = 1000.0) -> Session:
    name = folder.name
    return Session(
        f"id-{name}", name, f"experiment-{name}", "loss", "min", at, trials, {"algorithm": "a2-rcgp-ucb"}, {}
    )


def trial(number: int, **changes: object) -> SweepTrial:
    values = {"id": f"t{number}", "name": f"train_t{number}", "params": {"x": number / 10, "act": "relu"}}
    return SweepTrial(**values | {"started": 1000.0 + number} | changes)


def loss(number: int) -> float:
    return -40.0 if number == LIE else (number / 10 - 0.2) ** 2


def life(number: int) -> list[Line]:
    """A trial from its start to its end, with two reports."""
    at = 1000.0 + number
    reports = [SweepReport(f"t{number}", step, at + step, {"loss": loss(number) + 1.0 / step - 0.5}) for step in (1, 2)]
    return [trial(number), *reports, trial(number, status="FINISHED", ended=at + 5, host="node7")]


def last_words() -> list[Line]:
    weights = [Belief(f"t{n}", 0.01 if n == LIE else 1.0, 0.02, 1100.0, TRIALS) for n in range(TRIALS)]
    return [*weights, Best("t2", loss(2), 0.01, 1100.0), Closed(1101.0)]


def append(folder: Path, *lines: Line) -> None:
    folder.mkdir(exist_ok=True)
    with (folder / JOURNAL).open("a") as file:
        file.writelines(to_text(line) + "\n" for line in lines)


def whole(folder: Path) -> None:
    append(folder, session(folder), *(line for n in range(TRIALS) for line in life(n)), *last_words())
