"""Files made to harm: refused by name and place, soon, in little memory, and nothing is written."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys
import zipfile
from itertools import islice

import numpy as np
import pytest

from bocce.data import open as open_
from bocce.data.read import text as text_room
from bocce.data.read.paths import files_of
from bocce.data.read.text import TextLimits

pa = pytest.importorskip("pyarrow")
from pyarrow import feather, parquet  # noqa: E402

from tables_on_disk import refused, three_columns  # noqa: E402

PACKERS = {".bz2": bz2.compress, ".gz": gzip.compress, ".xz": lzma.compress}


# -- truncated and altered -------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_truncated_files(tmp_path, suffix, share):
    path = tmp_path / f"rows{suffix}"
    write = parquet.write_table if suffix == ".parquet" else feather.write_feather
    write(three_columns(), path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refused(
        path, f"rows{suffix}", "truncated, altered, or not what its name says", "write it again"
    )


@pytest.mark.parametrize("text", [b"", b"a,b\n1,2\n", b"PAR1", b"PAR1" * 20, b"ARROW1\0\0" * 20])
@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".npz"])
def test_files_that_are_not_what_their_name_says(tmp_path, suffix, text):
    (tmp_path / f"rows{suffix}").write_bytes(text)
    refused(tmp_path / f"rows{suffix}", f"rows{suffix}")


def test_an_altered_parquet_page_is_found_by_its_checksum(tmp_path):
    path = tmp_path / "rows.parquet"
    options = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    made = three_columns(300)
    parquet.write_table(made, path, row_group_size=100, **options)
    text = path.read_bytes()
    value = made["b"][150].as_py()
    at = text.index(np.float64(value).tobytes()) + 3
    path.write_bytes(text[:at] + bytes([text[at] ^ 16]) + text[at + 1 :])
    refused(path, "rows.parquet, row group 1", "truncated, altered")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".npz"])
def test_altered_bytes_never_raise_anything_raw(tmp_path, suffix):
    """Every 31st byte turned around: refused with the name, or read as numbers."""
    path = tmp_path / f"rows{suffix}"
    made = three_columns(40)
    if suffix == ".npz":
        np.savez(path, X=np.ones((20, 2)), y=np.arange(20.0))
    elif suffix == ".csv":
        made.to_pandas().to_csv(path, index=False)
    else:
        (parquet.write_table if suffix == ".parquet" else feather.write_feather)(made, path)
    text = path.read_bytes()
    refusals = 0
    for at in range(0, len(text), 31):
        path.write_bytes(text[:at] + bytes([text[at] ^ 255]) + text[at + 1 :])
        try:
            X, _ = open_(path, memory=1 << 20)
        except ValueError as error:
            refusals += f"rows{suffix}" in str(error) or "of rows" in str(error)
        else:
            assert np.isfinite(X).all()
    assert refusals > 3


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("name", ["rows.csv", "rows.svm"])
def test_truncated_archives(tmp_path, suffix, name):
    text = b"1,2,3\n" if name == "rows.csv" else b"1 1:2 3:0.5\n"
    path = tmp_path / (name + suffix)
    path.write_bytes(PACKERS[suffix](text * 5000)[:-20])
    refused(path, f"{name}{suffix}: the compressed file is truncated")


# -- archives that inflate -------------------------------------------------------------------------


def one_long_line(suffix, size=300_000_000):
    """300 MB of one line in a few hundred bytes (bz2), packed a piece at a time."""
    if suffix == ".bz2":
        packer = bz2.BZ2Compressor()
    elif suffix == ".xz":
        packer = lzma.LZMACompressor(preset=0)
    else:
        import zlib

        packer = zlib.compressobj(wbits=31)
    piece = b"1" * 10_000_000
    return b"".join([packer.compress(piece) for _ in range(size // len(piece))] + [packer.flush()])


def peak_megabytes(path):
    """Memory that refusing a file takes, above what the imports take, and the message."""
    code = (
        "import resource, sys, bocce, pyarrow.dataset, pyarrow.csv\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    bocce.data.open(sys.argv[1])\nexcept ValueError as error:\n    print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    message, size = done.stdout.strip().rsplit("\n", 1)
    return message, int(size)


@pytest.mark.skipif(sys.platform == "win32", reason="resource is Unix's")
@pytest.mark.parametrize("name", ["rows.csv.bz2", "rows.svm.bz2", "rows.svm.gz"])
def test_a_small_archive_with_one_line_of_300_megabytes(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(one_long_line("." + name.rsplit(".", 1)[1]))
    if name.endswith(".bz2"):
        assert path.stat().st_size < 1000
    message, megabytes = peak_megabytes(path)
    assert name in message
    assert "inflate to more than 1000 times" in message or "is longer than 67108864" in message
    assert megabytes < 300


@pytest.mark.parametrize("suffix", PACKERS)
def test_archives_that_inflate_without_end_are_stopped(tmp_path, suffix):
    path = tmp_path / f"rows.svm{suffix}"
    path.write_bytes(PACKERS[suffix](b"1 1:1\n" * 1_000_000))
    (file,) = files_of(path)
    chunks = text_room.text_chunks(file, 1 << 15, TextLimits(harmless=1 << 16, times=50))
    may_be_taken = max(1 << 16, 50 * path.stat().st_size) >> 15
    assert len(list(islice(chunks, may_be_taken))) == may_be_taken
    message = rf"rows.svm{suffix}: \d+ bytes inflate to more than 50 times that.*unpack it"
    with pytest.raises(ValueError, match=message):
        next(chunks)
    assert sum(map(len, text_room.text_chunks(file))) == 6_000_000


def test_a_long_line_is_not_joined_again_and_again():
    """Time that grows with the square of a line's length is how 239 bytes took 52 s."""
    joined = []

    class Counted(bytes):
        def __add__(self, other):
            joined.append(len(self) + len(other))
            return Counted(bytes(self) + other)

    chunks = [Counted(b"1" * 1000)] * 500 + [b"\n"]
    lines = list(text_room.line_blocks(chunks, None))
    assert [len(block.text) for block in lines] == [500_001, 0]
    assert sum(joined) == 0


def npz_member(shape, dtype="<f8", data=b"", fortran=False):
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + data


def test_npz_that_inflates_is_stopped_before_memory_is_taken(tmp_path):
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npz_member((1000, 9000), data=bytes(72_000_000)))
        archive.writestr("y.npy", npz_member((1000,), data=bytes(8000)))
    with pytest.raises(
        ValueError, match=r"rows.npz: holds 72008256 bytes, more than memory=100000"
    ):
        open_(path, memory=100_000)
    with pytest.raises(ValueError, match=r"rows.npz, X.npy: \d+ bytes inflate to more than"):
        open_(path)


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (npz_member((10**13,)), ""),
        (npz_member((2**40, 2**40)), ""),
        (npz_member((-1,), data=bytes(8)), ""),
        (npz_member((1,), data=bytes(16)), "X.npy holds more than its header says"),
        (npz_member((1,), "|O", bytes(8)), "Object arrays cannot be loaded"),
        (b"\x93NUMPY\x07\x00", "(7, 0)"),
        (b"\x93NUMPY\x01\x00\xff\xff{", "EOF: reading array header"),
        (b"no array", "the magic string is not correct"),
    ],
)
def test_forged_npz_headers(tmp_path, member, message):
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", member)
    refused(path, "rows.npz: truncated, or not an NPZ file of plain numbers", message)


def test_a_few_bytes_of_parquet_that_stand_for_many_rows(tmp_path):
    path = tmp_path / "rows.parquet"
    n = 3_000_000
    zeros = pa.array(np.zeros(n, np.float32))
    parquet.write_table(
        pa.table({"a": zeros, "b": zeros, "y": zeros}), path, row_group_size=n, compression="zstd"
    )
    assert path.stat().st_size < 100_000
    message = r"rows.parquet, row group 0: needs 48000000 bytes, more than memory=10000000; raise"
    with pytest.raises(ValueError, match=message):
        open_(path, memory=10_000_000)


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
def test_a_few_bytes_of_arrow_that_stand_for_many_rows(tmp_path, codec):
    path = tmp_path / "rows.arrow"
    zeros = pa.array(np.zeros(3_000_000, np.float32))
    made = pa.table({"a": zeros, "b": zeros, "y": zeros})
    feather.write_feather(made, path, compression=codec, chunksize=3_000_000)
    assert path.stat().st_size < 200_000
    code = (
        "import sys, bocce, pyarrow as pa\n"
        "try:\n    bocce.data.open(sys.argv[1], memory=10_000_000)\n"
        "except ValueError:\n    print(pa.default_memory_pool().max_memory())\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    taken = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert 0 <= int(taken) < 1_000_000
    assert open_(path).X.shape == (3_000_000, 2)
    message = r"rows.arrow, record batch 0: needs 48000000 bytes, more than memory=10000000"
    with pytest.raises(ValueError, match=message):
        open_(path, memory=10_000_000)


def test_arrow_batches_that_inflate_without_end_are_stopped(tmp_path):
    """A huge batch among small ones: their mean says nothing."""
    path = tmp_path / "rows.arrow"
    schema = pa.schema([("a", pa.float64()), ("y", pa.float64())])
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), schema, options=packed) as writer:
        for rows in (1, 4_500_000, *[1] * 30):
            writer.write_batch(pa.record_batch([pa.array(np.zeros(rows))] * 2, schema))
    refused(path, "rows.arrow: ", "inflate to more than 1000 times that", "unpack it yourself")


def test_an_arrow_buffer_that_lies_about_its_length(tmp_path):
    """The eight bytes before a compressed buffer say what it inflates to."""
    path = tmp_path / "rows.arrow"
    made = three_columns(1000, a=pa.array(np.zeros(1000)))
    feather.write_feather(made, path, compression="lz4")
    text = path.read_bytes()
    at = text.index((8000).to_bytes(8, "little"))
    path.write_bytes(text[:at] + (2**40).to_bytes(8, "little") + text[at + 8 :])
    refused(path, "rows.arrow, record batch 0: ")


def test_rows_of_nothing(tmp_path):
    """A column of type null has no bytes, however many rows it says it has."""
    path = tmp_path / "rows.arrow"
    batch = pa.record_batch({"a": pa.nulls(10**9), "y": pa.nulls(10**9)})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(ValueError, match=r"rows.arrow: the target 'y' has type null"):
        open_(path)
    batch = pa.record_batch({"a": pa.nulls(3), "y": pa.array([1.0, 2.0, 3.0])})
    with pa.ipc.new_file(str(path), batch.schema) as writer:
        writer.write_batch(batch)
    refused(path, "rows.arrow, record batch 0, row 0: column 'a' is missing or NaN")


@pytest.mark.parametrize("index", [2**31 - 2, 10**8])
def test_a_tiny_text_file_with_a_huge_index(tmp_path, index):
    """As CSR it is small; stored dense each row would have gigabytes."""
    path = tmp_path / "rows.svm"
    path.write_text(f"1 1:1\n-1 {index}:1\n" * 200)
    assert open_(path).X.shape == (400, index)
    with pytest.raises(ValueError, match=rf"rows.svm: has {index} columns, must have from 1 to"):
        open_(path, memory=1000)
    assert os.listdir(tmp_path) == ["rows.svm"]


def test_a_text_file_whose_dense_rows_are_more_than_its_memory(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 5000000:1\n" * 200)
    message = r"rows.svm, line 1 and on: needs 16000003200 bytes, more than memory=1000"
    with pytest.raises(ValueError, match=message):
        open_(path, memory=1000)


# -- what is no file -------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_pipes_and_devices_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path, what in ((tmp_path / "pipe.csv", "a pipe"), ("/dev/zero", "a device")):
        with pytest.raises(ValueError, match=f"is {what}, must be a file; save what it gives"):
            open_(path)
    with pytest.raises(ValueError, match="is a pipe"):
        open_(tmp_path)
    assert os.listdir(tmp_path) == ["pipe.csv"]


def test_empty_folders_broken_links_and_no_files(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    for source in ("empty", "link", "nothing", "*.parquet"):
        with pytest.raises(FileNotFoundError, match="open: there is no file"):
            open_(tmp_path / source)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv", ".svm"])
def test_files_without_rows(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    if suffix in (".parquet", ".arrow"):
        (parquet.write_table if suffix == ".parquet" else feather.write_feather)(
            three_columns(0), path
        )
    else:
        path.write_text("a,y\n" if suffix == ".csv" else "\n# nothing\n\n")
    with pytest.raises(ValueError, match=rf"rows{suffix}: holds no row"):
        open_(path)


def test_a_csv_cell_beyond_131072_characters(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n1,2,3\n4," + "5" * 200_000 + ",6\n")
    refused(path, "rows.csv, line 3: ")
    path.write_text("a,b,y\n1,2,3\n4," + "x" * 200_000 + ",6\n")
    refused(path, "rows.csv, line 3: ")
