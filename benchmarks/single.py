"""float32 against float64 and against peers, ridge regression, and the memory of sparse fits.

    python benchmarks/single.py [--rounds 5] [--only float32 ridge sparse]

float32: bocce's CPU time on float32 rows over that on the same rows in float64, and over that of
scikit-learn's default solver on the float32 rows; how far apart f ends, as a share of its fall.
ridge: the time over that of scikit-learn's fastest solver to the same f (as benchmarks/hunt.py has
it). sparse: the peak of memory above X, as a share of X. Least CPU times of fits in turns, one
thread.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from typing import Any

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from _hunt_cases import Case  # noqa: E402
from _hunt_solvers import OURS  # noqa: E402
from hunt import race  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

import bocce  # noqa: E402
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor  # noqa: E402

SHARE = 1e-4  # l2 over the mean square of the columns
SHAPES = (
    (20_000, 50, "independent"),
    (100_000, 50, "independent"),
    (200_000, 20, "independent"),
    (50_000, 100, "unlike"),
    (10_000, 300, "shifted"),
    (5_733, 752, "outliers"),
)
RIDGES = ((3_000, 20), (3_000, 600), (10_000, 300), (30_000, 150), (20_000, 20), (200_000, 20))
KINDS = ("unlike", "factors")
SPARSE_RIDGES = ((20_000, 30_000, 50), (5_000, 100_000, 50))
SPARSE_SHARES = (1.0, 1e-2)  # l2 over the mean square of the columns
LEFT = 1e-6  # the share of the fall of f that may be left
SPARSE = ((100_000, 20_000, 50), (50_000, 300, 20))
Fit = tuple[Any, Any, np.ndarray]  # an estimator, rows and targets


def rows(n: int, d: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Rows, numbers, two classes, and l2."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    if kind == "unlike":
        X *= 10.0 ** rng.uniform(-2.0, 2.0, d)
    elif kind == "factors":
        X += 3.0 * rng.standard_normal((n, 10)) @ rng.standard_normal((10, d))
    elif kind == "outliers":
        X[rng.integers(0, n, 3)] *= 100.0
    elif kind == "shifted":
        X += rng.uniform(-10.0, 10.0, d)
    z = X @ (rng.standard_normal(d) / np.sqrt(np.mean(X**2, axis=0) * d))
    classes = (rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * z))).astype(np.float64)
    return X, z + 0.5 * rng.standard_normal(n), classes, SHARE * float(np.mean(X**2))


def least(fits: dict[str, Fit], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each, in turns behind a first turn that compiles."""
    found: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(rounds + 1):
        for name, (model, X, y) in fits.items():
            begin = time.process_time()
            model.fit(X, y)
            found[name].append(time.process_time() - begin)
    return {name: min(seconds[1:]) for name, seconds in found.items()}


def single(rounds: int) -> None:
    for n, d, kind in SHAPES:
        X, y, classes, l2 = rows(n, d, kind)
        narrow = X.astype(np.float32)
        logistic = LogisticRegression(C=1.0 / (n * l2), max_iter=30)
        races: list[tuple[Any, Any, np.ndarray, str]] = [
            (HeavyBallRegressor(l2=l2), Ridge(alpha=n * l2), y, "squared"),
            (HeavyBallClassifier(l2=l2), logistic, classes, "logistic"),
        ]
        for ours, peer, target, loss in races:
            seconds = least(
                {
                    "wide": (ours, X, target),
                    "narrow": (ours, narrow, target),
                    "peer": (peer, narrow, target),
                },
                rounds,
            )
            p = bocce.Problem(narrow.astype(np.float64), target, loss, l2=l2, intercept=True)
            values = []
            for data in (narrow, narrow.astype(np.float64)):
                model = ours.fit(data, target)
                coef = np.append(model.coef_.ravel(), model.intercept_)
                values.append(p.value(coef))
            fall = p.value(np.zeros(d + 1)) - values[1]
            print(
                f"{loss:<9} {n:>7,} x {d:<4} {kind:<12} over float64 "
                f"{seconds['narrow'] / seconds['wide']:.2f}, over the peer "
                f"{seconds['narrow'] / seconds['peer']:.2f}, f apart "
                f"{(values[0] - values[1]) / fall:.0e}",
                flush=True,
            )


def ridge(rounds: int) -> None:
    for n, d in RIDGES:
        shown = []
        for kind in KINDS:
            X, y, _, l2 = rows(n, d, kind)
            shown.append(f"{kind} {_over_the_best(Case(kind, 'squared', X, y, l2, True, LEFT))}")
        print(f"ridge {n:>7,} x {d:<7,} {', '.join(shown)}", flush=True)
    for n, d, entries in SPARSE_RIDGES:
        shown = []
        X, y = sparse_rows(n, d, entries)
        mean_square = float(X.data @ X.data) / (n * d)
        for share in SPARSE_SHARES:
            case = Case("sparse", "squared", X, y, share * mean_square, True, LEFT)
            shown.append(f"l2 {share:g} {_over_the_best(case)}")
        print(f"ridge {n:>7,} x {d:<7,} sparse: {', '.join(shown)}", flush=True)


def _over_the_best(case: Case) -> str:
    """The CPU time over that of the fastest peer, and its name."""
    verdict = race(case, 0, without="SciPy")
    if verdict is None or OURS not in verdict.seconds:
        return "(missed)"
    return f"{verdict.ratio:.2f} ({verdict.peer})"


def sparse_rows(n: int, d: int, entries: int) -> tuple[Any, np.ndarray]:
    """Rows as words have them: rare columns and frequent ones; and numbers."""
    rng = np.random.default_rng(0)
    frequencies = np.arange(1.0, d + 1.0) ** -0.7
    columns = rng.choice(d, size=n * entries, p=frequencies / frequencies.sum())
    places = (np.repeat(np.arange(n), entries), columns)
    X = sp.csr_array((rng.lognormal(size=n * entries), places), shape=(n, d))
    X.sum_duplicates()
    X.indices = X.indices.astype(np.int32)  # Ridge takes no others
    X.indptr = X.indptr.astype(np.int32)
    z = X @ rng.standard_normal(d)
    return X, z / z.std() + 0.5 * rng.standard_normal(n)


def sparse(rounds: int) -> None:
    rng = np.random.default_rng(0)
    for n, d, entries in SPARSE:
        frequencies = np.arange(1.0, d + 1.0) ** -0.7
        columns = rng.choice(d, size=n * entries, p=frequencies / frequencies.sum())
        values = rng.lognormal(size=n * entries) * 10.0 ** rng.uniform(-1.0, 1.0, d)[columns]
        X = sp.csr_array((values, (np.repeat(np.arange(n), entries), columns)), shape=(n, d))
        X.sum_duplicates()
        size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        z = X @ rng.standard_normal(d)
        y = z / z.std() + rng.standard_normal(n)
        fits: dict[str, Fit] = {
            "squared": (HeavyBallRegressor(), X, y),
            "logistic": (HeavyBallClassifier(), X, y > 0.0),
        }
        seconds = least(fits, rounds)
        for name, (model, _, targets) in fits.items():
            tracemalloc.start()
            model.fit(X, targets)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            print(
                f"sparse {n:,} x {d:,}, {entries} entries a row, {name}: "
                f"{1e3 * seconds[name]:.0f} ms, {peak / size:.2f} of X above X",
                flush=True,
            )


def main() -> None:
    parts = {"float32": single, "ridge": ridge, "sparse": sparse}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.only:
        parts[name](args.rounds)


if __name__ == "__main__":
    main()
