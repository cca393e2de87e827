"""Exact curves against Monte Carlo: how long each takes for the same figure.

    python benchmarks/studies/exact.py [--n 10000] [--d 20] [--T 7000] [--runs 200]

The figure is E||grad f(w_T)||^2 of a schedule at b = 0.9 n. One exact curve is timed (with all its
T + 1 points), then compiled runs that record nothing but the end. Their spread says how many runs a
given standard error would take: (deviation / mean / error)^2. The last column is the ratio.
"""

from __future__ import annotations

import argparse
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # one core for both, set before NumPy is loaded

import numpy as np  # noqa: E402

import bocce  # noqa: E402
from bocce.exact import expected  # noqa: E402

KAPPA, MU, NOISE_VAR, SHARE = 1000.0, 10.0, 1e-2, 0.9
ERRORS = (0.01, 0.001)


def schedules_for(T: int, L: float, mu: float) -> list[bocce.Schedule]:
    make = bocce.schedules
    return [make.shb(T, L, mu), make.two_phase(T, L, mu), make.nesterov_exponential(T, L, mu)]


def seconds(action) -> tuple[float, object]:
    start = time.perf_counter()
    value = action()
    return time.perf_counter() - start, value


def final_gradients(p, schedule, runs: int) -> tuple[float, np.ndarray]:
    """Seconds a run, and ||grad f(w_T)||^2 of each."""

    def once(seed: int) -> float:
        result = bocce.minimize(
            p, schedule, batch_size=SHARE, seed=seed, record_every=schedule.T, engine="compiled"
        )
        return float((p.gradient(result.w) ** 2).sum())

    once(runs)  # compiles, and fills the caches
    spent, squares = seconds(lambda: np.array([once(seed) for seed in range(runs)]))
    return spent / runs, squares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=20)
    parser.add_argument("--T", type=int, default=7000)
    parser.add_argument("--runs", type=int, default=200)
    args = parser.parse_args()
    X, y, _ = bocce.data.regression(args.n, args.d, KAPPA, NOISE_VAR, mu=MU, spectrum="sqrt")
    p = bocce.LeastSquares(X, y)
    c = p.constants()
    print(
        f"n={args.n} d={args.d} T={args.T} b={SHARE:g}n kappa={KAPPA:g}, one core, {args.runs} runs"
    )
    for schedule in schedules_for(args.T, c.L, c.mu):
        exact_time, curve = seconds(lambda s=schedule: expected(p, s, SHARE))
        run_time, squares = final_gradients(p, schedule, args.runs)
        mean, deviation = squares.mean(), squares.std(ddof=1)
        away = abs(mean - curve.grad2[-1]) / (deviation / np.sqrt(args.runs))
        print(
            f"{schedule.name}: exact curve {exact_time:.2f} s, one run {run_time * 1e3:.0f} ms; "
            f"sampled mean {away:.1f} standard errors from the exact one"
        )
        for error in ERRORS:
            runs = (deviation / mean / error) ** 2
            print(
                f"  to {error:.1%}: {runs:,.0f} runs, {runs * run_time:,.0f} s, "
                f"ratio {runs * run_time / exact_time:,.0f}"
            )


if __name__ == "__main__":
    main()
