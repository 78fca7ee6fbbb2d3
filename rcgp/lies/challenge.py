"""How many of the rows told one by one are lies: the rows believed so far as an explanation, against the best other one.

A lie that is believed when it comes makes the objective look rough or noisy, and then the next one is no surprise. One by one
such lies are never found, whatever the limit on suspects; all of them at once are, because without them the rest is simple. So
the explanation that led here is challenged from time to time by others (`rcgp.lies.score`), and gives way to a much better one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rcgp.fit import Hyperparameters
from rcgp.gaussian import Mask
from rcgp.lies.score import Climb, Explanation, Reports
from rcgp.random_failures import probability_of_region

PRICE = 8.0
"""What a challenger must gain in F. In 14 clean searches on seven problems the best that called a believed row a lie gained 4.1;
where lies were believed, most gained 10 to 120."""

FEWEST_LIES = 2
"""So many of the believed rows a challenger must call lies. One alone may be an honest extreme that scores badly to the end (10.1
on clean Branin, and twice the regret); what it makes of the others is the question of `rcgp.lies.reconsider`."""

REACHES = (2.0, 8.0)
"""Where challengers come from, beside the rows believed so far: from the rows in the middle, as in `rcgp.lies.score`."""

LEAST_SPREAD = 0.3
"""A challenger's honest rows must keep so much of the spread of those believed now: what they leave out would be the objective.
(On the digits surface the best score goes to a constant and nine lies.)"""

NOWHERE = 0.2
"""Less spread is enough, at twice the price, where those left out have a place with less than this probability: what is far out
here and there is no objective (`rcgp.random_failures`). Without it, of lies of 5 to 100 deviations that make a quarter to a
third of all reports from the first on, 32 % were found in 40 trials, with it 95 %. With 0.5 and once the price it is 99 %, but
the honest low corner of digits is doubted too."""

INTERVALS = 12.0
"""A challenge is due so many times while the rows become e times as many: when there are a twelfth more. With every fit an update
takes twice the time, now a fifth more; with 6, lies of a bad node cost 1.47 x the oracle instead of 1.28 with every fit."""


@dataclass(frozen=True)
class Verdict:
    """Who is honest (`n`, boolean), and their hyper-parameters where they are to be believed in place of the present rows."""

    honest: Mask
    hyper: Hyperparameters | None


def is_due(n: int, known: int) -> bool:
    """Whether `n` rows are to be challenged, when there were `known` before: at the same rows however many arrive at a time."""
    return math.floor(INTERVALS * math.log(n)) > math.floor(INTERVALS * math.log(max(known, 1)))


def last_due(n: int) -> int:
    """The last number of rows up to `n` at which a challenge was due."""
    return math.ceil(math.exp(math.floor(INTERVALS * math.log(n)) / INTERVALS) - 1e-9) if n else 0


def challenged(
    reports: Reports, believed: Mask, start: Hyperparameters, kernel: str, most: int, crowd: Mask | None = None
) -> Verdict:
    """What is left of the explanation that the `believed` (`n`, boolean) tell the truth; their fit begins at `start`.

    If a challenger wins that calls some of them lies, it is the verdict. Otherwise those are honest whom the believed ones would
    rather believe, one by one. A `crowd` of suspects (`n`, boolean) that agree with each other is believed all at once or not at
    all: it may take another objective to fit any of them.
    """
    climb = Climb(reports, most, kernel)
    present = climb.fitted(Explanation(believed, start, -math.inf))
    needed, least = present.score + PRICE, LEAST_SPREAD * float(np.std(reports.z[believed], ddof=1))
    found = [e for e in (climb.from_smooth(believed), *climb.from_the_middle(REACHES)) if _calls_lies(e, believed)]
    if crowd is not None:
        found.append(climb.fitted(Explanation(believed | crowd, start, -math.inf)))
    different = {e.honest.tobytes(): e for e in found}.values()
    for challenger in sorted(different, key=lambda e: e.score, reverse=True):
        best = _with_the_objective(challenger, climb, reports, needed, least)
        if best.score > needed:
            return Verdict(best.honest, best.hyper)
    return Verdict(believed if believed.all() else climb.moved(present).honest, None)


def _with_the_objective(
    challenger: Explanation, climb: Climb, reports: Reports, needed: float, least: float
) -> Explanation:
    """A challenger that keeps the `least` spread, or else what is left of it: what it calls lies may be the objective.

    A rougher explanation that keeps the spread is better: to it nobody lies whom nobody near contradicts. Without one it stands
    if it gains twice the price and those it calls lies are here and there.
    """
    if challenger.score <= needed or _spread(challenger, reports) >= least:
        return challenger
    rougher = climb.rougher(challenger)
    if rougher.score > needed and _spread(rougher, reports) >= least:
        return rougher
    twice = challenger.score > needed + PRICE
    nowhere = twice and probability_of_region(reports.X, challenger.honest, climb.kernel) < NOWHERE
    return challenger if nowhere else replace(challenger, score=-math.inf)


def _calls_lies(explanation: Explanation, believed: Mask) -> bool:
    return int((believed & ~explanation.honest).sum()) >= FEWEST_LIES


def _spread(explanation: Explanation, reports: Reports) -> float:
    """Standard deviation of its honest rows."""
    return float(np.std(reports.z[explanation.honest], ddof=1))
