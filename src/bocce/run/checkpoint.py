"""A run that is saved as it goes, and that goes on from what was saved.

The file is written whole or not at all, and checked before anything in it is used.
"""

from __future__ import annotations

import json
import math
import os
import signal
import threading
import time
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.lib.format as npy

from .._atomic import atomic_write
from .._checks import refused
from ..control import Decider, RunVerdict, Stage
from ..rows import Array, digest

if TYPE_CHECKING:
    from .driver import Driver

# What a checkpoint must agree with to be resumed: names and values that JSON holds.
Identity: TypeAlias = dict[str, object]
FORMAT = 6
REMEDY = "delete the file or give another path"

GOES_ON = "goes on"
TEXTS = ("ended", "run.stage_names")  # The arrays of a checkpoint that hold text.
NOT_OVER = (RunVerdict.STOPPED, RunVerdict.BUDGET)  # a run that ended so goes on when resumed


class Terminated(BaseException):
    """The process was asked to end (SIGTERM) while a run with a checkpoint was under way."""


class Keeper:
    """Saves a run as it goes, and puts it back where it was.

    What is written is always where the run stood when ``complete`` was last called: an interrupt
    in the middle of a step loses that step, and nothing else.
    """

    def __init__(self, run: Driver) -> None:
        self.run = run
        given = run.settings.checkpoint
        self.path = None if given is None else Path(given)
        self.found = False
        self.ended: RunVerdict | None = None  # the verdict of a run that is over
        self.snapshot: dict[str, Any] = {}
        self.failed = False  # a save while the run went on
        self.listens = self.leaving = self.terminated = False  # SIGTERM

    def __enter__(self) -> Keeper:
        if self.path is None:
            return self
        self.identity = self.run.identity()
        self.saved = time.monotonic()
        if self.path.exists():
            saved = read(self.path, self.identity)
            try:
                self._put_back(saved)
            except Exception as error:  # whatever a forged file makes of it
                raise unreadable(self.path, error) from error
            self.found = True
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            # SIGTERM, which would end the process at once, saves the run first
            signal.signal(signal.SIGTERM, self._on_sigterm)
            self.listens = True
        return self

    def _on_sigterm(self, *_: object) -> None:
        self.terminated = True
        if not self.leaving:
            raise Terminated

    def end(self, verdict: RunVerdict) -> RunVerdict:
        """The run is over."""
        self.ended = verdict
        return verdict

    def complete(self) -> None:
        """All of the run is as it should be: this is what may be saved."""
        if self.path is None:
            return
        self.snapshot = self._taken()
        if time.monotonic() - self.saved > self.run.settings.limits.save_seconds:
            self._save("the run goes on, and tries again later")
            self.saved = time.monotonic()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.path is None:
            return
        self.leaving = True
        if kind is None:
            self.snapshot = self._taken()
        if self.snapshot:
            self.failed = False
            self._save("the result is complete, but the run cannot be resumed from there")
        if self.listens:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if self.terminated:
                os.kill(os.getpid(), signal.SIGTERM)

    def _save(self, otherwise: str) -> None:
        """A disk that is full costs the checkpoint, and neither the run nor its result."""
        assert self.path is not None
        try:
            write(self.path, self.identity, self._arrays())
        except OSError as error:
            if not self.failed:
                warnings.warn(
                    f"minimize: checkpoint={str(self.path)!r} could not be written ({error}); "
                    f"{otherwise}.",
                    RuntimeWarning,
                    stacklevel=6,
                )
            self.failed = True

    def _taken(self) -> dict[str, Any]:
        ended = np.array(GOES_ON if self.ended is None else str(self.ended))
        return self.run.state_dict() | {"ended": ended}

    def _arrays(self) -> dict[str, Array]:
        norms, size = self.snapshot["norms"]
        return self.snapshot | {"norms": np.concatenate([np.zeros(0), *norms[:size]])}

    def _put_back(self, saved: dict[str, Array]) -> None:
        """Load and check: compiled steps do not look whether counters fit their tables."""
        run = self.run
        check_kinds(saved)
        verdict = str(saved["ended"])
        ended = None if verdict == GOES_ON else RunVerdict(verdict)
        run.load_state_dict(saved)
        if not (numbers_are_right(run, ended) and counters_are_right(run, run.stage)):
            raise ValueError("its numbers are not those of a run")
        self.ended = None if ended in NOT_OVER else ended
        self.snapshot = self._taken()
        # so wrong shapes and numbers beyond their range are noticed, wherever they were put
        if digest_of(saved) != digest_of(self._arrays() | {"ended": saved["ended"]}):
            raise ValueError("its arrays are not those of this run")


def check_kinds(saved: dict[str, Array]) -> None:
    """Refuse arrays of numbers that are complex, text or dates."""
    for name, array in saved.items():
        if name not in TEXTS and array.dtype.kind not in "fib":
            raise ValueError(f"its array {name!r} does not hold real numbers")


def numbers_are_right(run: Driver, ended: RunVerdict | None) -> bool:
    """Is everything that was measured a number, at steps that were taken?"""
    state = run.state
    table = run.history.view()
    points = [state.w, state.v] + ([] if state.tally is None else [state.tally])
    known = [table, *run.norms, *run.stop.state_dict().values()]
    if ended != RunVerdict.DIVERGED:
        known += [state.w, state.v]
    k = table[:, 0]
    taken = [stage.steps for stage in run.stages]
    return (
        all(point.shape == run.start.shape for point in points)
        and all(point.dtype == np.float64 for point in points)
        and len(table) > 0
        and all(np.isfinite(array).all() for array in known)
        and sum(taken) == state.k
        and min(taken, default=0) >= 0
        and 0 <= k[0] <= k[-1] <= state.k
        and not (np.diff(k) < 0).any()
        and bool((k == np.floor(k)).all())
        and run.evaluations >= 0
    )


def counters_are_right(run: Driver, stage: Stage | None) -> bool:
    """Does the stage under way end within its table, and is its memory that of its policy?"""
    if stage is None:
        return True
    state = run.state
    left = run.end - run.state.k
    policy = state.memory.get("policy")
    decider = stage.steps
    known = policy is None or (
        isinstance(decider, Decider)
        and policy.shape == (len(decider.begin()),)
        and bool(np.isfinite(policy).all())
    )
    return (
        known
        and min(state.k, state.row, left) >= 0
        and left <= stage.count
        and state.row + left <= stage.row + stage.count <= stage.steps.T
        and 1 <= stage.batch == run.stages[-1].batch
        and stage.average != (state.tally is None)
    )


# ---------------------------------------------------------------- the file


def writable(given: str | os.PathLike[str]) -> Path:
    if not isinstance(given, str | os.PathLike):
        raise refused(TypeError, "minimize", "checkpoint", given, "a path", "name a file, or None")
    path = Path(given)
    if not str(given) or not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"minimize: checkpoint={str(path)!r} must be a file in an existing folder; "
            "create the folder first."
        )
    return path


def write(path: Path, identity: Identity, arrays: dict[str, Array]) -> None:
    """A reader sees the old file or the new one."""
    content = {"identity": np.array(json.dumps(identity, sort_keys=True)), **arrays}
    with atomic_write(path) as stream:
        checked = {"digest": np.array(digest_of(content)), **content}
        np.savez(stream, **checked)  # type: ignore[arg-type]


def digest_of(content: dict[str, Array]) -> str:
    """A hash of all names, types, shapes and numbers of a checkpoint."""
    names = sorted(content)
    return digest(np.array(names), *(np.asarray(content[name]) for name in names))


def read(path: Path, identity: Identity) -> dict[str, Array]:
    """The arrays of a saved run, undamaged; refuse a checkpoint of another run.

    The identity is compared before anything else is read.
    """
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            check_sizes(archive, os.fstat(file.fileno()).st_size)
            theirs = json.loads(str(_array(archive, "identity")))
            if (other := _difference(theirs, identity)) is None:
                names = [name.removesuffix(".npy") for name in archive.namelist()]
                arrays = {name: _array(archive, name) for name in names}
                if str(arrays.pop("digest")) != digest_of(arrays):
                    raise ValueError("its content does not belong to its digest")
    except Exception as error:
        raise unreadable(path, error) from error
    if other is not None:
        raise ValueError(f"minimize: checkpoint={str(path)!r} is of another {other}; {REMEDY}.")
    arrays.pop("identity")
    return arrays


def check_sizes(archive: zipfile.ZipFile, size: int) -> None:
    """Refuse an archive that is larger in memory than on disk. (``write`` does not compress.)"""
    members = archive.infolist()
    packed = any(member.compress_type != zipfile.ZIP_STORED for member in members)
    if packed or sum(member.file_size for member in members) > size:
        raise ValueError("its arrays are larger than the file: it is compressed or damaged")


def _array(archive: zipfile.ZipFile, name: str) -> Array:
    """One array, whose header tells the size that the archive tells."""
    member = archive.getinfo(f"{name}.npy")
    with archive.open(member) as stream:
        version = npy.read_magic(stream)
        if version == (1, 0):
            read_header = npy.read_array_header_1_0
        else:
            read_header = npy.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        if stream.tell() + math.prod(shape) * dtype.itemsize != member.file_size:
            raise ValueError(f"the array {name!r} does not have the size that it tells")
    with archive.open(member) as stream:
        return np.asarray(npy.read_array(stream, allow_pickle=False))


def _difference(theirs: Identity, mine: Identity) -> str | None:
    """In what a checkpoint differs from the run that is asked for, in words."""
    for key, value in mine.items():
        if theirs.get(key) != value:
            values = f" ({theirs.get(key)!r}, not {value!r})"
            if key in ("problem", "schedule"):
                return key
            return key + values
    return None


def unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"minimize: checkpoint={str(path)!r} is not a readable checkpoint ({error}); {REMEDY}."
    )
