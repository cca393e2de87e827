"""How much memory rows take beside themselves, and how many rows are worth a special case."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RowLimits:
    """Sizes of blocks and copies of rows.

    Attributes
    ----------
    copied : int
        Dense rows of up to this many bytes may be copied: into other units, beside a column for an
        intercept, or from Fortran order into rows for the compiled steps.
    copied_single : int
        The same for float32 in other units: products of such rows are as fast as those of a copy,
        which would be float64 (100,000 x 20, logistic loss: 0.6 of the time with a limit of 2^23).
    block : int
        Rows are taken this many bytes at a time where a copy must be made.
    made : int
        Rows in other units are made this many bytes at a time.
    on_device : int
        The most numbers of X, or of its scores, in a block of an array of another library.
    summed_single : int
        With fewer numbers of X than this, sums over float32 rows in float64 take as long as sums
        in float32, which have to be corrected.
    single_rows : int
        A block of a sum in float32 has at least this many rows: with 128 the sums take 1.4 times
        as long as with 512.
    single_numbers : int
        Short rows: the numbers of X in a block of a sum in float32.
    """

    copied: int = 1 << 26
    copied_single: int = 1 << 19
    block: int = 1 << 23
    made: int = 1 << 20
    on_device: int = 1 << 24
    summed_single: int = 1 << 18
    single_rows: int = 512
    single_numbers: int = 1 << 16


LIMITS = RowLimits()
