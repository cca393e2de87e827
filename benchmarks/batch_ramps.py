"""What a batch that changes during a run is worth, at equal rows and equal steps.

    python benchmarks/batch_ramps.py [--seed N] [--models N] [--out DIR]

Each model (Gaussian rows; spectrum, noise and start drawn by the seed) is run for T steps with T b
rows in all, from equal batches to free ones. ``exact.best_schedule`` finds the best step,
momentum and lookahead of each step for equal batches, and with ``budget=T b`` the best batches,
too. The ramps below keep the rows and get their own best steps, momentum and lookahead:

- seesaw: the batch doubles in three stages, as where a schedule halves its step (arXiv 2510.14717);
- late switch: the last 30 % of the steps take four times the batch (arXiv 2602.14208);
- linear: the batch grows linearly by a factor of four.

The same is searched without momentum: SGD with a free step at each step. Every number is exact for
its schedule; the searches are local. A figure is E f(w_T) - f* with equal batches over that with
the ramp: above 1 the ramp helps. Results: DIR/batch-ramps.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _batch_cells import spectrum  # noqa: E402

from bocce.exact import Gaussian, batch_facts, best_schedule  # noqa: E402
from bocce.exact.best import Case  # noqa: E402
from bocce.exact.budget import Budget  # noqa: E402
from bocce.exact.search import coordinates, search_from  # noqa: E402

TOL = 1e-2  # of the searches


def drawn(seed: int, count: int) -> Iterator[tuple[str, Gaussian, int, int]]:
    """A name, a model, the steps and the mean batch."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        shape = ("geometric", "power", "clusters")[i % 3]
        d = int(rng.integers(20, 60))
        kappa = float(10 ** rng.uniform(1, 3))
        lam = spectrum(rng, shape, d, kappa)
        start = np.ones(d) if rng.uniform() < 0.5 else 1.0 / lam
        start = start / (0.5 * lam @ start)
        noise = (0.0, 0.01, 0.1, 1.0)[i % 4]
        T = int(rng.integers(30, 90))
        b = int(rng.integers(4, 200))
        name = f"{i}: {shape} d {d} kappa {kappa:.0f} noise {noise} T {T} b {b}"
        yield name, Gaussian(lam, noise=noise, start=start), T, b


def ramps(T: int, b: int) -> dict[str, np.ndarray]:
    """Batches that grow, with at most T b rows in all."""
    doubling = 2.0 ** np.minimum(3 * np.arange(T) // T, 2)
    late = np.where(np.arange(T) < 0.7 * T, 1.0, 4.0)
    linear = np.linspace(1.0, 4.0, T)
    shapes = {"seesaw": doubling, "late switch": late, "linear": linear}
    return {name: np.maximum((T * b * s / s.sum()).astype(int), 1) for name, s in shapes.items()}


class Search:
    """Best tables for given or free batches, with momentum or without."""

    def __init__(self, model: Gaussian, T: int, b: int, momentum: bool) -> None:
        self.free = Budget(Case("batch_ramps", model, b, None, "gap").dynamics, T, T * b, None)
        self.T = T
        self.momentum = momentum

    def masked(self, found: tuple[float, np.ndarray]) -> tuple[float, np.ndarray]:
        value, gradient = found
        if not self.momentum:
            gradient[self.T : 3 * self.T] = 0.0
        return value, gradient

    def given(self, batches: np.ndarray, starts: list[np.ndarray]) -> tuple[float, np.ndarray]:
        def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
            return self.masked(self.free.at_batches(batches, u))

        u, value, _, _ = search_from(objective, starts, TOL)
        return math.exp(value), u

    def all_free(self, u: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
            return self.masked(self.free.at(u))

        u = search_from(objective, self.free.starts(u), TOL, columns=4)[0]
        batches = self.free.whole(u[3 * self.T :])
        value, u = self.given(batches, [u[: 3 * self.T]])
        return value, batches, u


def judged(model: Gaussian, T: int, b: int, momentum: bool) -> dict[str, Any]:
    search = Search(model, T, b, momentum)
    facts = batch_facts(model)
    step = 1.0 / (facts.L + (facts.R2 + facts.gradient_noise / (0.02 * facts.gap)) / b)
    still = np.zeros(T)
    fall = np.linspace(1.0, 0.05, T)
    starts = [coordinates((size * fall, still, still)) for size in (step, 0.3 / facts.L)]
    if momentum:
        starts = [coordinates(best_schedule(model, T, b).schedule.table)]
    equal, u = search.given(np.full(T, b), starts)
    free, batches, _ = search.all_free(u)
    found: dict[str, Any] = {"equal": equal, "free": equal / min(free, equal)}
    for name, ramp in ramps(T, b).items():
        found[name] = equal / search.given(ramp, [u])[0]
    found["batches"] = batches.tolist()
    return found


def report(found: list[dict[str, Any]]) -> str:
    lines = [
        f"{len(found)} models; gap with equal batches over that with the ramp: median, worst, best"
    ]
    for key, words in (
        ("momentum", "step, momentum and lookahead free"),
        ("sgd", "SGD, step free"),
    ):
        lines.append(words)
        for ramp in ("free", "seesaw", "late switch", "linear"):
            worth = np.array([f[key][ramp] for f in found])
            lines.append(
                f"  {ramp:12s} {np.median(worth):6.3f} {worth.min():6.3f} {worth.max():6.3f}"
            )
        noisy = np.array([f[key]["free"] for f in found if f["noise"] > 0])
        quiet = np.array([f[key]["free"] for f in found if f["noise"] == 0])
        lines.append(
            f"  free, without noise at most {quiet.max():.3f}; with noise at most {noisy.max():.3f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, default=30)
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    found = []
    for name, model, T, b in drawn(given.seed, given.models):
        one = {"name": name, "noise": model.noise}
        one["momentum"] = judged(model, T, b, momentum=True)
        one["sgd"] = judged(model, T, b, momentum=False)
        found.append(one)
        print(
            f"{name}: momentum {one['momentum']['free']:.3f}, SGD {one['sgd']['free']:.3f}",
            flush=True,
        )
        (given.out / "batch-ramps.json").write_text(json.dumps(found, indent=1))
    print(report(found))


if __name__ == "__main__":
    main()
