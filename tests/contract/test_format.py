"""What every format of files must obey; a format that is registered is tested, without a line more
than a writer of its own in `tables_on_disk.write`.

Rows are the same in memory and in parts, problems on them are the same problems, and what is wrong
is refused by file, row and column.
"""

from __future__ import annotations

import os
import pickle
import re

import numpy as np
import pytest

import bocce
from bocce.data import open as open_
from bocce.data.read.files import FORMATS, in_parts

pytest.importorskip("pyarrow")
import pyarrow as pa

from tables_on_disk import NAMES, SMALL, D, N, dense, made_rows, table_of, whole, write

pytestmark = pytest.mark.usefixtures("small_text_parts")
# a file without a suffix that is known is LIBSVM text
ALL = [(name, f"rows{(*format_.suffixes, '.txt')[0]}") for name, format_ in FORMATS.items()]
SUFFIXES = [suffix for format_ in FORMATS.values() for suffix in format_.suffixes]
NAMED = [pair for pair in ALL if FORMATS[pair[0]].named]
IN_PARTS = [pair for pair in ALL if FORMATS[pair[0]].source is not None]
X, Y = made_rows()
LIMIT = SMALL * 3


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_has_its_reader(tmp_path, suffix):
    path = write(tmp_path / f"rows{suffix}", table_of(X, Y))
    np.testing.assert_array_equal(open_(path).X, X)


@pytest.mark.parametrize(("name", "file"), ALL)
def test_rows_in_memory_are_what_was_written(tmp_path, name, file):
    data = open_(write(tmp_path / file, table_of(X, Y)))
    found, y = data
    np.testing.assert_array_equal(dense(found), X)
    np.testing.assert_array_equal(y, Y)
    assert y.dtype == np.float64
    expected = NAMES if FORMATS[name].named else None
    assert data.columns == expected
    assert repr(data).startswith(f"Table({N} x {D} ")


@pytest.mark.parametrize(("name", "file"), IN_PARTS)
def test_rows_in_parts_are_those_in_memory(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    for parts in (open_(path, memory=LIMIT), in_parts(path)):
        assert isinstance(parts, bocce.data.Parts)
        assert (parts.n, parts.d, parts.dtype) == (N, D, np.float64)
        assert parts.n_parts > 4
        assert sum(parts.rows(i) for i in range(parts.n_parts)) == N
        assert parts.columns == (NAMES if FORMATS[name].named else None)
        found, y = whole(parts)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(y, Y)
        again = pickle.loads(pickle.dumps(parts))
        np.testing.assert_array_equal(again.read(2)[0], parts.read(2)[0])
        assert again.identity == parts.identity
        with pytest.raises(IndexError, match=f"must be from 0 to {parts.n_parts - 1}"):
            parts.read(parts.n_parts)


@pytest.mark.parametrize(("name", "file"), IN_PARTS)
def test_a_problem_in_parts_is_the_one_in_memory(tmp_path, name, file):
    parts = in_parts(write(tmp_path / file, table_of(X, Y)))
    p = bocce.LeastSquares(parts, l2=0.1)
    q = bocce.LeastSquares(X, Y, l2=0.1)
    w = np.arange(D) - 1.0
    assert p.value(w) == pytest.approx(q.value(w), rel=1e-13)
    np.testing.assert_allclose(p.gradient(w), q.gradient(w), rtol=1e-12)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), rtol=1e-10)
    r = bocce.minimize(p, tol=1e-8)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, q.minimiser(), rtol=1e-6)


@pytest.mark.parametrize(("name", "file"), IN_PARTS)
def test_a_run_in_batches_goes_on_from_its_checkpoint(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    how = {"T": 20, "batch_size": 0.3, "record_every": 5}
    expected = bocce.minimize(bocce.LeastSquares(in_parts(path)), "shb", **how)
    how["checkpoint"] = tmp_path / "run.npz"
    for stop in (10, None):
        p = bocce.LeastSquares(in_parts(path))
        r = bocce.minimize(p, "shb", **how, callback=lambda at, stop=stop: at.k == stop)
    np.testing.assert_array_equal(r.w, expected.w)


@pytest.mark.parametrize(("name", "file"), ALL)
def test_float32_halves_the_memory(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    data = open_(path, dtype="float32")
    assert data.X.dtype == np.float32
    np.testing.assert_array_equal(dense(data.X), X.astype(np.float32))


@pytest.mark.parametrize(("name", "file"), NAMED)
def test_columns_go_by_name_and_by_number(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    last = D if name == "NPY" else "y"  # the columns of an array have numbers
    for memory in (None, SMALL):
        data = open_(path, 1, [last, "x3"], memory=memory)
        found, y = data if memory is None else whole(data)
        np.testing.assert_array_equal(found, np.column_stack([Y, X[:, 3]]))
        np.testing.assert_array_equal(y, X[:, 1])
    data = open_(path, exclude=["x0", 2])
    np.testing.assert_array_equal(data.X, X[:, [1, 3]])
    with pytest.raises(ValueError, match=r"exclude=\['.*'\] must not name the target .*target="):
        open_(path, exclude=[-1])


@pytest.mark.parametrize(("name", "file"), [pair for pair in ALL if pair not in NAMED])
def test_formats_without_names_take_no_names(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    for asked in ({"target": 0}, {"columns": ["x0"]}, {"exclude": ["x0"]}):
        with pytest.raises(ValueError, match=f"must be left out for {name}"):
            open_(path, **asked)


# -- what is wrong ---------------------------------------------------------------------------------


def with_bad_cell(column, row, value):
    table = table_of(X, Y)
    cells = table[column].to_pylist()
    cells[row] = value
    return table.set_column(table.schema.names.index(column), column, pa.array(cells))


@pytest.mark.parametrize("row", [0, 123])
@pytest.mark.parametrize("column", ["x2", "y"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(("name", "file"), ALL)
def test_a_bad_cell_is_named_by_file_row_and_column(tmp_path, name, file, value, column, row):
    path = write(tmp_path / file, with_bad_cell(column, row, value))
    at = {"LIBSVM": f"line {row + 1}", "NPZ": f"row {row}", "NPY": f"row {row}"}
    at |= {"CSV": f"line {row + 2}"}
    at |= {"Parquet": f"row group {row // 50}, row {row % 50}"}
    at |= {"Arrow": f"record batch {row // 50}, row {row % 50}"}
    in_x = column != "y"
    shown = {"LIBSVM": f"'3:{value}'" if in_x else "the label"}
    shown |= {"NPZ": "column 2: X holds NaN or infinity" if in_x else ": y holds NaN or infinity"}
    shown |= {"NPY": "column 'x2'" if in_x else "column 'x4'"}
    for memory in (None, 15_000):
        if memory and name == "NPZ":
            continue
        with pytest.raises(ValueError) as caught:
            open_(path, memory=memory)
        text = str(caught.value)
        assert file in text
        assert re.search(rf"{at[name]}\b", text), text
        assert shown.get(name, f"column {column!r}") in text


@pytest.mark.parametrize(("name", "file"), ALL)
def test_a_file_that_is_cut_off_is_refused(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    size = path.stat().st_size
    if name in ("CSV", "LIBSVM"):  # text is cut off within a row
        path.write_bytes(path.read_bytes().rstrip(b"\n").rsplit(b"\n", 1)[0] + b"\n0.5,x 7\n")
    else:
        os.truncate(path, size - 40)
    with pytest.raises(ValueError, match=rf"^(open: )?{file}"):
        open_(path)


@pytest.mark.parametrize(("name", "file"), ALL)
def test_a_file_without_rows_is_refused(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X[:0], Y[:0]))
    with pytest.raises(ValueError, match=rf"{file}: (holds no row|X has shape)"):
        open_(path)


@pytest.mark.parametrize(("name", "file"), IN_PARTS)
def test_a_file_that_changes_is_noticed(tmp_path, name, file):
    path = write(tmp_path / file, table_of(X, Y))
    parts = in_parts(path)
    other = Y.copy()
    other[60] = 9.999
    write(path, table_of(X, other))
    with pytest.raises(ValueError, match="is not what it was when the data were opened"):
        whole(parts)
    assert in_parts(path).identity != parts.identity


# -- labels ----------------------------------------------------------------------------------------

TEXT = [pair for pair in NAMED if pair[0] != "NPY"]


@pytest.mark.parametrize(("name", "file"), TEXT)
def test_a_target_of_text_gives_classes(tmp_path, name, file):
    labels = np.where(Y > 0, "up", "down")
    path = write(tmp_path / file, table_of(X, labels))
    assert open_(path).y.tolist() == labels.tolist()
    parts = in_parts(path)
    assert (parts.classes, parts.labels) == (["down", "up"], [0.0, 1.0])
    np.testing.assert_array_equal(whole(parts)[1], (Y > 0).astype(float))
    p, q = bocce.Logistic(parts, l2=0.1), bocce.Logistic(X, labels, l2=0.1)
    assert list(p.classes) == list(q.classes)
    np.testing.assert_allclose(p.minimiser(), q.minimiser(), rtol=1e-8)
