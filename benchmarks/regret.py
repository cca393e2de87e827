"""How far every method is from the best schedule there is, by exact expected dynamics.

    python benchmarks/regret.py [--cells models|data|hard] [--seed N] [--count N] [--out DIR]
                                [--against FILE] [--worst N]

A cell is a model or a data set, a batch, a horizon T and a size of the noise. In each cell every
method of the registry is measured against the best table:

- with noise: E f(w_T) - f* over the value of the best table ("gap");
- without: the steps that the method takes to 1e-6 of f(w_0) - f*, or to what it reaches at T, over
  the shortest horizon at which a best table reaches the same ("steps").

models: Gaussian rows with d = 200 eigenvalues, geometric or a power law, kappa 10 to 1e5, T from
2 sqrt(kappa) to 100 sqrt(kappa) but at most 1,000. data: the fresh cells of benchmarks/auto.py,
with T cut to 400. For both the best table is that of ``exact.best_schedule``. hard: Student-t rows,
one-hot Zipf rows, duplicated rows, kappa 1e6, one row times 100, fewer rows than columns with
l2 = 1e-3, rows of mean 10, two rows, and two ordinary kinds; T = 3 to 1500. There the best table is
the best of 1,140 constant or decaying ones (19 steps, 8 momenta, lookahead or not, 4 decays).

The best table knows the spectrum, the start and the noise, which no rule does: a regret of 1 is out
of reach. One cell in three, by a hash of its name, is held out while a rule is chosen; the report
has both parts. Best values are kept in ``DIR/best-KIND.json``, so that a run that was stopped goes
on, and a run after a change of a rule takes a tenth of the time. ``--against`` compares ``auto``
with the file that an earlier run wrote.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
import warnings
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _auto_exact import evolve  # noqa: E402
from _regret_cells import KINDS, Cell  # noqa: E402

import bocce  # noqa: E402
from bocce.exact import Gaussian, best_schedule, expected  # noqa: E402
from bocce.schedules import REGISTRY  # noqa: E402

ACCURACY = 1e-6
LOST = (
    1e6  # times f(w_0) - f*: a curve that rises so far has diverged, and rounding decides its end
)
LEAST = 1e-9  # of f(w_0) - f*: a gap below counts as this one
NEAR = 0.05  # of a horizon: so close to a known one no other is searched
CLOSER = 4  # horizons that are searched, besides T, for the goal of auto
TOL = 0.1  # of the search: its values are within 3 % of those at 1e-3
SPEEDS = "steps: median, 90 %, 95 %, worst, within 1.25"
GAPS = "gap: the same, within 2"


def tables(cell: Cell) -> dict[str, bocce.Schedule]:
    """Every schedule of the registry that can be built."""
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
    return built


def curves(cell: Cell, built: list[bocce.Schedule]) -> np.ndarray:
    """E f(w_k) - f*, a column for each schedule."""
    with np.errstate(all="ignore"):
        if isinstance(cell.model, Gaussian) or cell.b == cell.model.n:
            found = np.array([expected(cell.model, s, cell.b).gap for s in built]).T
        else:
            found = evolve(cell.model, built, cell.b)[0]
        peaks = np.maximum.accumulate(np.where(np.isnan(found), np.inf, found), axis=0)
        return np.where(peaks > LOST * found[0], np.inf, found)


def noisy(cell: Cell) -> bool:
    """Does the noise matter? On all rows it does not."""
    return cell.noise != 0.0 and cell.b < cell.constants["n"]


class Best:
    """The best value at each horizon, kept in a file."""

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.tuned = path, kind == "hard"
        self.kept = json.loads(path.read_text()) if path.exists() else {}

    def steps(self, cell: Cell, goal: float, start: float, closer: int = 0) -> float:
        """The shortest horizon at which a best table has the gap ``goal``; ``start`` is f(w_0)'s.

        The logarithm of the best value is interpolated between horizons that are known. At most
        ``closer`` more horizons are searched, where they are more than ``NEAR`` from known ones.
        """
        known = self._known(cell)
        if self.tuned:
            return float(np.argmax(np.minimum.accumulate(known["lowest"]) <= goal))
        for _ in range(closer + 1):
            found = {0: start, **{int(T): value for T, value in known.items()}}
            horizons = np.array(sorted(found), dtype=float)
            values = np.minimum.accumulate([found[int(T)] for T in horizons])
            needed = float(np.interp(-math.log(goal), -np.log(values), horizons))
            T = round(needed)
            if closer == 0 or T < 1 or np.abs(horizons - T).min() <= NEAR * T:
                break
            self._add(cell, T)
        return needed

    def value(self, cell: Cell) -> float:
        """The best value at T."""
        known = self._known(cell)
        return float(known["lowest"][-1] if self.tuned else known[str(cell.T)])

    def _known(self, cell: Cell) -> Any:
        if cell.name not in self.kept:
            if self.tuned:
                lowest = np.nanmin(curves(cell, grid(cell)), axis=1)
                self.kept[cell.name] = {"lowest": (lowest[-1:] if noisy(cell) else lowest).tolist()}
                self._write()
            else:
                self._add(cell, cell.T)
        return self.kept[cell.name]

    def _add(self, cell: Cell, T: int) -> None:
        value = best_schedule(cell.model, T, cell.b, tol=TOL).value
        self.kept.setdefault(cell.name, {})[str(T)] = value
        self._write()

    def _write(self) -> None:
        self.path.write_text(json.dumps(self.kept))


def grid(cell: Cell) -> list[bocce.Schedule]:
    """Constant and decaying tables to choose the best from, in hindsight."""
    L, T, built = cell.constants["L"], cell.T, []
    k = np.arange(T) / T
    shapes = (np.ones(T), 1.0 / (1.0 + 4.0 * k), float(T) ** -np.maximum(2 * k - 1, 0), 1.0 - k)
    sizes = itertools.product(np.geomspace(1e-3, 4.0, 19), np.geomspace(1.0, 1e-3, 8), shapes)
    for step, slack, shape in sizes:
        for ahead in {0.0, 1.0 - slack}:
            columns = (step / L * shape, np.full(T, 1.0 - slack), np.full(T, ahead))
            built.append(bocce.Schedule(*columns))
    return built


def regrets(cell: Cell, best: Best, built: dict[str, bocce.Schedule]) -> dict[str, float]:
    """Of each schedule; infinite where it ends above the start."""
    found = {}
    for name, gap in zip(built, curves(cell, list(built.values())).T):
        if noisy(cell):
            least = LEAST * gap[0]
            found[name] = max(least, float(gap[-1])) / max(least, best.value(cell))
            continue
        goal = max(ACCURACY * gap[0], float(gap[-1]))
        if not goal < gap[0]:
            found[name] = math.inf
            continue
        taken, closer = int(np.argmax(gap <= goal)), CLOSER if name == "auto" else 0
        found[name] = max(1.0, taken / max(1.0, best.steps(cell, goal, gap[0], closer)))
    return found


# -- the report -----------------------------------------------------------------------------------


def report(cells: list[dict[str, Any]], only: str | None = None) -> None:
    names = {name for cell in cells for name in cell["regret"]} if only is None else {only}
    print(f"| method | {SPEEDS} | {GAPS} |")
    print("|---|---|---|")
    for name in sorted(names, key=lambda name: (not name.startswith("auto"), name)):
        parts = []
        for with_noise, goal in ((False, 1.25), (True, 2.0)):
            found = [
                cell["regret"][name]
                for cell in cells
                if cell["noisy"] == with_noise and name in cell["regret"]
            ]
            parts.append(_shown(np.array(found), goal))
        print(f"| {name} | {parts[0]} | {parts[1]} |")


def _shown(found: np.ndarray, goal: float) -> str:
    if not found.size:
        return ""
    ranked = np.sort(np.where(np.isnan(found), np.inf, found))
    ranks = [ranked[math.ceil(q * ranked.size) - 1] for q in (0.5, 0.9, 0.95, 1.0)]
    share = f"{100 * np.mean(ranked <= goal):.0f} % of {ranked.size}"
    return ", ".join(f"{x:.3g}" for x in ranks) + f", {share}"


def compare(cells: list[dict[str, Any]], before: list[dict[str, Any]]) -> None:
    """auto over auto of an earlier run, in the cells that both have."""
    earlier = {cell["name"]: cell["regret"]["auto"] for cell in before}
    for with_noise, words in ((False, "steps"), (True, "gap")):
        ratios = {
            cell["name"]: cell["regret"]["auto"] / earlier[cell["name"]]
            for cell in cells
            if cell["noisy"] == with_noise and math.isfinite(earlier.get(cell["name"], math.inf))
        }
        sizes = np.array(list(ratios.values()))
        print(
            f"auto over auto before, {words}: median {np.median(sizes):.2f}, worst "
            f"{sizes.max():.2f} at {max(ratios, key=ratios.__getitem__)}; above 1.1 in "
            f"{(sizes > 1.1).sum()} of {sizes.size} cells, below 0.9 in {(sizes < 0.9).sum()}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", choices=KINDS, default="models")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--against", type=Path, help="what an earlier run wrote")
    parser.add_argument("--worst", type=int, default=0, help="print so many cells, worst first")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    best = Best(options.out / f"best-{options.cells}.json", options.cells)
    start, done = time.process_time(), []
    for cell in itertools.islice(KINDS[options.cells](options.seed), options.count):
        facts = {"name": cell.name, "noisy": noisy(cell), "held": cell.held_out}
        done.append({**facts, "regret": regrets(cell, best, tables(cell))})
    (options.out / f"regret-{options.cells}.json").write_text(json.dumps(done))
    print(f"{options.cells}, seed {options.seed}: {len(done)} cells")
    report(done)
    for held, words in ((False, "to choose by"), (True, "held out")):
        part = [cell for cell in done if cell["held"] == held]
        print(f"{len(part)} cells {words}:")
        report(part, "auto")
        if options.against:
            compare(part, json.loads(options.against.read_text()))
    ranked = sorted(done, key=lambda cell: -cell["regret"]["auto"])
    for cell in ranked[: options.worst]:
        print(f"{cell['regret']['auto']:.3g}x at {cell['name']}")
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
