"""CSV and NPZ: what was written is what is read, and what is wrong is named by its place."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from bocce.data import open as open_
from bocce.data.read import csv as csv_room
from bocce.data.read.paths import File
from helpers import written

# ---------------------------------------------------------------- CSV


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6).flatmap(
        lambda d: st.lists(
            st.lists(
                st.floats(allow_nan=False, allow_infinity=False), min_size=d + 1, max_size=d + 1
            ),
            min_size=1,
            max_size=8,
        )
    ),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["none", "plain", "quoted", "mark"]),
)
def test_csv_round_trip(tmp_path_factory, rows, delimiter, header):
    """Exactly, whatever the delimiter, with a header or none."""
    path = tmp_path_factory.mktemp("csv") / ("t.csv" if delimiter == "," else "t.tsv")
    names = [f"c{j}" for j in range(len(rows[0]))]
    first = {
        "none": [],
        "plain": [delimiter.join(names)],
        "quoted": [delimiter.join(f'"{name}{delimiter} "' for name in names)],
        "mark": ["\ufeff" + delimiter.join(names)],
    }[header]
    lines = first + [delimiter.join(map(repr, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    X, y = open_(path)
    assert np.array_equal(np.column_stack([X, y]), np.array(rows))
    assert X.flags.c_contiguous


CELLS = st.sampled_from(["1", "-2.5", "", " 3 ", "1e5", "nan", "x", "NA", '"4"', "1_0", "0x1"])


@settings(max_examples=100, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_a_table_is_read_whole_or_its_first_bad_cell_is_named(tmp_path_factory, cells, end):
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text(end.join(["a,y", *(f"{cell},1" for cell in cells)]), newline="")
    words = [cell.strip('"') for cell in cells]
    bad = next((i for i, word in enumerate(words) if not csv_room.is_number(word)), None)
    if bad is None:
        assert open_(path).X.ravel().tolist() == [float(word) for word in words]
    else:
        with pytest.raises(ValueError, match=r"t.csv, line \d+: .*column 'a'") as caught:
            open_(path)
        line = int(str(caught.value).split("line ")[1].split(":")[0])
        assert not csv_room.is_number(words[line - 2])


def test_csv_without_pyarrow_names_the_remedy(tmp_path, monkeypatch):
    path = written(tmp_path, "a,y\n1,2\n3,4\n", "t.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"need pyarrow; run pip install .*data"):
        open_(path)


def test_a_csv_is_opened_once(tmp_path, monkeypatch):
    opened, before = [], File.open
    monkeypatch.setattr(File, "open", lambda file: (opened.append(file.name), before(file))[1])
    open_(written(tmp_path, "a,y\n" + "1,2\n" * 3_000_000, "t.csv"))
    assert opened == ["t.csv"]


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b,y\n1,2,3\n", ["a", "b", "y"], 1),
        ("1,2,3\n4,5,6\n", ["x0", "x1", "x2"], 2),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", ["x0", "x1", "x2"], 2),
        ('a,"b,c",y\n1,2,3\n', ["a", "b,c", "y"], 1),
        ("\n\na,y\n\n1,2\n", ["a", "y"], 1),
        ("2020,2021,y\n1,2,3\n", ["2020", "2021", "y"], 1),
    ],
)
def test_what_a_csv_file_looks_like(tmp_path, text, names, rows):
    path = written(tmp_path, text, "t.csv")
    lines = csv_room.Lines(File(str(path)), 1, 0, path.stat().st_size, None)
    assert csv_room.header_of(lines).names == names
    assert len(open_(path)[1]) == rows


def test_compressed_csv(tmp_path):
    X, y = open_(written(tmp_path, gzip.compress(b"a,y\n1,2\n3,4\n"), "t.csv.gz"))
    assert X.tolist() == [[1.0], [3.0]]
    assert y.tolist() == [2.0, 4.0]


WRONG_CSV = [
    ("a,y\n1,2\n\nx,3\n", "line 4: 'x' in column 'a' must be a number; drop such rows"),
    ("a,y\n1,2\n\n3,x\n", "line 4: 'x' in column 'y' must be a number"),
    ("1,2\n3,\n", "line 2: column 'x1' is missing or NaN, must be a finite number; drop such"),
    ("1,2\n\n3\n", "line 3: has 1 cells where the first row has 2"),
    ("1,2\n3,nan\n", "line 2: column 'x1' is missing or NaN"),
    ("1,2\ninf,3\n", "line 2: "),
    ("a;y\n1;2\n", "has no commas in its first row, but ';'; cells must be separated by commas"),
    ('a,y\n"1,5",2\n', "line 2: '1,5' in column 'a' must be a number; write decimals with a point"),
    ("1\n2\n", "has one column"),
    ("a,b\n", "holds no row of numbers"),
    ("", "holds no row of numbers"),
    ("a,a,y\n1,2,3\n", "has two columns named 'a'"),
    (b"\xff\xfe1,2\n", "not UTF-8 text at byte 0"),
    (b"1,2\n1,\xff\n", "not UTF-8 text at byte 6"),
    ("1,2\n" + "9" * 140_000 + ",2\n", "line 2"),
    ('1,2\n"' + "9" * 140_000 + ",2\n", "line 2: a cell is longer than 131072 characters"),
    ("a" * 140_000 + ",2\n1,2\n", "line 1: a cell is longer than 131072 characters"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_CSV)
def test_wrong_csv_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=r"table\.csv") as caught:
        open_(written(tmp_path, text, "table.csv"))
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


# ---------------------------------------------------------------- NPZ


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_npz_of_arrays(tmp_path, kind):
    X = np.arange(6, dtype=kind).reshape(3, 2)
    np.savez(tmp_path / "t.npz", X=X, y=np.array([1, 2, 3]))
    read, y = open_(tmp_path / "t.npz")
    assert read.dtype == (np.float64 if kind is np.int64 else kind)
    assert np.array_equal(read, X)
    assert y.dtype == np.float64


def test_npz_of_csr_parts(tmp_path):
    X = sparse.random_array((20, 9), density=0.2, rng=np.random.default_rng(0), format="csr")
    np.savez_compressed(
        tmp_path / "t.npz",
        **{"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": X.shape},
        y=np.ones(20),
    )
    read, _ = open_(tmp_path / "t.npz")
    assert (read != X).nnz == 0


CSR = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": [2, 2], "y": [1.0, 2.0]}
WRONG_NPZ = [
    ({"X": np.ones((2, 2))}, "but not ['y']"),
    ({"a": [1.0]}, "but not ['data', 'indices', 'indptr', 'shape', 'y']"),
    ({"X": np.ones((2, 2)), "y": np.ones(3)}, "X has shape (2, 2) and y (3,)"),
    ({"X": np.ones(2), "y": np.ones(2)}, "X has shape (2,)"),
    ({"X": [[1.0, np.nan]], "y": [1.0]}, "X holds NaN or infinity"),
    ({"X": [[1.0]], "y": [np.inf]}, "y holds NaN or infinity"),
    ({"X": [["a"]], "y": [1.0]}, "X has type <U1, must be real numbers"),
    ({"X": np.array([[None]]), "y": [1.0]}, "of plain numbers (Object arrays"),
    ({**CSR, "indices": [0, 7]}, "not a CSR matrix"),
    ({**CSR, "indptr": [0, 2]}, "not a CSR matrix"),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG_NPZ)
def test_wrong_npz_is_refused(tmp_path, arrays, message):
    np.savez(tmp_path / "table.npz", **arrays)
    with pytest.raises(ValueError, match=r"table\.npz") as caught:
        open_(tmp_path / "table.npz")
    assert message in str(caught.value)


def test_truncated_or_damaged_npz(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((50, 2)), y=np.ones(50))
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        open_(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        open_(path)
    np.save(tmp_path / "t.npy", np.ones(3))
    (tmp_path / "t.npy").rename(path)
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        open_(path)
    path.write_bytes(whole[:300] + b"\x00\x01\x02" + whole[303:])
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file .*Bad CRC"):
        open_(path)


def test_a_first_row_longer_than_a_cell_may_be(tmp_path):
    """No cell is long: by a delimiter that is not in the row, all of it would be one."""
    names = [f"a_rather_long_name_of_a_column_{j:05d}" for j in range(4000)]
    path = tmp_path / "wide.csv"
    row = ",".join(["1.5"] * 4000)
    path.write_text(",".join(names) + "\n" + row + "\n" + row + "\n")
    assert len(path.read_text().split("\n")[0]) > 131_072
    X, y = open_(path)
    assert X.shape == (2, 3999)
    assert y.tolist() == [1.5, 1.5]
