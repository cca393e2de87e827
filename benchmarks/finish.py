"""auto to a tolerance, with and without whitened variables in its last phase.

    python benchmarks/finish.py [--tol 1e-6] [--data ijcnn1.tr a9a w8a]

Logistic loss, l2 = 1/n, rows as they are. Needs the LIBSVM files that BOCCE_DATA points to.
"""

from __future__ import annotations

import argparse
import os
import time
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import bocce


def run(X: Any, y: np.ndarray, tol: float, whitened: bool) -> tuple[float, float, str]:
    """(passes, CPU seconds, status) of one run."""
    p = bocce.Logistic(X, y, l2=1.0 / X.shape[0])
    columns = 1024 if whitened else 0
    with mock.patch("bocce.course.GRAM_COLUMNS", columns):
        before = time.process_time()
        r = bocce.minimize(p, tol=tol, sampling="reshuffle", record_every="auto")
        spent = time.process_time() - before
    return r.history["gradient_evaluations"][-1] / p.n, spent, r.status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tol", type=float, default=1e-6)
    names = ["ijcnn1.tr", "a9a", "w8a", "covtype.libsvm.binary.scale"]
    parser.add_argument("--data", nargs="+", default=names)
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    warm = rng.standard_normal((500, 4))
    print(f"passes over the data to a gradient of {asked.tol:g} times the first")
    print(f"{'data':28} {'plain':>8} {'whitened':>9} {'time ratio':>11}")
    for name in asked.data:
        X, y = bocce.data.load(name)
        for whitened in (False, True):  # compile what this kind of data needs
            run(X[:500], y[:500] if np.unique(y[:500]).size > 1 else warm[:, 0] > 0, 0.1, whitened)
        plain, plain_time, status = run(X, y, asked.tol, whitened=False)
        white, white_time, _ = run(X, y, asked.tol, whitened=True)
        note = "" if status == "converged" else "  (plain: not reached)"
        print(f"{name:28} {plain:8.0f} {white:9.0f} {plain_time / white_time:11.1f}{note}")


if __name__ == "__main__":
    main()
