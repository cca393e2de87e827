"""bocce.data.open: the same X and y whatever the format, in memory and in parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bocce
from bocce.data import open as open_
from bocce.data.read.parts import Source

pytest.importorskip("pyarrow")
import pyarrow as pa
from pyarrow import parquet

from tables_on_disk import SMALL, D, N, made_rows, table_of, whole, write

pytestmark = pytest.mark.usefixtures("small_text_parts")


@pytest.fixture(scope="module")
def rows():
    return made_rows()


# -- formats ---------------------------------------------------------------------------------------


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


NUMBER_TYPES = [pa.int8(), pa.uint8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64()]


@given(kinds=st.lists(st.sampled_from(NUMBER_TYPES), min_size=1, max_size=4), single=st.booleans())
def test_columns_of_several_types_are_each_converted_once(kinds, single):
    """Integers beyond 2^63 do not wrap, and no number is rounded to a type between."""
    largest = {"uint8": 255, "uint64": 2**64 - 2**11, "int8": 127, "int64": 2**53 + 2}
    columns = [pa.array([1, largest.get(str(kind), 0.1)], kind) for kind in kinds]
    table = pa.table([*columns, pa.array([1.0, 2.0])], [*map(str, range(len(kinds))), "y"])
    dtype = "float32" if single else "float64"
    X, _ = open_(table, dtype=dtype)
    expected = np.column_stack([column.to_numpy().astype(dtype) for column in columns])
    np.testing.assert_array_equal(X, expected)


def test_too_many_labels_are_refused_in_parts(tmp_path, rows):
    X, _ = rows
    many = write(tmp_path / "a.parquet", table_of(X, [f"label {i}" for i in range(N)]))
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
        ({"memory": 0}, ValueError, "memory=0 must be an integer >= 1"),
        ({"memory": 64}, ValueError, r"needs \d+ bytes, more than half of memory=64; raise memory"),
    ],
)
def test_bad_arguments_name_the_remedy(tmp_path, rows, words, error, message):
    path = write(tmp_path / "a.csv", table_of(*rows))
    with pytest.raises(error, match=message):
        open_(path, **words)


def test_the_target_must_not_be_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("a,y,id\n1,yes,7\n2,no,8\n")
    table = pa.table({"a": [1.0, 2.0], "y": ["yes", "no"], "id": [7, 8]})
    for source in (tmp_path / "a.csv", table):
        data = open_(source, "y", exclude=["id"])
        assert (data.target, data.columns, data.y.tolist()) == ("y", ["a"], ["yes", "no"])
        for target in ("id", None):
            with pytest.raises(ValueError, match=r"exclude=\['id'\] must not name the target 'id'"):
                open_(source, target, exclude=["id"])


def test_text_and_dates_are_no_features(tmp_path):
    import datetime

    table = pa.table({"a": ["x", "z"], "b": [1.0, 2.0], "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"column 'a' has type string, must be real .*OneHotEnc"):
        open_(table)
    day = pa.array([datetime.date(2024, 2, 29)] * 2)
    with pytest.raises(ValueError, match=r"column 'a' has type date32.*, must be real numbers"):
        open_(table.set_column(0, "a", day))
    (tmp_path / "a.csv").write_text("a,y\n1,2\nred,3\n")
    message = "a.csv, line 3: 'red' in column 'a' must be a number; .* encode text before"
    with pytest.raises(ValueError, match=message):
        open_(tmp_path / "a.csv")


@pytest.mark.parametrize("row", [0, 1, 299])
@pytest.mark.parametrize("memory", [None, 3000])
def test_one_bad_cell_does_not_make_labels_of_numbers(tmp_path, row, memory):
    """Also in the first row of the target."""
    cells = [f"{i / 7:.3f}" for i in range(300)]
    for bad, said in (("oops", "'oops' in column 'y' must be a number"), ("n/a", "is missing or")):
        words = [bad if i == row else cell for i, cell in enumerate(cells)]
        path = tmp_path / "a.csv"
        path.write_text("a,y\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words)))
        with pytest.raises(ValueError, match=rf"a.csv, line {row + 2}: .*{said}"):
            open_(path, memory=memory)


def test_a_number_among_labels_is_refused(tmp_path):
    words = ["red", "blue"] * 20_000 + ["7"]
    (tmp_path / "a.csv").write_text("a,y\n" + "".join(f"1,{word}\n" for word in words))
    with pytest.raises(ValueError, match=r"a.csv, line 40002: '7' in column 'y' must be a label"):
        open_(tmp_path / "a.csv")


# -- the index of pandas ---------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["", "Unnamed: 0", '""'])
def test_the_index_of_pandas_is_refused_with_the_remedy(tmp_path, first):
    path = tmp_path / "a.csv"
    path.write_text(f"{first},a,y\n0,1.5,2\n1,2.5,3\n")
    message = r"a.csv: column '.*' is the index of a pandas table, .* index=False, or name the col"
    with pytest.raises(ValueError, match=message):
        open_(path)
    assert open_(path, columns=["a"]).X.tolist() == [[1.5], [2.5]]


def test_the_index_in_parquet_is_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.5, 2.5], "y": [1.0, 2.0]}, index=[5, 7])
    frame.to_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match="'__index_level_0__' is the index of a pandas table"):
        open_(tmp_path / "a.parquet", target="y")


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.npy"])
def test_rows_that_do_not_fit_are_read_once_to_open_them(tmp_path, rows, name, monkeypatch):
    """The size stands in the file, so no row is collected that is thrown away later."""
    X, y = rows
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, np.column_stack([X, y]))
    else:
        write(path, table_of(X, y))
    read = []
    monkeypatch.setattr(Source, "_part", remembering(Source._part, read))
    parts = open_(path, memory=SMALL)
    assert len(read) == parts.n_parts > 1


def remembering(function, calls):
    def called(source, key):
        calls.append(key)
        return function(source, key)

    return called


def test_text_in_npz_is_classes(tmp_path, rows):
    """As in tables, whether X is dense or sparse; an empty label is a missing one."""
    X, _ = rows
    labels = np.where(X[:, 0] > 0, "yes", "no")
    parts = sparse.csr_array(X)
    np.savez(tmp_path / "dense.npz", X=X, y=labels)
    arrays = {name: getattr(parts, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "sparse.npz", **arrays, y=labels)
    for name in ("dense.npz", "sparse.npz"):
        found = open_(tmp_path / name)
        assert found.y.tolist() == labels.tolist()
        assert bocce.Logistic(found.X, found.y).classes.tolist() == ["no", "yes"]
    labels[7] = ""
    np.savez(tmp_path / "dense.npz", X=X, y=labels)
    with pytest.raises(ValueError, match=r"dense.npz, row 7: y is empty; fill in or drop"):
        open_(tmp_path / "dense.npz")


def test_lists_of_numbers_are_columns(tmp_path, rows):
    """A part of one column of lists is the file's own memory, row by row."""
    X, y = rows
    lists = pa.FixedSizeListArray.from_arrays(X.astype(np.float32).ravel(), D)
    path = write(tmp_path / "a.arrow", pa.table({"x": lists, "y": y}))
    assert open_(path).columns == [f"x[{j}]" for j in range(D)]
    parts = open_(path, memory=SMALL)
    assert parts.read(1)[0].flags.c_contiguous
    np.testing.assert_array_equal(whole(parts)[0], X.astype(np.float32))
