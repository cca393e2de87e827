"""bocce.data.open: the same X and y whatever the format, in memory and in parts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.data import open as open_

pytest.importorskip("pyarrow")
import pyarrow as pa
from pyarrow import parquet

from tables_on_disk import KINDS, NAMES, SMALL, D, N, dense, made_rows, table_of, whole, write

pytestmark = pytest.mark.usefixtures("small_text_parts")


@pytest.fixture(scope="module")
def rows():
    return made_rows()


# -- formats ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KINDS)
def test_every_format_gives_the_same_rows_in_memory_and_in_parts(tmp_path, rows, name):
    X, y = rows
    path = write(tmp_path / name, table_of(X, y))
    data = open_(path)
    found_X, found_y = data
    np.testing.assert_array_equal(dense(found_X), X)
    np.testing.assert_array_equal(found_y, y)
    assert data.columns == (None if name == "a.svm" else NAMES)
    file, none = open_(str(path), memory=SMALL * 3)
    assert isinstance(file, bocce.BlockFile)
    assert none is None
    assert file.n_blocks > 4
    assert (file.n, file.d, file.dtype, file.columns) == (N, D, np.float64, data.columns)
    assert [file.rows(i) for i in range(file.n_blocks)] == np.diff(file.store.starts).tolist()
    part_X, part_y = whole(file)
    np.testing.assert_array_equal(part_X, X)
    np.testing.assert_array_equal(part_y, y)
    assert part_X.flags.c_contiguous
    again = pickle.loads(pickle.dumps(file))
    np.testing.assert_array_equal(again.read(2)[0], file.read(2)[0])
    assert again.identity == file.identity


@pytest.mark.parametrize("name", KINDS)
def test_a_problem_in_parts_is_the_one_in_memory(tmp_path, rows, name):
    X, y = rows
    path = write(tmp_path / name, table_of(X, y))
    p = bocce.LeastSquares(*open_(path, memory=SMALL * 3), l2=0.1)
    q = bocce.LeastSquares(X, y, l2=0.1)
    w = np.arange(D) - 1.0
    assert p.value(w) == pytest.approx(q.value(w), rel=1e-13)
    np.testing.assert_allclose(p.gradient(w), q.gradient(w), rtol=1e-12)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), rtol=1e-10)
    r = bocce.minimize(bocce.LeastSquares(open_(path, memory=SMALL * 3)), tol=1e-8)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, bocce.LeastSquares(X, y).minimiser(), rtol=1e-6)


def test_formats_are_known_by_their_first_bytes_too(tmp_path, rows):
    X, y = rows
    for suffix in (".parquet", ".arrow"):
        bare = write(tmp_path / f"a{suffix}", table_of(X, y)).rename(tmp_path / "bare")
        np.testing.assert_array_equal(open_(bare).X, X)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    (tmp_path / "a.npz").rename(tmp_path / "bare")
    np.testing.assert_array_equal(open_(tmp_path / "bare").X, X)


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_types(tmp_path, rows, name):
    """float32 stays, everything else is float64; y is float64."""
    X, y = rows
    single = write(tmp_path / name, table_of(X, y, np.float32))
    assert open_(single).X.dtype == np.float32
    assert open_(single, dtype="float64").X.dtype == np.float64
    whole_numbers = write(tmp_path / name, table_of(X, y, np.int16))
    assert open_(whole_numbers).X.dtype == np.float64
    small = open_(whole_numbers, dtype="float32", memory=SMALL)
    assert small.dtype == np.float32
    assert small.read(1)[0].dtype == np.float32
    assert small.read(1)[1].dtype == np.float64


def test_columns_of_every_number_type(tmp_path):
    from decimal import Decimal

    table = pa.table(
        {
            "flag": [True, False, True],
            "byte": pa.array([1, 2, 3], pa.uint8()),
            "money": [Decimal("1.25"), Decimal("2.50"), Decimal("-3.75")],
            "half": pa.array(np.array([0.5, 1.5, 2.5], np.float16)),
            "pair": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32(), 2)),
            "y": [1, 2, 3],
        }
    )
    expected = [[1, 1, 1.25, 0.5, 1, 2], [0, 2, 2.5, 1.5, 3, 4], [1, 3, -3.75, 2.5, 5, 6]]
    assert open_(table).X.tolist() == expected
    parquet.write_table(table, tmp_path / "a.parquet")
    assert open_(tmp_path / "a.parquet").X.tolist() == expected


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv"])
def test_text_labels(tmp_path, rows, name):
    X, y = rows
    labels = np.where(y > 0, "up", "down")
    path = write(tmp_path / name, table_of(X, labels))
    assert open_(path).y.tolist() == labels.tolist()
    file = open_(path, memory=SMALL * 2)
    assert (file.classes, file.labels) == (["down", "up"], [0.0, 1.0])
    np.testing.assert_array_equal(whole(file)[1], (y > 0).astype(float))
    p, q = bocce.Logistic(file, l2=0.1), bocce.Logistic(X, labels, l2=0.1)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), rtol=1e-8)
    many = write(tmp_path / name, table_of(X, [f"label {i}" for i in range(N)]))
    with pytest.raises(ValueError, match="text with more than 100 different values"):
        open_(many, memory=SMALL * 2)


def test_numeric_labels_are_known_in_parts(tmp_path, rows):
    X, y = rows
    path = write(tmp_path / "a.parquet", table_of(X, np.where(y > 0, 7, 2)))
    assert open_(path, memory=SMALL).labels == [2.0, 7.0]
    assert open_(write(tmp_path / "b.parquet", table_of(X, y)), memory=SMALL).labels is None


# -- columns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.tsv"])
@pytest.mark.parametrize("memory", [None, SMALL])
def test_target_and_columns_by_name_and_number(tmp_path, rows, name, memory):
    X, y = rows
    path = write(tmp_path / name, table_of(X, y))
    for target, columns in (("x1", ["y", "x3"]), (1, [4, -2]), (-4, ("y", 3))):
        data = open_(path, target, columns, memory=memory)
        assert (data.target, data.columns) == ("x1", ["y", "x3"])
        found_X, found_y = data if memory is None else whole(data)
        np.testing.assert_array_equal(found_X, np.column_stack([y, X[:, 3]]))
        np.testing.assert_array_equal(found_y, X[:, 1])


@given(st.permutations(range(D + 1)), st.integers(1, D))
@settings(max_examples=20)
def test_any_choice_of_columns(rows, order, count):
    table = table_of(*rows)
    target, *features = order[: count + 1]
    data = open_(table, target, features)
    columns = [*rows[0].T, rows[1]]
    np.testing.assert_array_equal(data.X, np.column_stack([columns[j] for j in features]))
    np.testing.assert_array_equal(data.y, columns[target])


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ({"target": "z"}, ValueError, r"target='z' must be a column of a.csv: 'x0', 'x1', .*'y'"),
        ({"target": 5}, IndexError, r"target=5 must be from -5 to 4, because a.csv has 5 columns"),
        ({"target": 1.5}, TypeError, r"target=1.5 must be a column's name or number"),
        ({"columns": "x0"}, TypeError, r"columns='x0' must be a list of names or numbers"),
        ({"columns": ["x0", "x0"]}, ValueError, "must name each feature once"),
        ({"columns": ["x0", "y"]}, ValueError, "and not the target 'y'"),
        ({"columns": []}, ValueError, r"columns=\[\] must name at least one feature"),
        ({"dtype": "int8"}, ValueError, "dtype='int8' must be one of 'float32', 'float64'"),
        ({"missing": "mean"}, ValueError, "missing='mean' must be one of 'refuse', 'drop'"),
        ({"memory": 0}, ValueError, "memory=0 must be an integer >= 1"),
        ({"memory": 64}, ValueError, r"needs \d+ bytes, more than half of memory=64; raise memory"),
    ],
)
def test_bad_arguments_name_the_remedy(tmp_path, rows, words, error, message):
    path = write(tmp_path / "a.csv", table_of(*rows))
    with pytest.raises(error, match=message):
        open_(path, **words)


def test_the_target_is_the_last_column_that_is_not_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,id\n1,yes,7\n2,no,8\n")
    table = pa.table({"a": [1.0, 2.0], "y": ["yes", "no"], "id": [7, 8]})
    for source in (tmp_path / "a.csv", table):
        data = open_(source, exclude=["id"])
        assert (data.target, data.columns, data.y.tolist()) == ("y", ["a"], ["yes", "no"])
        with pytest.raises(ValueError, match=r"exclude=\['id'\] must not name the target 'id'"):
            open_(source, "id", exclude=["id"])


def test_formats_without_names_take_no_target(tmp_path, rows):
    path = write(tmp_path / "a.svm", table_of(*rows))
    with pytest.raises(ValueError, match="target and columns must be left out for LIBSVM"):
        open_(path, target=0)


# -- missing values --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv"])
def test_missing_values_are_refused_by_place_or_dropped(tmp_path, rows, name):
    X, y = rows
    table = table_of(X, y)
    column = table["x2"].to_pylist()
    column[123] = None
    table = table.set_column(2, "x2", pa.array(column))
    target = table["y"].to_pylist()
    target[7] = None
    holes = table.set_column(4, "y", pa.array(target))
    path = write(tmp_path / name, table)
    where = {"csv": "line 125", "parquet": "row group 2, row 23", "arrow": "record batch 2, row 23"}
    message = rf"{name}, {where[name[2:]]}: column 'x2' is missing or NaN, .* missing=\"drop\""
    for memory in (None, SMALL):
        with pytest.raises(ValueError, match=message):
            open_(path, memory=memory)
    path = write(tmp_path / name, holes)
    keep = np.delete(np.arange(N), [7, 123])
    for found_X, found_y in (
        open_(path, missing="drop"),
        whole(open_(path, missing="drop", memory=SMALL)),
    ):
        np.testing.assert_array_equal(found_X, X[keep])
        np.testing.assert_array_equal(found_y, y[keep])
