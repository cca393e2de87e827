"""A problem's rows as the kernels want them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...problems import Problem
from ...rows import Array
from .loop import KernelObjective
from .rows import DenseRows, ScaledRows, SparseRows

LINE = 64


def read_only(array: Array) -> Array:
    """A read-only view: one compiled type whatever the caller's flags were."""
    view = array.view()
    view.flags.writeable = False
    return view


def pack(problem: Problem, fold: bool = True) -> Any:
    """The rows of a problem; large dense data are used where they lie.

    ``fold``: may y, and the weights, become part of the rows where that is faster?
    """
    storage = problem.rows.storage
    if storage == "dense" and not fold:
        return _unfolded(problem)
    return PACKERS[storage](problem)


def _weights(problem: Problem) -> Array:
    return read_only(np.zeros(0) if problem.weight is None else problem.weight)


def _added(problem: Problem, signs: Array | None = None) -> Array:
    """What is added to the scores, or nothing; times the signs of rows that are folded in."""
    added = problem.added()
    if added is None:
        return read_only(np.zeros(0))
    return read_only(added if signs is None else added * signs)


def _sparse(problem: Problem) -> SparseRows:
    X = problem.rows.X
    return SparseRows(
        read_only(X.data),
        read_only(X.indices.astype(np.uint32)),
        read_only(X.indptr.astype(np.int64)),
        read_only(problem.y),
        _weights(problem),
        _added(problem),
        problem.loss,
    )


def _where_they_lie(problem: Problem) -> DenseRows:
    X = read_only(problem.rows.X)
    y = read_only(problem.y)
    weight = _weights(problem)
    return DenseRows(X, y, weight, _added(problem), np.zeros(2), False, problem.loss)


def _scaled(problem: Problem) -> ScaledRows:
    rows: Any = problem.rows
    d = rows.centre.size
    return ScaledRows(
        _where_they_lie(problem),
        read_only(rows.centre),
        read_only(rows.scale),
        rows.unit,
        np.zeros(d),
        np.zeros(d),
    )


def _copy(problem: Problem, columns: int) -> Array | None:
    """The rows, zeros behind, in whole cache lines; None where they are too many to be copied."""
    X = problem.rows.X
    lanes = LINE // X.dtype.itemsize
    width = -(-columns // lanes) * lanes
    if problem.n * width * X.dtype.itemsize > problem.rows.limits.copied:
        return None
    own = _aligned(problem.n, width, X.dtype)
    own[:, : X.shape[1]] = X
    return own


def _unfolded(problem: Problem) -> DenseRows:
    """Rows of whole cache lines, where they are few enough to be copied."""
    own = _copy(problem, problem.width)
    if own is None:
        return _where_they_lie(problem)
    y = read_only(problem.y)
    weight = _weights(problem)
    added = _added(problem)
    return DenseRows(read_only(own), y, weight, added, np.zeros(2), False, problem.loss)


def _dense(problem: Problem) -> DenseRows:
    """The same with y folded in: 0.85 of the time for batches of 100 rows of 50,000 x 22."""
    X = problem.rows.X
    loss = problem.loss
    d = problem.width
    if loss.quadratic and X.dtype != np.float64:
        return _where_they_lie(problem)
    own = _copy(problem, d + loss.quadratic)
    if own is None:
        return _where_they_lie(problem)
    weight = _weights(problem)
    added = _added(problem)
    if loss.quadratic:
        own[:, d] = problem.y
        if problem.weight is not None:
            own *= np.sqrt(problem.weight)[:, None]
            weight = read_only(np.zeros(0))
    elif loss.margin:
        own[:, :d] *= problem.y[:, None].astype(X.dtype)
        added = _added(problem, problem.y)
    folded = loss.quadratic or loss.margin
    y = read_only(problem.y)
    return DenseRows(read_only(own), y, weight, added, np.zeros(2), folded, loss)


# By the storage of the rows; rows of other storages have no kernels.
PACKERS: dict[str, Any] = {"csr": _sparse, "scaled": _scaled, "dense": _dense}


def _aligned(n: int, p: int, dtype: np.dtype[Any]) -> Array:
    """Zeros of shape (n, p) that start on a cache line."""
    raw = np.zeros(n * p * dtype.itemsize + LINE, dtype=np.uint8)
    start = -raw.ctypes.data % LINE
    return raw[start : start + n * p * dtype.itemsize].view(dtype).reshape(n, p)


def at_vector(rows: Any, d: int) -> Array:
    """Room for the point at which rows are multiplied: as long as they are, y's place filled."""
    if not isinstance(rows, DenseRows):
        return np.zeros(d)
    at = np.zeros(rows.X.shape[1])
    if rows.folded and rows.loss.quadratic:
        at[d] = -1.0
    return at


def objective(problem: Problem) -> KernelObjective:
    ridge = problem.ridges
    has_gram = problem.has_gram
    return KernelObjective(
        problem.n,
        problem.width,
        ridge,
        np.flatnonzero(ridge != ridge[0]),
        np.ascontiguousarray(problem.gram) if has_gram else np.zeros((1, 1)),
        problem.moment if has_gram else np.zeros(1),
        problem.target2,
        has_gram,
    )
