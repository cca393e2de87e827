"""Memory and time of softmax regression, against n, d and K, by the formula and measured.

    python benchmarks/studies/memory.py [--size N D K TYPE BYTES]

A row is the beginning of one fit, in its own process, on one thread, with an intercept: 12
passes, or 2 where a pass is long. "peak" is the largest resident size less that before the fit.
"formula" is an upper bound on it: the scores of w (float64) and of two directions (of X's type), or
nothing where scores are computed again; a copy of X of at most 64 MB; the pairs of earlier
solutions; ten arrays as large as w; and 32 MB for parts of rows and for modules. "arrays" is the
peak without the copy of X, in arrays of n x K numbers of X's type. --size: one row; of the scores
at most BYTES are kept (by default 2^32). All rows take ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from resource import RUSAGE_SELF, getpagesize, getrusage

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402

import bocce  # noqa: E402
from bocce.engines import Goal  # noqa: E402
from bocce.plane import PlaneRun  # noqa: E402
from bocce.plane.subspace import PlaneLimits  # noqa: E402

KEPT = 1 << 32
LONG = 1e10  # multiplications of a product with X
SIZES = (
    (50_000, 64, 10, "float64", KEPT),
    (200_000, 64, 10, "float64", KEPT),
    (200_000, 64, 10, "float32", KEPT),
    (20_000, 256, 50, "float64", KEPT),
    (50_000, 256, 100, "float32", KEPT),
    (50_000, 256, 100, "float32", 0),
    (200_000, 256, 1000, "float32", 0),
    (200_000, 256, 1000, "float32", KEPT),
)


def formula(n: int, d: int, K: int, dtype: str, most: int) -> float:
    """Bytes that a fit takes beside X."""
    item = np.dtype(dtype).itemsize
    scores = n * K * (8 + 2 * item)
    pairs = min(200 * 2 * d * K * 4, max(1 << 24, 8 * n * K))
    kept = scores if scores <= most else 0
    return copied(n, d, dtype) + kept + pairs + 10 * 8 * d * K + (1 << 25)


def copied(n: int, d: int, dtype: str) -> int:
    """Bytes of a copy of X with an intercept, or of one in float32 alone."""
    numbers, size = n * (d + 1), n * d * np.dtype(dtype).itemsize
    if size <= 1 << 26:
        return numbers * np.dtype(dtype).itemsize
    return 4 * numbers if numbers <= 1 << 24 else 0


def child(n: int, d: int, K: int, dtype: str, most: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32).astype(dtype, copy=False)
    X *= np.arange(1, d + 1, dtype=dtype) ** np.array(-0.5, dtype=dtype)
    W, y = 3.0 * rng.standard_normal((d, K)), np.empty(n, dtype=np.int64)
    for k in range(0, n, 2000):
        y[k : k + 2000] = (X[k : k + 2000] @ W + rng.gumbel(size=(len(X[k:][:2000]), K))).argmax(1)
    y[:K] = np.arange(K)
    with open("/proc/self/statm") as file:  # Linux
        before = int(file.read().split()[1]) * getpagesize()
    p = bocce.Problem(X, y, "softmax", 1e-3, intercept=True)
    begin = time.process_time()
    plane = PlaneRun(
        p, np.zeros(p.shape), memory=1, inner=True, limits=PlaneLimits(score_bytes=most)
    )
    most = 2 if float(n) * d * K > LONG else 12
    while (made := plane.k + plane.passes) < most:
        plane.step(Goal(passes=most - made))
    spent = time.process_time() - begin
    peak = getrusage(RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps({"peak": peak, "s": spent / made, "steps": plane.k}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", nargs="+")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = SIZES
    if asked.size:
        n, d, K, dtype, *most = asked.size
        sizes = ((int(n), int(d), int(K), dtype, int(most[0]) if most else KEPT),)
    if asked.child:
        return child(*sizes[0])
    print("| n x d, K | type | scores | X, MB | formula, MB | peak, MB | arrays | s a pass |")
    print("|---|---|---|---|---|---|---|---|")
    for size in sizes:
        command = [sys.executable, __file__, "--child", "--size", *map(str, size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found, (n, d, K, dtype, most) = json.loads(done.stdout.splitlines()[-1]), size
        item = np.dtype(dtype).itemsize
        how = "kept" if n * K * (8 + 2 * item) <= most else "again"
        print(
            f"| {n:,} x {d}, {K} | {dtype} | {how} | {n * d * item / 1e6:.0f} "
            f"| {formula(*size) / 1e6:.0f} | {found['peak'] / 1e6:.0f} "
            f"| {(found['peak'] - copied(n, d, dtype)) / (n * K * item):.1f} | {found['s']:.2f} |",
            flush=True,
        )
    return None


if __name__ == "__main__":
    main()
