"""What a fit on small data costs, beside scikit-learn's and cyanure's fits of the same model.

    python benchmarks/small.py [--rounds 200]

Milliseconds of CPU time of one thread, warm: all fits take turns, and the least time of each
counts; behind it, how many times that of the first in its list. About a minute.
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
from _peers_cells import simulated  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor  # noqa: E402

try:
    import cyanure.estimators as cyanure
except ImportError:
    cyanure = None

Fits = dict[str, Callable[[], object]]


def classifiers(n: int, d: int) -> Fits:
    """Defaults, with an intercept, on noisy classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = (X[:, 0] + rng.standard_normal(n) > 0.0).astype(int)
    fits: Fits = {
        "LogisticRegression()": lambda: LogisticRegression().fit(X, y),
        "HeavyBallClassifier()": lambda: HeavyBallClassifier().fit(X, y),
        "HeavyBallClassifier(l2=1)": lambda: HeavyBallClassifier(l2=1.0).fit(X, y),
    }
    if cyanure is not None:
        fits["cyanure.Classifier"] = lambda: cyanure.Classifier(
            loss="logistic", penalty="l2", lambda_1=1e-4, fit_intercept=True, tol=1e-8,
            verbose=False, n_threads=1,
        ).fit(X, y)  # fmt: skip
    return fits


def regressors(n: int, d: int) -> Fits:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X[:, 0] + rng.standard_normal(n)
    return {
        'Ridge(solver="cholesky")': lambda: Ridge(solver="cholesky").fit(X, y),
        "HeavyBallRegressor()": lambda: HeavyBallRegressor().fit(X, y),
        'HeavyBallRegressor(loss="huber")': lambda: HeavyBallRegressor(loss="huber").fit(X, y),
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


def to_a_tolerance(n: int, d: int) -> Fits:
    """benchopt's simulated data without an intercept, as in benchmarks/peers.py."""
    X, y = simulated(n, d)
    fits: Fits = {}
    if cyanure is not None:
        for count in (4, 9):
            fits[f"cyanure, {count} passes"] = lambda count=count: cyanure.Classifier(
                loss="logistic", penalty="l2", lambda_1=1.0 / n, fit_intercept=False, tol=1e-12,
                max_iter=count, verbose=False, n_threads=1,
            ).fit(X, y)  # fmt: skip
    for tol in (1e-1, 1e-2, 1e-3):
        fits[f"HeavyBallClassifier(tol={tol:g})"] = lambda tol=tol: HeavyBallClassifier(
            l2=1.0 / n, tol=tol, fit_intercept=False, random_state=0
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
    races = {
        "1,000 x 20, two classes": classifiers(1_000, 20),
        "1,000 x 20, numbers": regressors(1_000, 20),
        "1,000 x 10, l2 = 1/n, no intercept": to_a_tolerance(1_000, 10),
        "200 x 500, l2 = 1/n, no intercept": to_a_tolerance(200, 500),
        "300 x 1,000, twenty factors, l2 = 1e-3": few_rows(300, 1_000),
    }
    for title, fits in races.items():
        print(title)
        times = measured(fits, rounds)
        first = next(iter(times.values()))
        for name, spent in times.items():
            print(f"    {name:<42} {spent:7.2f} ms  {spent / first:5.2f}")


if __name__ == "__main__":
    main()
