"""The cost model of docs/scale.md: what P workers make of P times the data, and which batch pays.

    python benchmarks/scale.py [--work-ms 151] [--call-ms 1.24] [--worker-ms 1.87] [--row-us 0.23]

Plane: a step on P parts of 10^8 numbers takes work + call + worker P + the d numbers' way through
the tree; one machine that could hold all of it takes P work. Batches: time to divide the error by
e = steps(b) * (messages + b row / P), steps from Theorem S (``theory.certified_rate`` of rule 1's
step and momentum). Nothing here is simulated; the defaults are what benchmarks/ray_step.py measured
at d = 100 (least times): give your own cluster's.
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


def plane(args: argparse.Namespace) -> None:
    print("Plane, 10^8 numbers a worker, columns d, messages of a driver with")
    print("(a) calls as measured, (b) calls of 0.05 ms, a driver with cores of its own:")
    print("       d  workers   ms a step (a)  speed (a)   ms a step (b)  speed (b)")
    for d in (100, 10_000):
        for P in WORKERS:
            made = []
            for worker in (args.worker_ms, 0.05):
                step = args.work_ms + args.call_ms + worker * P + tree(d, P)
                made += [step, P * args.work_ms / step]
            print(f"{d:8d}{P:9d}{made[0]:16.0f}{made[1]:11.1f}{made[2]:16.0f}{made[3]:11.1f}")


def batches(args: argparse.Namespace) -> None:
    row = args.row_us * 1e-3
    print("Batches (one message of three):")
    print(
        "   kappa        R      b_acc  workers   best batch  closed form  ms an e-fold   speed-up"
    )
    for kappa, R in CASES:
        accelerating = R * math.sqrt(kappa)
        grid = np.unique(np.geomspace(1, 1e9, 200).astype(int))
        count = np.array([steps(kappa, R, int(b)) for b in grid])
        alone = (count * grid * row).min()  # one machine has no overhead
        for P in WORKERS[2:]:
            overhead = (args.call_ms + args.worker_ms * P) / 3.0
            times = count * (overhead + grid * row / P)
            best = int(np.argmin(times))
            rule = min(4 * accelerating, math.sqrt(accelerating * overhead * P / row))
            print(
                f"{kappa:8.0f}{R:9.0f}{accelerating:11.0f}{P:9d}{grid[best]:13d}{rule:13.0f}"
                f"{times[best]:14.0f}{alone / times[best]:11.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-ms", type=float, default=151.0)
    parser.add_argument("--call-ms", type=float, default=1.24)
    parser.add_argument("--worker-ms", type=float, default=1.87)
    parser.add_argument("--row-us", type=float, default=0.23)
    args = parser.parse_args()
    plane(args)
    batches(args)


if __name__ == "__main__":
    main()
