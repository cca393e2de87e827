"""Cross-validation beside scikit-learn's: with both defaults, and at equally exact scores.

    python benchmarks/cv.py [--data iris wine ...] [--repeats 3]

CPU seconds of one thread; the models take turns, and the least time of each counts. "defaults": all
parameters as they come. "equal": accuracy is replaced by the log loss (R^2 for numbers), both have
the same ten penalties, and scikit-learn's tolerance falls by decades until its mean scores are as
exact as ours; both are compared with their own scores to 1e-8. Ratios are scikit-learn's time over
ours: above 1 ours is faster. RidgeCV is exact, and compared with its defaults and with 5 folds.
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
from sklearn.feature_extraction.text import HashingVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegressionCV, RidgeCV  # noqa: E402
from text import pieces  # noqa: E402

from bocce.sklearn import HeavyBallClassifierCV, HeavyBallRegressorCV  # noqa: E402
from sklearn import datasets  # noqa: E402

Data = tuple[np.ndarray, np.ndarray]
CS = np.geomspace(1e-2, 1e2, 10)
ALPHAS = np.geomspace(1e2, 1e-2, 10)
SEEN = 1e-5  # Nobody sees a smaller error of a mean log loss: on small data ours is exact.
TOLERANCES = tuple(10.0**-e for e in range(4, 8))


def scaled(data: Data) -> Data:
    X, y = data
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9), y


def classes(n: int, d: int, K: int) -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    z = X @ rng.standard_normal((d, K)) / 4.0
    return X, np.argmax(z + rng.gumbel(size=(n, K)), axis=1)


def hashed_text() -> tuple[Any, np.ndarray]:
    """Words and pairs of words of the standard library's sources; its folders are the classes."""
    texts, y = pieces(fewest=10, most=300)
    words = HashingVectorizer(n_features=21_744, ngram_range=(1, 2), token_pattern=r"\w+")
    return words.transform(texts), y


CLASSES: dict[str, Callable[[], Data]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: scaled(datasets.load_wine(return_X_y=True)),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "3,000 x 64 x 25": lambda: classes(3_000, 64, 25),
    "hashed text": hashed_text,
}
NUMBERS: dict[str, Callable[[], Data]] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True),
    "2,000 x 50": lambda: datasets.make_regression(2_000, 50, noise=10.0, random_state=0),
    "300 x 1,000": lambda: datasets.make_regression(300, 1_000, noise=10.0, random_state=0),
}


def timed(models: dict[str, Any], X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, float]:
    """The least CPU seconds of each model's fit; they take turns."""
    best = dict.fromkeys(models, np.inf)
    for _ in range(repeats):
        for name, model in models.items():
            begin = time.process_time()
            model.fit(X, y)
            best[name] = min(best[name], time.process_time() - begin)
    return best


def ours(n: int, tol: float = 1e-4) -> HeavyBallClassifierCV:
    # a fold has four fifths of the rows, and C counts their sum
    return HeavyBallClassifierCV(l2s=1.0 / (0.8 * n * CS), scoring="neg_log_loss", tol=tol)


def theirs(tol: float, solver: str = "lbfgs") -> LogisticRegressionCV:
    return LogisticRegressionCV(
        Cs=CS, scoring="neg_log_loss", tol=tol, max_iter=10_000, solver=solver
    )


def mean_scores(model: Any) -> np.ndarray:
    if isinstance(model, HeavyBallClassifierCV):
        return model.scores_.mean(axis=0)
    scores = model.scores_
    scores = next(iter(scores.values())) if isinstance(scores, dict) else scores
    return np.asarray(scores).reshape(-1, CS.size).mean(axis=0)


def equally_exact(X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Scikit-learn's tolerance at which its scores are as exact as ours, and both errors."""
    n = len(y)
    best = mean_scores(ours(n, 1e-8).fit(X, y))
    mine = max(SEEN, float(np.abs(mean_scores(ours(n).fit(X, y)) - best).max()))
    exact = mean_scores(theirs(1e-8, "newton-cg").fit(X, y))
    error = np.inf
    for tol in TOLERANCES:
        error = float(np.abs(mean_scores(theirs(tol).fit(X, y)) - exact).max())
        if error <= mine:
            break
    return tol, mine, error


def compare_classifiers(name: str, data: Data, repeats: int) -> None:
    X, y = data
    defaults = {"ours": HeavyBallClassifierCV(), "theirs": LogisticRegressionCV()}
    spent = timed(defaults, X, y, repeats)
    line = f"{name}: defaults {spent['ours']:.3f} and {spent['theirs']:.3f} s, ratio "
    print(f"{line}{spent['theirs'] / spent['ours']:.2f}", flush=True)
    tol, mine, error = equally_exact(X, y)
    spent = timed({"ours": ours(len(y)), "theirs": theirs(tol)}, X, y, repeats)
    line = f"{name}: equal {spent['ours']:.3f} and {spent['theirs']:.3f} s (tol={tol:g}; scores "
    print(f"{line}off by {mine:.0e} and {error:.0e}), ratio {spent['theirs'] / spent['ours']:.2f}")


def compare_regressors(name: str, data: Data, repeats: int) -> None:
    X, y = data
    l2s = ALPHAS / len(y)
    for what, cv in (("leave-one-out", None), ("5 folds", 5)):
        models = {
            "ours": HeavyBallRegressorCV(l2s=l2s, cv=cv),
            "theirs": RidgeCV(alphas=ALPHAS, cv=cv),
        }
        spent = timed(models, X, y, 5 * repeats)
        line = f"{name}: {what} {1e3 * spent['ours']:.2f} and {1e3 * spent['theirs']:.2f} ms, ratio"
        print(f"{line} {spent['theirs'] / spent['ours']:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*CLASSES, *NUMBERS]
    parser.add_argument("--data", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.data:
        if name in CLASSES:
            compare_classifiers(name, CLASSES[name](), args.repeats)
        else:
            compare_regressors(name, NUMBERS[name](), args.repeats)


if __name__ == "__main__":
    main()
