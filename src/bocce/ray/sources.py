"""The sources of the rows, and the facts that the driver knows before a worker has started."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ray
import scipy.sparse as sp

from .. import _checks
from ..blockfile import BlockFile
from ..data.read.files import table_rows
from ..problems import FileProblem, Problem
from ..problems._input import check_finite_targets
from ..rows import Array, Rows
from .cluster import WHERE, processors

# A worker calls its source with (loss, l2, intercept) and gets its problem; an empty part has none.
Source = Callable[[Any, float, bool], Problem]


class Survey(NamedTuple):
    """The parts: the source, the rows and the units (rows, or blocks) of each of them."""

    sources: Sequence[Source | None]
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
        return _of_dataset(parts, loss, workers)
    if not isinstance(parts, (list, tuple)) or not parts:
        raise TypeError(
            f"{WHERE}: parts={type(parts).__name__} must be a list of pairs (X, y) or of paths of "
            "block files with at least one entry, or a ray.data.Dataset."
        )
    if all(isinstance(part, (str, os.PathLike)) for part in parts):
        return _of_files([BlockFile(part) for part in parts], loss)
    return _of_arrays(parts, loss)


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
    counts = [X.shape[0] for X, _ in pairs]
    _some(sum(counts))
    d = _one_width([X.shape[1] for X, _ in pairs])
    held = [(X, y) for X, y in pairs if X.shape[0]]
    for part, (_, y) in enumerate(pairs):
        check_finite_targets(f"{WHERE}: part {part}", y)
    # All parts are checked as one problem: every row is finite, and labels are counted over all.
    rows = [Problem(X, np.zeros(X.shape[0])).given for X, _ in held]
    encoded, classes = loss.targets(loss.problem_name, np.concatenate([y for _, y in held]))
    targets = np.split(encoded, np.cumsum([part.n for part in rows])[:-1])
    made = (partial(_part, part, y, classes) for part, y in zip(rows, targets))
    sources = [next(made) if count else None for count in counts]
    numbers = sum(part.n * part.pairs for part in rows) / sum(counts)
    cost, first = sum(part.cost for part in rows), rows[0]
    return Survey(
        sources, counts, counts, d, classes, first.dtype, cost, sparse=first.sparse, pairs=numbers
    )


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


def _part(rows: Rows, y: Array, classes: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one part; an intercept is the last variable, without a penalty."""
    penalty = np.append(np.ones(rows.d), 0.0) if intercept else None
    facts = {"penalty": penalty, "classes": classes, "intercept": intercept}
    return Problem.of(rows, y, loss, l2, has_column=False, **facts)


# -- block files -----------------------------------------------------------------------------------


def _of_files(files: list[BlockFile], loss: Any) -> Survey:
    labels = sorted({x for file in files for x in file.labels or ()})
    if any(file.labels is None for file in files):
        labels = []  # there are more labels than were counted
    classes = loss.targets(loss.problem_name, np.zeros(0), labels)[1]
    return Survey(
        [partial(_opened, str(file.path), labels) for file in files],
        [file.n for file in files],
        [file.n_blocks for file in files],
        _one_width([file.d for file in files]),
        classes,
        files[0].dtype,
        float(sum(file.n * file.d for file in files)),
        in_files=True,
    )


def _opened(path: str, labels: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one file; ``labels`` are those of all parts."""
    file = BlockFile(Path(path))
    return FileProblem(file, None, loss, l2, intercept=intercept, labels=labels)


# -- Ray Datasets ----------------------------------------------------------------------------------


def _of_dataset(dataset: Any, loss: Any, workers: int | None) -> Survey:
    """Blocks stay where Ray Data has read them; a worker fetches the rows of its own share."""
    count = workers or processors()
    rows_here = dataset.materialize()  # in the cluster's object store, block by block
    columns = rows_here.schema().names
    has_classes = loss.targets(loss.problem_name, np.zeros(0), (0.0, 1.0))[1] is not None
    labels = rows_here.unique(columns[-1]) if has_classes else None
    classes = loss.targets(loss.problem_name, np.zeros(0), labels)[1]
    n, d = rows_here.count(), len(columns) - 1
    _some(n)
    ends = _ends(n, min(count, n))
    shares = rows_here.split_at_indices([b for _, b in ends[:-1]]) if len(ends) > 1 else [rows_here]
    sources = [partial(_fetched, share.to_arrow_refs(), labels) for share in shares]
    rows = [b - a for a, b in ends]
    return Survey(sources, rows, rows, d, classes, np.dtype(np.float64), float(n * d))


def _fetched(blocks: list[Any], labels: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one share of a Ray Dataset; Ray reads lost blocks again."""
    tables = (table for table in ray.get(blocks) if table.num_rows)
    X, y = (np.concatenate(columns) for columns in zip(*map(table_rows, tables)))
    rows = Problem(X, np.zeros(len(y))).given  # checked
    check_finite_targets(WHERE, y)
    encoded, classes = loss.targets(loss.problem_name, y, labels)
    return _part(rows, encoded, classes, loss, l2, intercept)
