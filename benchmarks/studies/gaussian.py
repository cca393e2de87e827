"""The time of an exact curve on Gaussian rows: d = 1e6 eigenvalues, T = 1e4 steps.

python benchmarks/studies/gaussian.py [--d D] [--T T]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import bocce
from bocce.exact import Gaussian, expected


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--d", type=int, default=10**6)
    parser.add_argument("--T", type=int, default=10**4)
    options = parser.parse_args()
    small = Gaussian(np.geomspace(1e-4, 1.0, 10), noise=1e-2)
    expected(small, bocce.schedules.auto(10, **small.schedule_arguments(10**7)), 10**7)  # compiles
    model = Gaussian(np.arange(1.0, options.d + 1.0) ** -1.2, noise=1e-4)
    schedule = bocce.schedules.auto(options.T, **model.schedule_arguments(1000))
    wall, cpu = time.perf_counter(), time.process_time()
    curve = expected(model, schedule, 1000)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"d = {options.d:,}, T = {options.T:,}: {wall:.1f} s, of which {cpu:.1f} s of CPU")
    print(f"E f(w_T) - f*: {curve.gap[0]:.3g} at first, {curve.gap[-1]:.3g} at last")


if __name__ == "__main__":
    main()
