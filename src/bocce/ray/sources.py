"""The sources of the rows, and the facts that the driver knows before a worker has started."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import ray
import scipy.sparse as sp

from .. import _checks
from ..data import Parts
from ..data.read.files import in_parts, table_rows
from ..data.read.paths import files_of
from ..problems import FileProblem, Problem
from ..problems._input import check_finite_targets
from ..rows import Array, Rows
from .cluster import WHERE, processors

# A worker calls its source with (loss, l2, intercept) and gets its problem; an empty part has none.
Source = Callable[[Any, float, bool], Problem]


class Survey(NamedTuple):
    """The parts: the source and the rows of each of them."""

    sources: Sequence[Source | None]
    rows: list[int]
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


def survey_pairs(parts: Any, loss: Any) -> Survey | None:
    """The survey of pairs (X, y), which needs no cluster; None for files, which must exist, and for
    a Dataset."""
    if hasattr(parts, "iter_batches"):
        return None
    if not isinstance(parts, (list, tuple)) or not parts:
        raise TypeError(
            f"{WHERE}: parts={type(parts).__name__} must be a list of pairs (X, y) or of paths of "
            "Parquet or Arrow files with at least one entry, or a ray.data.Dataset."
        )
    if all(isinstance(part, (str, os.PathLike)) for part in parts):
        for part in parts:
            files_of(part)
        return None
    return _of_arrays(parts, loss)


def survey(parts: Any, loss: Any, workers: int | None) -> Survey:
    """The survey of files or of a Dataset, by the cluster."""
    if hasattr(parts, "iter_batches"):
        return _of_dataset(parts, loss, workers)
    return _of_files([os.fspath(part) for part in parts], loss)


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
    cost = sum(part.cost for part in rows)
    first = rows[0]
    return Survey(
        sources, counts, d, classes, first.dtype, cost, sparse=first.sparse, pairs=numbers
    )


def _pair(part: int, given: Any) -> tuple[Any, Array]:
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise TypeError(
            f"{WHERE}: part {part} is {type(given).__name__}, must be a pair (X, y); or give "
            "paths of files only."
        )
    if sp.issparse(given[0]):
        X = given[0]
    else:
        X = np.asarray(given[0])
    y = np.asarray(given[1])
    if X.ndim != 2 or y.shape != (X.shape[0],):
        raise ValueError(
            f"{WHERE}: part {part}: X has shape {X.shape} and y {y.shape}, must be (rows, d) and "
            "(rows,); give one target a row."
        )
    return X, y


def _part(rows: Rows, y: Array, classes: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one part; an intercept is the last variable, without a penalty."""
    if intercept:
        penalty = np.append(np.ones(rows.d), 0.0)
    else:
        penalty = None
    facts = {"penalty": penalty, "classes": classes, "intercept": intercept}
    return Problem.of(rows, y, loss, l2, has_column=False, **facts)


# -- files -----------------------------------------------------------------------------------------


def _of_files(paths: list[str], loss: Any) -> Survey:
    """Every file is read and checked once, by a task on a machine of the cluster."""
    look = ray.remote(in_parts)
    files = one_coding(ray.get([look.remote(path) for path in paths]))
    labels: list[float] = []  # none where there are more than were counted
    if all(file.labels is not None for file in files):
        labels = sorted({label for file in files for label in file.labels or ()})
    first = files[0]
    classes = FileProblem(first, None, loss, labels=labels).classes
    return Survey(
        [partial(_opened, file, labels) for file in files],
        [file.n for file in files],
        _one_width([file.d for file in files]),
        classes,
        first.dtype,
        float(sum(file.n * file.d for file in files)),
        in_files=True,
    )


def one_coding(files: list[Parts]) -> list[Parts]:
    """The same files; where targets are text, a label has one code in all of them."""
    if all(file.classes is None for file in files):
        return files
    for file in files:
        if file.classes is None:
            raise ValueError(
                f"{WHERE}: the target of {file.path} is numbers, must be text as in "
                f"{files[0].path}; write the files alike."
            )
    names = sorted({name for file in files for name in file.classes or ()})
    return [file.with_classes(names) for file in files]


def _opened(file: Parts, labels: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one file; ``labels`` are those of all parts."""
    return FileProblem(file, None, loss, l2, intercept=intercept, labels=labels)


# -- Ray Datasets ----------------------------------------------------------------------------------


def _of_dataset(dataset: Any, loss: Any, workers: int | None) -> Survey:
    """Blocks stay where Ray Data has read them; a worker fetches the rows of its own share."""
    count = workers or processors()
    rows_here = dataset.materialize()  # in the cluster's object store, block by block
    columns = rows_here.schema().names
    has_classes = loss.targets(loss.problem_name, np.zeros(0), (0.0, 1.0))[1] is not None
    if has_classes:
        labels = rows_here.unique(columns[-1])
    else:
        labels = None
    classes = loss.targets(loss.problem_name, np.zeros(0), labels)[1]
    n = rows_here.count()
    d = len(columns) - 1
    _some(n)
    ends = _ends(n, min(count, n))
    if len(ends) > 1:
        shares = rows_here.split_at_indices([b for _, b in ends[:-1]])
    else:
        shares = [rows_here]
    sources = [partial(_fetched, share.to_arrow_refs(), labels) for share in shares]
    rows = [b - a for a, b in ends]
    return Survey(sources, rows, d, classes, np.dtype(np.float64), float(n * d))


def _fetched(blocks: list[Any], labels: Any, loss: Any, l2: float, intercept: bool) -> Problem:
    """The problem of one share of a Ray Dataset; Ray reads lost blocks again."""
    tables = (table for table in ray.get(blocks) if table.num_rows)
    X, y = (np.concatenate(columns) for columns in zip(*map(table_rows, tables)))
    rows = Problem(X, np.zeros(len(y))).given  # checked
    check_finite_targets(WHERE, y)
    encoded, classes = loss.targets(loss.problem_name, y, labels)
    return _part(rows, encoded, classes, loss, l2, intercept)
