"""A problem's rows as the kernels want them: where they lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...problems import Problem
from ...rows import Array
from .loop import KernelObjective
from .rows import ROWS_TOGETHER, CsrArrays, KernelRows, ScaledRows

LINE = 64  # A cache line has so many bytes.


def read_only(array: Array) -> Array:
    """A read-only view: one compiled type whatever the caller's flags were."""
    view = array.view()
    view.flags.writeable = False
    return view


def pack(problem: Problem) -> Any:
    """The rows of a problem."""
    return PACKERS[problem.rows.storage](problem)


def numbers_or_nothing(numbers: Array | None) -> Array:
    return read_only(np.zeros(0) if numbers is None else numbers)


def _rows(X: Any, problem: Problem) -> KernelRows:
    y = read_only(problem.y)
    return KernelRows(
        X,
        y,
        numbers_or_nothing(problem.weight),
        numbers_or_nothing(problem.added()),
        problem.loss,
        np.zeros(ROWS_TOGETHER, dtype=np.int64),
        np.zeros(ROWS_TOGETHER),
        np.zeros(ROWS_TOGETHER, dtype=y.dtype),
        np.zeros(ROWS_TOGETHER),
        np.zeros(2),
    )


def _unsigned(indices: Array) -> Array:
    """Indices, which are not negative, as uint32; of int32 without a copy."""
    if indices.dtype == np.int32:
        return indices.view(np.uint32)
    return indices.astype(np.uint32)


def _csr(problem: Problem) -> KernelRows:
    X = problem.rows.X
    line = np.uint64(LINE // X.data.dtype.itemsize)
    indices = read_only(_unsigned(X.indices))
    indptr = read_only(X.indptr.astype(np.uint64))
    return _rows(CsrArrays(read_only(X.data), indices, indptr, line), problem)


def _by_rows(X: Array, most: int) -> Array:
    """The array with each row in one piece, by a copy of at most so many bytes."""
    if X.flags.c_contiguous or X.nbytes > most:
        return X
    return np.ascontiguousarray(X)


def _dense(problem: Problem) -> KernelRows:
    rows = problem.rows
    return _rows(read_only(_by_rows(rows.X, rows.limits.copied)), problem)


def _scaled(problem: Problem) -> ScaledRows:
    rows: Any = problem.rows
    d = rows.centre.size
    return ScaledRows(
        _rows(read_only(rows.X), problem),
        read_only(rows.centre),
        read_only(rows.scale),
        rows.unit,
        np.zeros(d),
        np.zeros(d),
    )


# By the storage of the rows; rows of other storages have no kernels.
PACKERS: dict[str, Any] = {"csr": _csr, "scaled": _scaled, "dense": _dense}


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
