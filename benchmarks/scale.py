"""The cost model of docs/scale.md: what P workers make of P times the data, and which batch pays.

    python benchmarks/scale.py [--work-ms 201] [--call-ms 0.7] [--worker-ms 2.4] [--row-us 0.23]

Plane: a step on P parts of 10^8 numbers takes work + call + worker P + the d numbers' way through
the tree; one machine that could hold all of it takes P work. Batches: time to divide the error by
e = steps(b) * (messages + b row / P), steps from Theorem S (``theory.certified_rate`` of rule 1's
step and momentum). Nothing here is simulated. benchmarks/ray_step.py measures the first three
numbers and prints the same tables with them: here you can give your own cluster's.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from bocce import theory
from bocce.ray.workers import FAN_IN
from bocce.schedules.adaptive import heavy_ball_rule

N = 10**10
CASES = [(1e3, 50.0), (1e4, 50.0), (1e3, 5000.0), (1e4, 5000.0)]
WORKERS = (1, 2, 10, 100, 1000)
BYTES_A_MS = 1.25e6  # 10 Gbit/s


def steps(kappa: float, R: float, b: int) -> float:
    """Certified steps to divide the error by e, infinite where rule 1 has no certificate."""
    zeta2 = theory.zeta2(N, b)
    alpha, beta = heavy_ball_rule(1.0, 1.0 / kappa, R, zeta2)
    rate = theory.certified_rate(alpha, beta, zeta2, R, 1.0 / kappa, 1.0)
    return -1.0 / math.log(rate) if rate < 1.0 else math.inf


def tree(d: int, P: int) -> float:
    """ms that d numbers take through the levels of the tree, down and up."""
    levels = math.ceil(math.log(P, FAN_IN)) if P > 1 else 0
    return 2.0 * levels * FAN_IN * 8.0 * d / BYTES_A_MS


def plane(work: float, call: float, each: float) -> None:
    print("| P | d | ms a step | speed, of one machine | ms, calls of 0.05 ms each | speed |")
    print("|---|---|---|---|---|---|")
    for d in (100, 10_000):
        for P in WORKERS:
            made = []
            for worker in (each, 0.05):
                step = work + call + worker * P + tree(d, P)
                made += [f"{step:.0f}", f"{P * work / step:.1f}"]
            print(f"| {P} | {d:,} | {' | '.join(made)} |")


def batches(call: float, each: float, row: float) -> None:
    """A step in batches is one message."""
    print("| kappa | R | b_acc | P | best batch | speed-up over one machine |")
    print("|---|---|---|---|---|---|")
    for kappa, R in CASES:
        grid = np.unique(np.geomspace(1, 1e9, 200).astype(int))
        count = np.array([steps(kappa, R, int(b)) for b in grid])
        alone = (count * grid * row).min()  # one machine has no overhead
        for P in (10, 100):
            times = count * (call + each * P + grid * row / P)
            best = int(np.argmin(times))
            speed = alone / times[best]
            cells = f"{R * math.sqrt(kappa):.0f} | {P} | {grid[best]} | {speed:.2f}"
            print(f"| {kappa:.0f} | {R:.0f} | {cells} |")


def tables(work: float, call: float, each: float, row_us: float) -> None:
    """ms of work, of a step's three messages, and of each worker's part in them; us of a row."""
    plane(work, call, each)
    print()
    batches(call / 3.0, each / 3.0, row_us * 1e-3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-ms", type=float, default=201.0)
    parser.add_argument("--call-ms", type=float, default=0.7)
    parser.add_argument("--worker-ms", type=float, default=2.4)
    parser.add_argument("--row-us", type=float, default=0.23)
    args = parser.parse_args()
    tables(args.work_ms, args.call_ms, args.worker_ms, args.row_us)


if __name__ == "__main__":
    main()
