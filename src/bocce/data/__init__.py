"""Data: files in place, synthetic designs with a known spectrum, and LIBSVM's collection."""

import warnings
from typing import Any

from .libsvm import load
from .read.encoding import Encoding
from .read.files import Table, open
from .stream_to_device import stream_to_device
from .synthetic import diagonal, extremal, regression
from .write.blocks import write_blocks

__all__ = [
    "Encoding",
    "Table",
    "diagonal",
    "extremal",
    "load",
    "open",
    "regression",
    "stream_to_device",
    "write_blocks",
]


def __getattr__(name: str) -> Any:
    new = {"through": stream_to_device, "read_table": open}.get(name)
    if new is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    text = f"data.{name} is now data.{new.__name__} and will be removed in 0.4; call that."
    warnings.warn(text, FutureWarning, stacklevel=2)
    return new
