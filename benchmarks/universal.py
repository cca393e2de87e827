"""Can one table serve every size of the noise? The best table that does not know it.

    python benchmarks/universal.py [--seed N] [--count N] [--longest T]

``auto`` does not know the noise. The goals of benchmarks/regret.py are a gap of at most 2 times the
best one at T with noise, and without noise at most 1.25 times the steps: the gap at T is then at
most the best one at 0.8 T (or 1e-6 of the start). ``exact.best_schedule(scenarios=...)`` minimises
the largest ratio to these goals over six sizes of the noise, for the first cells of "models" with a
short T. A ratio above 1 says that the search found no table that reaches all goals in that cell,
although it knows the spectrum and the start. The last columns are the same ratio of ``auto``, and
how often ``auto`` and the common table reach the goal of a single noise.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _regret_cells import models  # noqa: E402

from bocce.exact import Gaussian, best_schedule, expected  # noqa: E402
from bocce.schedules import REGISTRY, Schedule  # noqa: E402

LEVELS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the noise, over the trace of the Hessian
GAP, STEPS, ACCURACY = 2.0, 1.25, 1e-6
TOL, ROUGH = 0.1, 0.3  # of the searches for one noise, and for all


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--longest", type=int, default=200)
    options = parser.parse_args()
    start, found = time.process_time(), []
    short = (cell for cell in models(options.seed) if options.longest >= cell.T)
    print("| cell | best common table | auto | goals reached: table, auto |\n|---|---|---|---|")
    for cell in itertools.islice(short, options.count):
        lam = cell.model.spectrum
        scenarios = []
        for level in LEVELS:
            model = Gaussian(lam, noise=level * float(lam.sum()), n=cell.model.n)
            T = cell.T if level else max(1, int(cell.T / STEPS))
            best = best_schedule(model, T, cell.b, tol=TOL).value
            goal = GAP * best if level else max(best, 0.5 * ACCURACY * float(lam.sum()))
            scenarios.append({"model": model, "value": goal})

        def ratios(schedule: Schedule, cell=cell, scenarios=scenarios) -> np.ndarray:
            gaps = [expected(s["model"], schedule, cell.b).gap[-1] for s in scenarios]
            return np.array(gaps) / [s["value"] for s in scenarios]

        common = best_schedule(cell.model, cell.T, cell.b, scenarios=scenarios, tol=ROUGH)
        auto = ratios(REGISTRY["auto"].build(cell.T, cell.constants))
        ours = ratios(common.schedule)
        found.append((ours, auto))
        name = cell.name.split(": ")[1].split(", noise")[0]
        reached = f"{(ours <= 1).sum()}, {(auto <= 1).sum()} of {len(LEVELS)}"
        print(f"| {name} | {ours.max():.2f} | {auto.max():.2f} | {reached} |", flush=True)
    both = np.array(found)
    worst = both.max(axis=2)
    print(
        f"{len(both)} cells: one table reaches all goals in {(worst[:, 0] <= 1).sum()}, auto in "
        f"{(worst[:, 1] <= 1).sum()}; single goals: the table {(both[:, 0] <= 1).mean():.0%}, "
        f"auto {(both[:, 1] <= 1).mean():.0%}; {time.process_time() - start:.0f} s of CPU"
    )


if __name__ == "__main__":
    main()
