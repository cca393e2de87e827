"""Text from files, a few megabytes at a time: decompressed, cut at line ends, never without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .paths import File

OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
CHUNK = 1 << 22  # bytes that are read and parsed at once
LEAST_CHUNK = 1 << 16  # bytes, where memory is short


@dataclass(frozen=True)
class TextLimits:
    """What is refused before it fills memory.

    Attributes
    ----------
    line : int
        The bytes of the longest line: a row of five million features.
    harmless : int
        An archive of any size may inflate to so many bytes ...
    times : int
        ... and a larger one to so many times its size.
    """

    line: int = 1 << 26
    harmless: int = 1 << 26
    times: int = 1000


LIMITS = TextLimits()


class Lines(NamedTuple):
    """Whole lines of a file: the key of a part of text."""

    file: File
    line: int  # the number of the first line, from 1
    offset: int  # the place of the first byte
    length: int
    text: bytes | None  # None: to be read again

    @property
    def place(self) -> str:
        return f"{self.file.name}, line {self.line}"

    def where(self, row: int) -> str:
        return f"{self.file.name}, line {[line for line, _ in self.rows()][row]}"

    def stored(self) -> Lines | None:
        """Compressed text cannot be read from its middle."""
        if suffix_of(self.file.name):
            return None
        return self._replace(text=None)

    def read(self) -> bytes:
        if self.text is not None:
            return self.text
        with self.file.open() as stream:
            stream.seek(self.offset)
            return stream.read(self.length)

    def skip(self, size: int, lines: int = 0) -> Lines:
        """What comes after the first bytes."""
        text = self.read()[size:]
        start = self.offset + size
        return Lines(self.file, self.line + lines, start, len(text), text)

    def rows(self) -> Iterator[tuple[int, str]]:
        """The rows with the numbers of their lines; blank lines are no rows."""
        try:
            text = self.read().decode()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{self.file.name}: not UTF-8 text at byte {self.offset + error.start}; save it so."
            ) from None
        rows = enumerate(text.split("\n"), self.line)
        return ((line, row.rstrip("\r")) for line, row in rows if row.strip("\r"))


def suffix_of(name: str) -> str:
    """The suffix of the compression, or nothing.

    >>> suffix_of("rows.csv.GZ"), suffix_of("rows.csv")
    ('.gz', '')
    """
    end = "." + name.rsplit(".", 1)[-1].lower()
    return end if end in OPENERS else ""


def chunk_for(limit: int) -> int:
    """Bytes to read at once where X and y may take ``limit``: a cell of two bytes becomes eight."""
    return min(CHUNK, max(LEAST_CHUNK, limit // 32))


def text_chunks(
    file: File, size: int | None = None, limits: TextLimits = LIMITS
) -> Iterator[bytes]:
    """The text of a file in pieces of ``size`` bytes, decompressed by its suffix."""
    suffix = suffix_of(file.name)
    given = 0
    try:
        with file.open() as packed:
            packed_size = file.size() if suffix else 0
            if suffix:
                stream = OPENERS[suffix](packed, "rb")
            else:
                stream = packed
            while chunk := stream.read(size or CHUNK):
                given += len(chunk)
                if suffix:
                    check_inflation(file.name, given, packed_size, limits)
                yield chunk
    except EOFError:
        raise ValueError(
            f"{file.name}: the compressed file is truncated; fetch or copy it again."
        ) from None
    except (OSError, lzma.LZMAError, zlib.error) as error:
        if not suffix or (isinstance(error, OSError) and error.errno is not None):
            raise  # the disk failed
        raise ValueError(
            f"{file.name}: damaged, or not a {suffix} file ({error}); fetch or copy it again."
        ) from None


def check_inflation(name: str, inflated: int, size: int, limits: TextLimits = LIMITS) -> None:
    """Refuse what inflates to many times its size."""
    if inflated > max(limits.harmless, limits.times * size):
        raise ValueError(
            f"{name}: {size} bytes inflate to more than {limits.times} times that, which looks "
            "like an archive made to fill memory; unpack it yourself if you trust it."
        )


def line_blocks(
    chunks: Iterable[bytes], file: File, limits: TextLimits = LIMITS
) -> Iterator[Lines]:
    """The same text, cut where lines end; chunks may end anywhere in a line."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, however long it gets
    waiting = 0
    line = 1
    offset = 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            text = b"".join([*rest, memoryview(chunk)[:cut]])
            yield Lines(file, line, offset, len(text), text)
            ends = np.frombuffer(text, np.uint8) == ord("\n")  # takes a quarter of count's time
            line = line + int(np.count_nonzero(ends))
            offset = offset + len(text)
            rest = []
            waiting = 0
        rest.append(chunk[cut:])
        waiting += len(chunk) - cut
        if waiting > limits.line:
            raise ValueError(
                f"{file.name}, line {line}: is longer than {limits.line} bytes, must be one row "
                "of numbers; check that lines end with a line feed."
            )
    text = b"".join(rest)
    yield Lines(file, line, offset, len(text), text)
