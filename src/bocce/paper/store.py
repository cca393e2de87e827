"""Cells on disk: one netCDF file each, whole or not there, with what it was computed from."""

from __future__ import annotations

import hashlib
import json
import platform
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._atomic import atomic_write
from .._extras import install
from .compute import Outcome
from .specs import Cell

ATTRIBUTES = ("specification", "notes", "digest", "provenance")
NEEDED = ("xarray", "h5netcdf", "h5py", "joblib", "jinja2", "plotly", "threadpoolctl", "matplotlib")


def require_extras() -> None:
    """Raise, before any work, if something that `reproduce` needs is not installed."""
    absent = [name for name in NEEDED if find_spec(name) is None]
    if absent:
        raise ImportError(f"reproduce: {', '.join(absent)} not installed; run {install('plots')}.")


def cell_file(folder: Path, cell: Cell) -> Path:
    return folder / "cells" / f"{cell.path}.nc"


def digest(identity: str, outcome: Outcome) -> str:
    """SHA-256 of the specification, the numbers (every bit) and the notes; times are not in it."""
    total = hashlib.sha256(identity.encode())
    for name, values in sorted(outcome.numbers.items()):
        array = np.ascontiguousarray(values)
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    total.update(json.dumps(outcome.notes, sort_keys=True).encode())
    return total.hexdigest()


@lru_cache(maxsize=1)
def _versions() -> dict[str, str]:
    """Asked once a process: reading a package's metadata takes milliseconds."""
    return {
        "bocce": __version__,
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "scipy", "numba")},
        "machine": f"{platform.system()} {platform.machine()}",
    }


def provenance(seconds: float) -> dict[str, str]:
    """Versions, machine and time: beside the numbers, never among them."""
    return {
        **_versions(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": f"{seconds:.4f}",
    }


def write(folder: Path, cell: Cell, outcome: Outcome, seconds: float) -> None:
    """Store a cell; a reader sees the whole file or none."""
    import xarray

    identity = cell.identity()
    content = xarray.Dataset(
        {name: (_axes(name, values, outcome), values) for name, values in outcome.numbers.items()},
        attrs={
            "specification": identity,
            "notes": json.dumps(outcome.notes, sort_keys=True),
            "digest": digest(identity, outcome),
            "provenance": json.dumps(provenance(seconds)),
        },
    )
    path = cell_file(folder, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        stream.write(content.to_netcdf(engine="h5netcdf"))


def _axes(name: str, values: np.ndarray, outcome: Outcome) -> tuple[str, ...]:
    """Curves share the axis k; everything else has axes of its own."""
    k = outcome.numbers.get("k")
    if k is not None and values.shape == k.shape:
        return ("k",)
    return tuple(f"{name}_{axis}" for axis in range(values.ndim)) if values.ndim > 1 else (name,)


def _bare_axis(data: Any) -> bool:
    """Is it an axis without numbers, as netCDF keeps them in HDF5?"""
    return bytes(data.attrs.get("NAME", b"")).startswith(b"This is a netCDF dimension but not")


def read(folder: Path, cell: Cell) -> tuple[Outcome, dict[str, Any]] | None:
    """The stored numbers and their provenance; None where there are none that can be trusted.

    A file that is absent, damaged in any bit of its numbers, or of another specification is not
    trusted: the cell is then computed again.
    """
    import h5py  # type: ignore[import-untyped]  # five times faster here than opening thousands of netCDF files as such

    path = cell_file(folder, cell)
    if not path.is_file():
        return None
    try:
        with h5py.File(path, "r") as file:
            attributes = {name: str(file.attrs[name]) for name in ATTRIBUTES}
            numbers = {name: data[()] for name, data in file.items() if not _bare_axis(data)}
        outcome = Outcome(numbers, json.loads(attributes["notes"]))
        identity = cell.identity()
        if attributes["specification"] != identity:
            return None
        if attributes["digest"] != digest(identity, outcome):
            return None
        return outcome, json.loads(attributes["provenance"])
    except Exception:  # a damaged file may raise anything; whatever it was, it is made again
        return None
