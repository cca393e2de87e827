"""What a problem may compute from its rows: one object, which the problem hands to others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProblemLimits:
    """Up to which sizes a problem forms a matrix, and how many rows say what columns are like.

    Attributes
    ----------
    gram_columns : int
        A d x d matrix is formed for at most this many columns ...
    gram_flops : float
        ... and with at most this many multiplications.
    corrected : int
        Sums in float32 are corrected with this many numbers of the rows at a time: they stay in
        the cache.
    sample_rows : int
        Centre and scale of a column are taken from this many rows, where there are more ...
    sample_numbers : int
        ... and of wide rows from a quarter of them: so many numbers say enough of what columns are
        like (ridge regression on 10,000 x 300 takes 1.1 times as long with 4,096 rows).
    rare_rows : int
        A column that is constant in the sample is looked at in this many rows, and then in all.
    factor_columns : int
        A d x d factor of a Hessian is computed for at most this many columns.
    kernel_entries : int
        An n x n factor has at most this many entries: 256 MB in float32.
    sparse_kernel_rows : int
        With more sparse rows, steps in the metrics "identity" and "diagonal" cost less in total
        than a factor of n x n numbers (benchmarks/wide.py).
    """

    gram_columns: int = 1024
    gram_flops: float = 1e11
    corrected: int = 1 << 17
    sample_rows: int = 1 << 12
    sample_numbers: int = 1 << 18
    rare_rows: int = 1 << 16
    factor_columns: int = 2048
    kernel_entries: int = 1 << 26
    sparse_kernel_rows: int = 1024


LIMITS = ProblemLimits()
