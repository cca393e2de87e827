"""Block files: a reader that trusts nothing."""

from __future__ import annotations

import errno
import json
import os
import pickle
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import bocce
from bocce import blockfile
from bocce.blockfile import BlockFile
from bocce.data import write_blocks
from tables_on_disk import whole

N, D = 503, 5


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((N, D)), rng.standard_normal(N)
    return write_blocks(tmp_path / "rows.blocks", rows, block_rows=40)


def damage(path: Path, offset: int) -> None:
    with path.open("r+b") as stream:
        stream.seek(offset)
        byte = stream.read(1)
        stream.seek(offset)
        stream.write(bytes([byte[0] ^ 1]))


def place(file: BlockFile, block: int) -> int:
    return int(file.store.table["offset"][block])


def test_a_corrupted_block_is_refused_by_name(file):
    y = file.read(7)[1].tobytes()
    damage(file.path, place(file, 5) + 500)
    damage(file.path, file.path.read_bytes().index(y) + 3)
    again = BlockFile(file.path)
    again.read(4)
    for block in (5, 7):
        with pytest.raises(ValueError, match=f"block {block} of 13 of .*rows.blocks' is corrupted"):
            again.read(block)
    with pytest.raises(ValueError, match="block 5 of 13"):
        again.verify()
    with pytest.raises(ValueError, match="block 5 of 13"):
        bocce.LeastSquares(again).constants()


def test_a_truncated_file_is_refused_at_once_and_while_reading(file):
    size = file.path.stat().st_size
    for end in (size - 1, place(file, 9) + 100, 5000, 100):
        os.truncate(file.path, end)
        with pytest.raises(ValueError, match=r"is truncated, or its header|is not a block file"):
            BlockFile(file.path)
    other = write_blocks(file.path, [(np.ones((N, D)), np.ones(N))], block_rows=40)
    os.truncate(file.path, place(other, 2))
    other.read(1)
    with pytest.raises(ValueError, match="is truncated at block 2 of 13"):
        other.read(2)


def test_no_byte_can_be_altered_in_silence(file):
    """Every byte that is not padding is either refused or says the same."""
    X, y = whole(file)
    text = file.path.read_bytes()
    refused = 0
    for offset in range(0, len(text), 97):
        file.path.write_bytes(text[:offset] + bytes([text[offset] ^ 255]) + text[offset + 1 :])
        try:
            found = whole(BlockFile(file.path))
        except ValueError:
            refused += 1
        else:
            np.testing.assert_array_equal(found[0], X)
            np.testing.assert_array_equal(found[1], y)
    assert refused > 0.8 * len(text) / 97


def forged(file: BlockFile, **facts) -> Path:
    """The same blocks under a header that says otherwise, sums and all."""
    pa = pytest.importorskip("pyarrow")
    store = file.store
    said = json.loads(store.schema.metadata[blockfile.KEY]) | facts
    table = store.table.copy()
    for field in table.dtype.names:
        table[field] = said.pop(field, table[field])
    schema = store.schema.with_metadata({blockfile.KEY: json.dumps(said)})
    path = file.path.with_name("forged")
    with pa.ipc.open_file(str(file.path)) as reader, pa.ipc.new_file(str(path), schema) as writer:
        for i in range(file.n_blocks):
            writer.write_batch(reader.get_batch(i))
        last = blockfile.table_metadata(schema, table)
        writer.write_batch(reader.get_batch(file.n_blocks), custom_metadata=last)
    return path


@pytest.mark.parametrize(
    "facts",
    [
        {"n": 10**15},
        {"n": -1},
        {"n": "many"},
        {"n": None},
        {"d": 0},
        {"d": 10**9},
        {"dtype": "O"},
        {"dtype": "float32"},
        {"dtype": ["x"]},
        {"blocks": 0},
        {"blocks": 14},
        {"blocks": 1.5},
        {"labels": [1.0, "a"]},
        {"columns": 3},
        {"classes": "ab"},
        {"offset": -8},
        {"offset": 2**62},
        {"length": 2**62},
        {"length": 0},
    ],
)
def test_forged_headers_are_refused(file, facts):
    """A header can be forged, sums and all; what it says must still be possible."""
    with pytest.raises(ValueError, match=r"BlockFile: .*forged' "):
        BlockFile(forged(file, **facts)).verify()


def test_a_true_header_is_not_called_forged(file):
    with pytest.raises(ValueError, match="block 0 of 13"):  # the schema has another length
        BlockFile(forged(file, seed=10**9)).verify()


def test_damaged_headers_and_other_files_are_refused(file, tmp_path):
    text = file.path.read_bytes()
    for mark in (b'"n": 503', b"table", b"sha256"):
        damage(file.path, text.rindex(mark) + 1)
        with pytest.raises(ValueError, match=r"corrupted|is not a block file"):
            BlockFile(file.path).verify()
        file.path.write_bytes(text)
    (tmp_path / "text").write_text("1 1:2\n")
    with pytest.raises(ValueError, match=r"is not a block file; .* bocce\.data\.open"):
        BlockFile(tmp_path / "text")
    with pytest.raises(FileNotFoundError, match=r"write one with bocce\.data.write_blocks"):
        BlockFile(tmp_path / "nowhere")
    with pytest.raises(IndexError, match="block 13 must be from 0 to 12"):
        file.read(13)


@pytest.mark.parametrize("step", ["open_file", "read_message"])
def test_no_memory_is_not_called_a_broken_file(file, monkeypatch, step):
    """Arrow's MemoryError is one of its own exceptions as well."""
    pa = pytest.importorskip("pyarrow")
    path = file.path

    def full(*args, **kwargs):
        raise pa.lib.ArrowMemoryError("malloc of size 2880 failed")

    monkeypatch.setattr(pa.ipc, step, full)
    with pytest.raises(MemoryError, match="malloc of size 2880 failed"):
        for _ in BlockFile(path).stream(range(1)):
            pass


def test_reading_without_preadv(file, monkeypatch):
    """As on Windows, where there is no read at a place, no direct input and no sysconf."""
    expected = whole(file)
    for name in ("preadv", "sysconf"):
        monkeypatch.delattr(os, name)
    again = BlockFile(file.path)
    for found, wanted in zip(whole(again), expected):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.skipif(not hasattr(os, "O_DIRECT"), reason="there is no direct input")
def test_a_file_system_that_refuses_direct_reads_is_read_through_the_cache(file, monkeypatch):
    """Some open a file for direct input and refuse the first read."""
    import fcntl

    expected, read = whole(file), os.preadv

    def refuse(handle, buffers, offset):
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_DIRECT:
            raise OSError(errno.EINVAL, "Invalid argument")
        return read(handle, buffers, offset)

    monkeypatch.setattr(os, "preadv", refuse)
    for found, wanted in zip(whole(BlockFile(file.path, direct=True)), expected):
        np.testing.assert_array_equal(found, wanted)


def test_direct_and_cached_reading_agree_and_pickles_reopen(file):
    direct, cached = BlockFile(file.path, direct=True), BlockFile(file.path, direct=False)
    again = pickle.loads(pickle.dumps(direct))
    for i in range(file.n_blocks):
        for a, b, c in zip(direct.read(i), cached.read(i), again.read(i)):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(a, c)
    assert repr(again).endswith("503 x 5 float64, 13 blocks)")


def test_streams_keep_their_order_and_end_their_threads(file):
    order = [12, 0, 3, 3, 7]
    for i, (X, y) in zip(order, file.stream(order)):
        np.testing.assert_array_equal(X, file.read(i)[0])
        np.testing.assert_array_equal(y, file.read(i)[1])
    with closing(file.stream(range(13))) as stream:
        next(stream)

    def broken():
        yield 0
        raise RuntimeError("the plan broke")

    with pytest.raises(RuntimeError, match="the plan broke"):
        list(file.stream(broken()))
    assert not [t for t in threading.enumerate() if t.name.startswith("bocce block")]
