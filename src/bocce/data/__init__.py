"""Data: files in place, synthetic designs with a known spectrum, and LIBSVM's collection."""

from ..rows import Parts
from .libsvm import load
from .read.files import Table, open
from .stream_to_device import stream_to_device
from .synthetic import diagonal, extremal, regression

__all__ = [
    "Parts",
    "Table",
    "diagonal",
    "extremal",
    "load",
    "open",
    "regression",
    "stream_to_device",
]
