"""A run on disk: written whole or not at all, and refused when it belongs to another run."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._atomic import atomic_write
from ..engines import State
from ..problems import Problem
from ..rows import Array, digest
from .history import History
from .result import StageRun

if TYPE_CHECKING:
    from .driver import Run

FORMAT = 2
GOES_ON = "goes on"
REMEDY = "delete the file or give another path"


def writable(given: Any) -> Path:
    path = Path(given)
    if not path.parent.is_dir() or path.is_dir():
        raise ValueError(
            f"minimize: checkpoint={str(path)!r} must be a file in an existing folder; "
            "create the folder first."
        )
    return path


def fingerprint(problem: Problem, steps: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """What a checkpoint must agree with to be resumed."""
    schedule = repr(steps)
    if hasattr(steps, "alpha"):
        schedule = digest(steps.alpha, steps.beta, steps.theta)
    return {"format": FORMAT, "problem": problem.fingerprint(), "schedule": schedule, **settings}


def write(path: Path, identity: dict[str, Any], arrays: dict[str, Any]) -> None:
    """A reader sees the old file or the new one."""
    with atomic_write(path) as stream:
        np.savez(stream, identity=np.array(json.dumps(identity, sort_keys=True)), **arrays)


def read(path: Path, identity: dict[str, Any]) -> dict[str, Array]:
    """The arrays of a saved run; refuse one of another run."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as saved:
            theirs = json.loads(str(saved["identity"]))
            arrays = {name: saved[name] for name in saved.files if name != "identity"}
    except Exception as error:
        raise unreadable(path, error) from error
    for key, mine in identity.items():
        if theirs.get(key) != mine:
            values = f" ({theirs.get(key)!r}, not {mine!r})"
            shown = "" if key in ("problem", "schedule") else values
            raise ValueError(
                f"minimize: checkpoint={str(path)!r} is of another {key}{shown}; {REMEDY}."
            )
    return arrays


def unreadable(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"minimize: checkpoint={str(path)!r} is not a readable checkpoint ({error}); {REMEDY}."
    )


class Keeper:
    """Saves a run as it goes, and puts it back where it was.

    What is written is always where the run stood when ``complete`` was last called: an interrupt
    in the middle of a step loses that step, and nothing else.
    """

    def __init__(self, run: Run) -> None:
        self.run, self.path = run, run.settings.checkpoint
        self.found = False
        self.ended: str | None = None  # the verdict of a run that is over
        self.whole: dict[str, Any] = {}

    def __enter__(self) -> Keeper:
        if self.path is None:
            return self
        self.identity, self.saved = self.run.identity(), time.monotonic()
        if self.path.exists():
            arrays = read(self.path, self.identity)
            try:
                self._put_back(arrays)
            except (KeyError, ValueError, IndexError, TypeError) as error:
                raise unreadable(self.path, error) from error
            self.found = True
            self.complete()
        return self

    def complete(self) -> None:
        """All of the run is as it should be: this is what may be saved."""
        if self.path is None:
            return
        self.whole = self._taken()
        if time.monotonic() - self.saved > self.run.settings.limits.save_seconds:
            write(self.path, self.identity, self._arrays())
            self.saved = time.monotonic()

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.path is None or (kind is not None and not self.whole):
            return
        if kind is None:
            self.whole = self._taken()
        try:
            write(self.path, self.identity, self._arrays())
        except OSError as error:  # the run is over: its result is not thrown away for this
            warnings.warn(
                f"minimize: checkpoint={str(self.path)!r} could not be written ({error}); the "
                "result is whole, but the run cannot be resumed from there.",
                RuntimeWarning,
                stacklevel=5,
            )

    def _taken(self) -> dict[str, Any]:
        """References, for arrays are replaced and not written to; lists by their length."""
        run, state = self.run, self.run.state
        memory = dict(state.memory)
        if (ask := getattr(run.engine, "memory", None)) is not None:
            memory |= ask(state)
        counts = [state.k, state.row, run.evaluations, run.end, int(run.stage is not None)]
        taken = {
            "w": state.w,
            "v": state.v,
            "counts": np.array(counts, dtype=np.int64),
            "history": len(run.history),
            "norms": len(run.norms),
            "stages": list(run.stages),
            "stop": np.array([run.stop.first, run.stop.wanted]),
            "ended": np.array(GOES_ON if self.ended is None else self.ended),
        }
        if state.tally is not None:
            taken["tally"] = state.tally
        taken |= {f"memory.{name}": array for name, array in memory.items()}
        return taken | {f"control.{name}": a for name, a in run.controller.state().items()}

    def _arrays(self) -> dict[str, Any]:
        whole, run = dict(self.whole), self.run
        stages = whole.pop("stages")
        whole["history"] = run.history.table(whole["history"])
        whole["norms"] = np.concatenate([np.zeros(0), *run.norms[: whole["norms"]]])
        whole["stage_names"] = np.array([s.method for s in stages], dtype=np.str_)
        sizes = [(s.steps, s.batch) for s in stages]
        whole["stage_sizes"] = np.array(sizes, dtype=np.int64).reshape(-1, 2)
        return whole

    def _put_back(self, saved: dict[str, Array]) -> None:
        run = self.run
        k, row, run.evaluations, run.end, under_way = (int(x) for x in saved["counts"])
        run.state = State(saved["w"], saved["v"], k, row, _of(saved, "memory."), saved.get("tally"))
        run.history = History(saved["history"])
        run.norms = [saved["norms"]]
        sizes = saved["stage_sizes"].tolist()
        run.stages = [StageRun(str(n), *size) for n, size in zip(saved["stage_names"], sizes)]
        run.stop.first, run.stop.wanted = (float(x) for x in saved["stop"])
        run.controller.load(_of(saved, "control."))
        ended = str(saved["ended"])
        self.ended = None if ended in (GOES_ON, "stopped", "budget") else ended
        if under_way:
            run.resume(run.controller.current())


def _of(saved: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {n.removeprefix(prefix): a for n, a in saved.items() if n.startswith(prefix)}
