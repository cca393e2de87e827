"""Text from files, a few megabytes at a time: decompressed, cut at line ends, never without end."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from ._places import File

OPENERS: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open, ".xz": lzma.open}
CHUNK = 1 << 20
LONGEST_LINE = 1 << 26  # a row of five million features
HARMLESS = 1 << 26  # an archive may inflate this far whatever its size
MOST_TIMES = 1000  # and beyond that, this many times its size


class Lines(NamedTuple):
    """Whole lines of a file."""

    text: bytes
    line: int  # the number of the first, from 1
    offset: int  # where they begin


def suffix_of(name: str) -> str:
    """The compression's suffix, or nothing.

    >>> suffix_of("rows.csv.GZ"), suffix_of("rows.csv")
    ('.gz', '')
    """
    end = "." + name.rsplit(".", 1)[-1].lower()
    return end if end in OPENERS else ""


def text_chunks(file: File) -> Iterator[bytes]:
    """The text of a file in pieces of about a megabyte, decompressed by its suffix."""
    suffix = suffix_of(file.name)
    try:
        with file.open() as packed:
            yield from _inflated(packed, suffix, file) if suffix else _pieces(packed)
    except EOFError:
        raise ValueError(
            f"{file.name}: the compressed file is truncated; fetch or copy it again."
        ) from None
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error) as error:
        raise ValueError(_damaged(file, error)) from None
    except OSError as error:
        if error.errno is not None or not suffix:  # the disk's fault, not the text's
            raise
        raise ValueError(_damaged(file, error)) from None


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    while chunk := stream.read(CHUNK):
        yield chunk


def _inflated(packed: BinaryIO, suffix: str, file: File) -> Iterator[bytes]:
    most = max(HARMLESS, MOST_TIMES * file.size())
    given = 0
    with OPENERS[suffix](packed, "rb") as stream:
        for chunk in _pieces(stream):
            given += len(chunk)
            if given > most:
                raise inflates(file.name, file.size())
            yield chunk


def inflates(name: str, size: int) -> ValueError:
    return ValueError(
        f"{name}: {size} bytes inflate to more than {MOST_TIMES} times that, which looks like an "
        "archive made to fill memory; unpack it yourself if you trust it."
    )


def _damaged(file: File, error: Exception) -> str:
    suffix = suffix_of(file.name)
    return f"{file.name}: damaged, or not a {suffix} file ({error}); fetch or copy it again."


def line_blocks(chunks: Iterable[bytes], source: str) -> Iterator[Lines]:
    """The same text, cut where lines end; pieces may end anywhere in a line."""
    rest: list[bytes] = []  # of a line that has not ended yet; joined once, however long it gets
    waiting, line, offset = 0, 1, 0
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut:
            text = b"".join([*rest, chunk[:cut]])
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
