"""Block files: writers that die, that meet others, and that find the disk full."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tempfile
import threading

import pytest

import bocce
from bocce.data import write_blocks
from bocce.data.write import blocks
from helpers import cut

N = 503  # rows


def dying(X, y, pieces, at):
    for number, pair in enumerate(cut(X, y, *range(50, N, 50))):
        if number == at:
            raise KeyboardInterrupt
        pieces.append(number)
        yield pair


@pytest.mark.parametrize("at", [0, 1, 5, 10])
def test_a_write_that_died_while_reading_leaves_nothing(tmp_path, rows, at):
    expected = write_blocks(tmp_path / "whole", rows, block_rows=40).path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_blocks(tmp_path / "a", dying(*rows, [], at), block_rows=40)
    assert os.listdir(tmp_path) == ["whole"]
    again = write_blocks(tmp_path / "a", cut(*rows, 333), block_rows=40)
    assert again.path.read_bytes() == expected
    assert sorted(os.listdir(tmp_path)) == ["a", "whole"]


@pytest.mark.parametrize("at", [0.2, 0.95])
def test_a_write_that_died_while_writing_leaves_the_old_file(tmp_path, rows, at):
    expected = write_blocks(tmp_path / "a", rows, block_rows=40).path.read_bytes()

    def stop(stage, done, total):
        assert total == (N if stage == "write" else None)
        if stage == "write" and done > at * N:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_blocks(tmp_path / "a", (-rows[0], rows[1]), block_rows=40, progress=stop)
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == expected


KILLED = """
import os, signal, sys, numpy as np, bocce
def die(stage, done, total):
    if stage == sys.argv[2] and done > 300:
        os.kill(os.getpid(), signal.SIGKILL)
rng = np.random.default_rng(1)
X, y = rng.standard_normal((503, 5)), rng.standard_normal(503)
pairs = zip(np.split(X, range(50, 503, 50)), np.split(y, range(50, 503, 50)))
bocce.data.write_blocks(sys.argv[1], pairs, block_rows=40, progress=die)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.parametrize("stage", ["read", "write"])
def test_after_a_kill_the_same_call_succeeds(tmp_path, rows, stage):
    """At most the unfinished file is left behind, and the next writer removes it."""
    expected = write_blocks(tmp_path / "whole", rows, block_rows=40).path.read_bytes()
    command = [sys.executable, "-c", KILLED, str(tmp_path / "a"), stage]
    assert subprocess.run(command, check=False).returncode == -9
    assert not (tmp_path / "a").exists()
    assert len(os.listdir(tmp_path)) == (1 if stage == "read" else 2)
    assert len(list(tmp_path.glob("a.*.part"))) == (stage == "write")
    assert write_blocks(tmp_path / "a", rows, block_rows=40).path.read_bytes() == expected
    assert sorted(os.listdir(tmp_path)) == ["a", "whole"]


def test_a_file_that_is_being_written_is_not_read(tmp_path, rows):
    folder = tmp_path / "data"
    folder.mkdir()
    write_blocks(folder / "a.arrow", rows)
    (folder / "a.arrow.0123abcd.part").write_bytes(b"half a file")
    assert bocce.data.open(folder).X.shape == rows[0].shape


def test_two_writers_never_mix_rows(tmp_path, rows):
    """Each in the middle of the other's work; the last one to finish wins, whole."""
    X, y = rows
    wanted = write_blocks(tmp_path / "wanted", (X, y), block_rows=40).path.read_bytes()

    def slow():
        yield X[:200], y[:200]
        write_blocks(tmp_path / "a", (-X, -y), block_rows=40).verify()
        yield X[200:], y[200:]

    assert write_blocks(tmp_path / "a", slow(), block_rows=40).path.read_bytes() == wanted
    assert sorted(os.listdir(tmp_path)) == ["a", "wanted"]


def test_writers_in_many_threads(tmp_path, rows):
    """Whichever comes last, the file is one of those that were written."""
    X, y = rows
    wanted = {
        write_blocks(tmp_path / f"w{i}", (X + i, y), block_rows=40).path.read_bytes()
        for i in range(4)
    }
    threads = [
        threading.Thread(target=write_blocks, args=(tmp_path / "a", (X + i, y), 40))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_bytes() in wanted
    assert sorted(os.listdir(tmp_path)) == ["a", "w0", "w1", "w2", "w3"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_is_replaced_and_not_followed(tmp_path, rows):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a").symlink_to(tmp_path / "precious")
    write_blocks(tmp_path / "a", rows)
    assert (tmp_path / "precious").read_text() == "mine"
    assert not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("room", [5_000, 20_000])
def test_a_full_disk_is_said_and_no_half_file_stays(tmp_path, rows, monkeypatch, room):
    left = [room]

    class Limited(io.BufferedRandom):
        def write(self, data):
            left[0] -= memoryview(data).nbytes
            if left[0] <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    def limited(dir):
        return Limited(tempfile.TemporaryFile(dir=dir, buffering=0))

    expected = write_blocks(tmp_path / "whole", rows, block_rows=40).path.read_bytes()
    with monkeypatch.context() as full:
        full.setattr(blocks, "TemporaryFile", limited)
        with pytest.raises(OSError, match=r"no room left for .*; free some and call again") as info:
            write_blocks(tmp_path / "a", cut(*rows, *range(10, N, 10)), block_rows=40)
    assert info.value.errno == errno.ENOSPC
    assert os.listdir(tmp_path) == ["whole"]
    assert write_blocks(tmp_path / "a", rows, block_rows=40).path.read_bytes() == expected


@pytest.mark.parametrize("n", [4000, 100_000])  # the file is too large; a bucket is
def test_a_limit_of_the_system_on_the_file_size(tmp_path, n):
    """The same with a real limit: the kernel cuts the write short, then refuses it."""
    code = (
        "import resource, numpy as np, bocce\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
        f"X = np.random.default_rng(0).standard_normal(({n}, 3))\n"
        f"bocce.data.write_blocks({str(tmp_path / 'a')!r}, (X, X[:, 0]), block_rows=100)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "write_blocks: there is no room left for" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_the_new_name_is_on_disk_when_the_call_returns(tmp_path, rows, monkeypatch):
    """After a rename the folder is written too: a power cut could undo the rename otherwise."""
    settled, fsync = [], os.fsync

    def watched(handle):
        settled.append((os.path.isdir(f"/proc/self/fd/{handle}"), (tmp_path / "a").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    write_blocks(tmp_path / "a", rows)
    assert settled == [(False, False), (True, True)]
