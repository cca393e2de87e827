"""Data: synthetic designs with a known spectrum, tables from files, and LIBSVM's collection."""

from .blocks import write_blocks
from .files import read_table
from .libsvm import load
from .synthetic import diagonal, regression

__all__ = ["diagonal", "load", "read_table", "regression", "write_blocks"]
