"""Data: files in place, synthetic designs with a known spectrum, and LIBSVM's collection."""

from .blocks import write_blocks
from .extremal import extremal
from .files import Table, open, read_table
from .libsvm import load
from .synthetic import diagonal, regression
from .through import through

__all__ = [
    "Table",
    "diagonal",
    "extremal",
    "load",
    "open",
    "read_table",
    "regression",
    "through",
    "write_blocks",
]
