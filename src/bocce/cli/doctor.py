"""``bocce doctor``: what this machine has, and what it lacks."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .. import __version__
from .._extras import install
from ._options import Json
from ._terminal import progress, say, show_json, show_table

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra == ['\"](\w+))?")
DEVELOPERS = ("dev", "docs")  # extras that no command needs
Section = dict[str, str]


def doctor(json: Json = False) -> None:
    """Show versions, threads, memory, caches and data sets.

    It also compiles a kernel and compares it with the engine in plain Python.

    \b
    Examples:
      bocce doctor
      bocce doctor --json > machine.json
    """
    with progress("looking around") as show_progress:
        report = {
            "versions": _versions(),
            "machine": _machine(),
            "threads": {name: os.environ.get(name, "not set") for name in THREADS},
            "data": _data(),
            "folders": _folders(),
        }
        show_progress("compiling a kernel (seconds, the first time)")
        report["kernels"] = _kernels()
    if json:
        show_json(report)
        return
    for title, entries in report.items():
        show_table((title, ""), list(entries.items()))
        say("")


def _versions() -> Section:
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, requires, version

    found = {"bocce": __version__, "python": f"{platform.python_version()} ({sys.executable})"}
    try:
        needed = requires("bocce") or []
    except PackageNotFoundError:  # run from a folder of sources
        needed = []
    for line in needed:
        found_there = REQUIREMENT.match(line)
        assert found_there is not None  # every line begins with a name
        package, extra = found_there.groups()
        if extra in DEVELOPERS:
            continue
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = f"not installed; run {install(extra or '')}"
    return found


def _machine() -> Section:
    import platform

    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    else:
        usable = os.cpu_count() or 1
    here = {"system": platform.platform(), "processors": f"{usable} of {os.cpu_count()}"}
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):  # not on Windows
        here["memory"] = _size(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return here


def _size(count: int) -> str:
    """
    >>> _size(3 * 2**20), _size(5 * 2**30)
    ('3.0 MiB', '5.0 GiB')
    """
    if count >= 2**30:
        return f"{count / 2**30:.1f} GiB"
    return f"{count / 2**20:.1f} MiB"


def _data() -> Section:
    from ..data import libsvm

    return {name: str(libsvm.find(name) or "not here") for name in libsvm.KNOWN}


def _folders() -> Section:
    from ..data import libsvm

    chosen = os.environ.get("BOCCE_DATA")
    cache = libsvm.cache_folder()
    if chosen is None or Path(chosen).is_dir():
        missing = ""
    else:
        missing = " (there is no such folder)"
    return {
        "BOCCE_DATA": "not set" if chosen is None else chosen + missing,
        "cache": f"{cache} ({_state(cache) if cache.is_dir() else 'made when needed'})",
    }


def _state(folder: Path, pattern: str = "*") -> str:
    size = sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())
    return f"{_size(size)}, {'' if os.access(folder, os.W_OK) else 'not '}writable"


def _kernels() -> Section:
    """Compile one, or take it from Numba's cache, and compare its run with the reference's."""
    import time

    import numpy as np

    from .. import LeastSquares, minimize

    problem = LeastSquares([[1.0, 0.0], [1.0, 2.0], [0.0, 1.0]], [1.0, 0.0, 2.0])
    started = time.perf_counter()
    try:
        run = minimize(problem, "shb", T=5, batch_size=2)
        from ..engines.numba import loop
    except Exception as error:  # whatever is wrong with it, the doctor says so
        return {"state": f"broken: {type(error).__name__}: {error}"}
    seconds = time.perf_counter() - started
    twin = minimize(problem, "shb", T=5, batch_size=2, engine="reference")
    agree = np.allclose(run.w, twin.w, rtol=1e-12)
    stats = loop.advance.kept.stats
    cache = Path(stats.cache_path)
    hits = stats.cache_hits
    how = "taken from the cache" if hits else "compiled"
    verdict = "agrees" if agree else "DISAGREES"
    return {
        "state": f"{how} in {seconds:.1f} s; {verdict} with the reference",
        "cache": f"{cache} ({_state(cache, '*.nb[ic]')})",
    }
