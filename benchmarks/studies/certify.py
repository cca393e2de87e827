"""Certified over exact: what a certificate is worth, by design, batch and method.

    python benchmarks/studies/certify.py [--part finite|convex|best|all]

finite   root mean square errors, certified over exact (``theory.certify_run`` over
         ``exact.expected``): n = 4,000, d = 10, T = 3,000, noise 0.01; and the bound from mu and
         lambda_max alone.
convex   certified rates of SGD, heavy ball, Nesterov and auto on means of convex smooth rows
         (``theory.certify_convex``, needs the extra ``certify``).
best     the minimax rate of heavy ball and of SGD (``theory.best_heavy_ball``).

Prints the tables of docs/theory.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

import bocce  # noqa: E402
from bocce import exact, theory  # noqa: E402
from bocce.schedules.accelerated import heavy_ball_rule  # noqa: E402

N, D, T = 4000, 10, 3000
DESIGNS = (("haar", 100.0), ("haar", 1000.0), ("gaussian", 100.0), ("heavy", 100.0))
SHARES = (0.9, 0.1, 0.01)
METHODS = ("shb", "shb-exp", "multi-shb", "2p-shb", "nesterov-exp", "auto", "auto-shb")


def schedule(p: Any, method: str, b: int) -> bocce.Schedule:
    c = p.constants()
    known = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bocce.schedules.REGISTRY[method].build(T, {**known, "n": p.n, "b": b})


def ratio(bound: float, truth: float) -> str:
    """Of the roots; '-' where the method diverges, so that there is nothing to certify."""
    if not truth < 1e100:
        return "-"
    root = math.sqrt(bound / truth)
    return "inf" if math.isinf(root) else f"{root:.3g}"


def from_ends(p: Any, table: bocce.Schedule, b: int) -> float:
    """The certificate that knows no spectrum."""
    c, w = p.constants(), p.minimiser()
    L_max, tilde = c.sharpest
    residual2 = (p.X @ w - p.y) ** 2
    leverage = np.einsum("ij,ji->i", p.X, np.linalg.solve(p.gram, p.X.T))
    return theory.certify(
        table,
        n=p.n,
        b=b,
        L_max=L_max,
        kappa_tilde=tilde,
        mu=c.mu,
        lam_max=c.L,
        error0=float(w @ w),
        chi2=p.noise().chi2,
        chi_tilde2=float((residual2 * leverage).mean()),
    ).total


def finite() -> None:
    print("| rows, kappa | b/n | " + " | ".join(METHODS) + " |")
    print("|---|---|" + "---|" * len(METHODS))
    ends, seconds, cells, below = [], 0.0, 0, 0
    for design, kappa in DESIGNS:
        X, y, _ = bocce.data.regression(N, D, kappa, design=design, noise_var=0.01, spectrum="sqrt")
        p = bocce.LeastSquares(X, y)
        for share in SHARES:
            b, row = round(share * N), []
            for method in METHODS:
                table = schedule(p, method, b)
                truth = float(exact.expected(p, table, b).error2[-1])
                start = time.process_time()
                bound = theory.certify_run(p, table, b).total
                seconds += time.process_time() - start
                cells, below = cells + 1, below + (bound < truth * (1 - 1e-9))
                row.append(ratio(bound, truth))
                if share == 0.9:
                    ends.append(
                        (f"{design} {kappa:g}", method, ratio(from_ends(p, table, b), truth))
                    )
            print(f"| {design} {kappa:g} | {share} | " + " | ".join(row) + " |")
    print(f"\n{below} of {cells} certified below exact; {1e3 * seconds / cells:.0f} ms each\n")
    print("from mu and lambda_max alone, b = 0.9 n:\n")
    print("| rows, kappa | " + " | ".join(METHODS) + " |\n|---|" + "---|" * len(METHODS))
    for name in dict.fromkeys(name for name, _, _ in ends):
        print(f"| {name} | " + " | ".join(x for other, _, x in ends if other == name) + " |")


def best() -> None:
    noises = (0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
    print("| kappa, R | " + " | ".join(f"zeta0^2 = {z:g}" for z in noises) + " |")
    print("|---|" + "---|" * len(noises))
    for kappa, R in ((100.0, 2.0), (100.0, 30.0), (1e4, 2.0), (1e4, 30.0)):
        found = [theory.best_heavy_ball(kappa, R, z) for z in noises]
        row = [f"{1 - x.rate:.3g} ({1 - x.sgd_rate:.3g})" for x in found]
        print(f"| {kappa:g}, {R:g} | " + " | ".join(row) + " |")
    shares: dict[bool, list[float]] = {True: [], False: []}
    for kappa in np.geomspace(10, 1e4, 7):
        for R in np.geomspace(1.5, 1000, 7):
            for z in np.geomspace(1e-6, 1.0, 13):
                step = heavy_ball_rule(1.0, 1 / kappa, R, z)
                rule = theory.certified_rate(*step, z, R, 1 / kappa, 1.0)
                top = theory.best_heavy_ball(kappa, R, z).rate
                shares[z * R * math.sqrt(kappa) >= 1].append((1 - rule) / (1 - top))
    for noisy, found in shares.items():
        where = ">= 1" if noisy else "< 1"
        print(f"\nrule 1 over the best where zeta0^2 R sqrt(kappa) {where}: ", end="")
        print(f"{min(found):.2f} to {max(found):.2f}")


def convex() -> None:
    """kappa = 100 and R = 10, kappa~ = 20; and kappa = 1000: 1 - rate by batch, n = 10,000."""
    n, R, tilde = 10_000, 10.0, 20.0
    sizes = (n, 5000, 1000, 300, 100, 30, 10, 1)
    for kappa in (100.0, 1000.0):
        print(f"\n| kappa = {kappa:g}: b = | " + " | ".join(str(b) for b in sizes) + " |")
        print("|---|" + "---|" * len(sizes))
        known = {"L": kappa, "mu": 1.0, "L_max": R * kappa, "kappa_tilde": tilde, "n": n}
        for method in ("sgd", "sgd-safe", "shb", "hb", "nesterov", "mass", "auto-shb", "auto"):
            row = []
            for b in sizes:
                s = bocce.schedules.REGISTRY[method].build(100_000, {**known, "b": b})
                k = int(np.argmax(s.alpha / (1 - s.beta)))  # auto: once its memory has grown
                three = float(s.alpha[k]), float(s.beta[k]), float(s.theta[k])
                z = theory.zeta2(n, b)
                found = theory.certify_convex(*three, 1.0, kappa, R * kappa, z)
                row.append("-" if math.isinf(found.rate) else f"{1 - found.rate:.2g}")
            print(f"| {method} | " + " | ".join(row) + " |", flush=True)


PARTS = {"finite": finite, "best": best, "convex": convex}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    part = parser.parse_args().part
    for name, run in PARTS.items():
        if part in (name, "all"):
            print(f"## {name}\n")
            run()
            print()


if __name__ == "__main__":
    main()
