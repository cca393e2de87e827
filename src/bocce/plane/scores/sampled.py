"""The Hessian of a sample of rows, drawn in proportion to their second derivatives."""

from __future__ import annotations

import numpy as np

from ..._types import Array
from ...rows import Rows
from ..metrics.base import Sample, is_sparse

SELDOM = 0.5  # A diagonal entry below this share of the true one is replaced by the true one.
TAKEN = 1 << 18  # So many numbers of sampled rows are copied at a time.


def hessian_of(rows: Rows, bend: Array, sample: Sample) -> Array:
    """sum_i b_i x_i x_i^T / n over all rows, or estimated from a sample."""
    if sample.whole or not float(bend.max()) > 0.0:
        return np.asarray(rows.rough_gram(bend))
    return sampled_hessian(rows, bend, sample.rows, sample.turn)


def sampled_hessian(rows: Rows, bend: Array, count: int, turn: int) -> Array:
    """sum_i b_i x_i x_i^T / n, from ``count`` rows drawn in proportion to b_i.

    One draw in each of ``count`` equal parts of the sum of all b_i: rows without curvature are
    never taken, those with much always, and the mean is unbiased. A column that the sample has
    missed, or seen too seldom, would look flat and be moved far too much: where the diagonal is
    below half of that of all rows it is set right. (Elsewhere it is left alone, for more on the
    diagonal spoils directions along which f is flat; and so are dense rows, of which as many can
    be taken for the price.)
    """
    H = part_of_hessian(rows, bend, count, turn, (bend.size, 0.0, float(bend.sum())))
    if is_sparse(rows):
        return set_right(H, rows.squares(bend))
    return H


def part_of_hessian(
    rows: Rows, bend: Array, count: int, turn: int, whole: tuple[int, float, float]
) -> Array:
    """What some of the rows add to it. ``whole``: how many rows there are, the sum of the b_i of
    those before these, and that of all."""
    n, before, total = whole
    reach = before + np.cumsum(bend)
    draws = np.random.default_rng([n, turn]).random(count)
    draws += np.arange(count)
    draws *= total / count
    if bend.size < n:
        draws = draws[(draws >= before) & (draws < reach[-1])]
    chosen = np.searchsorted(reach, draws, side="right")
    named, times = np.unique(np.minimum(chosen, bend.size - 1), return_counts=True)
    del reach, draws, chosen  # as long as the data are
    H = np.zeros((rows.d, rows.d))
    step = max(1, int(TAKEN * rows.n / max(1.0, rows.cost)))
    for start in range(0, named.size, step):
        part = named[start : start + step]
        often = times[start : start + step]
        H += rows.take(part).rough_gram(often * (total / n * part.size / count))
    return H


def set_right(H: Array, truth: Array) -> Array:
    """Diagonal entries below half the true ones, replaced by them."""
    H.flat[:: H.shape[0] + 1] = np.where(H.diagonal() < SELDOM * truth, truth, H.diagonal())
    return H
