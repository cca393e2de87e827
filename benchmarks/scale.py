"""The cost model of docs/scale.md: which batch, and whether more workers pay.

    python benchmarks/scale.py [--row-us 0.23] [--call-ms 0.6] [--worker-ms 0.95]

Time to divide the error by e = steps(b) * (overhead(P) + b * row / P). Steps come from Theorem S
(``theory.certified_rate`` of rule 1's step and momentum), so nothing here is simulated. The
defaults are what benchmarks/ray_step.py measured at d = 100; give your own cluster's.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from bocce import theory
from bocce.schedules.adaptive import heavy_ball_rule

N = 10**10
CASES = [(1e3, 50.0), (1e4, 50.0), (1e3, 5000.0), (1e4, 5000.0)]
WORKERS = (4, 10, 100, 1000)


def steps(kappa: float, R: float, b: int) -> float:
    """Certified steps to divide the error by e, infinite where rule 1 has no certificate."""
    zeta2 = theory.zeta2(N, b)
    alpha, beta = heavy_ball_rule(1.0, 1.0 / kappa, R, zeta2)
    rate = theory.certified_rate(alpha, beta, zeta2, R, 1.0 / kappa, 1.0)
    return -1.0 / math.log(rate) if rate < 1.0 else math.inf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--row-us", type=float, default=0.23)
    parser.add_argument("--call-ms", type=float, default=0.6)
    parser.add_argument("--worker-ms", type=float, default=0.95)
    args = parser.parse_args()
    row = args.row_us * 1e-3
    print(
        "   kappa        R      b_acc  workers   best batch  closed form  ms an e-fold   speed-up"
    )
    for kappa, R in CASES:
        accelerating = R * math.sqrt(kappa)
        grid = np.unique(np.geomspace(1, 1e9, 200).astype(int))
        count = np.array([steps(kappa, R, int(b)) for b in grid])
        alone = (count * grid * row).min()  # one machine has no overhead
        for P in WORKERS:
            overhead = args.call_ms + args.worker_ms * P
            times = count * (overhead + grid * row / P)
            best = int(np.argmin(times))
            rule = min(4 * accelerating, math.sqrt(accelerating * overhead * P / row))
            print(
                f"{kappa:8.0f}{R:9.0f}{accelerating:11.0f}{P:9d}{grid[best]:13d}{rule:13.0f}"
                f"{times[best]:14.0f}{alone / times[best]:11.2f}"
            )


if __name__ == "__main__":
    main()
