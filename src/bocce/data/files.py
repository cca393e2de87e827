"""Data where they lie: one call for Parquet, Arrow, CSV, LIBSVM and NPZ, here or behind a URL."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from scipy import sparse

from .. import _checks
from .._direct import machine_memory
from ..blockfile import MAGIC, BlockFile, arrow, is_block_file
from . import _formats
from ._columns import Choice, choose
from ._formats import Source
from ._npz import read_npz
from ._parts import survey
from ._places import File, files_of
from ._sparse import LibsvmRows, sparse_rows
from ._text import suffix_of

SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq", ".parq"), "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".blocks"), "Arrow"),
    **dict.fromkeys((".csv", ".tsv"), "CSV"),
    ".npz": "NPZ",
}
BEGINNINGS = {b"PAR1": "Parquet", MAGIC: "Arrow", b"PK\x03\x04": "NPZ"}


class Table(tuple[Any, Any]):
    """X and y in memory: ``X, y = table``.

    Parameters
    ----------
    X : array or sparse matrix
        The features, of shape (n, d).
    y : ndarray
        The targets, of shape (n,).
    columns : list of str, optional
        The names of the features.
    target : str, optional
        The name of the target.
    """

    columns: list[str] | None
    target: str | None

    def __new__(cls, X: Any, y: Any, columns: Any = None, target: str | None = None) -> Table:
        self = super().__new__(cls, (X, y))
        self.columns, self.target = columns, target
        return self

    def __getnewargs__(self) -> Any:
        return *self, self.columns, self.target

    @property
    def X(self) -> Any:
        return self[0]

    @property
    def y(self) -> Any:
        return self[1]

    def __repr__(self) -> str:
        kind = "sparse " if sparse.issparse(self.X) else ""
        n, d = self.X.shape
        return f"Table({n} x {d} {kind}{self.X.dtype}, target={self.target!r})"


def open(
    source: Any,
    target: str | int | None = None,
    columns: Any = None,
    *,
    memory: int | None = None,
    dtype: str | None = None,
    missing: str = "refuse",
) -> Table | BlockFile:
    """Features X and targets y from files; in memory if they fit, else in parts.

    ``X, y = open(...)`` gives the arguments of ``bocce.LeastSquares(X, y)`` and the other problems,
    in either case. In parts, X is a `bocce.BlockFile` that reads the files again in each pass, a
    few parts at a time, and y is None (the file holds the targets). A part is a row group of
    Parquet, a record batch of Arrow, or a megabyte of text; batches are whole parts. So rows should
    be in random order. A table sorted by its target gives noisy batches (``p.variance_factor()``
    measures it); ``bocce.data.write_blocks`` shuffles the table once.

    Formats, by suffix:

    - Parquet (.parquet, .pq), Arrow IPC or Feather (.arrow, .feather, .ipc);
    - CSV (.csv, .tsv; also .gz, .bz2, .xz): the separator (comma, semicolon or tab) and the header
      are detected;
    - NPZ with arrays X and y, or data, indices, indptr, shape and y;
    - LIBSVM text (any other name; also compressed), ``label index:value ...``: X is SciPy CSR.
      Indices count from 0 if a 0 occurs anywhere, otherwise from 1.

    Parameters
    ----------
    source : str, path, list, Dataset or table
        A path, a folder, a glob such as ``"day-*.parquet"``, a list of these, or a URL that fsspec
        knows (``s3://``, ``https://``, ...). Also a ``pyarrow.dataset.Dataset``, or a table of
        Arrow, pandas or polars.
    target : str or int, optional
        The column of the target, by name or number; by default the last one. The target may be
        text.
    columns : list of str or int, optional
        The columns of the features; by default all other columns.
    memory : int, optional
        The bytes that X and y may take; by default half of the machine's memory. Larger data come
        in parts.
    dtype : {"float32", "float64"}, optional
        The type of X; by default float32 if all features are float32.
    missing : {"refuse", "drop"}, default "refuse"
        "refuse" raises an error for a row with a missing value, with its file and row; "drop"
        leaves such rows out.

    Returns
    -------
    Table or BlockFile
        A pair with ``.columns`` and ``.target`` in memory, or a `bocce.BlockFile` in parts.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the data cannot be used. The message names the file, its row group or line, the row and
        the column. Examples: a feature that is not a number, a missing or infinite value, columns
        that differ between files, a truncated file. All rows are checked before any is returned.

    Examples
    --------
    >>> import tempfile, pathlib, bocce
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age;height;sport\\n20;1.8;yes\\n40;1.6;no\\n30;1.7;no\\n")
    >>> data = bocce.data.open(path, target="sport", columns=["age"])
    >>> X, y = data
    >>> data.columns, X.tolist(), y.tolist()
    (['age'], [[20.0], [40.0], [30.0]], ['yes', 'no', 'no'])
    >>> bocce.data.open(path, columns=["age", "heigth"])
    Traceback (most recent call last):
    ...
    ValueError: open: columns='heigth' must be a column of people.csv: 'age', 'height', 'sport'.
    """
    limit = _limit(memory)
    _checks.choice("open", "missing", missing, ["refuse", "drop"])
    kind = None
    if dtype is not None:
        kind = np.dtype(_checks.choice("open", "dtype", dtype, ["float32", "float64"]))
    select = _formats.selector(target, columns, kind, missing)
    given = _formats.Given(columns, kind, limit)
    if not _is_path(source) and not are_paths(source):
        data, name = in_memory(source)
        return _finished(dataset_source(data, name, select, given), limit)
    files = [file for path in ([source] if _is_path(source) else source) for file in files_of(path)]
    format_ = one_format(files, (target, columns))
    if format_ == "NPZ":
        return _npz(files, limit, kind)
    if format_ == "LIBSVM":
        return _libsvm(files, limit, kind)
    plain = target is None and columns is None and kind is None
    if plain and len(files) == 1 and not files[0].remote and is_block_file(files[0].path):
        return _block_file(files[0].path, limit)
    return _finished(source_of(files, format_, select, given), limit)


def features(
    source: Any,
    columns: list[str] | None,
    others: Any,
    *,
    extra: str = "refuse",
    missing: str = "refuse",
) -> Any:
    """X alone, for predictions: the named columns, in their order, whether or not the others (such
    as the target) are there. ``extra``: "refuse" or "ignore" columns that are neither."""
    files = files_of(source)
    format_ = one_format(files)
    if columns is None or format_ in ("NPZ", "LIBSVM"):
        X, _ = open(source, missing=missing)
        return X

    def select(names: Any, name: str) -> Choice:
        unknown = [found for found in names if found not in {*columns, *others}]
        if unknown and extra == "refuse":
            raise ValueError(
                f"{name}: the column {unknown[0]!r} is not one of the fit, must be left out; drop "
                "it, or add --extra ignore."
            )
        chosen = choose(names, None, columns, name, no_target=True)
        return replace(chosen, missing=missing)

    limit = _limit(None)
    given = _formats.Given(columns, None, limit)
    X, _ = _finished(source_of(files, format_, select, given), limit)
    return X


def _limit(given: Any) -> int:
    remedy = "or None for half of the machine's memory"
    if given is None:
        return machine_memory() // 2
    return _checks.integer("open", "memory", given, remedy=remedy)


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(map(_is_path, source))


def format_of(file: File) -> str:
    """By the last suffix that is not a compression's; by its first bytes if that says nothing."""
    name = file.name
    stem = name[: len(name) - len(suffix_of(name))]
    known = SUFFIXES.get(PurePosixPath(stem).suffix.lower())
    if known is None and not suffix_of(name):
        with file.open() as stream:
            head = stream.read(8)
        known = next((kind for mark, kind in BEGINNINGS.items() if head.startswith(mark)), None)
        if known is None and head.lstrip()[:1] in (b"{", b"["):
            raise ValueError(
                f"open: {name} is JSON, must be Parquet, Arrow, CSV, LIBSVM text or NPZ; convert "
                "it first, for example with pandas: read_json(...).to_csv(...)."
            )
    return known or "LIBSVM"


def one_format(files: list[File], asked: tuple[Any, Any] = (None, None)) -> str:
    """The format of all files; ``asked``: the target and the columns, which two do not name."""
    kinds = [format_of(file) for file in files]
    for file, kind in zip(files, kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"open: {file.name} is {kind} and {files[0].name} {kinds[0]}, must be of one "
                "format; name the files with a glob such as '*.parquet'."
            )
    if kinds[0] in ("NPZ", "LIBSVM") and asked != (None, None):
        raise ValueError(
            f"open: target and columns must be left out for {kinds[0]}, whose columns have no "
            f"names ({files[0].name})."
        )
    return kinds[0]


def source_of(files: list[File], format_: str, select: Any, given: _formats.Given) -> Source:
    if format_ == "Parquet":
        return _formats.Parquet(files, None, select, given)
    if format_ == "Arrow":
        return _formats.Arrow(files, select, given)
    return _formats.Csv(files, select)


def _finished(source: Source, limit: int) -> Table | BlockFile:
    if isinstance(source, _formats.Scan) and source.in_memory:
        limit = _formats.Given().limit  # it is there already
    kept, parts = survey(source, limit)
    if parts is not None:
        return BlockFile(parts)
    return Table(*kept.arrays(), source.choice.features, source.choice.target)


# -- tables given directly -----------------------------------------------------------------------


def in_memory(source: Any) -> tuple[Any, str]:
    """An Arrow table or data set of whatever was given, and a name for it."""
    name = type(source).__name__
    if hasattr(source, "get_fragments") and hasattr(source, "scanner"):
        return source, "the data set"
    if name == "LazyFrame":
        raise TypeError("open: source=LazyFrame must be collected first; give source.collect().")
    pa = arrow()
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source]), "the record batch"
    if isinstance(source, pa.Table):
        return source, "the table"
    if type(source).__module__.startswith("pandas") and hasattr(source, "iloc"):
        return _from_pandas(source), "the data frame"
    if hasattr(source, "__arrow_c_stream__"):
        return pa.table(source), "the data frame"
    raise TypeError(
        f"open: source={name} must be a path, a URL, a list of paths, a pyarrow.dataset.Dataset, "
        "or a table (Arrow, pandas, polars)."
    )


def _from_pandas(frame: Any) -> Any:
    pa = arrow()
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise ValueError(
            f"open: the data frame has a column of mixed types ({error}); give each one type."
        ) from None
    return table.rename_columns([str(name) for name in frame.columns])


def dataset_source(data: Any, name: str, select: Any, given: _formats.Given) -> Source:
    """Row groups where the data set has them, so that it can be read in parts."""
    fragments = list(data.get_fragments()) if hasattr(data, "get_fragments") else []
    if fragments and all(hasattr(fragment, "row_groups") for fragment in fragments):
        return _formats.Parquet(fragments, data.schema, select, given)
    return _formats.Scan(name, data, select, given)


# -- LIBSVM, NPZ and block files -----------------------------------------------------------------


def _npz(files: list[File], limit: int, dtype: Any) -> Table:
    if len(files) > 1:
        raise ValueError(
            f"open: {len(files)} NPZ files must be one; join them, or open them one by one."
        )
    X, y = read_npz(files[0], limit)
    return Table(X if dtype is None else X.astype(dtype), y)


def _libsvm(files: list[File], limit: int, dtype: Any) -> Table | BlockFile:
    found = sparse_rows(files, limit)
    if not isinstance(found, LibsvmRows):
        X, y = found
        return Table(X if dtype is None else X.astype(dtype), y)
    found.choice = replace(found.choice, dtype=dtype or found.choice.dtype)
    _, parts = survey(found, limit, keep=False)
    assert parts is not None  # nothing was kept
    parts.columns = parts.target = None
    return BlockFile(parts)


def _block_file(path: str, limit: int) -> Table | BlockFile:
    file = BlockFile(path)
    if file.n * (file.d * file.dtype.itemsize + 8) > limit:
        return file
    X, y = np.empty((file.n, file.d), file.dtype), np.empty(file.n)
    for i, (part_X, part_y) in enumerate(file.stream(range(file.n_blocks))):
        here = slice(file.start(i), file.start(i) + file.rows(i))
        X[here], y[here] = part_X, part_y
    labels = y if file.classes is None else np.array(file.classes)[y.astype(np.int64)]
    return Table(X, labels, file.columns, file.target)


def read_table(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Read X and y of one file into memory, as `open` does; the last column is the target.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    tuple of (array, ndarray)
        X, dense or SciPy CSR, and y.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the data cannot be used, see ``open``.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.svm"
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1  # an empty row\\n")
    >>> X, y = read_table(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 0.0, 0.0]], [1.0, -1.0])
    """
    if os.path.isdir(path) or not os.path.exists(path):
        raise FileNotFoundError(f"read_table: there is no file {str(path)!r}; check its name.")
    X, y = open(path, memory=_formats.Given().limit)
    return X, y
