"""Files: what was written is what is read, and what is wrong is named by file, line and token."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from bocce.data import _csv, _sparse, _svmlight, _text, read_table
from bocce.data._places import File
from bocce.data._svmlight import parse_fast, parse_plain

PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def written(tmp_path, text, name="table.svm"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def libsvm(text, size=1 << 20):
    """Parse text given in pieces of ``size`` bytes."""
    stream = io.BytesIO(text)
    chunks = iter(lambda: stream.read(size), b"")
    return _sparse.libsvm_table(_sparse.parsed_rows(chunks, "t.svm"), "t.svm")


# ---------------------------------------------------------------- LIBSVM: what is right

numbers = st.one_of(
    st.floats(-1e300, 1e300),
    st.integers(-(10**18), 10**18).map(float),
    st.decimals(-1000, 1000, places=6).map(float),
)
spellings = st.sampled_from([repr, "{:.17g}".format, "{:.15f}".format, "{:+.3e}".format])


@st.composite
def texts(draw):
    """LIBSVM text with all its liberties, and the table that it means."""
    base = draw(st.integers(0, 1))
    d = draw(st.integers(1, 30))
    labels, table, lines = [], [], []
    for _ in range(draw(st.integers(1, 8))):
        row = draw(
            st.dictionaries(st.integers(0, d - 1), st.tuples(numbers, spellings), max_size=6)
        )
        label = draw(spellings)(draw(numbers))
        pairs = [(j, spell(x)) for j, (x, spell) in sorted(row.items())]
        gap = draw(st.sampled_from([" ", "  ", "\t"]))
        noise = draw(st.sampled_from(["", " ", "\r", " # c:1 2", "#"]))
        query = draw(st.sampled_from(["", gap + "qid:7"]))
        lines.append(label + query + "".join(f"{gap}{j + base}:{x}" for j, x in pairs) + noise)
        labels.append(float(label))
        table.append({j: float(x) for j, x in pairs})
        lines.extend(draw(st.sampled_from([[], [""], ["# remark"]])))
    # the last row fixes the base and d
    lines.append(f"1 {base}:1" if d == 1 else f"1 {base}:1 {d - 1 + base}:1")
    labels.append(1.0)
    table.append({0: 1.0, d - 1: 1.0})
    dense = np.zeros((len(table), d))
    for i, row in enumerate(table):
        for j, x in row.items():
            dense[i, j] = x
    end = draw(st.sampled_from(["\n", ""]))
    return ("\n".join(lines) + end).encode(), dense, np.array(labels)


@settings(max_examples=150, deadline=None)
@given(texts(), st.integers(1, 200))
def test_libsvm_round_trip(case, size):
    """Exactly, wherever the pieces are cut."""
    text, dense, labels = case
    X, y = libsvm(text, size)
    assert np.array_equal(X.toarray(), dense)
    assert np.array_equal(y, labels)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_numbers_are_read_as_python_reads_them(values):
    for spell in (repr, "{:.3f}".format, "{:.14g}".format, "{:.9f}".format, "{:e}".format):
        words = [spell(x) for x in values]
        rows = parse_fast(" ".join(["1", *(f"{j}:{w}" for j, w in enumerate(words, 1))]).encode())
        assert rows.values.tobytes() == np.array([float(w) for w in words]).tobytes()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(2**53, 10**16 - 1), st.integers(0, 9)), min_size=1, max_size=50)
)
def test_many_digits_are_rounded_once(pairs):
    """Beyond 15 digits, here 16, the quotient of two floats would be rounded twice."""
    words = [f"{digits}"[:cut] + "." + f"{digits}"[cut:] for digits, cut in pairs]
    rows = parse_fast(" ".join(["1", *(f"{j}:{w}" for j, w in enumerate(words))]).encode())
    assert rows.values.tolist() == [float(w) for w in words]


ALPHABET = "0123456789.:-+e \t\n\r_#nq,x"


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(ALPHABET, max_size=60), st.text(" \n0123.:-", max_size=60)))
@example("1 1:2\n1 2:1 2:3")
@example("1 1:2\n1 3:1 2:3")
@example("1 1:2:3")
@example("1 1:1.2.3")
@example("1 1:-")
@example("1 1:.")
@example("1 1:1_0")
@example("1_0 1:1")
@example("1:2")
@example("1 99999999999999999999:1")
@example("1 2147483647:1")
@example("1 1:1e400")
@example("1 1:nan")
@example("-+1 1:1")
@example("1 -1:1")
@example("1 1:123456789012345678901234567890.5")
@example("1 1:-0 2:+.5 3:5. 4:-1e-3")
@example("1 0000000000000000000000001:5")
def test_the_fast_parser_agrees_with_the_plain_one(text):
    """Fast gives the plain one's rows; or it gives up, and where it does plain may decide."""
    data = text.encode()
    fast = parse_fast(data)
    try:
        plain = parse_plain(data, "t", 1)
    except ValueError:
        assert fast is None
        return
    if fast is not None:
        for left, right in zip(fast, plain):
            assert left.tobytes() == right.tobytes()


def test_ordinary_text_takes_the_fast_way(monkeypatch):
    """A parser that always gave up would pass every other test."""
    monkeypatch.setattr(_svmlight, "parse_plain", None)
    X, y = libsvm(b"# head\n+1 qid:3 1:0.5 7:-1e-3 # tail\n\n-1\n2.5 3:.25 7:123456789.25")
    assert y.tolist() == [1.0, -1.0, 2.5]
    assert X.toarray()[:, [0, 2, 6]].tolist() == [
        [0.5, 0, -1e-3],
        [0, 0, 0],
        [0, 0.25, 123456789.25],
    ]


def test_the_base_is_zero_only_where_a_zero_occurs():
    assert libsvm(b"1 1:5 2:6\n")[0].toarray().tolist() == [[5.0, 6.0]]
    assert libsvm(b"1 1:5 2:6\n1 0:7\n")[0].toarray().tolist() == [[0, 5, 6], [7, 0, 0]]


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_text(tmp_path, suffix):
    text = b"".join(b"%d 1:%d 9:0.5\n" % (i % 2, i) for i in range(150_000))
    X, y = read_table(written(tmp_path, PACKERS[suffix](text), "rows.svm" + suffix))
    assert X.shape == (150_000, 9)
    assert X[:, [0]].toarray().ravel().tolist() == list(range(150_000))
    assert y.sum() == 75_000
    assert X.indices.dtype == np.int32


# ---------------------------------------------------------------- LIBSVM: what is wrong

WRONG = [
    ("1 1:2\n1 3:1 2:3\n", "line 2: '2:3': comes after index 3: indices must increase"),
    ("1 1:2\n\n1 2:1 2:3\n", "line 3: '2:3': repeats index 2"),
    ("1 1:abc\n", "line 1: '1:abc': the value must be a finite decimal number"),
    ("one 1:2\n", "line 1: 'one': the label must be a finite decimal number"),
    ("1 1:nan\n", "line 1: '1:nan': the value must be a finite decimal number"),
    ("1 1:1e999\n", "line 1: '1:1e999': the value is too large"),
    ("1 1:2\n1 5\n", "line 2: '5': must be index:value with a whole index >= 0"),
    ("1 -1:2\n", "line 1: '-1:2': must be index:value"),
    ("1 1.0:2\n", "line 1: '1.0:2': must be index:value"),
    ("1 1:2:3\n", "line 1: '1:2:3': the value must be"),
    ("1 2147483647:1\n", "line 1: '2147483647:1': has an index above 2147483646"),
    ("1,2 1:1\n", "line 1: '1,2': the label must be a finite decimal number; name the file .csv"),
    ("1 1:\n", "line 1: '1:': the value must be"),
    ("", "holds no row"),
    ("# nothing\n\n", "holds no row"),
    ("1\n-1\n", "holds no feature"),
    ("1 " + "9" * 60 + ":1", "line 1: '" + "9" * 40 + "...': has an index above"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_libsvm_text_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=r"table\.svm") as caught:
        read_table(written(tmp_path, text))
    assert message in str(caught.value)


def test_line_numbers_count_over_pieces():
    text = b"".join(b"1 1:%d\n" % i for i in range(1000)) + b"1 1:x\n"
    with pytest.raises(ValueError, match=r"t\.svm, line 1001: '1:x'"):
        libsvm(text, size=100)


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz"])
def test_truncated_and_damaged_archives(tmp_path, suffix):
    whole = PACKERS[suffix](b"1 1:2 3:0.5\n" * 5000)
    cut = written(tmp_path, whole[:-20], "cut.svm" + suffix)
    with pytest.raises(ValueError, match=r"cut\.svm.*: the compressed file is truncated"):
        read_table(cut)
    other = written(tmp_path, b"1 1:2\n", "plain.svm" + suffix)
    with pytest.raises(ValueError, match=r"plain\.svm.*: damaged, or not a \." + suffix[1:]):
        read_table(other)


def test_no_file_and_no_permission(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_table(tmp_path)


def test_an_error_of_the_disk_is_not_called_damage(tmp_path, monkeypatch):
    def broken(path, mode):
        raise OSError(5, "Input/output error")

    monkeypatch.setitem(_text.OPENERS, ".bz2", broken)
    with pytest.raises(OSError, match="Input/output error"):
        read_table(written(tmp_path, b"", "rows.bz2"))


# ---------------------------------------------------------------- CSV


def both_ways(text):
    """All columns as pyarrow reads them and cell by cell, and the names."""
    lines, seen = _text.Lines(text.encode(), 1, 0), _csv.Look(",", ["a", "b"], False)
    return _csv._fast(lines, seen, ["a"], "b"), lambda: _csv._plain(lines, seen, ["a"], "b", "t")


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
    st.sampled_from(",;\t"),
    st.sampled_from(["none", "plain", "quoted", "mark"]),
)
def test_csv_round_trip(tmp_path_factory, rows, delimiter, header):
    """Exactly, whatever the delimiter, with a header or none."""
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    names = [f"c{j}" for j in range(len(rows[0]))]
    first = {
        "none": [],
        "plain": [delimiter.join(names)],
        "quoted": [delimiter.join(f'"{name}{delimiter} "' for name in names)],
        "mark": ["\ufeff" + delimiter.join(names)],
    }[header]
    lines = first + [delimiter.join(map(repr, row)) for row in rows]
    path.write_text("\n".join(lines) + "\n\n", encoding="utf-8")
    X, y = read_table(path)
    assert np.array_equal(np.column_stack([X, y]), np.array(rows))
    assert X.flags.c_contiguous


CELLS = st.sampled_from(["1", "-2.5", "", " 3 ", "1e5", "nan", "x", "NA", '"4"', "1_0", "0x1"])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_pyarrow_and_the_plain_reader_agree(rows, end):
    fast, plain = both_ways(end.join(",".join(row) for row in rows))
    try:
        expected = plain()
    except ValueError:
        assert fast is None
        return
    if fast is not None:
        np.testing.assert_array_equal(fast["a"], expected["a"])
        assert fast["b"].tolist() == expected["b"].tolist()


def test_csv_without_pyarrow(tmp_path, monkeypatch):
    path = written(tmp_path, "a;y\n1;2\n3;4\n", "t.csv")
    expected = read_table(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for found, wanted in zip(read_table(path), expected):
        assert found.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("a,b,y\n1,2,3\n", ["a", "b", "y"], 1),
        ("1,2,3\n4,5,6\n", ["x0", "x1", "x2"], 2),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", ["x0", "x1", "x2"], 2),
        ("sepal;petal;kind\n5,1;3,5;a\n".replace(",", "."), ["sepal", "petal", "kind"], 1),
        ("a\tb,c\ty\n1\t2\t3\n", ["a", "b,c", "y"], 1),
        ("\n\na,y\n\n1,2\n", ["a", "y"], 1),
        ("2020,2021,y\n1,2,3\n", ["2020", "2021", "y"], 1),
    ],
)
def test_what_a_csv_file_looks_like(tmp_path, text, names, rows):
    path = written(tmp_path, text, "t.csv")
    seen = _csv.look(File(str(path)))
    assert seen.names == names
    assert len(read_table(path)[1]) == rows


def test_compressed_csv(tmp_path):
    X, y = read_table(written(tmp_path, gzip.compress(b"a,y\n1,2\n3,4\n"), "t.csv.gz"))
    assert X.tolist() == [[1.0], [3.0]]
    assert y.tolist() == [2.0, 4.0]


WRONG_CSV = [
    ("a,y\n1,2\n\nx,3\n", "line 4: 'x' in column 'a' must be a number; fill in or drop"),
    ("a,y\n1,2\n\n3,x\n", "line 4: 'x' in column 'y' must be a number"),
    ("1,2\n3,\n", "line 2: column 'x1' is missing or NaN, must be a finite number; leave such"),
    ("1,2\n\n3\n", "line 3: has 1 cells where the first row has 2"),
    ("1,2\n3,nan\n", "line 2: column 'x1' is missing or NaN"),
    ("1,2\ninf,3\n", "line 2: "),
    ("a;y\n1,5;2\n", "line 2: '1,5' in column 'a' must be a number; write decimals with a point"),
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


@pytest.mark.parametrize("arrow", [True, False], ids=["pyarrow", "plain"])
@pytest.mark.parametrize(("text", "message"), WRONG_CSV)
def test_wrong_csv_is_refused(tmp_path, monkeypatch, arrow, text, message):
    if not arrow:
        monkeypatch.setattr(_csv, "_fast", lambda *_: None)
    with pytest.raises(ValueError, match=r"table\.csv") as caught:
        read_table(written(tmp_path, text, "table.csv"))
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


# ---------------------------------------------------------------- NPZ


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_npz_of_arrays(tmp_path, kind):
    X = np.arange(6, dtype=kind).reshape(3, 2)
    np.savez(tmp_path / "t.npz", X=X, y=np.array([1, 2, 3]))
    read, y = read_table(tmp_path / "t.npz")
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
    read, _ = read_table(tmp_path / "t.npz")
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
        read_table(tmp_path / "table.npz")
    assert message in str(caught.value)


def test_truncated_or_damaged_npz(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((50, 2)), y=np.ones(50))
    whole = path.read_bytes()
    path.write_bytes(whole[:-50])
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        read_table(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        read_table(path)
    np.save(tmp_path / "t.npy", np.ones(3))
    (tmp_path / "t.npy").rename(path)
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file"):
        read_table(path)
    path.write_bytes(whole[:300] + b"\x00\x01\x02" + whole[303:])
    with pytest.raises(ValueError, match=r"t\.npz: truncated, or not an NPZ file .*Bad CRC"):
        read_table(path)
