"""Cells in parallel: what is stored stays, what is missing or damaged is computed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bocce.cli.commands import atomic_write

from .compute import compute
from .costs import cost, shares
from .exhibit import Exhibit
from .exhibits import EXHIBITS
from .results import Results
from .specs import PROFILES, SETTINGS, Cell, Json, Key, Outcome, Profile
from .stopwatch import in_words, minutes
from .store import read, write

# What was done, how much of the work is done (in per cent), and about how much time is left.
ShowProgress = Callable[[str, float, str], None]
Done = list[tuple[Cell, Outcome]]
Stored = dict[Key, Outcome]


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    """BLAS and its kin, looked for once a process: numpy and scipy are loaded by now."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def run_cells(folder: Path, cells: list[Cell]) -> Done:
    """Compute and store cells. One thread: sums in BLAS must not depend on how many there are.

    >>> import tempfile
    >>> cells = EXHIBITS["der_beta"].cells("paper", PROFILES["smoke"])
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = run_cells(folder, cells)
    >>> [path.name for path in folder.rglob("*.npz")]
    ['table.npz']
    """
    done: Done = []
    for cell in cells:
        started = time.process_time()  # of this core: what others do on the machine is not in it
        with _thread_pools().limit(limits=1):
            outcome = compute(cell)
        seconds = time.process_time() - started
        done.append((cell, write(folder, cell, outcome, seconds)))
    return done


@dataclass(frozen=True)
class CellPlan:
    """``cells`` are requested; ``all_cells`` are in the folder when they are done, and ``held``
    has the settings of each figure in it."""

    folder: Path
    profile: Profile
    held: dict[str, list[str]]
    all_cells: list[Cell]
    cells: list[Cell]
    only: str = ""


def plan(
    folder: Path,
    figures: Iterable[Exhibit],
    profile: Profile,
    settings: tuple[str, ...],
    only: str = "",
) -> CellPlan:
    """The cells of these figures and settings, or ``only`` those whose path begins so."""
    before = notes_of(folder)
    if before.get("profile") == profile.name:
        held = before["figures"]
    else:
        held = {}
    labels = {figure.label for figure in figures}
    for label in labels:
        now = {*held.get(label, []), *settings}
        held[label] = [setting for setting in EXHIBITS[label].settings if setting in now]
    held = {label: held[label] for label in EXHIBITS if held.get(label)}
    all_cells = _cells_of(held, profile)
    cells = [
        cell
        for cell in all_cells
        if cell.figure in labels and cell.setting in settings and cell.path.startswith(only)
    ]
    return CellPlan(folder, profile, held, cells if only else all_cells, cells, only)


def reproduce(
    plan: CellPlan,
    jobs: int = 1,
    fresh: bool = False,
    show_progress: ShowProgress = lambda what, share, left: None,
    backend: str = "local",
) -> Results:
    """Compute every cell that is not stored yet; returns all that the folder then holds.

    Every stored cell is read once. Results do not depend on ``jobs``, nor on how often a run was
    killed and started again.
    """
    plan.folder.mkdir(parents=True, exist_ok=True)
    requested = {cell.key for cell in plan.cells}
    stored = _stored(plan.folder, [c for c in plan.all_cells if not (fresh and c.key in requested)])
    waiting = [
        cell
        for cell in plan.cells
        # of data that were missing, some may have come in the meantime
        if cell.key not in stored or "missing" in stored[cell.key].notes
    ]
    progress = _Progress(sum(map(cost, waiting)), jobs, show_progress)
    for done in _each(plan.folder, shares(waiting, jobs), jobs, backend):
        stored |= {cell.key: outcome for cell, outcome in done}
        progress.add(done)
    if not plan.only:
        last = {"cells": len(waiting), "of": len(plan.cells)}
        content = {"profile": plan.profile.name, "figures": plan.held, "last": last}
        _write(plan.folder, content)
    return _results(plan.folder, stored, plan.all_cells)


class _Progress:
    """Says how much is done and how long the rest takes, from estimates and the clock.

    The estimates are milliseconds of an idle core. How many times longer the work takes here is
    measured as it goes; before much is done, the estimate itself counts as that much experience.
    """

    TRUST = 10.0  # seconds: the weight of the estimate against what was measured

    def __init__(self, total: float, jobs: int, show_progress: ShowProgress) -> None:
        self.total = max(total, 1e-9)
        self.jobs = jobs
        self.show_progress = show_progress
        self.done = 0.0
        self.started = time.perf_counter()
        show_progress("starting", 0.0, minutes(self.left()))

    def left(self) -> float:
        expected = self.done / (1000.0 * self.jobs)
        slower = (time.perf_counter() - self.started + self.TRUST) / (expected + self.TRUST)
        return slower * (self.total - self.done) / (1000.0 * self.jobs)

    def add(self, done: Done) -> None:
        self.done += sum(cost(cell) for cell, _ in done)
        cell = done[-1][0]
        self.show_progress(
            f"{cell.figure}, {cell.setting}", 100.0 * self.done / self.total, minutes(self.left())
        )


def _each(folder: Path, waiting: list[list[Cell]], jobs: int, backend: str) -> Iterable[Done]:
    """One process or several: exact curves hold the interpreter's lock."""
    if backend == "ray":
        return _on_ray(folder, waiting, jobs)
    if jobs == 1 or len(waiting) < 2:
        return (run_cells(folder, cells) for cells in waiting)
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    parent = os.getpid()
    done: Iterable[Done] = pool(delayed(_in_worker)(folder, cells, parent) for cells in waiting)
    return done


def _on_ray(folder: Path, waiting: list[list[Cell]], jobs: int) -> Iterable[Done]:
    """On a Ray cluster whose machines share ``folder``; joblib's backend for Ray hands them out."""
    try:
        from ray.util.joblib import register_ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            f"reproduce: --backend ray needs Ray ({error}); run pip install './paper[ray]' in a "
            "clone of bocce."
        ) from error
    from joblib import Parallel, delayed

    register_ray()  # type: ignore[no-untyped-call,unused-ignore]
    pool = Parallel(n_jobs=jobs, backend="ray")
    done: list[Done] = pool(delayed(run_cells)(folder.resolve(), cells) for cells in waiting)
    return done


def _in_worker(folder: Path, cells: list[Cell], parent: int) -> Done:
    if os.getppid() != parent:
        os._exit(1)  # the run was killed: a worker that is left alone stops too
    return run_cells(folder, cells)


def default_jobs() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


# ---------------------------------------------------------------- what a folder holds


def _cells_of(held: dict[str, list[str]], profile: Profile) -> list[Cell]:
    """Every cell of these figures under these settings, in their order."""
    return [
        cell
        for label, settings in held.items()
        for setting in settings
        for cell in EXHIBITS[label].cells(setting, profile)
    ]


def _stored(folder: Path, cells: Iterable[Cell]) -> Stored:
    """What is stored of these cells; cells that are absent or damaged are left out."""
    found = ((cell.key, read(folder, cell)) for cell in cells)
    return {key: outcome for key, outcome in found if outcome is not None}


def note_time(folder: Path, reading: dict[str, float]) -> str:
    """Add to run.json how long the last run took; returns it in words."""
    content = notes_of(folder)
    content["last"] |= reading
    _write(folder, content)
    return in_words(content["last"])


def _write(folder: Path, content: Json) -> None:
    with atomic_write(folder / "run.json") as stream:
        stream.write(json.dumps(content, indent=2).encode() + b"\n")


def notes_of(folder: Path) -> Json:
    """What run.json holds; nothing where there is none."""
    path = folder / "run.json"
    if not path.is_file():
        return {}
    try:
        content: Json = json.loads(path.read_bytes())
        figures = content["figures"].items()
        known = content["profile"] in PROFILES and isinstance(content["last"], dict)
        known = known and all(x in EXHIBITS and {*held} <= {*SETTINGS} for x, held in figures)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        known = False
    if not known:
        raise ValueError(
            f"{str(path)!r} was altered: it must hold what bocce reproduce wrote; delete run.json "
            f"and run bocce reproduce with --out {folder} again, which keeps the cells."
        )
    return content


def profile_of(folder: Path) -> Profile:
    """The profile that a folder was filled with."""
    content = notes_of(folder)
    if not content:
        raise ValueError(
            f"{str(folder)!r} holds no results (run.json is absent); fill it first: "
            f"bocce reproduce all --out {folder}"
        )
    return PROFILES[content["profile"]]


def load(folder: Path) -> Results:
    """All results in a folder that ``reproduce`` filled."""
    profile = profile_of(folder)
    cells = _cells_of(notes_of(folder)["figures"], profile)
    return _results(folder, _stored(folder, cells), cells)


def _results(folder: Path, stored: Stored, cells: list[Cell]) -> Results:
    """The results in the order of ``cells``, all of which must be there."""
    absent = [cell for cell in cells if cell.key not in stored]
    if absent:
        content = notes_of(folder)
        raise ValueError(
            f"{str(folder)!r} lacks {len(absent)} of {len(cells)} cells, the first of them "
            f"{absent[0].path}; finish the run: bocce reproduce "
            f"{' '.join(content['figures'])} --profile {content['profile']} --out {folder}"
        )
    return Results({cell.key: stored[cell.key] for cell in cells})
