"""Learning rate inside the buffer or outside: heavy ball against torch.optim.SGD's momentum.

    python benchmarks/torch_momentum.py [--out DIR]

Heavy ball multiplies the gradient with the learning rate before it enters the buffer, torch after:

    heavy ball   v <- beta v - alpha_k g,   w <- w + v
    torch        u <- beta u + g,           w <- w - alpha_k u

They differ where the rate changes: with v = -alpha_k u torch is heavy ball with the momentum
beta alpha_k/alpha_{k-1}. Both are tables of bocce, so both have an exact E f(w_T) - f*, and torch
is not needed.

Cells: 3 spectra x 3 decays of the rate (linear, cosine, two cuts by ten) x 2 horizons x 2 batches x
3 sizes of the noise = 108. In each, the first rate and the momentum of each method are tuned by
themselves (a grid, then Nelder and Mead from its three best points). A ratio is heavy ball's gap
over torch's: below 1 heavy ball is better. Results: DIR/torch-momentum.json.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

from bocce.exact import Gaussian, expected  # noqa: E402
from bocce.schedules import Schedule  # noqa: E402

D = 30
SPECTRA = {
    "geometric": np.geomspace(0.01, 1.0, D),
    "power law": np.arange(1.0, D + 1.0) ** -1.5,
    "clusters": np.concatenate([np.linspace(0.5, 1.0, D // 3), np.full(D - D // 3, 0.01)]),
}
HORIZONS = (50, 200)
BATCHES = (100, 10_000)
NOISES = (0.0, 0.01, 1.0)  # the variance of the targets, where f(w_0) - f* = 1
EQUAL = 0.02  # gaps that differ by less count as equal
RATES = np.geomspace(0.02, 8.0, 16)
MOMENTA = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99)


def decay(name: str, T: int) -> np.ndarray:
    k = np.arange(T) / T
    if name == "linear":
        return 1.0 - k
    if name == "cosine":
        return 0.5 * (1.0 + np.cos(np.pi * k))
    return np.where(k < 0.5, 1.0, np.where(k < 0.75, 0.1, 0.01))


def heavy_ball(rate: float, beta: float, shape: np.ndarray) -> Schedule:
    T = shape.size
    return Schedule(rate * shape, np.full(T, beta), np.zeros(T))


def torch_sgd(rate: float, beta: float, shape: np.ndarray) -> Schedule:
    momentum = np.zeros(shape.size)
    momentum[1:] = beta * shape[1:] / shape[:-1]
    return Schedule(rate * shape, momentum, np.zeros(shape.size))


def tuned(model: Gaussian, b: int, shape: np.ndarray, build: Any) -> tuple[float, float, float]:
    """The least gap, with its rate and momentum."""

    def log_gap(u: np.ndarray) -> float:
        rate = math.exp(u[0])
        beta = -math.expm1(min(u[1], 0.0))
        with np.errstate(all="ignore"):
            gap = expected(model, build(rate, beta, shape), b).gap[-1]
        return math.log(gap) if 0.0 < gap < 1e300 else 700.0

    grid = [np.array([math.log(r), math.log1p(-m)]) for r in RATES for m in MOMENTA]
    best = sorted(grid, key=log_gap)[:3]
    options = {"xatol": 1e-4, "fatol": 1e-6, "maxiter": 300}
    found = [minimize(log_gap, u, method="Nelder-Mead", options=options) for u in best]
    least = min(found, key=lambda one: one.fun)
    return (
        math.exp(least.fun),
        math.exp(least.x[0]),
        -math.expm1(min(least.x[1], 0.0)),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    cells = itertools.product(NOISES, SPECTRA, ("linear", "cosine", "cuts"), HORIZONS, BATCHES)
    found = []
    for noise, spectrum, name, T, b in cells:
        lam = SPECTRA[spectrum]
        model = Gaussian(lam, noise=noise, start=np.full(D, 2.0 / lam.sum()))
        shape = decay(name, T)
        ours = tuned(model, b, shape, heavy_ball)
        theirs = tuned(model, b, shape, torch_sgd)
        cell = {"noise": noise, "spectrum": spectrum, "decay": name, "T": T, "b": b}
        found.append({**cell, "heavy ball": ours, "torch": theirs, "ratio": ours[0] / theirs[0]})
        (given.out / "torch-momentum.json").write_text(json.dumps(found, indent=1))
    print("gap of heavy ball over that of torch's momentum, both tuned")
    print(f"{'noise':>6s} {'cells':>6s} {'heavy ball better':>18s} {'torch better':>13s} "
          f"{'equal to 2 %':>13s} {'least':>6s} {'median':>7s} {'most':>6s}")  # fmt: skip
    for noise in NOISES:
        ratios = np.array([f["ratio"] for f in found if f["noise"] == noise])
        ours = int((ratios < 1.0 - EQUAL).sum())
        theirs = int((ratios > 1.0 + EQUAL).sum())
        print(
            f"{noise:6.2f} {ratios.size:6d} {ours:18d} {theirs:13d} "
            f"{ratios.size - ours - theirs:13d} {ratios.min():6.2f} {np.median(ratios):7.2f} "
            f"{ratios.max():6.2f}"
        )


if __name__ == "__main__":
    main()
