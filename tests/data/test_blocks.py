"""Block files: the writer's shuffle, and what it reads."""

from __future__ import annotations

import os

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import bocce
from bocce import blockfile, sampling
from bocce.blockfile import BlockFile, block_starts
from bocce.data import write_blocks
from bocce.data.write import blocks
from helpers import cut
from tables_on_disk import whole

N, D = 503, 5


# -- the shuffle -----------------------------------------------------------------------------------


def test_the_file_holds_the_rows_in_the_order_of_their_keys(tmp_path, rows):
    X, y = rows
    file = write_blocks(tmp_path / "a", cut(X, y, 100, 350), block_rows=100, seed=7)
    order = np.argsort(sampling.shuffle_keys(7, 0, N))
    assert sorted(order.tolist()) == list(range(N))
    Xf, yf = whole(file)
    np.testing.assert_array_equal(Xf, X[order])
    np.testing.assert_array_equal(yf, y[order])
    assert (file.n, file.d, file.n_blocks, file.block_rows) == (N, D, 6, 84)
    assert os.listdir(tmp_path) == ["a"]


def test_the_order_is_uniformly_random():
    """All 24 orders of four rows, over 7,200 seeds: chi-square with 23 degrees of freedom."""
    orders = [tuple(np.argsort(sampling.shuffle_keys(seed, 0, 4))) for seed in range(7200)]
    _, counts = np.unique(orders, axis=0, return_counts=True)
    assert counts.size == 24
    assert ((counts - 300) ** 2 / 300).sum() < chi2(23).ppf(1 - 1e-4)


def test_the_file_does_not_depend_on_chunks_or_memory(tmp_path, rows, monkeypatch):
    X, y = rows
    one = write_blocks(tmp_path / "one", (X, y), block_rows=50)
    monkeypatch.setattr(blocks, "BUCKET_BYTES", 300)  # buckets are dealt out again, and again
    many = write_blocks(tmp_path / "many", cut(X, y, 1, 2, 3, 400, 400), block_rows=50)
    assert one.path.read_bytes() == many.path.read_bytes()
    other = write_blocks(tmp_path / "other", (X, y), block_rows=50, seed=1)
    assert other.identity != one.identity


@given(n=st.integers(1, 400), blocks_wanted=st.integers(1, 60))
@settings(deadline=None, max_examples=60)
def test_blocks_differ_by_at_most_one_row(n, blocks_wanted):
    count = min(n, blocks_wanted)
    starts = block_starts(n, count)
    sizes = np.diff(starts).tolist()
    assert (starts[0], len(sizes), sum(sizes)) == (0, count, n)
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) == -(-n // count)


@pytest.mark.parametrize(("n", "expected"), [(1, 1), (63, 1), (6400, 64), (10**6, 64)])
def test_small_data_make_64_blocks_where_pages_allow(n, expected):
    count = blocks._block_count(n, 7 * 8 + 8, None)
    assert count >= min(expected, n // 64 + 1)
    assert -(-n // count) * (7 * 8 + 8) <= max(blocks.BLOCK_BYTES, 8 * 8)


# -- sources ---------------------------------------------------------------------------------------


def libsvm(X, y, base=1):
    lines = [
        f"{target} " + " ".join(f"{j + base}:{v!r}" for j, v in enumerate(row.tolist()) if v)
        for row, target in zip(X, y.tolist())
    ]
    return "\n".join(lines) + "\n"


def same_rows(one: BlockFile, other: BlockFile) -> bool:
    """Where and what the blocks are; the names of the columns may differ."""
    sums = [
        (file.store.table["x"].tolist(), file.store.table["y"].tolist()) for file in (one, other)
    ]
    return sums[0] == sums[1]


def test_every_source_gives_the_same_rows(tmp_path, rows):
    X, y = rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    expected = write_blocks(tmp_path / "arrays", [(X, y)], block_rows=64)
    (tmp_path / "a.svm").write_text(libsvm(X[:200], y[:200]))
    (tmp_path / "b.svm").write_text(libsvm(X[200:], y[200:]))
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.savetxt(tmp_path / "a.csv", np.column_stack([X, y]), delimiter=",", fmt="%.17g")
    sources = {
        "csr": [(sp.csr_array(X[:300]), y[:300]), (sp.csc_matrix(X[300:]), y[300:])],
        "generator": (pair for pair in cut(X, y, 10)),
        "text": [tmp_path / "a.svm", str(tmp_path / "b.svm")],
        "npz": tmp_path / "a.npz",
        "csv": str(tmp_path / "a.csv"),
        "blocks": bocce.data.write_blocks(tmp_path / "more", [(X, y)], block_rows=7),
        "unlike": [tmp_path / "a.npz"],
    }
    for name, source in sources.items():
        written = write_blocks(tmp_path / name, source, block_rows=64)
        if name == "blocks":  # shuffled twice
            np.testing.assert_array_equal(np.sort(whole(written)[1]), np.sort(y))
        else:
            assert same_rows(written, expected), name
    assert write_blocks(tmp_path / "c", tmp_path / "a.csv", target=0, columns=[5]).target == "x0"


def test_arrow_tables_and_parquet_files(tmp_path, rows):
    pa = pytest.importorskip("pyarrow", reason="parquet files need pyarrow")
    from pyarrow import parquet

    X, y = rows
    names = [f"x{j}" for j in range(D)] + ["y"]
    table = pa.table(dict(zip(names, [*X.T, y])))
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=100)
    expected = write_blocks(tmp_path / "arrays", [(X, y)], block_rows=64)
    for name, source in (("table", table), ("file", tmp_path / "a.parquet"), ("list", [table])):
        written = write_blocks(tmp_path / name, source, block_rows=64)
        assert same_rows(written, expected)
        assert (written.columns, written.target) == (names[:-1], "y")
    text = table.set_column(0, "x0", pa.array(["a"] * N))
    with pytest.raises(ValueError, match=r"column 'x0' has type .* must be real numbers"):
        write_blocks(tmp_path / "b", text)


def test_many_long_names_are_kept(tmp_path):
    pa = pytest.importorskip("pyarrow")
    names = [f"a rather long name of column {j}" for j in range(2000)] + ["y"]
    table = pa.table({name: np.arange(3.0) for name in names})
    file = write_blocks(tmp_path / "a", table)
    assert (BlockFile(file.path).columns, file.d) == (names[:-1], 2000)
    assert blockfile.is_block_file(file.path)


def test_labels_that_are_text(tmp_path, rows):
    X, y = rows
    names = np.where(y > 0, "no", np.where(y > -1, "yes", "maybe"))
    file = write_blocks(tmp_path / "a", cut(X, names, 100), block_rows=50)
    assert (file.classes, file.labels) == (["maybe", "no", "yes"], [0.0, 1.0, 2.0])
    order = np.argsort(sampling.shuffle_keys(0, 0, N))
    assert [file.classes[int(code)] for code in whole(file)[1]] == names[order].tolist()
    with pytest.raises(ValueError, match="y is text in some chunks and numbers in others"):
        write_blocks(tmp_path / "b", [(X, names), (X, y)])


def test_other_programs_open_the_file(tmp_path, rows):
    feather = pytest.importorskip("pyarrow.feather")
    polars = pytest.importorskip("polars")
    file = write_blocks(tmp_path / "a.arrow", rows, block_rows=100)
    table = feather.read_table(file.path)
    X, y = whole(file)
    np.testing.assert_array_equal(np.stack(table["x"].to_numpy()), X)
    np.testing.assert_array_equal(polars.read_ipc(file.path)["y"].to_numpy(), y)


def test_zero_based_text_and_labels(tmp_path, rows):
    X, _ = rows
    y = np.where(X[:, 0] > 0, 3.0, -1.0)
    (tmp_path / "a.svm").write_text(libsvm(X, y, base=0))
    file = write_blocks(tmp_path / "a", str(tmp_path / "a.svm"))
    assert (file.d, file.labels) == (D, [-1.0, 3.0])


def test_types_are_kept_or_chosen(tmp_path, rows):
    X, y = rows
    X32 = X.astype(np.float32)
    assert write_blocks(tmp_path / "a", (X32, y)).dtype == np.float32
    assert write_blocks(tmp_path / "b", (X > 0, y > 0)).dtype == np.float64
    half = write_blocks(tmp_path / "c", (X, y), dtype="float32")
    assert half.dtype == np.float32
    np.testing.assert_array_equal(np.sort(whole(half)[1]), np.sort(y))  # y keeps its digits
    with pytest.raises(ValueError, match=r"chunk 1 has dtype float64, must be float32 as chunk 0"):
        write_blocks(tmp_path / "d", [(X32, y), (X, y)])


@pytest.mark.parametrize(
    ("chunks", "error", "message"),
    [
        ([], ValueError, "chunks hold no row"),
        (3, TypeError, "chunks=int must be an iterable of pairs"),
        ([np.zeros((2, 2))], TypeError, r"chunk 0 is ndarray, must be a pair \(X, y\)"),
        ([(np.zeros((2, 2)), np.zeros(3))], ValueError, r"X has shape \(2, 2\) and y \(3,\)"),
        ([(np.zeros((2, 2)), [1j, 2j])], TypeError, "y has dtype complex128, must be numbers or"),
        ([(np.zeros((2, 2)), ["a", None])], TypeError, "y has dtype object, must be numbers or"),
        (
            [(np.zeros((2, 2)), np.zeros(2)), (np.zeros((1, 3)), np.zeros(1))],
            ValueError,
            "chunk 1: X has 3 columns, must have 2 as chunk 0",
        ),
        (
            [(np.zeros((2, 2)), np.zeros(2)), (np.full((1, 2), np.nan), np.zeros(1))],
            ValueError,
            r"chunk 1: X has NaN or infinity \(first at row 2 of all\)",
        ),
        (["nowhere.svm"], FileNotFoundError, "nowhere.svm"),
    ],
)
def test_bad_chunks_are_refused_and_leave_nothing(tmp_path, chunks, error, message):
    with pytest.raises(error, match=message):
        write_blocks(tmp_path / "a", chunks)
    assert os.listdir(tmp_path) == []


def test_what_float32_cannot_hold_is_refused(tmp_path):
    with pytest.raises(ValueError, match="NaN or infinity"):
        write_blocks(tmp_path / "a", (np.full((1, 1), 1e300), np.zeros(1)), dtype="float32")


def test_bad_arguments_name_the_remedy(tmp_path, rows):
    with pytest.raises(ValueError, match="must be a file in an existing folder"):
        write_blocks(tmp_path / "no" / "a", rows)
    with pytest.raises(ValueError, match="block_rows=0 must be an integer >= 1"):
        write_blocks(tmp_path / "a", rows, block_rows=0)
    with pytest.raises(ValueError, match="dtype='float16' must be one of"):
        write_blocks(tmp_path / "a", rows, dtype="float16")
