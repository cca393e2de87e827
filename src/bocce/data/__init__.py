"""Data: synthetic designs with a known spectrum, tables from files, and LIBSVM's collection."""

from .blocks import write_blocks
from .extremal import extremal
from .files import read_table
from .libsvm import load
from .synthetic import diagonal, regression

__all__ = ["diagonal", "extremal", "load", "read_table", "regression", "write_blocks"]
