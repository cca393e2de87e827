"""One chunk of a stream: a pass over it in batches, taken back where its loss blows up."""

from __future__ import annotations

import numpy as np

from .. import engines, sampling
from ..control import Limits
from ..control.guard import VALUE_FACTOR
from ..control.stream import Stream
from ..engines import Engine
from ..problems import Problem
from ..problems.curvature import bound
from ..rows import Array
from .controllers import check_curvature

SLACK = 1e-8  # of the loss at zero: a rise by less is no divergence


def over_chunk(stream: Stream, problems: list[Problem], size: float, seed: int) -> None:
    """Go once over the rows of the chunk (``problems`` share them, one an output)."""
    p = problems[0]
    # a chunk may be shorter than a batch: then it is the batch
    b = sampling.batch_rows("partial_fit", size if isinstance(size, float) else min(size, p.n), p.n)
    L_max = max(stream.L_max, bound(p) * p.largest_row2 + float(np.max(p.ridge)))
    check_curvature(p, L_max, "partial_fit")
    stream.begin_chunk(L_max)
    table = stream.steps(b, 1)
    movers = [engines.make("compiled", q, table, b, seed, "reshuffle") for q in problems]
    for _ in range(Limits().most_retreats):
        if _steps(stream, movers, b, p.n // b) and _sane(stream, movers):
            break
        stream.retreat()
    stream.end_chunk()


def _steps(stream: Stream, movers: list[Engine], b: int, count: int) -> bool:
    """The steps of the chunk, whose batches are numbered from 0; False where one overflows."""
    nobody = engines.Recorder(np.zeros(0, dtype=np.int64))
    done = 0
    while done < count:
        piece = stream.steps(b, count - done)
        for trail, mover in zip(stream.place.trails, movers):
            state = engines.State(trail.w, trail.v, done, 0, {}, trail.sums[0])
            if mover.advance(state, piece, done + piece.T, nobody).verdict:
                return False
            trail.arrive(state.w, state.v, np.asarray(state.tally))
        stream.place.count(piece.T)
        done += piece.T
    return True


def _sane(stream: Stream, movers: list[Engine]) -> bool:
    """Has the chunk's loss kept below four times what it was, or at zero if that is less?

    The named methods may rise on their way, but not above four times the loss at zero.
    """
    assert stream.before is not None
    for old, new, mover in zip(stream.before.trails, stream.place.trails, movers):
        points: list[Array] = [np.zeros_like(old.w), old.w, new.w]
        zero, was, now = (mover.look(w).value for w in points)
        first = min(was, zero) if stream.named is None else zero
        if not now <= max(was, VALUE_FACTOR * first) + SLACK * zero:
            return False
    return True
