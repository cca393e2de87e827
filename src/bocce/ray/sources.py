"""Where the rows come from, and what the driver knows of them before any worker has started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
import scipy.sparse as sp

from .. import _checks
from ..blockfile import BlockFile
from ..data.read.files import table_rows
from ..problems import FileProblem, Problem
from ..rows import Array, Rows, rows_of
from .cluster import WHERE, processors

MakePart = Any  # called with (loss, l2, intercept) by a worker, to have its problem


class Survey(NamedTuple):
    """The parts: how a worker has its own, and how many rows and units (rows, or blocks) it has."""

    sources: list[MakePart]
    rows: list[int]
    units: list[int]
    d: int
    classes: Array | None
    dtype: np.dtype[Any]
    cost: float  # multiplications of one product with a vector
    in_files: bool = False
    sparse: bool = False
    pairs: float | None = None  # of numbers in a row, on average, where rows differ in length


def split(X: Any, y: Any, workers: int) -> list[tuple[Any, Any]]:
    """The rows in so many parts of nearly equal size, for ``minimize``.

    Parameters
    ----------
    X : array or sparse matrix
        The rows, of shape (n, d).
    y : array
        The targets, of shape (n,).
    workers : int
        The number of parts.

    Returns
    -------
    list of tuple of (object, object)
        The pairs (X, y) of the parts.

    Examples
    --------
    >>> import numpy as np
    >>> [part.shape[0] for part, _ in split(np.ones((5, 2)), np.ones(5), 2)]
    [2, 3]
    """
    remedy = f"one worker a part, at least a row each, and there are {len(y)} rows"
    workers = _checks.integer("split", "workers", workers, most=max(1, len(y)), remedy=remedy)
    return [(X[a:b], y[a:b]) for a, b in _ends(len(y), workers)]


def _ends(n: int, parts: int) -> list[tuple[int, int]]:
    return [((i * n) // parts, ((i + 1) * n) // parts) for i in range(parts)]


def survey(parts: Any, loss: Any, workers: int | None) -> Survey:
    if hasattr(parts, "iter_batches"):
        found = _of_dataset(parts, loss, workers)
    elif not isinstance(parts, (list, tuple)) or not parts:
        raise TypeError(
            f"{WHERE}: parts={type(parts).__name__} must be a list of pairs (X, y) or of paths of "
            "block files with at least one entry, or a ray.data.Dataset."
        )
    elif all(isinstance(part, (str, os.PathLike)) for part in parts):
        found = _of_files([BlockFile(part) for part in parts], loss)
    else:
        found = _of_arrays(parts, loss)
    return found


def _some(rows: int) -> None:
    if rows == 0:
        raise ValueError(f"{WHERE}: parts hold no row, must hold at least one.")


def _one_width(widths: list[int]) -> int:
    for part, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(
                f"{WHERE}: part {part} has {width} columns, must have {widths[0]} as part 0; give "
                "every part the same columns."
            )
    return widths[0]


# -- pairs of arrays -------------------------------------------------------------------------------


def _of_arrays(parts: Any, loss: Any) -> Survey:
    pairs = [_pair(part, given) for part, given in enumerate(parts)]
    rows = [X.shape[0] for X, _ in pairs]
    _some(sum(rows))
    d = _one_width([X.shape[1] for X, _ in pairs])
    held = [(X, y) for X, y in pairs if X.shape[0]]
    # as one problem would judge them: every row finite, and labels counted over all parts
    checked = [Problem(X, np.zeros(X.shape[0])) for X, _ in held]
    targets = _checked_targets(held)
    encoded, classes = loss.targets(loss.problem_name, targets)
    shares = iter(np.split(encoded, np.cumsum([X.shape[0] for X, _ in held])[:-1]))
    problems = iter(checked)
    sources: list[MakePart] = [
        _Arrays(next(problems).X, next(shares), classes) if count else _nothing for count in rows
    ]
    cost = sum(problem.given.cost for problem in checked)
    sparse = checked[0].given.sparse
    pairs = sum(problem.n * problem.given.pairs for problem in checked) / sum(rows)
    dtype = checked[0].given.dtype
    return Survey(sources, rows, rows, d, classes, dtype, cost, sparse=sparse, pairs=pairs)


def _pair(part: int, given: Any) -> tuple[Any, Array]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(
            f"{WHERE}: part {part} is {type(given).__name__}, must be a pair (X, y); or give "
            "paths of block files only."
        )
    X = given[0] if sp.issparse(given[0]) else np.asarray(given[0])
    y = np.asarray(given[1])
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{WHERE}: part {part}: X has shape {X.shape} and y {y.shape}, must be (rows, d) and "
            "(rows,); give one target a row."
        )
    return X, y


def _checked_targets(held: list[tuple[Any, Array]]) -> Array:
    for part, (_, y) in enumerate(held):
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError(
                f"{WHERE}: part {part}: y has NaN or infinity (first at row "
                f"{int(np.argmin(np.isfinite(y)))}), must be finite; remove or impute such rows."
            )
    return np.concatenate([y for _, y in held])


def _nothing(loss: Any, l2: float, intercept: bool) -> Problem:
    raise AssertionError("an empty part has no worker")


class _Arrays(NamedTuple):
    """Rows, targets as the loss wants them, and the classes of all parts."""

    X: Any
    y: Array
    classes: Any

    def __call__(self, loss: Any, l2: float, intercept: bool) -> Problem:
        return _part(rows_of(self.X), self.y, loss, l2, intercept, self.classes)


def _part(rows: Rows, y: Array, loss: Any, l2: float, intercept: bool, classes: Any) -> Problem:
    """The problem of one part; an intercept is the last variable, without a penalty."""
    penalty = np.append(np.ones(rows.d), 0.0) if intercept else None
    return Problem.of(
        rows,
        y,
        loss,
        l2,
        penalty=penalty,
        classes=classes,
        intercept=intercept,
        has_column=False,
    )


# -- block files -----------------------------------------------------------------------------------


def _of_files(files: list[BlockFile], loss: Any) -> Survey:
    labels: list[float] | None = sorted({x for file in files for x in file.labels or ()})
    if any(file.labels is None for file in files):
        labels = []  # more than were counted
    classes = loss.targets(loss.problem_name, np.zeros(0), labels)[1]
    return Survey(
        [_Opened(str(file.path), labels) for file in files],
        [file.n for file in files],
        [file.n_blocks for file in files],
        _one_width([file.d for file in files]),
        classes,
        files[0].dtype,
        float(sum(file.n * file.d for file in files)),
        in_files=True,
    )


class _Opened(NamedTuple):
    path: str
    labels: Any  # those of all parts

    def __call__(self, loss: Any, l2: float, intercept: bool) -> Problem:
        file = BlockFile(Path(self.path))
        return FileProblem(file, None, loss, l2, intercept=intercept, labels=self.labels)


# -- Ray Datasets ----------------------------------------------------------------------------------


def _of_dataset(dataset: Any, loss: Any, workers: int | None) -> Survey:
    """Blocks stay where Ray Data has read them; a worker fetches the rows of its own share."""
    count = workers or processors()
    rows_here = dataset.materialize()  # in the cluster's object store, block by block
    columns = rows_here.schema().names
    labels = rows_here.unique(columns[-1]) if _has_classes(loss) else None
    classes = loss.targets(loss.problem_name, np.zeros(0), labels)[1]
    blocks = rows_here.to_arrow_refs()
    length = ray.remote(_length)
    starts = np.cumsum([0, *ray.get([length.remote(block) for block in blocks])])
    n = int(starts[-1])
    _some(n)
    ends = _ends(n, min(count, n))
    sources: list[MakePart] = [_Shares(_shares(blocks, starts, *end), labels) for end in ends]
    rows = [b - a for a, b in ends]
    d = len(columns) - 1
    return Survey(sources, rows, rows, d, classes, np.dtype(np.float64), float(n * d))


def _length(table: Any) -> int:
    return int(table.num_rows)


def _shares(blocks: list[Any], starts: Array, a: int, b: int) -> list[tuple[Any, int, int]]:
    """Rows a .. b-1 of all, as (block, first row, rows)."""
    found = []
    for block, start, stop in zip(blocks, starts[:-1].tolist(), starts[1:].tolist()):
        first, last = max(a, start), min(b, stop)
        if first < last:
            found.append((block, first - start, last - first))
    return found


def _has_classes(loss: Any) -> bool:
    return loss.targets(loss.problem_name, np.zeros(0), (0.0, 1.0))[1] is not None


class _Shares(NamedTuple):
    """Rows of a Ray Dataset; where they are lost, Ray reads them again."""

    blocks: list[tuple[Any, int, int]]
    labels: Any

    def __call__(self, loss: Any, l2: float, intercept: bool) -> Problem:
        tables = (ray.get(block).slice(first, rows) for block, first, rows in self.blocks)
        pairs = [table_rows(table) for table in tables]
        X, y = (np.concatenate(columns) for columns in zip(*pairs))
        rows = Problem(X, np.zeros(len(y))).given  # checked
        _checked_targets([(X, y)])
        encoded, classes = loss.targets(loss.problem_name, y, self.labels)
        return _part(rows, encoded, loss, l2, intercept, classes)
