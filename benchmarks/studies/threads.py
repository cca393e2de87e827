"""One and two BLAS threads, on an idle machine and beside a busy process.

    python benchmarks/studies/threads.py [--repeats 3] [--busy 1]

Each line: the time by the clock and by the processor with two threads, over the time with one, for
a fit to 1e-6. `--busy` starts so many processes that never rest, on top of what runs already.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time

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


def measure(X: np.ndarray, y: np.ndarray, loss: str, repeats: int) -> np.ndarray:
    """(clock, processor) for one and two threads, the best of the repeats, which take turns."""
    best = np.full((2, 2), np.inf)
    for _ in range(repeats):
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                clock, spent = time.perf_counter(), time.process_time()
                bocce.minimize(bocce.Problem(X, y, loss, 1.0 / len(y), intercept=True), tol=1e-6)
                taken = time.perf_counter() - clock, time.process_time() - spent
                best[threads - 1] = np.minimum(best[threads - 1], taken)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0)
    args = parser.parse_args()
    others = [multiprocessing.Process(target=rest_never, daemon=True) for _ in range(args.busy)]
    for other in others:
        other.start()
    print(
        f"beside {args.busy} busy processes; two threads over one: by the clock, by the processor"
    )
    for n, d, loss in CASES:
        clock, spent = np.divide(*measure(*data(n, d, loss), loss, args.repeats)[::-1])
        print(f"{n:,} x {d:,} {loss}: {clock:.2f}, {spent:.2f}", flush=True)
    for other in others:
        other.terminate()


if __name__ == "__main__":
    main()
