"""A folder for unfinished work: one writer at a time, and found again after a crash."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

JOURNAL = "journal"


class WorkFolder:
    """``NAME.writing-XXXXXXXX`` beside a file to be written, held by a lock while we live.

    Its name is new each time and it is made for us alone, so two writers never share one and no
    link can be laid into it. The lock goes with the process that holds it, however it ends: a
    folder that can be locked has been left, and if it has a journal the next writer of the same
    file goes on in it.
    """

    def __init__(self, path: Path) -> None:
        prefix = path.name + ".writing-"
        for left in sorted(path.parent.glob(glob_escape(prefix) + "*")):
            if self._take(left):
                if self.begun:
                    return
                self.remove()
        while True:  # another may take a new folder for one that was left, before it is locked
            if self._take(Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))):
                return

    def _take(self, folder: Path) -> bool:
        self.folder = folder
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        try:
            self._lock = os.open(folder / "lock", flags, 0o600)
        except OSError:  # gone, or not ours
            return False
        if _locked(self._lock) and _same(self._lock, folder / "lock"):
            return True
        os.close(self._lock)
        return False

    @property
    def begun(self) -> bool:
        """Is there anything to go on from?"""
        return (self.folder / JOURNAL).exists()

    def __truediv__(self, name: str) -> Path:
        return self.folder / name

    def leave(self) -> None:
        """Let go of it; what is in it stays for the next writer, if there is a journal."""
        if self.begun:
            os.close(self._lock)
        else:
            self.remove()

    def remove(self) -> None:
        (self.folder / JOURNAL).unlink(missing_ok=True)  # first: there is nothing to go on from
        if os.name == "nt":  # which does not delete what is open
            os.close(self._lock)
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)


def glob_escape(name: str) -> str:
    """
    >>> glob_escape("a[1]*")
    'a[[]1][*]'
    """
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _locked(file: int) -> bool:
    """Take the lock if nobody has it."""
    with contextlib.suppress(OSError):
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _same(file: int, path: Path) -> bool:
    """Is the file that we hold still the one of this name?"""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except OSError:
        return False
