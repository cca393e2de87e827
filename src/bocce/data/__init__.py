"""Data: files in place, synthetic designs with a known spectrum, and LIBSVM's collection."""

import warnings
from typing import Any

from .extremal import extremal
from .libsvm import load
from .read.encoding import Encoding
from .read.files import Table, open, read_table
from .stream_to_device import stream_to_device
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
    "write_blocks",
]


def __getattr__(name: str) -> Any:
    if name != "through":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = "data.through is now data.stream_to_device and will be removed in 0.4; call that."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return stream_to_device
