"""Second runs: what the runs of one and the same point say of it, and of the noise.

What a model calls noise may be roughness of the objective: ups and downs that its length-scales are too long for. Only runs of
one point tell the two apart. With a variance v, of which a share q is noise, runs of a point scatter by q v, and the objective at
a trusted row i is worth

    m_i + (1 - q) (z_i - m_i),   m the posterior mean

instead of m_i: a search of a deterministic objective hands over the best report it has, not the best of a smooth average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from rcgp.acquisition import as_bytes
from rcgp.gaussian import Array, Mask, Rows

CONTRADICTION = 2.0
"""Deviations of the difference of two reports by which runs of one point contradict each other. (With 1 and 1.5 the answers on
ten recorded tables are the same within the error.)"""

NOISE_SHARES = np.geomspace(1e-4, 1.0, 41)
PRIOR = np.append(np.full(40, 0.5 / 40), 0.5)
"""q: a priori all is noise with probability 1/2, and any order of magnitude less is as likely as another. (With 0.8 and 0.9 the
honest objectives of the benchmark have 0.034 and 0.038 instead of 0.034, recorded tables the same.)"""


@dataclass(frozen=True)
class SecondRuns:
    """The scaled reports `z` (`n`) of a search, who is trusted, and the rows of every point that was run more than once.

    `noise` is the variance that the model knows of, `own_noise` (`n`) that which reports bring themselves. Only those that are
    `telling` (`n`, boolean) are compared with it: in searches that verify, and where values are not bent.
    """

    points: list[Rows]
    z: Array
    trusted: Mask
    telling: Mask
    noise: float
    own_noise: Array

    @classmethod
    def of(cls, X: Array, z: Array, trusted: Mask, telling: Mask, noise: float, own_noise: Array) -> Self:
        """Those among the points `X` (`n x d`), as far as they reported a number."""
        rows: dict[bytes, list[int]] = {}
        for row, point in enumerate(as_bytes(X)):
            if math.isfinite(z[row]):
                rows.setdefault(point, []).append(row)
        return cls(
            [np.array(same) for same in rows.values() if len(same) > 1], z, trusted, trusted & telling, noise, own_noise
        )

    def most(self) -> Array:
        """The most that every row (`n`) is worth: what half of the runs of its point reached, if they contradict each other.

        They do if one of them is a suspect, or if they are further apart than noise takes them. Else there is no limit. A point
        is handed over for its best report, so of two that contradict each other the better one is the lie more often than not,
        whatever the model expected there.
        """
        most, far = np.full(len(self.z), np.inf), CONTRADICTION * math.sqrt(2.0 * self.noise)
        for runs in self.points:
            if not self.trusted[runs].all() or (self.telling[runs].all() and np.ptp(self.z[runs]) > far):
                most[runs] = np.sort(self.z[runs])[(len(runs) - 1) // 2]
        return most

    def repeatable(self) -> Array:
        """Which share of the noise of every report (`n`) is the objective's own, as far as runs tell; 0 of a suspect's."""
        log_p, told = np.log(PRIOR), False
        for rows in self.points:
            runs = rows[self.telling[rows]]
            if len(runs) > 1:
                variance, told = NOISE_SHARES * self.noise + self.own_noise[runs].mean(), True
                squares = float(((self.z[runs] - self.z[runs].mean()) ** 2).sum())
                log_p -= 0.5 * (squares / variance + (len(runs) - 1) * np.log(variance))
        if not told:
            return np.zeros(len(self.z))
        p = np.exp(log_p - log_p.max())
        own = 1.0 - float(p @ NOISE_SHARES / p.sum())
        share: Array = np.where(self.trusted, own * self.noise / (self.noise + self.own_noise), 0.0)
        return share
