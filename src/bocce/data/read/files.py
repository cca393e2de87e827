"""One call that reads Parquet, Arrow, CSV, LIBSVM, NPZ and NPY."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ... import _checks
from ..._extras import arrow
from ..._memory import machine_memory
from ...rows import Parts
from ...rows.files import Block
from .columns import ReadOptions
from .csv import Csv
from .libsvm import libsvm_source, read_libsvm
from .npy import Npy
from .npz import read_npz
from .parts import NO_LIMIT, Source, survey
from .parts import in_parts as survey_in_parts
from .paths import File, files_of
from .tables import Arrow, Groups, Parquet, Scan, TableScan
from .text import suffix_of

Read = Callable[[list[File], ReadOptions], Any]


class Format(NamedTuple):
    """A format of files: how it is known, and what reads it.

    ``source`` gives the `Source` of files and options. ``read`` gives X and y, or `Parts`; it is
    there where rows in memory are read in another way. ``named``: do the columns have names?
    """

    suffixes: tuple[str, ...]
    first_bytes: bytes | None
    source: Read | None
    read: Read | None = None
    named: bool = True


def _parquet(files: list[File], options: ReadOptions) -> Source:
    return Parquet([Groups.of_file(file) for file in files], None, options)


FORMATS: dict[str, Format] = {
    "Parquet": Format((".parquet", ".pq", ".parq"), b"PAR1", _parquet),
    "Arrow": Format((".arrow", ".feather", ".ipc"), b"ARROW1", Arrow),
    "CSV": Format((".csv", ".tsv"), None, Csv),
    "NPY": Format((".npy",), b"\x93NUMPY", Npy),
    "NPZ": Format((".npz",), b"PK\x03\x04", None, read_npz, named=False),
    "LIBSVM": Format((), None, libsvm_source, read_libsvm, named=False),  # any other file
}
OTHERS = "LIBSVM"
SPREADSHEETS = (".xlsx", ".xls", ".ods")
SUFFIXES = {suffix: name for name, format_ in FORMATS.items() for suffix in format_.suffixes}


class Table(tuple[Any, Any]):
    """X and y in memory: ``X, y = table``.

    Parameters
    ----------
    X, y : array or sparse matrix, ndarray
        The features, of shape (n, d), and the targets, of shape (n,).
    columns, target : list of str, str, optional
        The names of the features and of the target.
    """

    columns: list[str] | None
    target: str | None

    def __new__(cls, X: Any, y: Any, columns: Any = None, target: Any = None) -> Table:
        self = super().__new__(cls, (X, y))
        self.columns = columns
        self.target = target
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
    exclude: Any = None,
    memory: int | None = None,
    dtype: str | None = None,
) -> Table | Parts:
    """Features X and targets y from files of numbers; in memory if they fit, else in parts.

    ``X, y = open(...)`` gives the arguments of ``bocce.LeastSquares(X, y)`` and the other problems.
    In parts, X is `bocce.data.Parts`, which read the files again in each pass, and y is None. A
    part is a row group of Parquet, a record batch of Arrow, or some megabytes of text or of an
    array; a batch is one or more parts. So rows should be in random order (``p.variance_factor()``
    measures it); docs/scale.md says how to shuffle a table once.

    Formats, by suffix:

    - Parquet (.parquet, .pq), Arrow IPC or Feather (.arrow, .feather, .ipc);
    - CSV (.csv with commas, .tsv with tabs; also .gz, .bz2, .xz), with a header or without;
    - NPY: an array of shape (n, columns) whose columns are called x0, x1, ...;
    - NPZ with arrays X and y, or data, indices, indptr, shape and y;
    - LIBSVM text (any other name; also compressed), ``label index:value ...``: X is SciPy CSR.
      Indices count from 0 if a 0 occurs anywhere, otherwise from 1.

    Parameters
    ----------
    source : str, path, list, Dataset or table
        A path, a folder, a glob such as ``"day-*.parquet"``, or a list of these. Also a
        ``pyarrow.dataset.Dataset``, or a table of Arrow, pandas or polars.
    target : str or int, optional
        The column of the target, by name or number; by default the last one. It may be text:
        labels.
    columns, exclude : list of str or int, optional
        The columns of the features, by default all others; or the columns that are neither features
        nor target.
    memory : int, optional
        The bytes that X and y may take, by default half of the machine's; more come in parts.
    dtype : {"float32", "float64"}, optional
        The type of X; by default float32 if all features are float32.

    Returns
    -------
    Table or Parts
        A pair with ``.columns`` and ``.target`` in memory, or `bocce.data.Parts`.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the data cannot be used: a feature that is not a number, a missing or infinite value,
        columns that differ between files, a truncated file. The message names the file, its row
        group or line, the row and the column. All rows are checked before any is returned.

    Examples
    --------
    >>> import tempfile, pathlib, bocce
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,height,sport\\n20,1.8,yes\\n40,1.6,no\\n30,1.7,no\\n")
    >>> data = bocce.data.open(path, target="sport", columns=["age"])
    >>> X, y = data
    >>> data.columns, X.tolist(), y.tolist()
    (['age'], [[20.0], [40.0], [30.0]], ['yes', 'no', 'no'])
    >>> bocce.data.open(path, columns=["age", "heigth"])
    Traceback (most recent call last):
    ...
    ValueError: open: columns='heigth' must be a column of people.csv: 'age', 'height', 'sport'.
    """
    kind = None
    if dtype is not None:
        kind = np.dtype(_checks.choice("open", "dtype", dtype, ["float32", "float64"]))
    options = ReadOptions(target, columns, exclude, kind, _limit(memory))
    paths = [source] if _is_path(source) else source
    if not are_paths(paths):
        return _finished(table_source(source, options))
    files = [file for path in paths for file in files_of(path)]
    format_ = one_format(files, options)
    if format_.read is None:
        assert format_.source is not None
        return _finished(format_.source(files, options))
    found = format_.read(files, options)
    return found if isinstance(found, Parts) else Table(*found)


def in_parts(source: Any, target: Any = None, columns: Any = None, dtype: Any = None) -> Parts:
    """The same in parts, however small the files are."""
    files = files_of(source)
    options = ReadOptions(target, columns, None, dtype, _limit(None))
    format_ = one_format(files, options)
    if format_.source is None:
        raise ValueError(
            f"open: {files[0].name} can only be read whole; save the rows as Parquet, which is "
            "read in parts."
        )
    return survey_in_parts(format_.source(files, options))


def _limit(given: Any) -> int:
    if given is None:
        return max(1 << 24, machine_memory() // 2)
    return _checks.integer(
        "open", "memory", given, remedy="or None for half of the machine's memory"
    )


def _is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and all(map(_is_path, source))


def format_of(file: File) -> str:
    """By the last suffix that is not a compression's; by its first bytes if that says nothing."""
    packed = suffix_of(file.name)
    plain = PurePosixPath(file.name[: len(file.name) - len(packed)])
    known = SUFFIXES.get(plain.suffix.lower())
    if plain.suffix.lower() in SPREADSHEETS:
        raise ValueError(
            f"open: {file.name} is a spreadsheet, must be Parquet, Arrow, CSV, LIBSVM text, NPZ or "
            "NPY; save the sheet as CSV."
        )
    if known is None and not packed:
        with file.open() as stream:
            head = stream.read(8)
        marks = {name: format_.first_bytes for name, format_ in FORMATS.items()}
        known = next((name for name, mark in marks.items() if mark and head.startswith(mark)), None)
        if known is None and head.lstrip()[:1] in (b"{", b"["):
            raise ValueError(
                f"open: {file.name} is JSON, must be Parquet, Arrow, CSV, LIBSVM text, NPZ or NPY; "
                "convert it first, for example with pandas: read_json(...).to_csv(...)."
            )
    return known or OTHERS


def one_format(files: list[File], options: ReadOptions) -> Format:
    """The format of all files; NPZ and LIBSVM have no names of columns to ask for."""
    kinds = [format_of(file) for file in files]
    for file, kind in zip(files, kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"open: {file.name} is {kind} and {files[0].name} {kinds[0]}, must be of one "
                "format; name the files with a glob such as '*.parquet'."
            )
    format_ = FORMATS[kinds[0]]
    if not format_.named and (named := options.named_only()):
        raise ValueError(
            f"open: {named} must be left out for {kinds[0]}, whose columns have no names "
            f"({files[0].name})."
        )
    return format_


def _finished(source: Source) -> Table | Parts:
    found = survey(source)
    if isinstance(found, Parts):
        return found
    return Table(*found, source.columns, source.target)


def table_source(source: Any, options: ReadOptions) -> Source:
    """A table or data set that was given directly: by row groups where it has them."""
    pa = arrow()
    unlimited = options._replace(limit=NO_LIMIT)  # a table is in memory already
    if hasattr(source, "get_fragments"):
        fragments = list(source.get_fragments())
        if fragments and all(hasattr(fragment, "row_groups") for fragment in fragments):
            return Parquet(list(map(Groups.of_fragment, fragments)), source.schema, options)
        return Scan("the data set", source, options)
    kind = type(source)
    if kind.__module__.startswith("pandas") and kind.__name__ == "DataFrame":
        try:
            table = pa.Table.from_pandas(source, preserve_index=False)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise ValueError(
                f"open: the data frame has a column of mixed types ({error}); give each one type."
            ) from None
        table = table.rename_columns([str(name) for name in source.columns])
        return TableScan("the data frame", table, unlimited)
    if hasattr(source, "__arrow_c_stream__"):
        return TableScan("the table", pa.table(source), unlimited)
    name = type(source).__name__
    if name == "LazyFrame":
        raise TypeError("open: source=LazyFrame must be collected first; give source.collect().")
    raise TypeError(
        f"open: source={name} must be a path, a list of paths, a pyarrow.dataset.Dataset, or a "
        "table (Arrow, pandas, polars)."
    )


def table_rows(table: Any) -> Block:
    """X and y of an Arrow table or record batch; its last column is the target."""
    return survey(table_source(table, ReadOptions()))  # type: ignore[return-value]
