"""bocce.data.open: the same X and y whatever the format and the place, in memory and in parts."""

from __future__ import annotations

import bz2
import gzip
import http.server
import lzma
import os
import pickle
import subprocess
import sys
import threading
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import bocce
from bocce.data import _text
from bocce.data import open as open_

pa = pytest.importorskip("pyarrow")
from pyarrow import csv, dataset, feather, parquet  # noqa: E402

N, D = 400, 4
NAMES = [f"x{j}" for j in range(D)]
SMALL = 4000  # bytes: less than the rows need


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)).round(3)
    return X, (X @ np.arange(1.0, D + 1) + rng.standard_normal(N)).round(3)


def table_of(X, y, kind=np.float64):
    return pa.table({**{n: X[:, j].astype(kind) for j, n in enumerate(NAMES)}, "y": y})


def write(path: Path, table, size: int = 50) -> Path:
    """The table in the format that the name says, in parts of ``size`` rows."""
    suffix = path.suffix
    if suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=size)
    elif suffix == ".feather":
        feather.write_feather(table, str(path), chunksize=size, compression="lz4")
    elif suffix == ".arrow":
        feather.write_feather(table, str(path), chunksize=size, compression="uncompressed")
    elif suffix in (".csv", ".tsv"):
        sign = "," if suffix == ".csv" else "\t"
        csv.write_csv(table, path, csv.WriteOptions(delimiter=sign))
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


@pytest.fixture(autouse=True)
def small_text_parts(monkeypatch):
    monkeypatch.setattr(_text, "CHUNK", 1500)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def whole(file):
    parts = [(X.copy(), y.copy()) for X, y in file.stream(range(file.n_blocks))]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


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
        ({"target": 5}, IndexError, r"target=5 must be from -5 to 4, for a.csv has 5 columns"),
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


# -- tables given directly -------------------------------------------------------------------------


def test_tables_given_directly(rows):
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    X, y = rows
    table = table_of(X, y)
    given = [
        table,
        table.combine_chunks().to_batches()[0],
        table.to_pandas(),
        polars.from_arrow(table),
        dataset.dataset(table),
        dataset.InMemoryDataset(table.to_batches(max_chunksize=30)),
    ]
    for source in given:
        data = open_(source, memory=1 << 20)
        np.testing.assert_array_equal(data.X, X)
        np.testing.assert_array_equal(data.y, y)
        assert (data.columns, data.target) == (NAMES, "y")
    kinds = pandas.Series(["a", "b"] * (N // 2), dtype="category")
    assert open_(table.to_pandas().assign(y=kinds)).y.tolist() == kinds.tolist()
    with pytest.raises(ValueError, match=r"column 'x0' has type .*string.*, must be real numbers"):
        open_(table.to_pandas().assign(x0="text"))
    frame = table.to_pandas()
    frame.loc[3, "x1"] = None
    with pytest.raises(ValueError, match="the data frame, row 3: column 'x1' is missing or NaN"):
        open_(frame)
    with pytest.raises(TypeError, match=r"must be collected first; give source\.collect"):
        open_(polars.from_arrow(table).lazy())
    for source in (3, [], [1.0], None):
        with pytest.raises(TypeError, match="must be a path, a URL, a list of paths"):
            open_(source)


def test_a_data_set_of_arrow_with_its_partitions(tmp_path, rows):
    X, y = rows
    table = table_of(X, y).append_column("half", pa.array([0] * 200 + [1] * 200, pa.int32()))
    dataset.write_dataset(
        table, tmp_path / "d", format="parquet", partitioning=["half"], max_rows_per_group=40,
        max_rows_per_file=100, min_rows_per_group=1,
    )  # fmt: skip
    found = dataset.dataset(tmp_path / "d", partitioning=dataset.partitioning(field_names=["half"]))
    data = open_(found, target="y")
    assert data.columns == [*NAMES, "half"]
    order = np.lexsort(np.column_stack([data.X, data.y]).T)
    expected = np.column_stack([X, np.arange(N) >= 200, y])
    np.testing.assert_array_equal(
        np.column_stack([data.X, data.y])[order], expected[np.lexsort(expected.T)]
    )
    parts = open_(found, target="y", memory=SMALL)
    assert parts.n_blocks >= 10
    np.testing.assert_array_equal(whole(parts)[0], data.X)
    with pytest.raises(ValueError, match=r"can only be read from its beginning; .*write_blocks"):
        open_(dataset.dataset(write(tmp_path / "a.csv", table), format="csv"), memory=SMALL)


# -- places ----------------------------------------------------------------------------------------


def test_folders_globs_and_lists(tmp_path, rows):
    X, y = rows
    for i in range(4):
        (tmp_path / f"day={i}").mkdir()
        here = slice(100 * i, 100 * (i + 1))
        write(tmp_path / f"day={i}" / "part.parquet", table_of(X[here], y[here]), 30)
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".part.crc").write_text("x")
    paths = sorted(tmp_path.glob("*/part.parquet"))
    for source in (tmp_path, str(tmp_path / "*" / "*.parquet"), paths, tuple(map(str, paths))):
        np.testing.assert_array_equal(open_(source).X, X)
        np.testing.assert_array_equal(whole(open_(source, memory=SMALL))[0], X)
    np.testing.assert_array_equal(open_(paths[2:]).y, y[200:])
    write(tmp_path / "day=2" / "part.parquet", table_of(X[:100] * np.nan, y[:100]))
    with pytest.raises(ValueError, match=r"day=2.part.parquet, row group 0, row 0: column 'x0' is"):
        open_(tmp_path)
    write(tmp_path / "day=2" / "part.parquet", table_of(X[200:300], y[200:300]))
    literal = write(tmp_path / "a[1].parquet", table_of(X, y))
    np.testing.assert_array_equal(open_(literal).X, X)  # a name, though it looks like a glob


def test_text_files_that_belong_together(tmp_path, rows):
    X, y = rows
    for i, end in enumerate((100, 250, N)):
        here = slice((0, 100, 250)[i], end)
        write(tmp_path / f"{i}.svm", table_of(X[here], y[here]))
        write(tmp_path / f"{i}.csv", table_of(X[here], y[here]))
    for pattern in ("*.svm", "*.csv"):
        for data in (
            open_(str(tmp_path / pattern)),
            whole(open_(str(tmp_path / pattern), memory=9000)),
        ):
            np.testing.assert_array_equal(dense(data[0]), X)
            np.testing.assert_array_equal(data[1], y)


@pytest.mark.parametrize("pack", [bz2, gzip, lzma], ids=["bz2", "gz", "xz"])
@pytest.mark.parametrize("name", ["a.csv", "a.svm"])
def test_compressed_text_is_read_whole_or_written_once(tmp_path, rows, pack, name):
    X, y = rows
    plain = write(tmp_path / name, table_of(X, y))
    suffix = {bz2: ".bz2", gzip: ".gz", lzma: ".xz"}[pack]
    packed = plain.with_name(name + suffix)
    packed.write_bytes(pack.compress(plain.read_bytes()))
    np.testing.assert_array_equal(dense(open_(packed).X), X)
    with pytest.raises(
        ValueError, match=r"only be read from its beginning; unpack it, .*write_blo"
    ):
        open_(packed, memory=SMALL)
    file = bocce.data.write_blocks(tmp_path / "a.blocks", packed, block_rows=50)
    np.testing.assert_array_equal(np.sort(whole(file)[1]), np.sort(y))


class Ranges(http.server.SimpleHTTPRequestHandler):
    """Python's own server, with the ranges that object stores answer."""

    def do_GET(self):
        asked = self.headers.get("Range")
        if not asked:
            return super().do_GET()
        text = Path(self.translate_path(self.path)).read_bytes()
        first, _, last = asked.removeprefix("bytes=").partition("-")
        end = min(int(last or len(text)), len(text) - 1)
        part = text[int(first) : end + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{end}/{len(text)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        return self.wfile.write(part)

    def log_message(self, *words):
        pass


@pytest.fixture
def site(tmp_path):
    handler = partial(Ranges, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # fsspec's session ends with the process
@pytest.mark.parametrize("name", KINDS)
def test_files_behind_http(tmp_path, rows, site, name):
    pytest.importorskip("aiohttp")
    X, y = rows
    write(tmp_path / name, table_of(X, y))
    np.testing.assert_array_equal(dense(open_(f"{site}/{name}").X), X)
    file = open_(f"{site}/{name}", memory=SMALL * 3)
    np.testing.assert_array_equal(whole(file)[0], X)
    with pytest.raises(FileNotFoundError, match=r"there is no file 'http://.*/nowhere.csv'"):
        open_(f"{site}/nowhere.csv")


@pytest.mark.parametrize("name", KINDS)
def test_files_in_an_object_store(tmp_path, rows, name):
    fsspec = pytest.importorskip("fsspec")
    X, y = rows
    store = fsspec.filesystem("memory")
    store.rm("/bucket", recursive=True) if store.exists("/bucket") else None
    for i in range(2):
        here = slice(200 * i, 200 * (i + 1))
        local = write(tmp_path / name, table_of(X[here], y[here]))
        store.pipe(f"/bucket/{i}{local.suffix}", local.read_bytes())
    store.pipe("/bucket/_SUCCESS", b"")
    for url in ("memory://bucket", f"memory://bucket/*{local.suffix}"):
        np.testing.assert_array_equal(dense(open_(url).X), X)
    file = pickle.loads(pickle.dumps(open_("memory://bucket", memory=SMALL * 3)))
    np.testing.assert_array_equal(whole(file)[0], X)
    with pytest.raises(ValueError, match="'nowhere://a' cannot be reached"):
        open_("nowhere://a")


def test_paths_of_windows_are_no_urls():
    from bocce.data._places import File

    assert not File(r"C:\data\rows.csv").remote
    assert File("s3://bucket/rows.csv").remote


# -- the same files again --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.csv", "a.svm"])
def test_a_file_that_changes_afterwards_is_noticed(tmp_path, rows, name):
    X, y = rows
    file = open_(write(tmp_path / name, table_of(X, y)), memory=SMALL * 3)
    other = y.copy()
    other[60] = -other[60] if other[60] > 0 else 9.999
    write(tmp_path / name, table_of(X, other))
    with pytest.raises(ValueError, match=r"not what it was when the data were opened|altered"):
        whole(file)
    assert open_(tmp_path / name, memory=SMALL * 3).identity != file.identity


def test_a_run_in_parts_goes_on_from_its_checkpoint(tmp_path, rows):
    X, y = rows
    path = write(tmp_path / "a.parquet", table_of(X, y))
    options = {"T": 30, "batch_size": 0.3, "record_every": 5}
    expected = bocce.minimize(bocce.LeastSquares(open_(path, memory=SMALL)), "shb", **options)
    options["checkpoint"] = tmp_path / "run.npz"
    for stop in (10, None):
        p = bocce.LeastSquares(open_(path, memory=SMALL))
        r = bocce.minimize(p, "shb", **options, callback=lambda at, stop=stop: at.k == stop)
    np.testing.assert_array_equal(r.w, expected.w)


def test_block_files_are_opened_like_others(tmp_path, rows):
    X, y = rows
    labels = np.where(y > 0, "up", "down")
    file = bocce.data.write_blocks(tmp_path / "a.blocks", table_of(X, labels), block_rows=50)
    data = open_(file.path)
    assert (data.columns, data.target) == (NAMES, "y")
    order = np.argsort(bocce.sampling.shuffle_keys(0, 0, N))
    np.testing.assert_array_equal(data.X, X[order])
    assert data.y.tolist() == labels[order].tolist()
    again = open_(file.path, memory=SMALL)
    assert (again.identity, again.classes) == (file.identity, ["down", "up"])


def test_tables_repeat_and_pickle(rows):
    data = open_(table_of(*rows))
    assert repr(data) == "Table(400 x 4 float64, target='y')"
    again = pickle.loads(pickle.dumps(data))
    assert (again.columns, again.target) == (NAMES, "y")
    np.testing.assert_array_equal(again.X, data.X)


LIMITED = """
import resource, sys, numpy as np, bocce, pyarrow as pa
from pyarrow import parquet
path, n, d = sys.argv[1], int(sys.argv[2]), 50

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10

schema = pa.schema([(f"x{j}", pa.float32()) for j in range(d)] + [("y", pa.float64())])
rng = np.random.default_rng(0)
with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
    for _ in range(n // 5000):
        X = rng.standard_normal((d, 5000), dtype=np.float32)
        writer.write_table(pa.table([*X, X.sum(axis=0) + rng.standard_normal(5000)], schema))
before = peak()
file = bocce.data.open(path, memory=2_500_000)
p = bocce.LeastSquares(file)
r = bocce.minimize(p, "auto", T=20, batch_size=0.2)
assert np.abs(p.minimiser() - 1.0).max() < 0.05
print(file.n_blocks, file.n * file.d * 4 >> 20, peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="megabytes as Linux counts them")
def test_memory_in_parts_does_not_grow_with_the_data(tmp_path):
    """Twenty times the rows, the same peak: within 30 MB, where the data grow by 54 MB."""
    found = []
    for n in (15_000, 300_000):
        command = [sys.executable, "-c", LIMITED, str(tmp_path / "a.parquet"), str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([int(word) for word in done.stdout.split()])
    assert [blocks for blocks, _, _ in found] == [3, 60]
    assert found[1][1] - found[0][1] > 50
    assert found[1][2] - found[0][2] < 30


def test_nothing_is_left_open_or_running(tmp_path, rows):
    file = open_(write(tmp_path / "a.parquet", table_of(*rows)), memory=SMALL)
    with closing(file.stream(range(file.n_blocks))) as stream:
        next(stream)
    assert not [t for t in threading.enumerate() if t.name.startswith("bocce block")]
    assert os.listdir(tmp_path) == ["a.parquet"]
