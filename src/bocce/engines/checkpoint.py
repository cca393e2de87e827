"""A run on disk: written whole or not at all, and refused when it belongs to another run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..problems import LinearProblem
from .state import Recorder, State

FORMAT = 1
SAMPLED_BYTES = 1 << 22


def digest(*arrays: np.ndarray) -> str:
    """A hash of shapes, types and contents (of large arrays, evenly spread rows)."""
    sha = hashlib.sha256()
    for array in arrays:
        sha.update(f"{array.shape}{array.dtype}".encode())
        step = max(1, array.nbytes // SAMPLED_BYTES)
        sha.update(np.ascontiguousarray(array[::step]).tobytes())
    return sha.hexdigest()


def contents(problem: LinearProblem) -> str:
    """What the rows are, as a hash."""
    if problem.in_parts:
        return str(problem.identity)
    X = problem.X
    data = (X.data, X.indices, X.indptr) if problem.sparse else (X,)
    extras = (np.zeros(0) if a is None else a for a in (problem.weight, problem.penalty))
    return digest(problem.y, *data, *extras)


def fingerprint(problem: LinearProblem, method: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint must agree with to be resumed."""
    if hasattr(method, "alpha"):
        steps = digest(method.alpha, method.beta, method.theta)
    else:
        steps = repr(method)
    return {
        "format": FORMAT,
        "problem": f"{type(problem).__name__} {contents(problem)} l2={problem.l2!r}",
        "schedule": steps,
        **settings,
    }


def write(path: Path, identity: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write beside, flush to disk, then rename: a reader sees the old file or the new one.

    Beside has one name (unlike ``atomic_write``): what a kill leaves there, the next save
    overwrites.
    """
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        np.savez(file, identity=np.array(json.dumps(identity, sort_keys=True)), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def read(path: Path, identity: dict[str, Any], names: Iterable[str]) -> dict[str, np.ndarray]:
    """The arrays of a saved run; refuse one of another run."""
    remedy = "delete the file or give another path"
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            theirs = json.loads(str(saved["identity"]))
            arrays = {name: saved[name] for name in names if name in saved or theirs == identity}
    except Exception as error:
        raise ValueError(
            f"minimize: checkpoint={str(path)!r} is not a readable checkpoint ({error}); {remedy}."
        ) from error
    for key, mine in identity.items():
        if theirs.get(key) != mine:
            shown = (
                "" if key in ("problem", "schedule") else f" ({theirs.get(key)!r}, not {mine!r})"
            )
            raise ValueError(
                f"minimize: checkpoint={str(path)!r} is of another {key}{shown}; {remedy}."
            )
    return arrays


def save(path: Path, identity: dict[str, Any], state: State, recorder: Recorder) -> None:
    kept = recorder.count
    arrays = {
        "w": state.w,
        "v": state.v,
        "k": np.int64(state.k),
        "memory": np.array(state.memory, dtype=np.float64),
        "value": recorder.value[:kept],
        "grad2": recorder.grad2[:kept],
    }
    write(path, identity, arrays)


def load(path: Path, identity: dict[str, Any], state: State, recorder: Recorder) -> None:
    """Put the saved run into ``state`` and ``recorder``."""
    arrays = read(path, identity, ("w", "v", "k", "memory", "value", "grad2"))
    state.w, state.v, state.k = arrays["w"], arrays["v"], int(arrays["k"])
    state.memory = tuple(float(x) for x in arrays["memory"])
    kept = arrays["value"].size
    recorder.value[:kept], recorder.grad2[:kept] = arrays["value"], arrays["grad2"]
    recorder.cursor[0] = kept
