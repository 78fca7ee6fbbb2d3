"""Scrambled Sobol points, the same to the last bit as SciPy's, without loading `scipy.stats`: half a second in every process.

The first dimensions are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional projections",
SIAM J. Sci. Comput. 30, 2635-2654 (2008), as SciPy has them; SciPy itself sees to more of them.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rcgp.gaussian import Array

Bits = NDArray[np.uint32]
BITS = 30
"""As many as SciPy takes: 2**30 points."""
JOE_KUO = """
3:1 7:1,3 11:1,3,1 13:1,1,1 19:1,1,3,3 25:1,3,5,13 37:1,1,5,5,17 41:1,1,5,5,5 47:1,1,7,11,19 55:1,1,5,1,1
59:1,1,1,3,11 61:1,3,5,5,31 67:1,3,3,9,7,49 91:1,1,1,15,21,21 97:1,3,1,13,27,49 103:1,1,1,15,7,5 109:1,3,1,15,13,25
115:1,1,5,5,19,61 131:1,3,7,11,23,15,103 137:1,3,7,13,13,15,69 143:1,1,3,13,7,35,63 145:1,3,5,9,1,25,53
157:1,3,1,13,9,35,107 167:1,3,1,5,27,61,31 171:1,1,5,11,19,41,61 185:1,3,5,3,3,13,69 191:1,1,7,13,1,19,1
193:1,3,7,5,13,19,59 203:1,1,3,9,25,29,41 211:1,3,5,13,23,1,55 213:1,3,7,3,13,59,17 229:1,3,1,3,5,53,69
239:1,1,5,5,23,33,13 241:1,1,7,7,1,61,123 247:1,1,7,9,13,61,49 253:1,3,3,5,3,55,33 285:1,3,1,15,31,13,49,245
299:1,3,5,15,31,59,63,97 301:1,3,1,11,11,11,77,249 333:1,3,1,11,27,43,71,9 351:1,1,7,15,21,11,81,45
355:1,3,7,3,25,31,65,79 357:1,3,1,1,19,11,3,205 361:1,1,5,9,19,21,29,157 369:1,3,7,11,1,33,89,185
391:1,3,3,3,15,9,79,71 397:1,3,7,11,15,39,119,27 425:1,1,3,1,11,31,97,225 451:1,1,1,3,23,43,57,177
463:1,3,7,7,17,17,37,71 487:1,3,1,5,27,63,123,213 501:1,1,3,5,11,43,53,133 529:1,3,5,5,29,17,47,173,479
539:1,3,3,11,3,1,109,9,69 545:1,1,1,5,17,39,23,5,343 557:1,3,1,5,25,15,31,103,499 563:1,1,1,11,11,17,63,105,183
601:1,1,5,11,9,29,97,231,363 607:1,1,5,15,19,45,41,7,383 617:1,3,7,7,31,19,83,137,221 623:1,1,1,3,23,15,111,223,83
631:1,1,5,13,31,15,55,25,161 637:1,1,3,13,25,47,39,87,257
"""
"""For each dimension after the first: its primitive polynomial, then the first direction numbers."""


def sobol_points(dim: int, count: int, rng: np.random.Generator) -> Array:
    """The first `count` points (`count x dim`), scrambled by a random lower triangular matrix and a random shift."""
    if dim > len(JOE_KUO.split()) + 1:
        from scipy.stats import qmc

        points: Array = qmc.Sobol(dim, scramble=True, rng=rng).random(count)
        return points
    (rng,) = rng.spawn(1)  # as SciPy does, so that whoever hands over the generator can go on with it
    shift = rng.integers(2, size=(dim, BITS), dtype=np.uint32) @ (1 << np.arange(BITS, dtype=np.uint32))
    directions = _scrambled(_directions(dim), rng)
    numbers = shift[None, :]
    for direction in directions[: (count - 1).bit_length()]:  # Gray code: the second half is the first in reverse
        numbers = np.concatenate([numbers, numbers[::-1] ^ direction])
    return numbers[:count] / 2.0**BITS


def _scrambled(directions: Bits, rng: np.random.Generator) -> Bits:
    """The directions (`bits x dim`), each number's bits multiplied by its dimension's random matrix, modulo 2."""
    dim = directions.shape[1]
    matrices = np.tril(rng.integers(2, size=(dim, BITS, BITS), dtype=np.uint32))
    matrices[:, np.arange(BITS), np.arange(BITS)] = 1
    high_first = np.arange(BITS - 1, -1, -1, dtype=np.uint32)
    bits = (directions.T[:, :, None] >> high_first) & 1  # dim x number x bit
    products = bits @ matrices.transpose(0, 2, 1) % 2
    scrambled: Bits = (products << high_first).sum(axis=2, dtype=np.uint32).T
    return scrambled


@cache
def _directions(dim: int) -> Bits:
    """The direction numbers, shape `bits x dim`."""
    rows = [[1] * BITS, *(_recurrence(row) for row in JOE_KUO.split()[: dim - 1])]
    aligned = [[number << (BITS - 1 - i) for i, number in enumerate(row)] for row in rows]
    return np.array(aligned, dtype=np.uint32).T


def _recurrence(row: str) -> list[int]:
    """All direction numbers of a dimension: each follows from as many before it as its polynomial has degrees."""
    polynomial, _, first = row.partition(":")
    numbers, degree = [int(n) for n in first.split(",")], int(polynomial).bit_length() - 1
    for i in range(degree, BITS):
        number = numbers[i - degree]
        for k in range(1, degree + 1):
            if int(polynomial) >> (degree - k) & 1:
                number ^= numbers[i - k] << k
        numbers.append(number)
    return numbers
