"""Text from files, a few megabytes at a time: decompressed, cut at line ends, never without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from .filesystem import File

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

    def key(self, number: int, file: File) -> Any:
        """What `read_lines` needs to read them again; None for compressed text."""
        return None if suffix_of(file.name) else (number, self.offset, len(self.text), self.line)


def read_lines(files: list[File], key: Any) -> Lines:
    number, offset, length, line = key
    with files[number].open() as stream:
        stream.seek(offset)
        return Lines(stream.read(length), line, offset)


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
    size = size or CHUNK
    suffix = suffix_of(file.name)
    try:
        with file.open() as packed:
            yield from _inflated(packed, suffix, file, size) if suffix else _pieces(packed, size)
    except EOFError:
        raise ValueError(
            f"{file.name}: the compressed file is truncated; fetch or copy it again."
        ) from None
    except (OSError, lzma.LZMAError, zlib.error) as error:
        if getattr(error, "errno", None) is not None or not suffix:  # the disk failed
            raise
        raise ValueError(
            f"{file.name}: damaged, or not a {suffix} file ({error}); fetch or copy it again."
        ) from None


def _pieces(stream: BinaryIO, size: int) -> Iterator[bytes]:
    while chunk := stream.read(size):
        yield chunk


def _inflated(packed: BinaryIO, suffix: str, file: File, most: int) -> Iterator[bytes]:
    size, given = file.size(), 0
    with OPENERS[suffix](packed, "rb") as stream:
        for chunk in _pieces(stream, most):
            given += len(chunk)
            check_inflation(file.name, given, size)
            yield chunk


def check_inflation(name: str, inflated: int, size: int) -> None:
    """Refuse what inflates to more than `MOST_TIMES` its size."""
    if inflated > max(HARMLESS, MOST_TIMES * size):
        raise ValueError(
            f"{name}: {size} bytes inflate to more than {MOST_TIMES} times that, which looks like "
            "an archive made to fill memory; unpack it yourself if you trust it."
        )


def line_blocks(chunks: Iterable[bytes], source: str) -> Iterator[Lines]:
    """The same text, cut where lines end; chunks may end anywhere in a line."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, however long it gets
    waiting, line, offset = 0, 1, 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            text = b"".join([*rest, memoryview(chunk)[:cut]])
            yield Lines(text, line, offset)
            line, offset = line + text.count(b"\n"), offset + len(text)
            rest, waiting = [], 0
        rest.append(chunk[cut:])
        waiting += len(chunk) - cut
        if waiting > LONGEST_LINE:
            raise ValueError(
                f"{source}, line {line}: is longer than {LONGEST_LINE} bytes, must be one row of "
                "numbers; check that lines end with a line feed."
            )
    yield Lines(b"".join(rest), line, offset)
