"""How much memory a record batch of an Arrow file asks for, before any is taken for it.

Compressed buffers begin with the length that they inflate to, which pyarrow believes. An Arrow file
ends with a footer that says where its batches lie; footer and batch headers are flatbuffers: tables
whose fields are found through a list of offsets. Only the few fields needed here are read.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

DICTIONARIES, BATCHES = 2, 3  # fields of the footer
HEADER_TYPE, HEADER = 1, 2  # of a message
DICTIONARY = 2  # a message's header type
BUFFERS, COMPRESSION = 2, 3  # of a record batch
BLOCK = np.dtype([("offset", "<i8"), ("header", "<i4"), ("pad", "<i4"), ("body", "<i8")])
BUFFER = np.dtype([("offset", "<i8"), ("length", "<i8")])


class Damaged(ValueError):
    """The file's description of its own layout is impossible."""


def inflated_size(stream: Any, i: int) -> int:
    """Bytes that batch ``i`` and all dictionaries of an Arrow file say they need."""
    try:
        footer = _footer(stream)
        table = _number("<I", footer, 0)
        batches = _vector(footer, table, BATCHES, BLOCK)
        homes = [*_vector(footer, table, DICTIONARIES, BLOCK), batches[i]]
        return sum(_size(stream, home) for home in homes)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise Damaged(f"its footer or a header is damaged ({error})") from None


def _footer(stream: Any) -> bytes:
    end = stream.size()
    length = _number("<i", _read(stream, end - 10, 10), 0)
    if not 0 < length <= end - 10:
        raise Damaged("no footer")
    return _read(stream, end - 10 - length, length)


def _read(stream: Any, offset: int, length: int) -> bytes:
    if offset < 0 or length < 0 or offset + length > stream.size():
        raise Damaged("a place beyond its end")
    stream.seek(offset)
    return bytes(stream.read(length))


def _size(stream: Any, home: Any) -> int:
    """Of one message: the lengths of its buffers, inflated."""
    offset, length = int(home["offset"]), int(home["header"])
    message = _read(stream, offset, length)
    message = message[8:] if message[:4] == b"\xff\xff\xff\xff" else message[4:]
    root = _number("<I", message, 0)
    batch = _table(message, root, HEADER)
    if _number("<B", message, _field(message, root, HEADER_TYPE)) == DICTIONARY:
        batch = _table(message, batch, 1)
    buffers = _vector(message, batch, BUFFERS, BUFFER)
    if not _field(message, batch, COMPRESSION):
        return int(buffers["length"].sum())
    total = 0
    for place, size in buffers.tolist():
        if size >= 8:
            inflated = _number("<q", _read(stream, offset + length + place, 8), 0)
            total += size if inflated < 0 else inflated  # -1: this one is not compressed
    return total


def _number(kind: str, data: bytes, at: int) -> int:
    return int(struct.unpack_from(kind, data, at)[0])


def _field(data: bytes, table: int, slot: int) -> int:
    """Where a field of a table lies; 0 if it has none."""
    offsets = table - _number("<i", data, table)
    if 4 + 2 * slot >= _number("<H", data, offsets):
        return 0
    place = _number("<H", data, offsets + 4 + 2 * slot)
    return table + place if place else 0


def _table(data: bytes, table: int, slot: int) -> int:
    place = _field(data, table, slot)
    return place + _number("<I", data, place)


def _vector(data: bytes, table: int, slot: int, kind: np.dtype[Any]) -> Any:
    """A list of structs of fixed size."""
    place = _field(data, table, slot)
    if not place:
        return np.empty(0, kind)
    first = place + _number("<I", data, place)
    return np.frombuffer(data, kind, _number("<I", data, first), first + 4)
