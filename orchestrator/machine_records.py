"""The record of every machine that reported trials: how many of its reports are suspects, and whether one stands out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

SURE = 0.99
"""How probable it must be that a machine has more suspects than the others before it is named."""
DRAWS = 20_000
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Record:
    """One machine: its reports, those of them that are suspects, and the share with a 95 % interval (Beta, Jeffreys' prior)."""

    reporter: str
    trials: int
    suspects: int

    @property
    def share(self) -> float:
        """Suspects among its reports."""
        return self.suspects / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Where its share of suspects lies in the long run."""
        low, high = betaincinv(self.suspects + 0.5, self.trials - self.suspects + 0.5, [0.025, 0.975])
        return float(low), float(high)


def records(reports: Iterable[tuple[str, bool]]) -> list[Record]:
    """The record of each machine, the worst first, from who made each report ("": nobody knows) and whether it is a suspect."""
    told = [(reporter or UNKNOWN, suspect) for reporter, suspect in reports]
    trials, suspects = Counter(name for name, _ in told), Counter(name for name, suspect in told if suspect)
    found = [Record(name, trials[name], suspects[name]) for name in sorted(trials)]
    return sorted(found, key=lambda record: -record.interval[0])


def outstanding(found: Sequence[Record]) -> Record | None:
    """The machine whose share of suspects is beyond doubt higher than that of all others together."""
    known = [record for record in found if record.reporter != UNKNOWN]
    if len(known) < 2:
        return None
    worst = known[0]
    trials, suspects = sum(r.trials for r in known[1:]), sum(r.suspects for r in known[1:])
    rng = np.random.default_rng(0)
    here = rng.beta(worst.suspects + 0.5, worst.trials - worst.suspects + 0.5, DRAWS)
    elsewhere = rng.beta(suspects + 0.5, trials - suspects + 0.5, DRAWS)
    return worst if float(np.mean(here > elsewhere)) >= SURE else None


def in_words(found: Sequence[Record]) -> str:
    """Where the suspects ran, in a sentence; nothing where nobody is suspected or nobody knows who reported."""
    suspects, trials = sum(r.suspects for r in found), sum(r.trials for r in found)
    if not suspects or {r.reporter for r in found} <= {UNKNOWN}:
        return ""
    worst = outstanding(found)
    if worst is None:
        accused = sum(r.suspects > 0 for r in found)
        where = f", on {accused} of {len(found)} machines; none stands out" if len(found) > 1 else ""
        return f"{suspects} of {trials} reports {'is a suspect' if suspects == 1 else 'are suspects'}{where}."
    rest = f"elsewhere {suspects - worst.suspects} of {trials - worst.trials}"
    there = f"{worst.suspects} of {suspects} suspect{'' if suspects == 1 else 's'}"
    return f"{there} ran on {worst.reporter} (of {worst.trials} trials there), {rest}."
