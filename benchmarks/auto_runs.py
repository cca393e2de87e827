"""What exact expectations cannot see: the guard, and the run without T. By runs, over seeds.

    python benchmarks/auto_runs.py [--seeds 5] [--to-tolerance]

Guard: every curvature constant under-estimated by 2, 10 and 100; steps until f - f* is 1e-6 of
f(w0) - f*, over those with the right constants (targets without noise), and retreats.
Anytime: the mean of f - f* after the same number of steps, over that of the schedule that knew
them (targets with noise 0.1). --to-tolerance: only the passes until the gradient norm is 1e-6 of
the first, with a batch size and without T. To compare two versions, run each one's package.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import bocce  # noqa: E402

N, D, T = 2000, 10, 7000
PANELS = (("haar", 10), ("haar", 100), ("haar", 1000), ("heavy", 100), ("heavy", 1000))
BATCHES = (1, 20, 200, 1000, 1800)


def problem(design: str, kappa: float, noise: float) -> bocce.LeastSquares:
    X, y, _ = bocce.data.regression(N, D, kappa, noise_var=noise, design=design)
    return bocce.LeastSquares(X, y)


def misjudged(p: bocce.LeastSquares, factor: float) -> bocce.LeastSquares:
    c, other = p.constants(), bocce.LeastSquares(p.X, p.y)
    L, (R2, tilde) = c.L / factor, c.sharpest
    other.__dict__["_constants"] = dataclasses.replace(
        c,
        L=L,
        mu=min(c.mu, L),
        L_max=max(L, c.L_max / factor),
        kappa_tilde=max(1.0, c.kappa_tilde / factor),
        R2=max(L, R2 / factor),
        R2_tilde=max(1.0, tilde / factor),
    )
    return other


def steps_and_retreats(p, factor: float, b: int, seed: int) -> tuple[float, int]:
    r = bocce.minimize(misjudged(p, factor), "auto", T, b, seed=seed, record_every=5)
    gap = r.history["value"]  # f* = 0: the targets are fitted
    reached = np.flatnonzero(gap <= 1e-6 * gap[0])
    told = re.search(r"returned to the best point (\d+) time", r.message)
    count = 0 if told is None else int(told[1])
    return (float(r.history["k"][reached[0]]) if reached.size else np.inf), count


def guard_table(seeds: int) -> None:
    print("| rows, kappa, b | steps | L/2 | L/10 | L/100 |\n|---|---|---|---|---|")
    for design, kappa in PANELS:
        p = problem(design, kappa, 0.0)
        for b in BATCHES[1:]:
            found = {
                factor: [steps_and_retreats(p, factor, b, seed) for seed in range(seeds)]
                for factor in (1, 2, 10, 100)
            }
            usual = np.median([steps for steps, _ in found[1]])
            cells = []
            for factor in (2, 10, 100):
                steps = np.median([steps for steps, _ in found[factor]])
                most = max(count for _, count in found[factor])
                cells.append(f"{steps / usual:.2f}x, {most}" if np.isfinite(steps) else "not in T")
            first = f"{usual:.0f}" if np.isfinite(usual) else f"more than {T}"
            print(f"| {design} {kappa}, {b} | {first} | " + " | ".join(cells) + " |")


def anytime_table(seeds: int) -> None:
    print("| rows, kappa, b | with T | without T | ratio |\n|---|---|---|---|")
    ratios = []
    for design, kappa in PANELS:
        p = problem(design, kappa, 0.1)
        lowest = p.value(p.minimiser())
        for b in BATCHES:
            gaps = []
            for steps in (T, None):
                runs = [
                    bocce.minimize(
                        *(p, "auto", steps, b),
                        seed=seed,
                        record_every=steps or "auto",
                        passes=None if steps else T * b / p.n,
                    )
                    for seed in range(seeds)
                ]
                gaps.append(np.mean([p.value(r.w) - lowest for r in runs]))
            ratios.append(gaps[1] / gaps[0])
            print(f"| {design} {kappa}, {b} | {gaps[0]:.2g} | {gaps[1]:.2g} | {ratios[-1]:.2f} |")
    print(f"median {np.median(ratios):.2f}, within 2x in {np.mean(np.array(ratios) <= 2):.0%}")


def passes_to_tolerance(p: bocce.Problem, b: int) -> float:
    run = bocce.minimize(p, "auto", batch_size=b, tol=1e-6, seed=1)
    assert run.status == "converged"
    return float(run.history["gradient_evaluations"][-1]) / p.n


def tolerance_table() -> None:
    print("| loss, rows, kappa, noise | " + " | ".join(f"b = {b}" for b in BATCHES) + " |")
    print("|---" * (1 + len(BATCHES)) + "|")
    for noise in (0.0, 0.1):
        for design, kappa in PANELS:
            squared = problem(design, kappa, noise)
            labels = squared.y > np.median(squared.y)
            for loss, p in {
                "squared": squared,
                "logistic": bocce.Logistic(squared.X, labels, l2=1e-3),
            }.items():
                passes = [f"{passes_to_tolerance(p, b):.1f}" for b in BATCHES]
                print(f"| {loss}, {design}, {kappa}, {noise} | " + " | ".join(passes) + " |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--to-tolerance", action="store_true")
    arguments = parser.parse_args()
    if arguments.to_tolerance:
        tolerance_table()
        return
    seeds = arguments.seeds
    guard_table(seeds)
    print()
    anytime_table(seeds)


if __name__ == "__main__":
    main()
