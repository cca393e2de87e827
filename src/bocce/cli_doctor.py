"""``bocce doctor``: what this machine has."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import __version__
from ._terminal import say, show_json, show_table

PACKAGES = (
    *("numpy", "scipy", "numba", "typer", "rich"),
    *("scikit-learn", "matplotlib", "pooch", "sympy", "torch", "jax", "optax", "ray"),
)


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Versions, threads, caches, and which data sets are here."""
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as version_of

    from .data import libsvm

    def installed(package: str) -> str:
        try:
            return version_of(package)
        except PackageNotFoundError:
            return "not installed"

    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    cache = libsvm.cache_folder()
    report: dict[str, dict[str, str]] = {
        "versions": {
            "bocce": __version__,
            "python": f"{platform.python_version()} ({sys.executable})",
            "system": platform.platform(),
            **{package: installed(package) for package in PACKAGES},
        },
        "threads": {
            "processors": str(os.cpu_count()),
            **{name: os.environ.get(name, "not set") for name in threads},
        },
        "folders": {
            "BOCCE_DATA": os.environ.get("BOCCE_DATA", "not set"),
            "cache": f"{cache} ({'there' if cache.is_dir() else 'made when needed'})",
            "compiled": os.environ.get("NUMBA_CACHE_DIR") or "beside the package",
        },
        "data": {name: str(libsvm.find(name) or "not here") for name in libsvm.KNOWN},
    }
    if json:
        show_json(report)
        return
    for title, entries in report.items():
        show_table((title, ""), list(entries.items()))
        say("")
