"""Cells on disk: one NPZ file each, complete or not there, with a header in JSON that says what it
was computed from. NumPy alone reads them; a cell is a few arrays and needs nothing of netCDF."""

from __future__ import annotations

import hashlib
import io
import json
import platform
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bocce import __version__
from bocce.cli.commands import atomic_write

from .specs import Cell, Json, Outcome

HEADER = "header"  # the member of the NPZ file that is not a number


def cell_file(folder: Path, cell: Cell) -> Path:
    return folder / "cells" / f"{cell.path}.npz"


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


def write(folder: Path, cell: Cell, outcome: Outcome, seconds: float) -> Outcome:
    """Store a cell, of which a reader gets a complete file or none; returns what was stored."""
    identity = cell.identity()
    written = datetime.now(UTC).isoformat(timespec="seconds")
    made = {**_versions(), "written": written, "seconds": f"{seconds:.4f}"}
    header = {
        "specification": identity,
        "notes": outcome.notes,
        "digest": digest(identity, outcome),
        "provenance": made,
    }
    content: Json = {HEADER: json.dumps(header), **outcome.numbers}
    path = cell_file(folder, cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as stream:
        np.savez(stream, **content)
    return replace(outcome, made=made)


def read(folder: Path, cell: Cell) -> Outcome | None:
    """What is stored of a cell; None where there is nothing that can be trusted.

    A file that is absent, damaged in any bit of its numbers, or of another specification is not
    trusted: the cell is then computed again.
    """
    path = cell_file(folder, cell)
    if not path.is_file():
        return None
    try:
        # from memory: np.load leaves a damaged file open
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            numbers = {name: file[name] for name in file.files}
        header = json.loads(str(numbers.pop(HEADER)))
        outcome = Outcome(numbers, header["notes"], header["provenance"])
        identity = cell.identity()
        if header["specification"] != identity or header["digest"] != digest(identity, outcome):
            return None
        return outcome
    except Exception:  # a damaged file may raise anything; whatever it was, it is made again
        return None
