"""LIBSVM text: what was written is what is read, what is wrong is named by line and token."""

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bocce.data import open as open_
from bocce.data.read import libsvm as room
from bocce.data.read import text as text_room
from bocce.data.read.libsvm import parse_fast, parse_plain
from bocce.data.read.paths import File
from helpers import written

PACKERS = {"": bytes, ".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


def libsvm(text, size=1 << 20):
    """Parse text given in pieces of ``size`` bytes."""
    stream = io.BytesIO(text)
    chunks = iter(lambda: stream.read(size), b"")
    return room.gather(text_room.line_blocks(chunks, File("t.svm")), "t.svm")[0]


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
    monkeypatch.setattr(room, "parse_plain", None)
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
    X, y = open_(written(tmp_path, PACKERS[suffix](text), "rows.svm" + suffix))
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
        open_(written(tmp_path, text))
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
        open_(cut)
    other = written(tmp_path, b"1 1:2\n", "plain.svm" + suffix)
    with pytest.raises(ValueError, match=r"plain\.svm.*: damaged, or not a \." + suffix[1:]):
        open_(other)


def test_no_file_and_no_permission(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_(tmp_path / "absent")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_(tmp_path)


def test_an_error_of_the_disk_is_not_called_damage(tmp_path, monkeypatch):
    def broken(path, mode):
        raise OSError(5, "Input/output error")

    monkeypatch.setitem(text_room.OPENERS, ".bz2", broken)
    with pytest.raises(OSError, match="Input/output error"):
        open_(written(tmp_path, b"", "rows.bz2"))
