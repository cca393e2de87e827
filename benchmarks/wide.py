"""The metric of data with more columns than a Hessian has room for: identity, diagonal, or auto.

    python benchmarks/wide.py [--data NAME ...] [--l2 1/n 0.01/n] [--repeats 3] [--peers]

CPU seconds of one thread until the gradient is 1e-5 of the first, and in brackets steps, by the
plane in the identity's metric, in the diagonal's (taken anew when the mean second derivative has
changed by half), and as it is ("auto": compares the two, or takes a factor of n x n numbers
where dense rows are fewer than columns). "words" are sparse rows with
columns as rare as words are, "one-hot" categories, "counts" words times whole numbers, "tf-idf"
words weighted by how rare they are, "dense" 1,500 x 4,000 with columns of unlike size. Several
classes are in text.py. Two minutes; sector and rcv1 subset need BOCCE_DATA.

--peers races the estimators on dense rows instead: logistic regression of 2,000 x 20,000 against
lbfgs to (f - f*)/(f(0) - f*) of 1e-4, and ridge regression with fewer rows than columns against
scikit-learn's Ridge.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from _peers_cells import L2S, load, words  # noqa: E402
from begin import KINDS, simulated  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

import bocce  # noqa: E402
from bocce.plane import FactorMetric, IdentityPolicy, PlaneRun, View  # noqa: E402
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor  # noqa: E402

RIDGES = [(100, 300), (300, 1_000), (150, 400), (900, 1_500), (500, 5_000), (1_200, 6_000)]
TOL, MOST_STEPS, STALE = 1e-5, 600, 1.5
Data = tuple[Any, np.ndarray]


def categories(n: int, sizes: tuple[int, ...]) -> Data:
    """One-hot columns, some of which are much rarer than others."""
    rng, columns, before = np.random.default_rng(1), [], 0
    for size in sizes:
        shares = 1.0 / np.arange(1, size + 1) ** rng.uniform(0.0, 1.5)
        columns.append(before + rng.choice(size, n, p=shares / shares.sum()))
        before += size
    C = np.stack(columns, axis=1)
    starts = np.arange(0, C.size + 1, len(sizes))
    X = sp.csr_matrix((np.ones(C.size), C.ravel(), starts), shape=(n, before))
    z = X @ rng.standard_normal(before)
    return X, np.where(z - np.median(z) + rng.standard_normal(n) > 0, 1.0, -1.0)


def reweighted(X: Any, values: np.ndarray) -> Any:
    return sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape)


def counts() -> Data:
    X, y = words(20_000, 30_000, 50)
    return reweighted(X, np.ceil(30.0 * X.data)), y


def tfidf() -> Data:
    X, y = words(5_000, 30_000, 80)
    seen = np.bincount(X.indices, minlength=X.shape[1])
    values = X.data * np.log(X.shape[0] / (1.0 + seen[X.indices])).clip(0.01)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return reweighted(X, values / np.sqrt(np.bincount(rows, values**2))[rows]), y


def dense() -> Data:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1_500, 4_000)) * np.geomspace(1.0, 0.01, 4_000)
    return X, np.sign(X @ rng.standard_normal(4_000) + rng.standard_normal(1_500))


SIZES = (5_000, 3_000, 1_000, 500, 100, 20, 10, 2)
DATA: dict[str, Callable[[], Data]] = {
    "words 5k x 100k": lambda: words(5_000, 100_000, 100),
    "words 50k x 30k": lambda: words(50_000, 30_000, 30),
    "one-hot 50k x 10k": lambda: categories(50_000, SIZES),
    "one-hot 3k x 10k": lambda: categories(3_000, SIZES),
    "counts 20k x 30k": counts,
    "tf-idf 5k x 30k": tfidf,
    "dense 1.5k x 4k": dense,
    "sector": lambda: load("sector"),
    "rcv1 subset": lambda: load("rcv1 subset"),
}


class Scaled(IdentityPolicy):
    """The diagonal's metric from the first step on."""

    bend = 0.0

    def update(self, view: View) -> Any:
        bend = float(view.row_curvature().mean())
        if self.bend / STALE <= bend <= self.bend * STALE:
            return None
        self.bend = bend
        return FactorMetric.of(view.hessian_diagonal(), view.ridge.reshape(-1))


def identity(p: Any) -> PlaneRun:
    return PlaneRun(p, np.zeros(p.rows.d), metric="identity")


def diagonal(p: Any) -> PlaneRun:
    return PlaneRun(p, np.zeros(p.rows.d), metric=Scaled)


def auto(p: Any) -> PlaneRun:
    return PlaneRun(p, np.zeros(p.rows.d))


COLUMNS = {"identity": identity, "diagonal": diagonal, "auto": auto}


def timed(p: Any, made: Callable[[Any], PlaneRun]) -> tuple[float, str]:
    begin = time.process_time()
    plane = made(p)
    goal = TOL * plane.norm
    while plane.norm > goal and plane.k < MOST_STEPS:
        plane.step()
    spent = time.process_time() - begin
    return (spent, str(plane.k)) if plane.norm <= goal else (np.inf, "-")


def compare(name: str, l2s: list[str], repeats: int) -> list[float]:
    X, y = DATA[name]()
    y, ratios = np.where(y > 0, 1.0, -1.0), []
    for l2 in l2s:
        p = bocce.Logistic(X, y, l2=L2S[l2](X.shape[0]))
        found = {c: min(timed(p, made) for _ in range(repeats)) for c, made in COLUMNS.items()}
        best = min(found["identity"][0], found["diagonal"][0])
        cells = "".join(f"{f'{s:.3f} ({k})':<16}" for s, k in found.values())
        print(f"{name:<20}{l2:<8}{cells}{found['auto'][0] / best:.2f}", flush=True)
        ratios += [found["auto"][0] / best] if best < np.inf else []
    return ratios


def spent(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    begin = time.process_time()
    model.fit(X, y)
    return time.process_time() - begin


def race_lbfgs(kind: str, repeats: int) -> None:
    """The cheapest fits to 1e-4, by our tolerances and its numbers of iterations; in turns."""
    X, y = simulated(2_000, 20_000, kind)
    n = len(y)
    p = bocce.Logistic(X, y, l2=1.0 / n)
    start = p.value(np.zeros(p.d))
    best = p.value(bocce.minimize(p, "plane", tol=1e-8).w)
    own = {"fit_intercept": False, "tol": 1e-12, "C": 1.0}
    models = {
        "bocce": [
            HeavyBallClassifier(l2=1.0 / n, fit_intercept=False, tol=10.0**-k) for k in range(1, 7)
        ],
        "lbfgs": [LogisticRegression(**own, max_iter=k) for k in (5, 8, 12, 18, 27, 40, 60, 90)],
    }
    least = {}
    for name, ladder in models.items():
        for model in ladder:
            seconds = spent(model, X, y)
            if (p.value(model.coef_.ravel()) - best) / (start - best) <= 1e-4:
                again = [spent(model, X, y) for _ in range(repeats - 1)]
                least[name] = min([seconds, *again])
                break
    ours, theirs = least["bocce"], least["lbfgs"]
    print(f"2,000 x 20,000 {kind}: {ours:.2f} and lbfgs {theirs:.2f} s, {ours / theirs:.2f}")


def race_ridge(repeats: int) -> None:
    """Ridge regression with fewer rows than columns, over scikit-learn's time."""
    for n, d in RIDGES:
        ratios = []
        for kind in KINDS:
            X, rng = simulated(n, d, kind)[0], np.random.default_rng(0)
            w = rng.standard_normal(d) / X.std(axis=0) / np.sqrt(d)
            y, models = (
                X @ w + rng.standard_normal(n),
                (HeavyBallRegressor(), Ridge(alpha=1e-4 * n)),
            )
            ours, theirs = (min(spent(m, X, y) for _ in range(repeats + 1)) for m in models)
            ratios.append(f"{kind} {ours / theirs:.2f} ({ours:.4f} s)")
        print(f"ridge {n:,} x {d:,}: {', '.join(ratios)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=None, metavar="NAME")
    parser.add_argument("--l2", nargs="+", choices=list(L2S), default=list(L2S))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--peers", action="store_true", help="estimators on dense rows instead")
    args = parser.parse_args()
    if args.peers:
        warnings.simplefilter("ignore")  # of fits that were stopped early
        for kind in KINDS:
            race_lbfgs(kind, args.repeats)
        race_ridge(args.repeats)
        return
    print(f"{'data':<20}{'l2':<8}" + "".join(f"{c:<16}" for c in COLUMNS) + "auto/best")
    ratios = []
    for name in args.data or list(DATA):
        try:
            ratios += compare(name, args.l2, args.repeats)
        except FileNotFoundError as error:
            print(f"{name}: left out. {error}")
    print(f"auto: {max(ratios):.2f} times the better of the two at most, {min(ratios):.2f} at best")


if __name__ == "__main__":
    main()
