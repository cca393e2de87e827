"""The plane against scikit-learn's solvers, to a gradient of 1e-4 and of 1e-6 of the first.

    python benchmarks/plane.py [--quick] [--data NAME ...] [--l2 1e-3 1/n 0.01/n] [--markdown]

CPU seconds, one thread. One objective for all: mean loss + l2/2 ||w||^2, no intercept, from w = 0.
A solver of scikit-learn is refitted with a tolerance that falls by half decades; its time to a
level is that of the cheapest fit that reached it. The plane is run once to the smaller level (twice
on small data, and the better time counts, for all), and asked on the way; validation of the data is
in scikit-learn's times and not in the plane's. Real data are found through BOCCE_DATA; covtype and
ijcnn1 are dense, the others as LIBSVM has them; sector is class <= 50 against the rest.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

import bocce  # noqa: E402
import plane_problems as given  # noqa: E402
from bocce.engines.plane import Plane, norm  # noqa: E402

LEVELS = (1e-4, 1e-6)
REAL = {
    "a9a": ("a9a", False),
    "w8a": ("w8a", False),
    "ijcnn1": ("ijcnn1.tr", True),
    "mushrooms": ("mushrooms", False),
    "covtype": ("covtype.libsvm.binary.scale", True),
    "covtype 200k": ("covtype.libsvm.binary.scale", True),
    "sector": ("sector.scale", False),
    "rcv1 subset": ("rcv1_vw_subset_1747", False),
    "abalone": ("abalone_scale", True),
}
SIMULATED = {
    "simulated 200 x 500": (200, 500),
    "simulated 1k x 10": (1000, 10),
    "simulated 100k x 400": (100_000, 400),
}
SPARSE = "sparse 200k x 100k"
SQUARED = ("abalone", "ijcnn1", "a9a", "covtype 200k")
SMALL = ("a9a", "ijcnn1", "mushrooms", "rcv1 subset", "abalone", *list(SIMULATED)[:2])
NAMES = (*REAL, *SIMULATED, SPARSE)
L2S: dict[str, Callable[[int], float]] = {
    "1e-3": lambda n: 1e-3,
    "1/n": lambda n: 1.0 / n,
    "0.01/n": lambda n: 0.01 / n,
}


def load(name: str) -> tuple[Any, np.ndarray]:
    if name in SIMULATED:  # as benchopt's benchmark_logreg_l2 makes it
        n, d = SIMULATED[name]
        rng = np.random.RandomState(42)
        truth = rng.randn(d)
        X = rng.randn(n, d)
        return X, np.sign(X @ truth)
    if name == SPARSE:
        return words(200_000, 100_000, 100)
    source, dense = REAL[name]
    X, y = bocce.data.load(source)
    if name == "covtype 200k":
        some = np.sort(np.random.default_rng(0).choice(len(y), 200_000, replace=False))
        X, y = X[some], y[some]
    X = X.toarray() if dense else sp.csr_matrix(X)
    if name == "abalone":
        return X, y
    return X, np.where(y <= 50 if name == "sector" else y == y.max(), 1.0, -1.0)


def words(n: int, d: int, entries: int) -> tuple[Any, np.ndarray]:
    """Rows of unit length with entries in columns as rare as words are, and noisy classes."""
    rng = np.random.default_rng(0)
    columns = np.minimum(d ** rng.random((n, entries)) - 1.0, d - 1).astype(np.int32)
    values = np.abs(rng.standard_normal((n, entries)))
    X = sp.csr_matrix((values.ravel(), columns.ravel(), np.arange(0, n * entries + 1, entries)))
    X.resize((n, d))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    return X, np.sign(X @ (3.0 * rng.standard_normal(d)) + 0.3 * rng.standard_normal(n))


def plane(p: Any, metric: str, most: int = 2000) -> tuple[dict[float, float], int, int]:
    """Seconds to each level, steps, and Hessians taken."""
    begin = time.process_time()
    run = Plane(p, np.zeros(p.rows.d), metric=metric)
    first, times = run.norm, {}
    for _ in range(most):
        step = run.step()
        for level in LEVELS:
            if level not in times and step.norm <= level * first:
                times[level] = time.process_time() - begin
        if len(times) == len(LEVELS) or step.verdict:
            break
    return times, run.k, run.chooser.taken if run.chooser else 0


def peers(p: Any, X: Any, y: np.ndarray, l2: float, budget: float, repeats: int) -> dict[str, Any]:
    """Seconds to each level of scikit-learn's solvers."""
    n, d = X.shape
    first = norm(given.gradient(p, np.zeros(d)))
    squared = p.loss.quadratic
    names = ("cholesky", "lsqr") if squared else ("lbfgs", "newton-cholesky", "newton-cg")
    found: dict[str, Any] = {}
    for name in names:
        if d > 2000 and "cholesky" in name:
            continue
        times: dict[float, float] = {}
        spent = 0.0
        for power in np.arange(3.0, 9.1, 0.5):
            best = np.inf
            for _ in range(repeats):
                if squared:
                    model = Ridge(n * l2, fit_intercept=False, solver=name, tol=10**-power)
                else:
                    model = LogisticRegression(
                        C=1.0 / (n * l2),
                        fit_intercept=False,
                        solver=name,
                        tol=first * 10**-power,
                        max_iter=5000,
                    )
                begin = time.process_time()
                model.fit(X, y)
                best = min(best, time.process_time() - begin)
            spent += best
            reached = norm(given.gradient(p, np.ravel(model.coef_))) / first
            for level in LEVELS:
                if reached <= level:
                    times[level] = min(times.get(level, np.inf), best)
            if len(times) == len(LEVELS) or spent > budget:
                break
        found[name] = times
    return found


def cells(names: list[str], l2s: list[str]) -> Iterator[tuple[str, str, str, Any, Any, float]]:
    for name in names:
        X, y = load(name)
        kinds = [] if name == "abalone" else [("logistic", given.Logistic())]
        kinds += [("squared", given.Squared())] if name in SQUARED else []
        for kind, loss in kinds:
            for label in l2s:
                l2 = L2S[label](X.shape[0])
                yield name, kind, label, X, given.problem(X, y, loss, l2), l2


def row(cell: tuple[Any, ...], budget: float) -> list[str]:
    name, kind, label, X, p, l2 = cell
    repeats = 2 if name in SMALL else 1
    runs = [plane(p, "auto") for _ in range(repeats)]
    plain = [plane(p, "identity", most=200) for _ in range(repeats)]
    theirs = peers(p, X, p.y, l2, budget, repeats)
    line = [f"{name} {kind}", label, f"{runs[0][1]} ({runs[0][2]})"]
    for level in LEVELS:
        ours = min(r[0].get(level, np.inf) for r in runs)
        by_identity = min(r[0].get(level, np.inf) for r in plain)
        who, best = min(((k, v.get(level, np.inf)) for k, v in theirs.items()), key=lambda t: t[1])
        line += [f"{ours:.4f}", f"{by_identity:.4f}", f"{best:.4f} {who}", f"{ours / best:.2f}"]
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small data only, under a minute")
    parser.add_argument("--data", nargs="+", choices=NAMES, default=list(NAMES), metavar="NAME")
    parser.add_argument("--l2", nargs="+", choices=list(L2S), default=list(L2S))
    parser.add_argument("--budget", type=float, default=20.0, help="seconds for a peer to climb")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    names = [name for name in args.data if not args.quick or name in SMALL]
    head = ["data", "l2", "steps (Hessians)"]
    for level in LEVELS:
        head += [f"{level:g}: plane", "P = I", "best of scikit-learn", "ratio"]
    bar = " | " if args.markdown else "  "
    print(bar.join(head), flush=True)
    ratios = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells(names, args.l2):
            line = row(cell, args.budget)
            ratios.append([float(line[6]), float(line[10])])
            print(bar.join(line), flush=True)
    for level, column in zip(LEVELS, np.array(ratios).T):
        print(
            f"to {level:g}: first on {(column < 1.0).sum()} of {column.size}, "
            f"at most {column.max():.2f} times the best"
        )


if __name__ == "__main__":
    main()
