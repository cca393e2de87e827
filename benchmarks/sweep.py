"""Is a compiled sweep over the scores faster than NumPy's? (It is not: see docs/plane.md.)

    python benchmarks/sweep.py

CPU milliseconds of `RowwiseLoss.move` (loss, slope, bend, gradient on the plane; 200,000 scores of
covtype, six directions), and of a fit to 1e-6 with it: NumPy in blocks against one Numba loop. Ten
seconds.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np  # noqa: E402
from _peers_cells import load  # noqa: E402
from numba import njit  # noqa: E402

import plane_problems as given  # noqa: E402
from bocce.plane import Plane  # noqa: E402
from bocce.plane.evaluate import Evaluation, RowwiseLoss  # noqa: E402
from bocce.plane.scores import memory as scores  # noqa: E402

PART = 512  # scores that stay in the first-level cache


@njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _move(z, U, c, moved, out, y, slope, bend, plane):  # type: ignore[no-untyped-def]
    total = slopes = sizes = 0.0
    for start in range(0, z.size, PART):
        end = min(z.size, start + PART)
        moved[start:end] = 0.0
        for j in range(c.size):
            for i in range(start, end):
                moved[i] += c[j] * U[j, i]
        for i in range(start, end):
            v = z[i] + moved[i]
            e = math.exp(-abs(v))
            share = 1.0 / (1.0 + e)
            wrong = e * share if y[i] * v > 0.0 else share
            total += max(-y[i] * v, 0.0) + math.log1p(e)
            out[i], slope[i], bend[i] = v, -y[i] * wrong, wrong * (1.0 - wrong)
            slopes += wrong * wrong
            sizes += v * v
        for j in range(c.size):
            for i in range(start, end):
                plane[j] += U[j, i] * slope[i]
    return total, slopes, sizes


class Compiled(RowwiseLoss):
    """The logistic loss without weights."""

    def move(self, z: Any, U: Any, c: Any, moved: Any, out: Any) -> Evaluation:
        self.at, plane = out, np.zeros(c.size)
        total, s2, z2 = _move(z, U, c, moved, out, self.y, self.slope, self.bend, plane)
        return Evaluation(total / self.n, (total + math.sqrt(s2 * z2)) / self.n, plane / self.n)


def least(run: Callable[[], Any], times: int = 7) -> float:
    run()
    found = []
    for _ in range(times):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return 1e3 * min(found)


def main() -> None:
    X, y = load("covtype", 200_000)
    p = given.problem(X, y, given.Logistic(), 1.0 / len(y))
    U, c = np.random.default_rng(0).standard_normal((6, p.n)), np.full(6, 0.01)
    z, moved, out = 0.01 * X.sum(axis=1), np.empty(p.n), np.empty(p.n)

    def fit() -> None:
        run = Plane(p, np.zeros(p.rows.d))
        goal = 1e-6 * run.norm
        while run.norm > goal:
            run.step()

    for name, kind in (("NumPy", RowwiseLoss), ("Numba", Compiled)):
        sweep = kind(p, (p.n,))
        alone = least(lambda sweep=sweep: sweep.move(z, U, c, moved, out))  # type: ignore[misc]
        scores.RowwiseLoss = kind  # type: ignore[misc,attr-defined]
        print(f"{name}: a sweep {alone:.2f} ms, a fit {least(fit, 4):.0f} ms")


if __name__ == "__main__":
    main()
