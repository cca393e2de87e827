"""One call that reads Parquet, Arrow, CSV, LIBSVM and NPZ, here or behind a URL."""

from __future__ import annotations

import os
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from scipy import sparse

from ... import _checks
from ..._direct import machine_memory
from ..._extras import arrow
from ...blockfile import MAGIC, BlockFile, is_block_file
from .columns import ReadOptions
from .csv import Csv
from .encoding import Encoding
from .filesystem import File, files_of
from .libsvm import Libsvm, read_libsvm
from .npz import read_npz
from .parts import NO_LIMIT, Growing, Parts, Source, survey
from .tables import Arrow, Parquet, Scan
from .text import suffix_of

SUFFIXES = {
    **dict.fromkeys((".parquet", ".pq", ".parq"), "Parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc", ".blocks"), "Arrow"),
    **dict.fromkeys((".csv", ".tsv"), "CSV"),
    ".npz": "NPZ",
}
UNNAMED = ("NPZ", "LIBSVM")  # formats whose columns have no names
BEGINNINGS = {b"PAR1": "Parquet", MAGIC: "Arrow", b"PK\x03\x04": "NPZ"}


class Table(tuple[Any, Any]):
    """X and y in memory: ``X, y = table``.

    Parameters
    ----------
    X, y : array or sparse matrix, ndarray
        The features, of shape (n, d), and the targets, of shape (n,).
    columns, target : list of str, str, optional
        The names of the features and of the target.
    encoding : Encoding, optional
        How text and dates became numbers.
    """

    columns: list[str] | None
    target: str | None
    encoding: Encoding | None

    def __new__(
        cls, X: Any, y: Any, columns: Any = None, target: Any = None, encoding: Any = None
    ) -> Table:
        self = super().__new__(cls, (X, y))
        self.columns, self.target, self.encoding = columns, target, encoding
        return self

    def __getnewargs__(self) -> Any:
        return *self, self.columns, self.target, self.encoding

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
    encode: Any = None,
    unknown: str | None = None,
    exclude: Any = None,
) -> Table | BlockFile:
    """Features X and targets y from files; in memory if they fit, else in parts.

    ``X, y = open(...)`` gives the arguments of ``bocce.LeastSquares(X, y)`` and the other problems.
    In parts, X is a `bocce.BlockFile` that reads the files again in each pass, and y is None. A
    part is a row group of Parquet, a record batch of Arrow, or a megabyte of text; batches are
    whole parts. So rows should be in random order (``p.variance_factor()`` measures it);
    ``bocce.data.write_blocks`` shuffles a table once.

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
        The column of the target, by name or number; by default the last one. It may be text.
    columns, exclude : list of str or int, optional
        The columns of the features, by default all others; or the columns that are neither features
        nor target.
    memory : int, optional
        The bytes that X and y may take, by default half of the machine's; more come in parts.
    dtype : {"float32", "float64"}, optional
        The type of X; by default float32 if all features are float32.
    missing : {"refuse", "drop", "keep"}, default "refuse"
        Rows with missing values: an error, left out, or NaN in X (in memory) for you to fill in.
    encode : {"onehot"} or Encoding, optional
        By default text and dates are refused as features. "onehot" makes a column of 0 and 1 of
        each category of a text column (a first pass finds them), and days since 1970-01-01 of
        dates. An `Encoding` (``.encoding`` of data opened before) does what was done there.
    unknown : {"refuse", "ignore"}, optional
        A category that the given `Encoding` lacks: an error that names it, or 0 in the columns of
        all categories; by default what the `Encoding` says.

    Returns
    -------
    Table or BlockFile
        A pair with ``.columns``, ``.target`` and ``.encoding`` in memory, or a `bocce.BlockFile` in
        parts.

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
    _checks.choice("open", "missing", missing, ["refuse", "drop", "keep"])
    if isinstance(encode, Encoding):
        columns = encode.features if columns is None else columns
    elif encode is not None:
        _checks.choice("open", "encode", encode, ["onehot"])
    if unknown is not None:
        _checks.choice("open", "unknown", unknown, ["refuse", "ignore"])
    kind = None
    if dtype is not None:
        kind = np.dtype(_checks.choice("open", "dtype", dtype, ["float32", "float64"]))
    options = ReadOptions(
        target, columns, kind, missing, _limit(memory), encode, unknown, exclude=exclude
    )
    paths = [source] if _is_path(source) else source
    if not are_paths(paths):
        return _finished(table_source(source, options))
    found = _opened([file for path in paths for file in files_of(path)], options)
    if missing == "keep" and isinstance(found, BlockFile):
        raise ValueError(
            'open: missing="keep" needs data that fit into memory, and these are read in parts; '
            'give missing="drop", or fill in the values before.'
        )
    return found


def features(source: Any, model: Any, *, extra: str, missing: str, unknown: str | None) -> Any:
    """X alone, for predictions of a fit: its columns by name, in their order, and its offset last;
    the target and the weights may be there or not. ``extra``: "refuse" or "ignore" others;
    ``unknown``: categories that the fit lacks, by default as the fit says."""
    files, names = files_of(source), model.columns
    options = ReadOptions(missing=missing, limit=_limit(None))
    if names is not None and one_format(files) not in UNNAMED:
        names = names if model.encoding is None else model.encoding.features
        options = options._replace(
            columns=names if model.offset is None else [*names, model.offset],
            encode=model.encoding,
            unknown=unknown,
            beside=(model.target, model.weights, *(model.excluded or ())),
            extra=extra,
        )
    X, _ = _opened(files, options)
    return X


def _opened(files: list[File], options: ReadOptions) -> Table | BlockFile:
    format_, limit = one_format(files, options), options.limit
    if format_ in UNNAMED:
        found = (read_npz if format_ == "NPZ" else read_libsvm)(files, limit, options.dtype)
        return _finished(found, False) if isinstance(found, Libsvm) else Table(*found)
    plain = options.dtype is None and not options.asked()
    if plain and len(files) == 1 and not files[0].remote and is_block_file(files[0].path):
        return _block_file(BlockFile(files[0].path), limit)
    return _finished(source_of(files, format_, options))


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
    name, packed = file.name, suffix_of(file.name)
    plain = PurePosixPath(name[: len(name) - len(packed)])
    known = SUFFIXES.get(plain.suffix.lower())
    if known is None and not packed:
        with file.open() as stream:
            head = stream.read(8)
        known = next((kind for mark, kind in BEGINNINGS.items() if head.startswith(mark)), None)
        if known is None and head.lstrip()[:1] in (b"{", b"["):
            raise ValueError(
                f"open: {name} is JSON, must be Parquet, Arrow, CSV, LIBSVM text or NPZ; convert "
                "it first, for example with pandas: read_json(...).to_csv(...)."
            )
    return known or "LIBSVM"


def one_format(files: list[File], options: ReadOptions | None = None) -> str:
    """The format of all files; NPZ and LIBSVM have no names of columns to ask for."""
    kinds = [format_of(file) for file in files]
    for file, kind in zip(files, kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"open: {file.name} is {kind} and {files[0].name} {kinds[0]}, must be of one "
                "format; name the files with a glob such as '*.parquet'."
            )
    if kinds[0] in UNNAMED and options is not None and (asked := options.asked()):
        raise ValueError(
            f"open: {asked} must be left out for {kinds[0]}, whose columns have no names "
            f"({files[0].name})."
        )
    return kinds[0]


def source_of(files: list[File], format_: str, options: ReadOptions) -> Source:
    if format_ == "Parquet":
        return Parquet(files, None, options)
    return Arrow(files, options) if format_ == "Arrow" else Csv(files, options)


def _finished(source: Source, keep: bool = True) -> Table | BlockFile:
    found = survey(source, keep)
    if isinstance(found, Parts):
        return BlockFile(found)
    return Table(*found, source.columns, source.target, source.encoding)


def table_source(source: Any, options: ReadOptions) -> Source:
    """A table or data set that was given directly: by row groups where it has them."""
    pa, whole = arrow(), options._replace(limit=NO_LIMIT)  # a table is in memory already
    if hasattr(source, "get_fragments"):
        fragments = list(source.get_fragments())
        if fragments and all(hasattr(fragment, "row_groups") for fragment in fragments):
            return Parquet(fragments, source.schema, options)
        return Scan("the data set", source, options)
    if type(source).__module__.startswith("pandas") and hasattr(source, "iloc"):
        try:
            table = pa.Table.from_pandas(source, preserve_index=False)
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise ValueError(
                f"open: the data frame has a column of mixed types ({error}); give each one type."
            ) from None
        table = table.rename_columns([str(name) for name in source.columns])
        return Scan("the data frame", table, whole)
    if isinstance(source, (pa.Table, pa.RecordBatch)) or hasattr(source, "__arrow_c_stream__"):
        return Scan("the table", pa.table(source), whole)
    name = type(source).__name__
    if name == "LazyFrame":
        raise TypeError("open: source=LazyFrame must be collected first; give source.collect().")
    raise TypeError(
        f"open: source={name} must be a path, a URL, a list of paths, a pyarrow.dataset.Dataset, "
        "or a table (Arrow, pandas, polars)."
    )


def table_rows(table: Any) -> tuple[Any, Any]:
    """X and y of an Arrow table or record batch; its last column is the target."""
    return survey(table_source(table, ReadOptions()))  # type: ignore[return-value]


def _block_file(file: BlockFile, limit: int) -> Table | BlockFile:
    if file.n * (file.d * file.dtype.itemsize + 8) > limit:
        return file
    X, y = Growing(file.dtype, file.d), Growing(np.float64)
    for rows, targets in file.stream(range(file.n_blocks)):
        X.add(rows)
        y.add(targets)
    labels = y.whole()
    if file.classes is not None:
        labels = np.array(file.classes)[labels.astype(np.int64)]
    return Table(X.whole(), labels, file.columns, file.target)
