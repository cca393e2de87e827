"""Text from files, a few megabytes at a time: decompressed, cut at line ends, never without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..._direct import read_ahead
from ...blockfile import Block
from .filesystem import File
from .parts import Part

OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
CHUNK = 1 << 22  # bytes that are read and parsed at once
LEAST_CHUNK = 1 << 16  # bytes, where memory is short
LONGEST_LINE = 1 << 26  # bytes: a row of five million features
HARMLESS = 1 << 26  # bytes: an archive of any size may inflate to so much
MOST_TIMES = 1000  # an archive may inflate to so many times its size


class Lines(NamedTuple):
    """Whole lines of a file."""

    text: bytes
    line: int  # the number of the first line, from 1
    offset: int  # the place of the first byte
    file: File

    @property
    def key(self) -> Any:
        """What `read_lines` needs to read them again; None for compressed text."""
        packed = suffix_of(self.file.name)
        return None if packed else (self.file, self.offset, len(self.text), self.line)


def read_lines(key: Any) -> Lines:
    file, offset, length, line = key
    with file.open() as stream:
        stream.seek(offset)
        return Lines(stream.read(length), line, offset, file)


class TextSource:
    """What the sources of text share; a part is some lines."""

    def lines(self) -> Iterator[Lines]:
        raise NotImplementedError

    def rows(self, lines: Lines) -> Block:
        raise NotImplementedError

    def parts(self) -> Iterator[Part]:
        return read_ahead(self._part, self.lines(), threads(), 1 + threads())

    def _part(self, lines: Lines) -> Part:
        return Part(lines.key, *self.rows(lines))

    def read_part(self, key: Any) -> Part:
        return self._part(read_lines(key))

    def place(self, key: Any) -> str:
        return f"{key[0].name}, line {key[3]}"


def threads() -> int:
    """Threads that parse, as many as pyarrow takes: OMP_NUM_THREADS, or the processors."""
    try:
        import pyarrow
    except ImportError:
        return 1
    return int(pyarrow.cpu_count())


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


def text_chunks(file: File, size: int | None = None) -> Iterator[bytes]:
    """The text of a file in pieces of ``size`` bytes, decompressed by its suffix."""
    suffix, given = suffix_of(file.name), 0
    try:
        with file.open() as packed:
            packed_size = file.size() if suffix else 0
            stream = OPENERS[suffix](packed, "rb") if suffix else packed
            while chunk := stream.read(size or CHUNK):
                given += len(chunk)
                if suffix:
                    check_inflation(file.name, given, packed_size)
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


def check_inflation(name: str, inflated: int, size: int) -> None:
    """Refuse what inflates to more than `MOST_TIMES` its size."""
    if inflated > max(HARMLESS, MOST_TIMES * size):
        raise ValueError(
            f"{name}: {size} bytes inflate to more than {MOST_TIMES} times that, which looks like "
            "an archive made to fill memory; unpack it yourself if you trust it."
        )


def line_blocks(chunks: Iterable[bytes], file: File) -> Iterator[Lines]:
    """The same text, cut where lines end; chunks may end anywhere in a line."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, however long it gets
    waiting, line, offset = 0, 1, 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            text = b"".join([*rest, memoryview(chunk)[:cut]])
            yield Lines(text, line, offset, file)
            ends = np.frombuffer(text, np.uint8) == ord("\n")  # takes a quarter of count's time
            line, offset = line + int(np.count_nonzero(ends)), offset + len(text)
            rest, waiting = [], 0
        rest.append(chunk[cut:])
        waiting += len(chunk) - cut
        if waiting > LONGEST_LINE:
            raise ValueError(
                f"{file.name}, line {line}: is longer than {LONGEST_LINE} bytes, must be one row "
                "of numbers; check that lines end with a line feed."
            )
    yield Lines(b"".join(rest), line, offset, file)
