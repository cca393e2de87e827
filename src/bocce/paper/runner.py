"""Cells in parallel: what is stored is kept, what is missing or damaged is computed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._atomic import atomic_write
from .._extras import install
from . import EXHIBITS
from .compute import compute
from .exhibit import Exhibit
from .results import Results
from .specs import EXACT, PROFILES, SETTINGS, Cell, Profile, Run
from .stopwatch import in_words
from .store import require_extras, write

DEAR_TABLES = {  # milliseconds, about
    "bounds": 2000.0,
    "noise_slope": 3000.0,
    "feasible_errors": 4000.0,
    "diverging_run": 1500.0,
    "stability": 2000.0,
    "observed_batch": 500.0,
    "batch_factor": 500.0,
}
Tell = Callable[[str, float], None]  # what was done, and the share of the work, in per cent


def planned(
    figures: Iterable[Exhibit], settings: tuple[str, ...], profile: Profile, only: str = ""
) -> list[Cell]:
    """Every cell of these figures, in their order."""
    return [
        cell
        for figure in figures
        for setting in figure.settings
        if setting in settings
        for cell in figure.cells(setting, profile)
        if cell.path.startswith(only)
    ]


def cost(cell: Cell) -> float:
    """About how many milliseconds a cell takes: good enough for an order and a time left."""
    job = cell.job
    if not isinstance(job, Run):
        return DEAR_TABLES.get(job.name, 60.0)
    if job.data.source == "libsvm":
        return 50.0 + (20.0 if "SLS" in job.rule else 6.0) * job.passes
    if cell.seed == EXACT:
        return 25.0 + 0.09 * job.T
    return 25.0 + 0.012 * job.T


@lru_cache(maxsize=1)
def _thread_pools() -> Any:
    """BLAS and its kin, looked for once a process: numpy and scipy are loaded by now."""
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def run_cell(folder: Path, cell: Cell) -> tuple[Cell, float]:
    """Compute and store one cell. One thread: sums in BLAS must not depend on how many there are.

    >>> import tempfile
    >>> cell = EXHIBITS["der_beta"].cells("paper", PROFILES["quick"])[0]
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = run_cell(folder, cell)
    >>> [path.name for path in folder.rglob("*.nc")]
    ['table.nc']
    """
    started = time.process_time()  # of this core: what others do on the machine is not in it
    with _thread_pools().limit(limits=1):
        outcome = compute(cell)
    seconds = time.process_time() - started
    write(folder, cell, outcome, seconds)
    return cell, seconds


def reproduce(
    folder: Path,
    figures: list[Exhibit],
    profile: Profile,
    settings: tuple[str, ...],
    jobs: int = 1,
    fresh: bool = False,
    only: str = "",
    tell: Tell = lambda what, share: None,
    backend: str = "local",
) -> Results:
    """Compute every cell that is not stored yet, and load them all.

    Results do not depend on ``jobs``, nor on how often a run was killed and started again.
    """
    require_extras()
    cells = planned(figures, settings, profile, only)
    folder.mkdir(parents=True, exist_ok=True)
    kept = Results({}) if fresh else Results.load(folder, cells)
    waiting = [
        cell
        for cell in cells
        # of data that were missing, some may have come in the meantime
        if cell.key not in kept.outcomes or "missing" in kept.outcomes[cell.key].notes
    ]
    waiting.sort(key=cost, reverse=True)  # dear ones first: no core waits for one at the end
    total, done = sum(map(cost, waiting)), 0.0
    for cell, _ in _each(folder, waiting, jobs, backend):
        done += cost(cell)
        tell(f"{cell.figure}, {cell.setting}", 100.0 * done / total)
    _note_run(folder, profile, figures, settings, {"cells": len(waiting), "of": len(cells)})
    return kept.updated(folder, cells, waiting)


def _each(
    folder: Path, waiting: list[Cell], jobs: int, backend: str
) -> Iterable[tuple[Cell, float]]:
    """One process or several: exact curves hold the interpreter's lock."""
    if backend == "ray":
        return _on_ray(folder, waiting, jobs)
    if jobs == 1 or len(waiting) < 2:
        return (run_cell(folder, cell) for cell in waiting)
    from joblib import Parallel, delayed  # type: ignore[import-untyped]

    pool = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size="auto")
    parent = os.getpid()
    done: Iterable[tuple[Cell, float]] = pool(
        delayed(_in_worker)(folder, cell, parent) for cell in waiting
    )
    return done


def _on_ray(folder: Path, waiting: list[Cell], jobs: int) -> Iterable[tuple[Cell, float]]:
    """On a Ray cluster whose machines share ``folder``; joblib's backend for Ray hands them out."""
    try:
        from ray.util.joblib import register_ray  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            f"reproduce: --backend ray needs the extra ray ({error}); run {install('ray')}."
        ) from error
    from joblib import Parallel, delayed, parallel_config

    register_ray()  # type: ignore[no-untyped-call,unused-ignore]
    with parallel_config(backend="ray", n_jobs=jobs):
        jobs_done: list[tuple[Cell, float]] = Parallel()(
            delayed(run_cell)(folder.resolve(), cell) for cell in waiting
        )
    return jobs_done


def _in_worker(folder: Path, cell: Cell, parent: int) -> tuple[Cell, float]:
    if os.getppid() != parent:
        os._exit(1)  # the run was killed: a worker that is left alone stops too
    return run_cell(folder, cell)


def default_jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# ---------------------------------------------------------------- what a folder holds


def _note_run(
    folder: Path,
    profile: Profile,
    figures: list[Exhibit],
    settings: tuple[str, ...],
    last: dict[str, int],
) -> None:
    """run.json: the profile, the settings of each figure that is held, and the last run."""
    before = noted(folder)
    held = before["figures"] if before.get("profile") == profile.name else {}
    for figure in figures:
        now = {*held.get(figure.label, []), *settings}
        held[figure.label] = [setting for setting in figure.settings if setting in now]
    content = {
        "profile": profile.name,
        "figures": {label: held[label] for label in EXHIBITS if held.get(label)},
        "last": last,
    }
    _write(folder, content)


def note_time(folder: Path, reading: dict[str, float]) -> str:
    """Add to run.json how long the last run took; returns it in words."""
    content = noted(folder)
    content["last"] |= reading
    _write(folder, content)
    return in_words(content["last"])


def _write(folder: Path, content: dict[str, Any]) -> None:
    with atomic_write(folder / "run.json") as stream:
        stream.write(json.dumps(content, indent=2).encode() + b"\n")


def noted(folder: Path) -> dict[str, Any]:
    """What run.json holds; nothing where there is none."""
    path = folder / "run.json"
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not _is_note(content):
        raise ValueError(
            f"{str(path)!r} was altered: it must hold what bocce reproduce wrote; delete run.json "
            f"and run bocce reproduce with --out {folder} again, which keeps the cells."
        )
    return dict(content)


def _is_note(content: Any) -> bool:
    """Is this what ``_write`` writes?"""
    if not isinstance(content, dict) or content.get("profile") not in PROFILES:
        return False
    figures, last = content.get("figures"), content.get("last")
    if not isinstance(figures, dict) or not isinstance(last, dict):
        return False
    return all(
        label in EXHIBITS and isinstance(held, list) and set(map(str, held)) <= {*SETTINGS}
        for label, held in figures.items()
    )


def held_cells(folder: Path) -> list[Cell]:
    """Every cell that a folder should hold, by its run.json."""
    content = noted(folder)
    if not content:
        raise ValueError(
            f"{str(folder)!r} holds no results (run.json is absent); fill it first: "
            f"bocce reproduce all --out {folder}"
        )
    profile = PROFILES[content["profile"]]
    return [
        cell
        for label, settings in content["figures"].items()
        for cell in planned([EXHIBITS[label]], tuple(settings), profile)
    ]


def load(folder: Path) -> Results:
    """All results in a folder that ``reproduce`` filled."""
    cells = held_cells(folder)
    results = Results.load(folder, cells)
    if results.absent:
        content = noted(folder)
        raise ValueError(
            f"{str(folder)!r} lacks {len(results.absent)} of {len(cells)} cells, the first of them "
            f"{results.absent[0].path}; finish the run: bocce reproduce "
            f"{' '.join(content['figures'])} --profile {content['profile']} --out {folder}"
        )
    return results
