"""Inputs on which other solvers were found faster: bocce's CPU time over that of its fastest peer.

    python benchmarks/slow_cases.py [--only NAME ...] [--rounds 5]

One line a case. Single fits are raced as in benchmarks/hunt.py: every solver gets its best
stopping point for the same f, and the fastest peer counts. A path and cross-validation are compared
with what scikit-learn offers for them.
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
import scipy.sparse as sp  # noqa: E402
from _hunt_cases import Case  # noqa: E402
from _hunt_solvers import OURS  # noqa: E402
from hunt import race  # noqa: E402
from scipy.special import expit  # noqa: E402
from sklearn.linear_model import LogisticRegression, RidgeCV  # noqa: E402

import bocce  # noqa: E402
from bocce.sklearn import HeavyBallRegressorCV  # noqa: E402
from sklearn import datasets  # noqa: E402

CLASSES = 25
PENALTIES = np.geomspace(1e-1, 1e-5, 12)


def _case(loss: str, X: object, y: np.ndarray, l2: float, target: float) -> Case:
    return Case(loss, loss, X, y, l2, True, target)


def _marks(z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Two classes with the log-odds z."""
    return (rng.random(z.size) < expit(z)).astype(np.float64)


def isotropic(loss: str) -> Case:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300_000, 20))
    z = X @ rng.standard_normal(20) / 4.0
    y = _marks(z, rng) if loss == "logistic" else z + rng.standard_normal(z.size)
    return _case(loss, X, y, 1e-4, 1e-6)


def poisson() -> Case:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000_000, 5))
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(np.float64)
    return _case("poisson", X, y, 1e-4, 1e-6)


def square() -> Case:
    """As many rows as columns."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_500, 1_500))
    y = _marks(2.0 * X @ rng.standard_normal(1_500) / np.sqrt(1_500.0), rng)
    return _case("logistic", X, y, 0.1, 1e-8)


def outliers() -> Case:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_747, 888))
    y = _marks(2.0 * X @ rng.standard_normal(888) / np.sqrt(888.0), rng)
    X[rng.integers(0, len(X), 3)] *= 100.0
    return _case("logistic", X, y, 1e-2, 1e-5)


def outliers_in_classes() -> Case:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1_500, 700))
    y = np.argmax(2.0 * X[:, :6] + rng.gumbel(size=(1_500, 6)), axis=1)
    X[rng.integers(0, len(X), 2)] *= 1_000.0
    return _case("softmax", X, y, 1e-2, 1e-5)


def two_columns(loss: str) -> Case:
    """Sparse rows of two columns; the second is the same number in each row."""
    rng = np.random.default_rng(0)
    n = 465_000
    first = rng.standard_normal(n) * (rng.random(n) < 0.3)
    X = sp.csr_array(np.column_stack([first, np.ones(n)]))
    X.indices = X.indices.astype(np.int32)
    X.indptr = X.indptr.astype(np.int32)
    z = first + 0.5
    y = _marks(z, rng) if loss == "logistic" else z + rng.standard_normal(n)
    return _case(loss, X, y, 1e-3, 1e-6)


def huber() -> Case:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 20))
    y = 5.0 * X @ rng.standard_normal(20) / np.sqrt(20.0) + rng.standard_t(2.0, 2_000)
    return _case("huber", X, y, 1e-3, 1e-6)


def least(fits: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each, in turns behind a first turn that compiles."""
    found: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(rounds + 1):
        for name, fit in fits.items():
            begin = time.process_time()
            fit()
            found[name].append(time.process_time() - begin)
    return {name: min(seconds[1:]) for name, seconds in found.items()}


def single(case: Callable[[], Case]) -> Callable[[int], tuple[float, str]]:
    """The race of one fit."""

    def run(rounds: int) -> tuple[float, str]:
        verdict = race(case(), 0)
        if verdict is None or OURS not in verdict.seconds:
            return np.nan, "nobody reaches the target"
        return verdict.ratio, f"{verdict.peer}, {1e3 * verdict.seconds[OURS]:.1f} ms"

    return run


def leave_one_out(name: str) -> Callable[[int], tuple[float, str]]:
    """The penalty of ridge regression, ten of them tried, in closed form."""

    def run(rounds: int) -> tuple[float, str]:
        if name == "diabetes":
            X, y = datasets.load_diabetes(return_X_y=True)
        else:
            X, y = datasets.make_regression(2_000, 50, noise=10.0, random_state=0)
        l2s = np.geomspace(10.0, 1e-7, 10)
        fits = {
            "ours": lambda: HeavyBallRegressorCV(l2s).fit(X, y),
            "peer": lambda: RidgeCV(len(y) * l2s).fit(X, y),
        }
        seconds = least(fits, 3 * rounds)
        return seconds["ours"] / seconds["peer"], f"RidgeCV, {1e3 * seconds['ours']:.1f} ms"

    return run


def path(rounds: int) -> tuple[float, str]:
    """Twelve penalties of 25 classes, from the strongest on, to the same f as lbfgs."""
    rng = np.random.default_rng(0)
    n, d = 3_000, 64
    X = rng.standard_normal((n, d))
    y = np.argmax(X @ rng.standard_normal((d, CLASSES)) + 2.0 * rng.gumbel(size=(n, CLASSES)), 1)
    problems = [bocce.Problem(X, y, "softmax", l2=l2, intercept=True) for l2 in PENALTIES]

    def ours(tol: float) -> list[np.ndarray]:
        found = bocce.path(problems[0], PENALTIES, tol=tol)
        return [p.join_intercept(one.w, one.intercept) for p, one in zip(problems, found)]

    def theirs(tol: float) -> list[np.ndarray]:
        model = LogisticRegression(warm_start=True, tol=tol, max_iter=10_000)
        found = []
        for l2 in PENALTIES:
            model.set_params(C=1.0 / (n * l2)).fit(X, y)
            found.append(np.vstack([model.coef_.T, model.intercept_]))
        return found

    exact = [p.value(w) for p, w in zip(problems, ours(1e-9))]
    falls = [np.log(CLASSES) - value for value in exact]

    def missing(points: list[np.ndarray]) -> float:
        values = [p.value(w) for p, w in zip(problems, points)]
        return max((v - e) / fall for v, e, fall in zip(values, exact, falls))

    tolerances = [10.0**-e for e in np.arange(1.0, 9.0, 0.5)]
    rough = next(tol for tol in tolerances if missing(ours(tol)) <= 1e-6)
    rougher = next(tol for tol in tolerances if missing(theirs(tol)) <= 1e-6)
    seconds = least({"ours": lambda: ours(rough), "peer": lambda: theirs(rougher)}, rounds)
    return seconds["ours"] / seconds["peer"], f"lbfgs, {1e3 * seconds['ours']:.0f} ms"


CASES: dict[str, Callable[[int], tuple[float, str]]] = {
    "isotropic 300,000 x 20, logistic": single(lambda: isotropic("logistic")),
    "isotropic 300,000 x 20, ridge": single(lambda: isotropic("squared")),
    "2,000,000 x 5, Poisson": single(poisson),
    "1,500 x 1,500, logistic, to 1e-8": single(square),
    "5,747 x 888 with 3 outliers, logistic": single(outliers),
    "1,500 x 700 with 2 outliers, six classes": single(outliers_in_classes),
    "sparse 465,000 x 2, one constant, logistic": single(lambda: two_columns("logistic")),
    "sparse 465,000 x 2, one constant, ridge": single(lambda: two_columns("squared")),
    "2,000 x 20, Huber": single(huber),
    "ridge, leave-one-out: diabetes": leave_one_out("diabetes"),
    "ridge, leave-one-out: 2,000 x 50": leave_one_out("2,000 x 50"),
    "12 penalties, 25 classes": path,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[""], help="cases whose name has this in it")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name, run in CASES.items():
        if any(part in name for part in args.only):
            ratio, peer = run(args.rounds)
            print(f"{name:<44} {ratio:6.2f} of {peer}", flush=True)


if __name__ == "__main__":
    main()
