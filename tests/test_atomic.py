"""Files are there whole or not at all, and nothing is left beside them."""

from __future__ import annotations

import os

import pytest

from bocce._atomic import atomic_write


def names(folder):
    return sorted(file.name for file in folder.iterdir())


def test_parts_that_a_killed_process_left_are_removed(tmp_path):
    (tmp_path / "a.txt.0123abcd.part").write_bytes(b"half")
    others = ["a.txt.part", "a.txt.notes.part", "b.txt.0123abcd.part"]
    for name in others:
        (tmp_path / name).write_bytes(b"of somebody else")
    with atomic_write(tmp_path / "a.txt") as stream:
        stream.write(b"whole")
    assert names(tmp_path) == sorted(["a.txt", *others])


def test_a_part_that_is_being_written_is_left_alone(tmp_path):
    with atomic_write(tmp_path / "a.txt") as slow:
        slow.write(b"slow")
        with atomic_write(tmp_path / "a.txt") as quick:
            quick.write(b"quick")
        assert (tmp_path / "a.txt").read_bytes() == b"quick"
    assert (tmp_path / "a.txt").read_bytes() == b"slow"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_umask_is_obeyed_and_never_set(tmp_path, monkeypatch, mask):
    """Setting it, even for a moment, would open the files of other threads to everybody."""
    before = os.umask(mask)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "umask", None)
            with atomic_write(tmp_path / "a.txt") as stream:
                stream.write(b"whole")
    finally:
        os.umask(before)
    assert (tmp_path / "a.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_block_that_fails_leaves_the_old_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"old")

    def fail():
        with atomic_write(tmp_path / "a.txt") as stream:
            stream.write(b"new")
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fail()
    assert (tmp_path / "a.txt").read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]
