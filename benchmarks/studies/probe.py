"""Linear probes: softmax regression on embeddings, one fit, a path of penalties, cross-validation.

    python benchmarks/studies/probe.py              # nine minutes on one core
    python benchmarks/studies/probe.py --quick      # a smaller one, about a minute
    python benchmarks/studies/probe.py path cv      # parts of it

Everything is run in this process, one after the other, and measured in CPU seconds. Rivals are
brought to the same objective: the loosest tol of lbfgs (a factor of 10 apart) by which f is at most
that of our run. Cross-validation is compared twice: as both come, and with the loosest tol by which
the scores of LogisticRegressionCV are as near to the true ones as ours (f of a fold is not told).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

import bocce
from bocce.sklearn import HeavyBallClassifierCV

TOLS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)  # of lbfgs, until it is as near as we are


def embeddings(n: int, d: int, K: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a power-law spectrum, and classes drawn from a softmax model of them."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    X = (rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5) @ turn
    z = 3.0 * X @ rng.standard_normal((d, K)) + rng.gumbel(size=(n, K))
    return X, z.argmax(axis=1)


def random_features(X: np.ndarray, d: int) -> np.ndarray:
    """cos(X W + b): a small encoder."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((X.shape[1], d)) / np.sqrt(X.shape[1])
    return np.asarray(np.cos(scale(X) @ W + rng.uniform(0.0, 2.0 * np.pi, d)))


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    before = time.process_time()
    found = work()
    return time.process_time() - before, found


def value(p: Any, w: np.ndarray, intercept: np.ndarray) -> float:
    return float(p.value(p.join_intercept(w, intercept)))


def lbfgs(p: Any, goal: float, start: Any = None, first: float = TOLS[0]) -> tuple[float, Any]:
    """CPU seconds of the loosest tol of lbfgs, from ``first`` on, that gets f to the goal, and the
    model."""
    X, y = p.X, p.y
    for tol in (tol for tol in TOLS if tol <= first):
        model = LogisticRegression(
            C=1.0 / (p.n * p.l2), tol=tol, max_iter=20_000, warm_start=start is not None
        )
        if start is not None:
            model.coef_, model.intercept_ = start.coef_.copy(), start.intercept_.copy()
        spent, model = seconds(lambda model=model: model.fit(X, y))
        if value(p, model.coef_.T, model.intercept_) <= goal:
            break
    return spent, model


def single(name: str, X: np.ndarray, y: np.ndarray, l2: float) -> None:
    p = bocce.Problem(X, y, "softmax", l2, intercept=True)
    ours, run = seconds(lambda: bocce.minimize(p, tol=1e-5))
    near = value(p, run.w, run.intercept)
    theirs, _ = lbfgs(p, near + 1e-12)
    print(
        f"| {name} | {p.n:,} x {p.d}, {len(p.classes)} | {l2:g} | {run.n_iter} | {ours:.3f} | "
        f"{theirs:.3f} | {theirs / ours:.1f} |",
        flush=True,
    )


def one_fit(quick: bool) -> None:
    print(
        "\n| one fit, tol 1e-5 | rows x columns, classes | l2 | steps | "
        "bocce, s | lbfgs, s | ratio |"
    )
    print("|---|---|---|---|---|---|---|")
    digits, labels = load_digits(return_X_y=True)
    single("iris", *load_iris(return_X_y=True), 1e-3)
    single("wine", *load_wine(return_X_y=True), 1e-3)
    single("digits", digits, labels, 1e-3)
    single("digits, random features", random_features(digits, 256), labels, 1e-4)
    single("power law", *embeddings(5_000, 128, 20), 1e-4)
    size = (5_000, 128, 50) if quick else (20_000, 256, 50)
    single("power law", *embeddings(*size), 1e-4)


def path(n: int, d: int, K: int) -> None:
    p = bocce.Problem(*embeddings(n, d, K), "softmax", intercept=True)
    l2s = np.geomspace(1e-1, 1e-6, 15)
    ours, runs = seconds(lambda: bocce.path(p, l2s, tol=1e-5))
    steps = sum(run.n_iter for run in runs)
    passes = sum(int(run.history["gradient_evaluations"][-1]) for run in runs) / n
    print(f"\n15 penalties from 0.1 to 1e-6, {n:,} x {d}, {K} classes, tol 1e-5")
    print(f"bocce.path: {steps} steps, {passes:.0f} passes, {ours:.1f} s", flush=True)
    cold = warm = 0.0
    tol, model = TOLS[0], None
    for l2, run in zip(l2s, runs):
        own = p.replace(l2=float(l2))
        goal = value(own, run.w, run.intercept) + 1e-12
        spent, alone = lbfgs(own, goal, first=tol)
        cold += spent
        # the next ones begin with the tol that was needed last, to save the looser ones
        tol = min(10.0 * alone.tol, TOLS[0])
        if model is not None:
            spent, alone = lbfgs(own, goal, model, tol)
        warm, model = warm + spent, alone
    print(f"lbfgs from nothing: {cold:.1f} s, {cold / ours:.1f} times as long")
    print(f"lbfgs warm: {warm:.1f} s, {warm / ours:.1f} times as long", flush=True)


def cross_validation(n: int, d: int, K: int) -> None:
    X, y = embeddings(n, d, K)
    folds = StratifiedKFold(5)
    l2s = np.geomspace(1e-1, 1e-6, 10)
    Cs = 1.0 / (0.8 * n * l2s)  # of the rows of a fold

    def bocce_cv(tol: float) -> tuple[float, Any]:
        model = HeavyBallClassifierCV(l2s, cv=folds, scoring="neg_log_loss", tol=tol)
        return seconds(lambda: model.fit(X, y))

    def sklearn_cv(tol: float) -> tuple[float, Any]:
        model = LogisticRegressionCV(
            Cs=Cs,
            cv=folds,
            scoring="neg_log_loss",
            tol=tol,
            max_iter=20_000,
            use_legacy_attributes=False,
        )
        return seconds(lambda: model.fit(X, y))

    truth = bocce_cv(1e-8)[1].scores_

    def wrong(model: Any) -> float:
        return float(np.abs(model.scores_.reshape(truth.shape) - truth).max())

    ours, model = bocce_cv(1e-4)
    print(f"\ncross-validation, 5 folds, 10 penalties, {n:,} x {d}, {K} classes")
    print(
        f"HeavyBallClassifierCV: {ours:.1f} s, l2 = {model.l2_:.3g}, scores wrong by at most "
        f"{wrong(model):.1g}",
        flush=True,
    )
    for tol in (1e-4, 1e-5, 1e-6, 1e-7):
        theirs, rival = sklearn_cv(tol)
        best = 1.0 / (0.8 * n * float(np.ravel(rival.C_)[0]))
        print(
            f"LogisticRegressionCV, tol {tol:g}: {theirs:.1f} s, {theirs / ours:.1f} times as "
            f"long, l2 = {best:.3g}, scores wrong by at most {wrong(rival):.1g}",
            flush=True,
        )
        if wrong(rival) <= wrong(model):
            break


PARTS = {
    "fit": lambda quick: one_fit(quick),
    "path": lambda quick: path(*((5_000, 128, 20) if quick else (20_000, 256, 50))),
    "cv": lambda quick: cross_validation(*((3_000, 64, 10) if quick else (10_000, 128, 20))),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all unless named")
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in asked.parts or PARTS:
            PARTS[name](asked.quick)


if __name__ == "__main__":
    main()
