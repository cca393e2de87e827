"""How a run on large data should begin: in batches, on nested samples, or on all rows at once.

    python benchmarks/begin.py [--data NAME ...] [--repeats 3]

CPU seconds of one thread until (f - f*)/(f(0) - f*) is at most 1e-4 and 1e-6; logistic loss, l2 =
1/n, no intercept (least squares with few columns is one pass, and has no beginning). "batches" is
a pass in batches as `auto` makes it, then the plane; "at once" is `plane`; "nested" is the plane on
every 16th row, then on every 4th, then on all, each from where the last one ended (a sample is left
when its gradient is a tenth of what it was). Three minutes.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
from _peers_cells import Cell, _certified_minimum, load, million  # noqa: E402
from threadpoolctl import threadpool_limits  # noqa: E402

import bocce  # noqa: E402
from bocce.data.libsvm import cache_folder  # noqa: E402

LEVELS = (1e-4, 1e-6)
TOLERANCES = [float(f"{m}e-{e}") for e in range(1, 8) for m in (3, 1)]
PARTS = (16, 4)
ROUGH = 0.1  # of a sample's first gradient: then the next one


def fresh(cell: Cell) -> Any:
    """The problem, of which nothing is known from other runs."""
    return bocce.Logistic(cell.X, cell.y, l2=cell.l2)


def batches(cell: Cell, tol: float) -> np.ndarray:
    with mock.patch("bocce.run.anytime.batches_pay", return_value=True):
        return np.asarray(bocce.minimize(fresh(cell), tol=tol).w)


def at_once(cell: Cell, tol: float) -> np.ndarray:
    return np.asarray(bocce.minimize(fresh(cell), "plane", tol=tol).w)


def nested(cell: Cell, tol: float) -> np.ndarray:
    w = np.zeros(cell.X.shape[1])
    first = np.linalg.norm(cell.problem.gradient(w))
    for part in PARTS:
        X, y = cell.X[::part].copy(), cell.y[::part]
        w = bocce.minimize(bocce.Logistic(X, y, l2=cell.l2), "plane", w0=w, tol=ROUGH).w
    left = np.linalg.norm(cell.problem.gradient(w))
    share = min(0.99, tol * first / left)  # the tolerance counts from where a run starts
    return np.asarray(bocce.minimize(fresh(cell), "plane", w0=w, tol=share).w)


WAYS: dict[str, Callable[[Cell, float], np.ndarray]] = {
    "batches": batches,
    "at once": at_once,
    "nested": nested,
}


def problem(name: str) -> Cell:
    X, y = million(1_000_000, 50) if name == "1e6 x 50" else load(name)
    y = np.where(y > 0, 1.0, -1.0)
    l2 = 1.0 / X.shape[0]
    made = bocce.Logistic(X, y, l2=l2)
    start = made.value(np.zeros(X.shape[1]))
    key = f"{name} logistic {X.shape} {l2!r}"
    best = _certified_minimum(key, made, start, cache_folder() / "peers")
    return Cell(name, "logistic", "1/n", X, y, l2, made, start, best)


def seconds(cell: Cell, repeats: int) -> dict[str, dict[float, float]]:
    """The cheapest fit that reaches each level; ways take turns."""
    found: dict[str, dict[float, float]] = {way: {} for way in WAYS}
    for turn in range(repeats + 1):
        for tol in TOLERANCES:
            for way, run in WAYS.items():
                if LEVELS[-1] in found[way] and tol < found[way].get(-1.0, 0.0):
                    continue  # reached at a looser tolerance
                begin = time.process_time()
                w = run(cell, tol)
                spent, gap = time.process_time() - begin, cell.gap(w)
                for level in LEVELS:
                    if gap <= level and turn:  # the first turn compiles
                        found[way][level] = min(spent, found[way].get(level, np.inf))
                if gap <= LEVELS[-1]:
                    found[way][-1.0] = tol
                    found[way].setdefault(LEVELS[-1], np.inf)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["ijcnn1", "covtype", "1e6 x 50", "words"]
    parser.add_argument("--data", nargs="+", choices=names, default=names)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    print("data: " + "; ".join(f"{way}: s to 1e-4, to 1e-6" for way in WAYS))
    with threadpool_limits(1):
        for name in args.data:
            found = seconds(problem(name), args.repeats)
            words = [", ".join(f"{found[way][level]:.3f}" for level in LEVELS) for way in WAYS]
            print(f"{name}: {'; '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
