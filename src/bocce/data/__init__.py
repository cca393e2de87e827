"""Data: files in place, synthetic designs with a known spectrum, and LIBSVM's collection."""

from .extremal import extremal
from .libsvm import load
from .read.encoding import Encoding
from .read.files import Table, open, read_table
from .stream_to_device import stream_to_device, through
from .synthetic import diagonal, regression
from .write.blocks import write_blocks

__all__ = [
    "Encoding",
    "Table",
    "diagonal",
    "extremal",
    "load",
    "open",
    "read_table",
    "regression",
    "stream_to_device",
    "through",
    "write_blocks",
]
