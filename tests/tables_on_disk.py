"""One table in every format, and what the tests of `bocce.data.open` compare it with."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet
from scipy import sparse

from bocce.data import open as open_
from bocce.data.read.files import in_parts

N, D = 400, 4
NAMES = [f"x{j}" for j in range(D)]
SMALL = 4000  # bytes: less than the rows need


def made_rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)).round(3)
    return X, (X @ np.arange(1.0, D + 1) + rng.standard_normal(N)).round(3)


def table_of(X, y, kind=np.float64):
    return pa.table({**{n: X[:, j].astype(kind) for j, n in enumerate(NAMES)}, "y": y})


def write(path: Path, table, size: int = 50) -> Path:
    """The table in the format that the name says, in parts of ``size`` rows."""
    suffix = path.suffix
    if suffix in (".parquet", ".pq", ".parq"):
        parquet.write_table(table, path, row_group_size=size)
    elif suffix == ".feather":
        feather.write_feather(table, str(path), chunksize=size, compression="lz4")
    elif suffix in (".arrow", ".ipc"):
        feather.write_feather(table, str(path), chunksize=size, compression="uncompressed")
    elif suffix in (".csv", ".tsv"):
        sign = "," if suffix == ".csv" else "\t"
        csv.write_csv(table, path, csv.WriteOptions(delimiter=sign))
    elif suffix == ".npy":
        np.save(path, np.column_stack([column.to_numpy() for column in table.columns]))
    elif suffix == ".npz":
        X = np.column_stack([table[name].to_numpy() for name in NAMES])
        np.savez(path, X=X, y=table["y"].to_numpy())
    else:
        X = np.column_stack([table[name].to_numpy() for name in NAMES])
        path.write_text(
            "".join(
                f"{target} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row)) + "\n"
                for row, target in zip(X.tolist(), table["y"].to_pylist())
            )
        )
    return path


KINDS = ["a.parquet", "a.feather", "a.arrow", "a.csv", "a.tsv", "a.svm"]


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def whole(file):
    parts = [(X.copy(), y.copy()) for X, y in file.stream(range(file.n_parts))]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def three_columns(n=100, **columns):
    rng = np.random.default_rng(0)
    made = {"a": rng.standard_normal(n), "b": rng.standard_normal(n), "y": rng.standard_normal(n)}
    return pa.table({**made, **columns})


def parts_on_disk(path: Path, X, y, rows: int):
    """These rows in an Arrow file, in record batches of at most so many rows, read in parts."""
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.table([*np.asarray(X).T.copy(), np.asarray(y)], [*names, "y"])
    starts = [places[0] for places in np.array_split(np.arange(len(y)), -(-len(y) // rows))]
    with pa.ipc.new_file(str(path), table.schema) as file:
        for start, end in zip(starts, [*starts[1:], len(y)]):
            file.write_table(table.slice(start, end - start))
    return in_parts(path)


def refused(source, *words, **options):
    """By `open`, in memory and in parts."""
    folder = os.path.dirname(source if isinstance(source, str) else str(source))
    before = sorted(os.listdir(folder))
    for memory in (None, 200_000):
        with pytest.raises(ValueError) as caught:
            open_(source, memory=memory, **options)
        assert type(caught.value) is ValueError
        text = str(caught.value)
        for word in words:
            assert word in text, text
        assert len(text) < 600
    assert sorted(os.listdir(folder)) == before
