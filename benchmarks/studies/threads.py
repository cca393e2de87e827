"""One and two BLAS threads, on an idle machine and beside a busy process.

    python benchmarks/studies/threads.py [--repeats 3] [--busy 1]

Each line is a fit to 1e-6: how many times as fast two threads are by the clock, their time by the
processor over that of one, and the largest difference of coefficients, relative to the largest one.
`--busy` starts so many processes that never rest, on top of what runs already; the load of the
machine is printed first. Two threads need OMP_NUM_THREADS to be 2 or more, or not to be set.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import bocce

CASES = [
    (1_000_000, 20, "logistic"),
    (500_000, 50, "logistic"),
    (500_000, 50, "squared"),
    (20_000, 1_000, "logistic"),
    (20_000, 1_000, "squared"),
    (20_000, 256, "softmax"),
    (2_000, 20, "logistic"),
]


def rest_never() -> None:
    while True:
        sum(range(100_000))


def data(n: int, d: int, loss: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    if loss == "softmax":
        return X, np.argmax(X @ rng.standard_normal((d, 30)) / 4.0 + rng.gumbel(size=(n, 30)), 1)
    z = X @ rng.standard_normal(d) / np.sqrt(d) + rng.logistic(size=n)
    return X, z > 0 if loss == "logistic" else z


class Cost(NamedTuple):
    """The least seconds by the clock and by the processor, and the coefficients."""

    clock: float
    processor: float
    w: np.ndarray


def fit(X: np.ndarray, y: np.ndarray, loss: str, threads: int) -> Cost:
    with threadpool_limits(threads, user_api="blas"):
        problem = bocce.Problem(X, y, loss, 1.0 / len(y), intercept=True)
        clock = time.perf_counter()
        processor = time.process_time()
        result = bocce.minimize(problem, tol=1e-6)
        return Cost(time.perf_counter() - clock, time.process_time() - processor, result.w)


def best(costs: list[Cost]) -> Cost:
    clock = min(cost.clock for cost in costs)
    return Cost(clock, min(cost.processor for cost in costs), costs[0].w)


def compare(n: int, d: int, loss: str, repeats: int) -> None:
    X, y = data(n, d, loss)
    one = []
    two = []
    for _ in range(repeats + 1):  # in turns; the first turn compiles
        one.append(fit(X, y, loss, 1))
        two.append(fit(X, y, loss, 2))
    slow = best(one[1:])
    fast = best(two[1:])
    apart = np.abs(fast.w - slow.w).max() / np.abs(slow.w).max()
    print(
        f"{n:>9,} x {d:<5,} {loss:<8} {slow.clock / fast.clock:5.2f} times as fast, "
        f"processor {fast.processor / slow.processor:4.2f}, coefficients differ by {apart:.0e}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0)
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} before the start, beside {args.busy} busy processes")
    others = [multiprocessing.Process(target=rest_never, daemon=True) for _ in range(args.busy)]
    for other in others:
        other.start()
    for n, d, loss in CASES:
        compare(n, d, loss, args.repeats)
    for other in others:
        other.terminate()


if __name__ == "__main__":
    main()
