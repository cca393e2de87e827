"""What the columns of rows on many machines look like: so that they are centred and scaled as they
are on one.

Two rounds: sums of the columns, then of their squares about the centre. As on one machine a sample
of the rows will do, and all of them are looked at for columns that seem constant there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..problems import Problem
from ..problems.frame import CONSTANT, SAMPLE
from ..rows import Array, Csr

Seen = tuple[Array, Array, Array]  # centre, mean square about it, share of entries that are not 0


def sums(part: Problem, stride: int, centre: Array | None) -> Array:
    """Rows looked at; sums over them of x (or of its squares about the centre) and of x != 0; and
    the least and the largest of each column."""
    X = part.given.X
    if isinstance(part.given, Csr):
        squares = part.n * part.given.squares()
        entries = np.bincount(X.indices, minlength=X.shape[1])
        return np.stack([np.full(X.shape[1], float(part.n)), squares, entries, entries, entries])
    sample = np.asarray(X[::stride], dtype=np.float64)
    about = sample if centre is None else np.square(sample - centre)
    return np.stack(
        [
            np.full(X.shape[1], float(len(sample))),
            about.sum(axis=0),
            np.count_nonzero(sample, axis=0),
            sample.min(axis=0),
            sample.max(axis=0),
        ]
    )


def seen(problem: Any) -> Seen:
    """Of all parts together."""
    sparse, stride = problem.given.sparse, -(-problem.n // SAMPLE)
    centre = np.zeros(problem.d)
    if problem.intercept and not sparse:
        rows, total, _, least, most = _joined(problem, stride, None)
        centre = np.where(least == most, least, total / rows)  # to the bit where it is constant
    rows, squares, entries, _, _ = _joined(problem, stride, centre)
    spread2 = squares / rows
    flat = spread2 <= np.square(CONSTANT * centre)
    if stride > 1 and flat.any() and not sparse:  # rare in the sample, perhaps not in the data
        rows, squares, entries, _, _ = _joined(problem, 1, centre)
        spread2 = squares / rows
        flat = spread2 <= np.square(CONSTANT * centre)
    spread2[flat] = 0.0
    return centre, spread2, entries / rows


def _joined(problem: Any, stride: int, centre: Array | None) -> Array:
    parts = np.stack([answer for _, answer in problem.over(sums, stride, centre)])
    whole = parts.sum(axis=0)
    whole[3], whole[4] = parts[:, 3].min(axis=0), parts[:, 4].max(axis=0)
    return np.asarray(whole)
