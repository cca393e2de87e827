"""What a fit on small data costs, beside scikit-learn's fits of the same model.

    python benchmarks/small.py [--rounds 200]

Milliseconds of CPU time of one thread, warm: all fits take turns, and the least time of each
counts. Behind each of ours: how many times the best of scikit-learn's in its list. About a minute.
Other packages: benchmarks/peers.py.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.preprocessing import scale  # noqa: E402

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor  # noqa: E402
from sklearn import datasets  # noqa: E402

Fits = dict[str, Callable[[], object]]
SETS = (datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer)


def classes(n: int, d: int, K: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    if K == 2:
        return X, (X[:, 0] + rng.standard_normal(n) > 0.0).astype(int)
    return X, np.argmax(X[:, :K] + rng.gumbel(size=(n, K)), axis=1)


def classifiers(X: np.ndarray, y: np.ndarray) -> Fits:
    """Ours and all of scikit-learn's solvers at their default tolerances, with an intercept."""
    n, two = len(y), np.unique(y).size == 2
    fits: Fits = {"HeavyBallClassifier": lambda: HeavyBallClassifier(l2=1.0 / n).fit(X, y)}
    for solver in ("lbfgs", "newton-cholesky", "newton-cg", *(["liblinear"] if two else [])):
        model = LogisticRegression(solver=solver)
        fits[f"LogisticRegression({solver})"] = lambda model=model: model.fit(X, y)
    return fits


def regressors(X: np.ndarray, y: np.ndarray) -> Fits:
    n = len(y)
    return {
        "HeavyBallRegressor": lambda: HeavyBallRegressor(l2=1.0 / n).fit(X, y),
        "Ridge": lambda: Ridge().fit(X, y),
        'Ridge(solver="cholesky")': lambda: Ridge(solver="cholesky").fit(X, y),
    }


def few_rows(n: int, d: int, l2: float = 1e-3) -> Fits:
    """Columns that are mixtures of twenty factors, as in genomics: fewer rows than columns."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, 20))
    X = factors @ (rng.standard_normal((20, d)) * np.geomspace(1.0, 0.1, 20)[:, None])
    X += 0.3 * rng.standard_normal((n, d))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (factors[:, 0] + 0.5 * rng.standard_normal(n) > 0.0).astype(int)
    fits: Fits = {}
    for solver in ("lbfgs", "newton-cg", "liblinear"):
        model = LogisticRegression(C=1.0 / (n * l2), solver=solver, tol=1e-6, max_iter=1000)
        fits[f"LogisticRegression({solver}, tol=1e-6)"] = lambda model=model: model.fit(X, y)
    for tol in (1e-4, 1e-8):
        fits[f"HeavyBallClassifier(tol={tol:g})"] = lambda tol=tol: HeavyBallClassifier(
            l2=l2, tol=tol
        ).fit(X, y)
    return fits


def measured(fits: Fits, rounds: int) -> dict[str, float]:
    """The least CPU time of each, in milliseconds."""
    best = dict.fromkeys(fits, np.inf)
    for _ in range(rounds):
        for name, fit in fits.items():
            begin = time.process_time()
            fit()
            best[name] = min(best[name], 1e3 * (time.process_time() - begin))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore")
    iris, wine, cancer = (load(return_X_y=True) for load in SETS)
    numbers = classes(2_000, 50)
    races = {
        "100 x 5, two classes": classifiers(*classes(100, 5)),
        "iris, 150 x 4, three classes": classifiers(*iris),
        "wine, 178 x 13, three classes": classifiers(scale(wine[0]), wine[1]),
        "breast cancer, 569 x 30, two classes": classifiers(scale(cancer[0]), cancer[1]),
        "1,000 x 20, five classes": classifiers(*classes(1_000, 20, 5)),
        "2,000 x 20, three classes": classifiers(*classes(2_000, 20, 3)),
        "2,000 x 50, two classes": classifiers(*classes(2_000, 50)),
        "1,000 x 100, two classes": classifiers(*classes(1_000, 100)),
        "100 x 5, numbers": regressors(*classes(100, 5)),
        "diabetes, 442 x 10, numbers": regressors(*datasets.load_diabetes(return_X_y=True)),
        "2,000 x 50, numbers": regressors(numbers[0], numbers[1].astype(float)),
        "300 x 1,000, twenty factors, l2 = 1e-3": few_rows(300, 1_000),
    }
    for title, fits in races.items():
        print(title)
        times = measured(fits, rounds)
        best = min(spent for name, spent in times.items() if not name.startswith("HeavyBall"))
        for name, spent in times.items():
            ratio = f"{spent / best:5.2f}" if name.startswith("HeavyBall") else ""
            print(f"    {name:<42} {spent:7.2f} ms  {ratio}".rstrip(), flush=True)


if __name__ == "__main__":
    main()
