"""The cost model of docs/scale.md: what P workers make of P times the data.

    python benchmarks/scale.py [--work-ms 201] [--call-ms 0.7] [--worker-ms 2.4]

A step on P parts of 10^8 numbers takes work + call + worker P + the d numbers' way through the
tree; one machine that could hold all of it takes P work. Nothing here is simulated.
benchmarks/ray_step.py measures the three numbers and prints the same table with them: here you can
give your own cluster's.
"""

from __future__ import annotations

import argparse
import math

from bocce.ray.workers import FAN_IN

N = 10**10
WORKERS = (1, 2, 10, 100, 1000)
BYTES_A_MS = 1.25e6  # 10 Gbit/s


def tree(d: int, P: int) -> float:
    """ms that d numbers take through the levels of the tree, down and up."""
    levels = math.ceil(math.log(P, FAN_IN)) if P > 1 else 0
    return 2.0 * levels * FAN_IN * 8.0 * d / BYTES_A_MS


def table(work: float, call: float, each: float) -> None:
    """ms of work, of a step's three messages, and of each worker's part in them."""
    print("| P | d | ms a step | speed, of one machine | ms, calls of 0.05 ms each | speed |")
    print("|---|---|---|---|---|---|")
    for d in (100, 10_000):
        for P in WORKERS:
            made = []
            for worker in (each, 0.05):
                step = work + call + worker * P + tree(d, P)
                made += [f"{step:.0f}", f"{P * work / step:.1f}"]
            print(f"| {P} | {d:,} | {' | '.join(made)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work-ms", type=float, default=201.0)
    parser.add_argument("--call-ms", type=float, default=0.7)
    parser.add_argument("--worker-ms", type=float, default=2.4)
    args = parser.parse_args()
    table(args.work_ms, args.call_ms, args.worker_ms)


if __name__ == "__main__":
    main()
