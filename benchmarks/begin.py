"""How a run in memory should begin: on all rows at once, or with a pass in batches.

    python benchmarks/begin.py [--repeats 2] [--most 2e7] [--held] [--data NAME ...]

CPU seconds of one thread until (f - f*)/(f(0) - f*) is at most 1e-4 and 1e-6, logistic loss with
l2 = 1/n and no intercept. "auto" is the default. "batches" is `auto` made to begin with a pass in
batches; its compiler is warm. The last two columns are auto's time over the better of the two.
Every third size was held out while the rule was chosen; `--held` shows those alone. `--most` leaves
out larger data. Rows are independent ("plain"), share fifty factors ("factors"), or have columns
whose sizes differ by four orders ("unlike").
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple
from unittest import mock

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
from _peers_cells import load  # noqa: E402

import bocce  # noqa: E402

LEVELS = (1e-4, 1e-6)
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SIZES = [
    (200_000, 20), (1_000_000, 20), (5_000_000, 20),
    (100_000, 40), (250_000, 40), (1_000_000, 50),
    (20_000, 200), (100_000, 200), (500_000, 200),
    (8_000, 500), (20_000, 500), (100_000, 500),
    (15_000, 700), (20_000, 1_000), (50_000, 1_000),
    (2_000, 2_000), (10_000, 2_000), (40_000, 2_000),
]  # fmt: skip
KINDS = ("plain", "factors", "unlike")


class Case(NamedTuple):
    name: str
    make: Callable[[], tuple[np.ndarray, np.ndarray]]
    numbers: float
    held: bool


def simulated(n: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n, d))
    if kind == "factors":
        factors = rng.standard_normal((50, d)) * 2.0 / np.sqrt(50)
        for start in range(0, n, 10_000):
            part = X[start : start + 10_000]
            part += rng.standard_normal((len(part), 50)) @ factors
    elif kind == "unlike":
        X *= 10.0 ** rng.uniform(-2.0, 2.0, d)
    w = rng.standard_normal(d) / X[:1000].std(axis=0) / np.sqrt(d)
    return X, X @ w + rng.logistic(size=n) > 0


def cases() -> list[Case]:
    made = [Case("covtype", lambda: load("covtype"), 581_012 * 54.0, False)]
    for j, (n, d) in enumerate(SIZES):
        kind = KINDS[j % 3]
        name = f"{n:,} x {d:,} {kind}"
        held = (j // 3 + j) % 3 == 2  # one of each triple, and of each kind
        made.append(Case(name, lambda n=n, d=d, k=kind: simulated(n, d, k), float(n * d), held))
    return made


def seconds(X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, dict[float, float]]:
    """The cheapest fit that reaches each level; the ways take turns."""
    l2 = 1.0 / len(y)
    judge = bocce.Logistic(X, y, l2=l2)
    start = judge.value(np.zeros(judge.d))
    best = judge.value(bocce.minimize(judge, "plane", tol=1e-10).w)
    found = {way: dict.fromkeys(LEVELS, np.inf) for way in ("auto", "batches")}
    for turn in range(repeats + 1):
        for way, reached in found.items():
            for tol in TOLERANCES:
                with forced(way):
                    begin = time.process_time()
                    w = bocce.minimize(bocce.Logistic(X, y, l2=l2), tol=tol).w
                    spent = time.process_time() - begin
                gap = (judge.value(w) - best) / (start - best)
                for level in LEVELS:
                    if gap <= level and turn:  # the first turn compiles
                        reached[level] = min(spent, reached[level])
                if gap <= LEVELS[-1]:
                    break
    return found


def forced(way: str) -> AbstractContextManager[object]:
    if way == "auto":
        return nullcontext()
    return mock.patch("bocce.run.controllers.batches_pay", return_value=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most", type=float, default=2e7, help="numbers in X")
    parser.add_argument("--held", action="store_true", help="the sizes that were held out")
    parser.add_argument("--data", nargs="+", help="these alone, whatever their size")
    args = parser.parse_args()
    print("data: auto, batches (s to 1e-4, to 1e-6); auto over the better one")
    for case in cases():
        left_out = case.numbers > args.most or (args.held and not case.held)
        if case.name not in args.data if args.data else left_out:
            continue
        found = seconds(*case.make(), args.repeats)
        times = [", ".join(f"{found[way][level]:.3f}" for level in LEVELS) for way in found]
        best = [min(way[level] for way in found.values()) for level in LEVELS]
        mark = " (held out)" if case.held else ""
        ratios = ", ".join(f"{found['auto'][l] / b:.2f}" for l, b in zip(LEVELS, best))
        print(f"{case.name}{mark}: {'; '.join(times)}; {ratios}", flush=True)


if __name__ == "__main__":
    main()
