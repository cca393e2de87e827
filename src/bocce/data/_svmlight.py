"""LIBSVM text, ``label index:value index:value ...`` a row, parsed twice.

`parse_fast` works on a whole chunk of bytes with array operations; `parse_plain` reads it line by
line and says what is wrong where. The fast one hands over whenever anything looks unusual, so the
plain one decides alone what is an error; tests hold the two together. scikit-learn's loader is not
used where it is installed: it is slower, names no line, and lets NaN and infinity pass
(``benchmarks/libsvm_text.py`` compares the two).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from .synthetic import FloatArray

IntArray = npt.NDArray[np.int64]

LARGEST_INDEX = 2**31 - 2  # what a 32-bit column number of a CSR matrix can hold
_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMENT = re.compile(rb"#[^\n]*")
_QUERY = re.compile(rb"(?m)^([ \t]*[^\s:]+[ \t]+)qid:\d+(?=\s|\Z)")  # ranking files: of no use here


class ParsedRows(NamedTuple):
    """Consecutive rows: a label each, how many features each, and those features in order."""

    labels: FloatArray
    counts: IntArray
    indices: IntArray  # as written: the base is known only at the end of the file
    values: FloatArray


def parse(text: bytes, source: str, first_line: int) -> ParsedRows:
    """The rows of ``text``, whole lines that begin with line ``first_line`` of ``source``."""
    if b"#" in text:
        text = _COMMENT.sub(b"", text)
    if b"qid:" in text:
        text = _QUERY.sub(rb"\1", text)
    rows = parse_fast(text)
    return parse_plain(text, source, first_line) if rows is None else rows


# ---------------------------------------------------------------- line by line


def parse_plain(text: bytes, source: str, first_line: int) -> ParsedRows:
    """Parse line by line; raise a `ValueError` that names file, line and token."""
    labels: list[float] = []
    counts: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    for number, line in enumerate(text.split(b"\n"), first_line):
        tokens = line.split()
        if not tokens:
            continue
        place = f"{source}, line {number}"
        labels.append(_number(tokens[0], place, "the label"))
        counts.append(len(tokens) - 1)
        before = -1
        for token in tokens[1:]:
            index, colon, value = token.partition(b":")
            if not (colon and index.isdigit()):
                _refuse(place, token, "must be index:value with a whole index >= 0")
            if int(index) > LARGEST_INDEX:
                _refuse(place, token, f"has an index above {LARGEST_INDEX}")
            if int(index) <= before:
                fault = "repeats index" if int(index) == before else "comes after index"
                _refuse(place, token, f"{fault} {before}: indices must increase within a line")
            before = int(index)
            indices.append(before)
            values.append(_number(value, place, "the value", token))
    return ParsedRows(
        np.array(labels, dtype=np.float64),
        np.array(counts, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def _number(text: bytes, place: str, what: str, token: bytes | None = None) -> float:
    shown = text if token is None else token
    if not _NUMBER.fullmatch(text):
        hint = "; name the file .csv if it holds a table with commas" if b"," in text else ""
        _refuse(place, shown, f"{what} must be a finite decimal number{hint}")
    number = float(text)
    if not np.isfinite(number):
        _refuse(place, shown, f"{what} is too large for a float64")
    return number


def _refuse(place: str, token: bytes, rule: str) -> NoReturn:
    shown = token[:40].decode("utf-8", "backslashreplace") + ("..." if len(token) > 40 else "")
    raise ValueError(f"{place}: {shown!r}: {rule}.")


# ---------------------------------------------------------------- a chunk at once

_PAD = b"\n" * 16  # before the text, so that 16 bytes can be read backwards from any digit
_NO_DIGITS = 8  # a mark inside the padding
_IS_SPACE = np.zeros(256, dtype=bool)
_IS_SPACE[list(b" \t\n\r\v\f")] = True
_MOST_DIGITS = 15  # an integer of 15 digits and 10^15 are exact in float64, so their ratio is right
_TENS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.int64)
_ZEROS = np.uint64(0x3030303030303030)
# of eight characters, read as one little-endian number, keep the last k = 0 .. 8
_KEEP_LAST = np.array([(2**64 - 1) ^ (2 ** (8 * (8 - k)) - 1) for k in range(9)], dtype=np.uint64)
_FOLDS = [  # add neighbours: digits to pairs, pairs to fours, fours to eight
    (np.uint64((10**width << (8 * width)) + 1), np.uint64(8 * width), np.uint64(mask))
    for width, mask in ((1, 0x00FF00FF00FF00FF), (2, 0x0000FFFF0000FFFF), (4, 0x00000000FFFFFFFF))
]


class _Marks(NamedTuple):
    """The bytes that are no digits. Text is then mark, digits, mark, digits, ..., mark."""

    at: IntArray  # where in the text
    byte: npt.NDArray[np.uint8]
    space: npt.NDArray[np.bool_]
    digits: IntArray  # how many digits follow the mark, up to the next one
    eights: npt.NDArray[np.uint64]  # the text from each byte on, eight bytes as one number


def parse_fast(text: bytes) -> ParsedRows | None:
    """The same rows as `parse_plain`, or None where a token is wrong."""
    if b"_" in text:  # which Python's float would pass over
        return None
    marks = _marks(_PAD + text + b"\n")
    begins = np.flatnonzero(marks.space[:-1] & ((marks.digits > 0) | ~marks.space[1:]))
    if begins.size == 0:
        return parse_plain(b"", "", 1)
    line = np.cumsum(marks.byte == ord("\n"))[begins]
    is_label = np.ones(begins.size, dtype=bool)
    is_label[1:] = line[1:] > line[:-1]
    features = begins[~is_label]
    if not ((marks.digits[features] > 0) & (marks.byte[features + 1] == ord(":"))).all():
        return None
    if features.size and marks.digits[features].max() > _MOST_DIGITS:
        return None
    numbers = _decimals(marks, begins + ~is_label)
    indices = _integers(marks, features)
    if numbers is None or not _increasing(indices, is_label):
        return None
    counts = np.diff(np.append(np.flatnonzero(is_label), begins.size)) - 1
    return ParsedRows(numbers[is_label], counts, indices, numbers[~is_label])


def _marks(text: bytes) -> _Marks:
    characters = np.frombuffer(text, dtype=np.uint8)
    at = np.flatnonzero(characters - np.uint8(ord("0")) > 9)
    byte = characters[at]
    eights = np.ndarray((len(text) - 7,), dtype="<u8", buffer=text, strides=(1,))
    return _Marks(at, byte, _IS_SPACE[byte], np.diff(at) - 1, eights)


def _increasing(indices: IntArray, is_label: npt.NDArray[np.bool_]) -> bool:
    """Do the indices increase within each line, none too large?"""
    if indices.size == 0:
        return True
    first_of_line = is_label[:-1][~is_label[1:]]  # a feature that comes right after a label
    rises = indices[1:] > indices[:-1]
    return bool((rises | first_of_line[1:]).all() and indices.max() <= LARGEST_INDEX)


def _integers(marks: _Marks, which: IntArray) -> IntArray:
    """The runs of up to 16 digits after the marks ``which``; an empty run is 0."""
    ends, lengths = marks.at[which + 1], marks.digits[which]
    total = _last_eight(marks.eights[ends - 8], np.minimum(lengths, 8))
    long = np.flatnonzero(lengths > 8)
    if long.size:
        total[long] += 10**8 * _last_eight(marks.eights[ends[long] - 16], lengths[long] - 8)
    return total


def _last_eight(characters: npt.NDArray[np.uint64], lengths: IntArray) -> IntArray:
    """The number that the last ``lengths`` of eight characters write."""
    number = (characters ^ _ZEROS) & _KEEP_LAST[lengths]
    for factor, shift, mask in _FOLDS:
        number *= factor
        number >>= shift
        number &= mask
    return number.view(np.int64)


def _decimals(marks: _Marks, which: IntArray) -> FloatArray | None:
    """The decimal numbers after the marks ``which``, up to the next space, or None."""
    byte, digits = marks.byte, marks.digits
    signed = (digits[which] == 0) & ((byte[which + 1] == ord("-")) | (byte[which + 1] == ord("+")))
    whole = which + signed
    minus = signed & (byte[whole] == ord("-"))
    dotted = byte[whole + 1] == ord(".")
    last = whole + dotted
    decimals = np.where(dotted, digits[last], 0)
    written = digits[whole] + decimals
    simple = (written > 0) & (written <= _MOST_DIGITS) & marks.space[last + 1]
    fraction = np.zeros(which.size, dtype=np.int64)
    some = np.flatnonzero(simple & (decimals > 0))
    decimals[~simple] = 0
    fraction[some] = _integers(marks, last[some])
    scale = _TENS[decimals]
    whole = np.where(simple, whole, _NO_DIGITS)
    numbers = (_integers(marks, whole) * scale + fraction) / scale
    np.negative(numbers, out=numbers, where=minus)
    return _with_the_others(marks, which, simple, numbers)


def _with_the_others(
    marks: _Marks, which: IntArray, simple: npt.NDArray[np.bool_], numbers: FloatArray
) -> FloatArray | None:
    """Fill in the numbers with an exponent or many digits, one by one."""
    others = np.flatnonzero(~simple)
    if others.size == 0:
        return numbers
    spaces = marks.at[marks.space]
    begins = marks.at[which[others]] + 1
    ends = spaces[np.searchsorted(spaces, begins)]
    text: Any = marks.eights.base
    try:
        numbers[others] = [float(text[i:j]) for i, j in zip(begins.tolist(), ends.tolist())]
    except ValueError:
        return None
    return numbers if np.isfinite(numbers[others]).all() else None
