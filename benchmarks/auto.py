"""The experiment that decides: auto against every method, by exact expected dynamics.

    python benchmarks/auto.py [--profile quick|full] [--fresh SEED] [--certify] [--out DIR]

Least squares: designs haar, gaussian, heavy, diagonal, and real rows (ijcnn1, a9a, covtype: 1,000
rows in their 8 leading principal coordinates; BOCCE_DATA names the folder), condition numbers 10 to
2000, batches from one row to all, without and with noise. Every method of the registry runs with
the paper's constants (L = lambda_max) and, where it takes no other, with the safe one ("safe":
L = L_max). All expectations are exact, for all methods at once; they are compared with
``bocce.exact.expected`` in the first cell. ``--fresh SEED`` takes cells drawn at random instead,
that no constant of auto was chosen on: other rows, data sets, sizes, noises and numbers of steps.
``--certify`` adds auto with constants chosen in each cell by certified error (slow).

Without noise: steps to 1e-6 of f(w0) - f*, extrapolated by the rate reached where T is too short.
With noise: E||w_T - w*||^2 over the statistical limit zeta0^2 tr(A^-1 S A^-1)/T, and over 1 where
the start was nearer than that limit. A method is compared with the best other one in the cells
where T suffices: somebody reaches 1e-6, or 10 times the limit.

Logistic: runs of ``minimize`` (median of seeds), gradient norm after 30 passes over the best one's.

Writes auto.json and auto.png (a heat map: auto over the best method) and prints the tables of
docs/auto.md. The cells are in _auto_cells.py, the methods in _auto_methods.py.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402
from _auto_cells import PROFILES, Cell, fresh, grid, real_rows  # noqa: E402
from _auto_exact import check_against_package, evolve, statistical_limit, steps_to  # noqa: E402
from _auto_methods import AVERAGED, OURS, methods  # noqa: E402

import bocce  # noqa: E402

SUFFICES = 10.0  # times the statistical limit


def least_squares(cells: Iterable[Cell], certify: bool = False) -> list[dict[str, Any]]:
    done: list[dict[str, Any]] = []
    for cell in cells:
        p, b, T = cell.problem, cell.b, cell.T
        tables = methods(p, b, T, certify)
        if not done:
            check_against_package(p, tables["auto"], b)
        with np.errstate(all="ignore"):
            place = list(tables).index("sgd-safe")
            gaps, final, tail = evolve(p, list(tables.values()), b, place)
        if cell.noise == 0.0:
            scores = {name: steps_to(gaps[:, i]) for i, name in enumerate(tables)}
        else:
            limit = statistical_limit(p, b, T)
            scores = {name: final[i] / limit for i, name in enumerate(tables)}
            scores[AVERAGED] = tail / limit
        blown = [name for i, name in enumerate(tables) if not gaps[-1, i] < 4 * gaps[0, i]]
        done.append(
            {"design": cell.design, "kappa": cell.kappa, "n": p.n, "b": b, "noise": cell.noise,
             "T": T, "scores": scores, "diverged": blown}
        )  # fmt: skip
    return done


# -- logistic loss, by runs ---------------------------------------------------------------------

LOGISTIC = ("auto", "auto-shb", "sgd", "sgd-safe", "shb", "2p-shb", "nesterov", "nesterov-exp",
            "multi-shb", "mass", "shb-sls-exp", "schedule-free", "momsps")  # fmt: skip


def logistic(profile: dict[str, Any]) -> list[dict[str, Any]]:
    cells = []
    for name in profile["real"]:
        X, labels = real_rows(name, profile["n"], profile["d"])
        for l2 in (1e-2, 1e-4):
            p = bocce.Logistic(X, labels, l2=l2)
            for share in (0.01, 0.1, 1.0):
                b = max(1, round(share * p.n))
                T = max(200, 30 * p.n // b)
                scores, blown = {}, []
                for method in LOGISTIC:
                    norms = []
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        for seed in range(profile["seeds"]):
                            r = bocce.minimize(p, method, T, b, seed=seed, record_every=T)
                            final = np.linalg.norm(p.gradient(r.w)) / r.history["grad_norm"][0]
                            norms.append(math.inf if r.status == "diverged" else final)
                    scores[method] = float(np.median(norms))
                    if math.isinf(max(norms)):
                        blown.append(method)
                cells.append({"design": name.split(".")[0], "l2": l2, "n": p.n, "b": b,
                              "scores": scores, "diverged": blown})  # fmt: skip
    return cells


# -- tables -------------------------------------------------------------------------------------


def ratios(cells: list[dict[str, Any]], name: str, noisy: bool) -> list[float]:
    """Over the best rival, in the cells where there is something to compare."""
    found = []
    for cell in cells:
        if (cell["noise"] > 0) != noisy:
            continue
        if (best := suffices(cell)) is not None:
            found.append(cell["scores"][name] / best)
    return found


def rivals_in(cell: dict[str, Any]) -> list[str]:
    return [name for name in cell["scores"] if name not in (*OURS, AVERAGED)]


def suffices(cell: dict[str, Any]) -> float | None:
    """The best rival's score, where T is long enough for it to mean something."""
    best = min(cell["scores"][other] for other in rivals_in(cell))
    if cell["noise"] > 0:
        return max(best, 1.0) if best <= SUFFICES else None
    return best if best <= cell["T"] else None


def table(cells: list[dict[str, Any]]) -> list[str]:
    names = list(cells[-1]["scores"])
    lines = [
        "| method | diverges | steps / best: median, 95 %, worst | limit: median, 95 %, worst |",
        "|---|---|---|---|",
    ]
    for name in sorted(names, key=lambda name: name not in OURS):
        blown = sum(name in cell["diverged"] for cell in cells) / len(cells)
        parts = [f"{100 * blown:.0f} %"]
        steps = ratios(cells, name, noisy=False) if name != AVERAGED else [math.nan]
        over = [
            cell["scores"][name]
            for cell in cells
            if cell["noise"] > 0 and suffices(cell) is not None
        ]
        for numbers in (steps, over):
            parts.append(", ".join(shown(q) for q in quantiles(numbers)))
        lines.append(f"| {name} | " + " | ".join(parts) + " |")
    return lines


def quantiles(numbers: list[float]) -> list[float]:
    ranked = np.sort(numbers)
    return [float(ranked[math.ceil(q * ranked.size) - 1]) for q in (0.5, 0.95, 1.0)]


def shown(x: float) -> str:
    if math.isnan(x):
        return ""
    return f"{x:.3g}" if x <= 1e6 or math.isinf(x) else "> 1e6"


def verdict(cells: list[dict[str, Any]], name: str = "auto") -> dict[str, float]:
    steps = np.array(ratios(cells, name, noisy=False))
    errors = np.array(ratios(cells, name, noisy=True))
    both = np.concatenate([steps, errors])
    over = [c["scores"][name] for c in cells if c["noise"] > 0 and suffices(c) is not None]
    return {
        "cells": len(cells),
        "diverged": sum(name in cell["diverged"] for cell in cells),
        "compared, T suffices": int(both.size),
        "within 2x of the best": float((both <= 2).mean()),
        "within 4x": float((both <= 4).mean()),
        "worst": float(both.max()),
        "steps, within 2x": float((steps <= 2).mean()),
        "noise, within 2x": float((errors <= 2).mean()),
        "within 6x of the limit": float(np.mean([x <= 6 for x in over])),
    }


def heat_map(cells: list[dict[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.6), layout="constrained")
    for place, noisy in enumerate((False, True)):
        chosen = [cell for cell in cells if (cell["noise"] > 0) == noisy]
        rows = sorted({(c["design"], c["kappa"]) for c in chosen})
        shares = sorted({round(c["b"] / c["n"], 3) for c in chosen if c["design"] != "diagonal"})
        image = np.full((len(rows), len(shares)), np.nan)
        for c in chosen:
            if (best := suffices(c)) is None:
                continue
            column = int(np.argmin(np.abs(np.array(shares) - c["b"] / c["n"])))
            image[rows.index((c["design"], c["kappa"])), column] = c["scores"]["auto"] / best
        axes = figure.add_subplot(1, 2, place + 1)
        axes.set_title("E error at T" if noisy else "steps to 1e-6, no noise")
        axes.set_facecolor("0.75")  # where T is too small for every method
        picture = axes.imshow(
            np.log2(image), cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto", interpolation="nearest"
        )
        axes.set_yticks(range(len(rows)), [f"{d} {k}" for d, k in rows], fontsize=6)
        axes.set_xticks(range(len(shares)), [f"{s:g}" for s in shares], fontsize=6)
        axes.set_xlabel("b/n")
    figure.colorbar(picture, ax=figure.axes, label="log2 (auto / best other method)")
    figure.savefig(path, dpi=80)


def misses(cells: list[dict[str, Any]], name: str = "auto") -> list[str]:
    """The cells beyond 2x, worst first."""
    found = []
    for cell in cells:
        if (best := suffices(cell)) is not None and cell["scores"][name] > 2 * best:
            rival = min(rivals_in(cell), key=cell["scores"].__getitem__)
            where = f"{cell['design']} {cell['kappa']}, b = {cell['b']}, noise {cell['noise']:.2g}"
            found.append((cell["scores"][name] / best, f"{where}, T = {cell['T']}: {rival}"))
    return [f"{ratio:.3g}x at {where}" for ratio, where in sorted(found, reverse=True)]


def against_average(cells: list[dict[str, Any]]) -> str:
    """auto over SGD with the mean of its second half, which is no schedule."""
    noisy = [c["scores"] for c in cells if c["noise"] > 0 and suffices(c) is not None]
    over = np.array([scores["auto"] / scores[AVERAGED] for scores in noisy])
    return (
        f"{AVERAGED}: better than auto in {(over > 1).sum()} of {over.size} noisy cells, by more "
        f"than 2x in {(over > 2).sum()}, at most {over.max():.3g}x; more than 2x worse in "
        f"{(over < 0.5).sum()}, up to {1 / over.min():.3g}x"
    )


def logistic_table(runs: list[dict[str, Any]]) -> list[str]:
    lines = ["| method | median | worst | within 2x |", "|---|---|---|---|"]
    for method in LOGISTIC:
        over = np.array([c["scores"][method] / min(c["scores"].values()) for c in runs])
        parts = [shown(float(np.median(over))), shown(float(over.max()))]
        lines.append(f"| {method} | {' | '.join(parts)} | {(over <= 2).sum()} of {over.size} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", choices=PROFILES, default="quick")
    parser.add_argument("--fresh", type=int, metavar="SEED", help="cells drawn from this seed")
    parser.add_argument("--certify", action="store_true", help="also choose by certified error")
    parser.add_argument("--out", type=Path, default=Path("results"))
    options = parser.parse_args()
    profile = PROFILES[options.profile]
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    chosen = grid(profile) if options.fresh is None else fresh(options.fresh)
    cells = least_squares(chosen, options.certify)
    print(f"least squares, {len(cells)} cells, exact expectations")
    print("\n".join([*table(cells), against_average(cells)]))
    for name in (name for name in OURS if name in cells[0]["scores"]):
        print(name, json.dumps(verdict(cells, name)))
    print("auto beyond 2x:", *misses(cells), sep="\n  ")
    report: dict[str, Any] = {"cells": cells}
    if options.fresh is None:
        report["logistic"] = runs = logistic(profile)
        print(f"\nlogistic, {len(runs)} cells: final gradient norm over the best method's")
        print("\n".join(logistic_table(runs)))
        heat_map(cells, options.out / "auto.png")
    (options.out / "auto.json").write_text(json.dumps(report))
    print(f"\n{time.process_time() - start:.0f} s of CPU; wrote {options.out}")


if __name__ == "__main__":
    main()
