"""How far every method is from the best schedule there is, by exact expected dynamics.

    python benchmarks/regret.py [--cells models|data|hard] [--seed N] [--count N] [--out DIR]

A cell is a model or a data set, a batch, a horizon T and a size of the noise. In each cell
``exact.best_schedule`` computes the best table of T steps; every method of the registry is then
measured against it:

- with noise: E f(w_T) - f* over that of the best table ("gap");
- without: the steps that the method takes to 1e-6 of f(w_0) - f*, or to what it reaches at T, over
  the shortest horizon at which a best table reaches the same ("steps").

models: Gaussian rows with d = 200 eigenvalues, geometric or a power law, kappa 10 to 1e5, T from
2 sqrt(kappa) to 100 sqrt(kappa) but at most 1,000. data: the fresh cells of benchmarks/auto.py,
with T cut to 400. hard: Student-t rows, one-hot Zipf rows, duplicated rows, kappa 1e6, one row
times 100, fewer rows than columns with l2 = 1e-3, rows of mean 10, two rows; T = 3 to 1500; against
the best of 1,216 constant or decaying tables (19 steps, 8 momenta, lookahead or not, 4 decays).

The best table knows the spectrum, the start and the noise, which no rule does: a regret of 1 is out
of reach. Prints a line for each method and writes regret.json; ``--out`` says where.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _auto_cells import fresh  # noqa: E402
from _auto_exact import evolve  # noqa: E402

import bocce  # noqa: E402
from bocce.exact import Gaussian, best_schedule, expected  # noqa: E402
from bocce.schedules import REGISTRY, adaptive  # noqa: E402

ACCURACY = 1e-6
SHORTER = 0.7  # of a horizon: the next one at which a best table is computed
TOL = 1e-2  # of the search: its values are within a few per cent of those at 1e-3
N = 10_000
RULE_TWO = "auto before (rule 2)"


class Cell(NamedTuple):
    """A model or problem, its constants for the factories, a batch, a horizon, and its noise."""

    name: str
    model: Any
    constants: dict[str, Any]
    b: int
    T: int
    noise: float


def models(seed: int, count: int) -> Iterator[Cell]:
    rng, d = np.random.default_rng(seed), 200
    for _ in range(count):
        kappa = 10 ** rng.uniform(1, 5)
        T = int(10 ** rng.uniform(math.log10(2 * kappa**0.5), math.log10(100 * kappa**0.5)))
        T, b = min(1000, max(5, T)), min(9000, int(10 ** rng.uniform(0, 4)))
        shape = str(rng.choice(["geometric", "power"]))
        power = np.arange(1, d + 1.0) ** (-math.log(kappa) / math.log(d))
        lam = np.geomspace(1 / kappa, 1, d) if shape == "geometric" else power
        level = 0.0 if rng.uniform() < 0.4 else 10 ** rng.uniform(-4, 0.5)
        model = Gaussian(lam, noise=level * float(lam.sum()), n=N)
        yield Cell(f"{shape} {kappa:.0f}", model, model.schedule_arguments(b), b, T, level)


def data(seed: int, count: int) -> Iterator[Cell]:
    for cell in list(fresh(seed))[:count]:
        p = cell.problem
        yield _on_rows(f"{cell.design} {cell.kappa}", p, cell.b, min(400, cell.T), cell.noise)


def _on_rows(name: str, p: Any, b: int, T: int, noise: float) -> Cell:
    c = p.constants()
    R2, tilde = c.sharpest
    mu = max(c.mu, c.L / T**2)  # as minimize gives it
    known = {"L": c.L, "mu": mu, "L_max": max(R2, c.L), "kappa_tilde": tilde, "n": p.n, "b": b}
    return Cell(name, p, known, b, T, noise)


def hard(seed: int, count: int) -> Iterator[Cell]:
    rng = np.random.default_rng(seed)
    cells = []
    for name, X, l2 in hard_rows(rng):
        n = len(X)
        for noise in (0.0, 0.3, -0.3):  # negative: heavy-tailed
            clean = X @ rng.uniform(size=X.shape[1])
            drawn = rng.standard_normal(n) if noise >= 0 else rng.standard_t(2.1, n)
            y = clean + abs(noise) * np.sqrt(np.mean(clean**2)) * drawn
            p = bocce.LeastSquares(X, y, l2=l2)
            for b in sorted({1, min(2, n), max(1, n // 10), max(1, n // 2), n - 1, n}):
                for T in (3, 20, 200, 1500):
                    if noise == 0.0 or b < n:
                        cells.append(_on_rows(name, p, b, T, noise))
    yield from (cells[i] for i in rng.permutation(len(cells))[:count])


def hard_rows(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, float]]:
    d = 5
    yield "student", rng.standard_t(2.1, (200, d)), 0.0
    columns = np.minimum(rng.zipf(1.5, 300), d) - 1
    columns[:d] = np.arange(d)
    yield "one-hot zipf", np.eye(d)[columns], 0.0
    yield "duplicates", np.repeat(rng.standard_normal((8, d)), 25, axis=0), 0.0
    yield "kappa 1e6", rng.standard_normal((200, d)) * np.geomspace(1.0, 1e-3, d), 0.0
    large = rng.standard_normal((200, d))
    large[0] *= 100.0
    yield "one row x100", large, 0.0
    yield "n < d", rng.standard_normal((6, 12)), 1e-3
    yield "mean 10", 10.0 + rng.standard_normal((200, d)), 0.0
    yield "two rows", rng.standard_normal((2, 2)), 0.0


def tables(cell: Cell) -> dict[str, bocce.Schedule]:
    """Every schedule of the registry that can be built, and ``auto`` as it was."""
    built = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in REGISTRY.items():
            try:
                made = method.build(cell.T, cell.constants)
            except (TypeError, ValueError):  # T is too short for it, or kappa~ is not known
                continue
            if isinstance(made, bocce.Schedule):
                built[name] = made
    c = cell.constants
    z = bocce.theory.zeta2(c["n"], c["b"])
    known = (cell.T, c["L"], c["mu"], c["L_max"], c["kappa_tilde"], z)
    return built | {RULE_TWO: bocce.Schedule(*adaptive.lookahead_table(*known))}


def curves(cell: Cell, built: dict[str, bocce.Schedule]) -> dict[str, np.ndarray]:
    with np.errstate(all="ignore"):
        if isinstance(cell.model, Gaussian) or cell.b == cell.model.n:
            return {name: expected(cell.model, s, cell.b).gap for name, s in built.items()}
        gaps = evolve(cell.model, list(built.values()), cell.b)[0]
    return dict(zip(built, gaps.T))


def against_best(cell: Cell) -> dict[str, float]:
    """The regret of each method; best values at shorter horizons are computed when asked for."""
    found = curves(cell, tables(cell))
    lowest = min(gap[-1] for gap in found.values() if np.isfinite(gap[-1]))
    best = {cell.T: min(lowest, best_schedule(cell.model, cell.T, cell.b, tol=TOL).value)}
    if cell.noise:
        return {name: float(gap[-1] / best[cell.T]) for name, gap in found.items()}
    start = float(found["sgd"][0])
    goals = {name: max(ACCURACY * start, float(gap[-1])) for name, gap in found.items()}
    good = max(goals[name] for name in ("auto", RULE_TWO))
    while best[min(best)] < min(good, 0.5 * start) and min(best) > 2:
        T = max(2, int(SHORTER * min(best)))
        best[T] = best_schedule(cell.model, T, cell.b, tol=TOL).value
    return {name: steps_regret(gap, goals[name], best) for name, gap in found.items()}


def steps_regret(gap: np.ndarray, goal: float, best: dict[int, float]) -> float:
    """Steps of the method to its goal, over the horizon at which a best table reaches it."""
    if not goal < gap[0]:
        return math.inf
    taken = int(np.argmax(gap <= goal))
    horizons = np.array(sorted(best))
    values = np.minimum.accumulate([best[T] for T in horizons])
    needed = np.interp(math.log(goal), np.log(values[::-1]), horizons[::-1].astype(float))
    return max(1.0, taken / float(needed))


def against_tuned(cell: Cell) -> dict[str, float]:
    """The regret against the best of many constant or decaying tables, tuned in hindsight."""
    built = tables(cell)
    c, T, rivals = cell.constants, cell.T, {}
    k = np.arange(T) / T
    shapes = (np.ones(T), 1.0 / (1.0 + 4.0 * k), float(T) ** -np.maximum(2 * k - 1, 0), 1.0 - k)
    for step in np.geomspace(1e-3, 4.0, 19):
        for slack in np.geomspace(1.0, 1e-3, 8):
            for ahead in (0.0, 1.0 - slack):
                for i, shape in enumerate(shapes):
                    columns = (step / c["L"] * shape, np.full(T, 1 - slack), np.full(T, ahead))
                    rivals[f"{step},{slack},{ahead},{i}"] = bocce.Schedule(*columns)
    found = curves(cell, built | rivals)
    if cell.noise:
        lowest = min(gap[-1] for gap in found.values() if np.isfinite(gap[-1]))
        return {name: float(found[name][-1] / lowest) for name in built}
    regrets = {}
    for name in built:
        goal = max(ACCURACY * found[name][0], float(found[name][-1]))
        if not goal < found[name][0]:
            regrets[name] = math.inf
            continue
        hits = [int(np.argmax(gap <= goal)) for gap in found.values() if (gap <= goal).any()]
        regrets[name] = int(np.argmax(found[name] <= goal)) / max(1, min(hits))
    return regrets


def report(cells: list[dict[str, Any]]) -> None:
    names = sorted({name for cell in cells for name in cell["regret"]})
    print("| method | steps: median, 90 %, 95 %, worst, within 1.25 | gap: the same, within 2 |")
    print("|---|---|---|")
    for name in sorted(names, key=lambda name: not name.startswith("auto")):
        parts = []
        for noisy, goal in ((False, 1.25), (True, 2.0)):
            found = [
                c["regret"][name]
                for c in cells
                if bool(c["noise"]) == noisy and name in c["regret"]
            ]
            parts.append(_shown(np.array(found), goal))
        print(f"| {name} | {parts[0]} | {parts[1]} |")
    ratios = np.array([c["regret"]["auto"] / c["regret"][RULE_TWO] for c in cells])
    ratios = ratios[np.isfinite(ratios)]
    print(
        f"auto over auto before: median {np.median(ratios):.2f}, 95 % "
        f"{np.quantile(ratios, 0.95):.2f}, worst {ratios.max():.2f}; above 1.1 in "
        f"{(ratios > 1.1).sum()} of {ratios.size} cells, below 0.9 in {(ratios < 0.9).sum()}"
    )


def _shown(found: np.ndarray, goal: float) -> str:
    if not found.size:
        return ""
    ranked = np.sort(np.where(np.isnan(found), np.inf, found))
    ranks = [ranked[math.ceil(q * ranked.size) - 1] for q in (0.5, 0.9, 0.95, 1.0)]
    return ", ".join(f"{x:.3g}" for x in ranks) + f", {100 * np.mean(ranked <= goal):.0f} %"


KINDS = {
    "models": (models, against_best),
    "data": (data, against_best),
    "hard": (hard, against_tuned),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", choices=KINDS, default="models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    draw, judge = KINDS[options.cells]
    start, done = time.process_time(), []
    for cell in draw(options.seed, options.count):
        facts = {"name": cell.name, "b": cell.b, "T": cell.T, "noise": cell.noise}
        done.append({**facts, "regret": judge(cell)})
        (options.out / f"regret-{options.cells}.json").write_text(json.dumps(done))
    print(f"{options.cells}, seed {options.seed}: {len(done)} cells")
    report(done)
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
