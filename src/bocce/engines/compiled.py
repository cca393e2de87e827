"""The fast engine: packs a problem for the compiled loop and calls it."""

from __future__ import annotations

import numpy as np

from ..problems import Framed, LeastSquares, LinearProblem
from ..schedules import Schedule
from . import loop, scaled
from .rows import FramedRows, LogisticRows, SparseRows, SquaredRows
from .state import Recorder, State
from .stream import make_stream

OWN_BYTES = 1 << 26  # dense data up to this size are copied into rows of whole cache lines
LINE = 64


def _aligned(n: int, p: int, dtype: np.dtype) -> np.ndarray:
    """Zeros of shape (n, p) that start on a cache line."""
    raw = np.zeros(n * p * dtype.itemsize + LINE, dtype=np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + n * p * dtype.itemsize].view(dtype).reshape(n, p)


def read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view: one compiled type whatever the caller's flags were."""
    view = array.view()
    view.flags.writeable = False
    return view


def pack(problem: LinearProblem) -> SquaredRows | LogisticRows | SparseRows | FramedRows:
    """The rows as the kernels want them; large dense data are used where they lie."""
    squared = isinstance(problem, LeastSquares)
    X, y = problem.X, read_only(problem.y)
    weight = read_only(np.zeros(0) if problem.weight is None else problem.weight)
    if problem.sparse:
        return SparseRows(
            read_only(X.data),
            read_only(X.indices.astype(np.uint32)),
            read_only(X.indptr.astype(np.int64)),
            y,
            weight,
            not squared,
        )
    kind = SquaredRows if squared else LogisticRows
    if isinstance(X, Framed):
        rows = kind(read_only(X.X), y, weight, np.zeros(2), False)
        scratch = (np.zeros(X.centre.size), np.zeros(X.centre.size))
        return FramedRows(rows, read_only(X.centre), read_only(X.scale), X.unit, *scratch)
    width = problem.d + squared
    lanes = LINE // X.dtype.itemsize
    p = -(-width // lanes) * lanes
    if problem.n * p * X.dtype.itemsize > OWN_BYTES or (squared and X.dtype != np.float64):
        return kind(read_only(X), y, weight, np.zeros(2), False)
    own = _aligned(problem.n, p, X.dtype)
    if squared:
        own[:, : problem.d] = X
        own[:, problem.d] = y
        if problem.weight is not None:
            own *= np.sqrt(problem.weight)[:, None]
        return kind(read_only(own), y, read_only(np.zeros(0)), np.zeros(2), True)
    np.multiply(X, problem.y[:, None], out=own[:, : problem.d], casting="same_kind")
    return kind(read_only(own), y, weight, np.zeros(2), True)


def row_width(rows: SquaredRows | LogisticRows | SparseRows | FramedRows, d: int) -> int:
    """How long a vector must be that the kernels multiply with a row."""
    return int(rows.X.shape[1]) if isinstance(rows, SquaredRows | LogisticRows) else d


def objective(problem: LinearProblem) -> loop.Objective:
    squared = isinstance(problem, LeastSquares)
    has_gram = squared and problem.gram_fits
    ridge = np.array(np.broadcast_to(problem.ridge, problem.d), dtype=np.float64)
    return loop.Objective(
        problem.n,
        problem.d,
        ridge,
        np.flatnonzero(ridge != ridge[0]),
        problem.gram if has_gram else np.zeros((1, 1)),
        problem.moment if has_gram else np.zeros(1),
        problem.target2,
        has_gram,
    )


class CompiledEngine:
    """Takes steps with the Numba kernels; only min(b, n - b) rows where a Gram matrix fits.

    A run may be cut at multiples of ``grain``, and where it records, without changing a bit.
    """

    def __init__(self, problem: LinearProblem, b: int, seed: int, mode: str) -> None:
        self.rows, self.objective = pack(problem), objective(problem)
        self.stream = make_stream(seed, problem.n, b, mode)
        d = problem.d
        width = row_width(self.rows, d)
        at = np.zeros(width)
        if isinstance(self.rows, SquaredRows) and self.rows.own:
            at[d] = -1.0  # the column that holds y
        self.point = loop.Point(
            np.zeros(d), np.zeros(d), at, np.zeros(width), np.zeros(width), np.zeros(0)
        )
        touched = b * problem.X.nnz / problem.n if problem.sparse else np.inf
        few = self.objective.odd.size <= scaled.MOST_ODD
        if few and 2 * b <= problem.n and touched < scaled.PAYS_BELOW * d:
            self.kernel, self.grain = scaled.advance_scaled, scaled.GRAIN
            self.scratch: tuple[np.ndarray, ...] = (
                np.zeros((d, 2)),
                np.zeros(b),
                np.zeros(scaled.MOST_ODD),
            )
        else:
            self.use_dense_update()

    def use_dense_update(self) -> None:
        """Change every coordinate at each step: what the sparse form is compared with."""
        n, b = self.objective.n, self.stream.b
        listed = 2 * b > n and not self.objective.has_gram
        self.kernel, self.grain = loop.advance, 1
        self.scratch = (np.zeros(n + 1 if listed else 1, dtype=np.int64),)

    def look(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective and its full gradient."""
        value, _ = self.measure(w)
        d = w.size
        return value, self.point.total[:d] / self.objective.n + self.objective.ridge * w

    def measure(self, w: np.ndarray) -> tuple[float, float]:
        """The objective and the squared norm of its full gradient."""
        at = self.point.at
        at[: w.size] = w
        value, grad2 = loop.measure(self.rows, self.objective, at, self.point.total)
        return float(value), float(grad2)

    def advance(self, state: State, schedule: Schedule, stop: int, recorder: Recorder) -> str:
        """Steps state.k .. stop-1; returns "", "diverged" or "converged"."""
        self.point.w[:], self.point.v[:] = state.w, state.v
        tally = self.point.tally if state.tally is None else state.tally
        k, verdict = self.kernel(
            self.rows,
            self.objective,
            self.stream,
            loop.Table(schedule.alpha, schedule.beta, schedule.theta),
            self.point._replace(tally=tally),
            loop.Record(
                recorder.when,
                recorder.grad2,
                recorder.value,
                recorder.cursor,
                recorder.limit2,
                recorder.goal2,
            ),
            state.k,
            stop,
            *self.scratch,
        )
        state.w, state.v, state.k = self.point.w.copy(), self.point.v.copy(), int(k)
        return ("", "diverged", "converged")[verdict]
