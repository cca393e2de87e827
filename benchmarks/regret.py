"""How far every method is from the best schedule there is, by exact expected dynamics.

    python benchmarks/regret.py SEED [--cells models|quiet|real|hard|long] [--count N]
                                     [--out DIR] [--only auto] [--worst N]

A cell is a model or a data set, a batch and a horizon T, drawn from the seed (`_regret_cells.py`).
In each cell E f(w_T) - f* of every method is divided by that of the best table, which
``exact.best_schedule`` finds. The best table knows the spectrum, the noise and the start; no method
knows the start. A gap below 1e-9 of f(w_0) - f* counts as that.

``auto`` is run three times: "auto" knows spectrum and noise, as ``minimize`` gives them; "auto,
four constants and noise"; "auto, four constants". Beside the registry two methods that are no part
of the library run: SGD with tail averaging (step 1/(2 L_m), the mean of the second half) and
Eigencurve (Pan, Ye, Zhang, arXiv 2110.14109), whose step sizes follow from the spectrum, with L_m,
the curvature of a batch, in place of L. Best values are kept in ``DIR/best-KIND-SEED.json``, so
that a run after a change of a rule takes a tenth of the time.
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

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _regret_cells import KINDS, Cell  # noqa: E402

import bocce  # noqa: E402
from bocce.exact import best_schedule, expected  # noqa: E402
from bocce.schedules import REGISTRY, Schedule  # noqa: E402
from bocce.schedules.accelerated import expected_smoothness, with_step  # noqa: E402
from bocce.theory import zeta2  # noqa: E402

LEAST = 1e-9  # of f(w_0) - f*: a gap below counts as this one
TOL = 0.1  # of the search: its values are within 3 % of those at 1e-3
WITHIN = 2.0
FOUR = ("L", "mu", "L_max", "kappa_tilde", "n", "b")


def tail_average(cell: Cell) -> Schedule:
    """SGD with half the longest step, and the mean of its second half."""
    c = cell.constants
    step = 0.5 / expected_smoothness(c["L"], c["L_max"], zeta2(c["n"], cell.b))
    first = cell.T - cell.T // 2
    memory = np.arange(1.0, cell.T - first + 1.0)
    alpha, beta, theta = with_step(memory, 0.5 * step, step)
    nothing = np.zeros(first)
    return Schedule(
        np.concatenate([np.full(first, step), alpha]),
        np.concatenate([nothing, beta]),
        np.concatenate([nothing, theta]),
        "sgd, tail average",
    )


def eigencurve(cell: Cell) -> Schedule:
    """1/alpha grows at the rate mu 2^i in phase i, which has sqrt(share of [mu 2^i, mu 2^i+1))."""
    c = cell.constants
    lam, count = bocce.schedules.twin.spectrum_of(c["spectrum"])
    octaves = np.floor(np.log2(lam / lam.min())).astype(int)
    roots = np.sqrt(np.bincount(octaves, count))
    ends = np.cumsum(roots) / roots.sum() * cell.T
    phase = np.minimum(np.searchsorted(ends, np.arange(cell.T), side="right"), roots.size - 1)
    rate = lam.min() * 2.0**phase
    smooth = expected_smoothness(c["L"], c["L_max"], zeta2(c["n"], cell.b))
    inverse = smooth + np.concatenate([[0.0], np.cumsum(rate)[:-1]])
    return Schedule(1.0 / inverse, 0.0, name="eigencurve")


def tables(cell: Cell, only: str | None) -> dict[str, Schedule]:
    """Every method that can be built."""
    four = {name: cell.constants[name] for name in FOUR}
    built = {
        "auto": bocce.schedules.auto(cell.T, **cell.constants),
        "auto, four constants and noise": bocce.schedules.auto(
            cell.T, **four, noise=cell.constants["noise"]
        ),
        "auto, four constants": bocce.schedules.auto(cell.T, **four),
    }
    if only is not None:
        return built
    built |= {"sgd, tail average": tail_average(cell), "eigencurve": eigencurve(cell)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in REGISTRY.items():
            try:
                made = method.build(cell.T, cell.constants)
            except (TypeError, ValueError):  # T is too short for it, or kappa~ is not known
                continue
            built.setdefault(name, made)
    return built


def gap(cell: Cell, schedule: Schedule) -> float:
    """E f(w_T) - f*, of f(w_0) - f*."""
    with np.errstate(all="ignore"):
        curve = expected(cell.model, schedule, cell.b).gap
    return float(curve[-1] / curve[0])


class Best:
    """The best value of each cell, kept in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept = json.loads(path.read_text()) if path.exists() else {}

    def value(self, cell: Cell) -> float:
        if cell.name not in self.kept:
            best = best_schedule(cell.model, cell.T, cell.b, tol=TOL).schedule
            self.kept[cell.name] = gap(cell, best)
            self.path.write_text(json.dumps(self.kept))
        return float(self.kept[cell.name])


def report(cells: list[dict[str, float]]) -> None:
    print("| method | median | 90 % | worst | within 2 |")
    print("|---|---|---|---|---|")
    names = {name for cell in cells for name in cell}
    for name in sorted(names, key=lambda name: (not name.startswith("auto"), name)):
        found = np.array([cell[name] for cell in cells if name in cell])
        ranked = np.sort(np.where(np.isnan(found), np.inf, found))
        ranks = [ranked[math.ceil(q * ranked.size) - 1] for q in (0.5, 0.9, 1.0)]
        share = f"{100 * np.mean(ranked <= WITHIN):.0f} % of {ranked.size}"
        print(f"| {name} | " + " | ".join(f"{x:.3g}" for x in ranks) + f" | {share} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--cells", choices=KINDS, default="models")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--only", choices=["auto"], help="leave the other methods out")
    parser.add_argument("--worst", type=int, default=5, help="print so many cells, worst first")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    best = Best(options.out / f"best-{options.cells}-{options.seed}.json")
    start = time.process_time()
    done: dict[str, dict[str, float]] = {}
    for cell in itertools.islice(KINDS[options.cells](options.seed), options.count):
        lowest = max(LEAST, best.value(cell))
        built = tables(cell, options.only)
        done[cell.name] = {key: max(LEAST, gap(cell, s)) / lowest for key, s in built.items()}
    print(f"{options.cells}, seed {options.seed}: {len(done)} cells")
    report(list(done.values()))
    ranked = sorted(done, key=lambda name: -done[name]["auto"])
    for name in ranked[: options.worst]:
        print(f"{done[name]['auto']:.3g}x at {name}")
    print(f"{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
