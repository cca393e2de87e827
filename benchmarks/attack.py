"""Attacks on minimize and the estimators: hostile data, sizes, settings; what must never happen.

    python benchmarks/attack.py [--runs 10000] [--seed 0]

Each run draws a design (rows of heavy tails, one huge row, rare, equal, constant or empty columns,
more columns than rows, sizes from 1e-160 to 1e160, float32, sparse), a loss, weights, an intercept,
l2, a method and a tolerance. Counted are

    false       "converged" where the gradient, computed apart, is not within tolerance
    above       a result whose objective is above that at the start
    stuck       a result at the start, from where a plain gradient step makes f fall by a tenth
    raw         an exception that is not an error of ours with a remedy
    not finite  NaN or infinity in w
    slow        an estimator that takes 20 times as long as scikit-learn's (CPU time, above 0.1 s)

and all of them must be 0.
"""

from __future__ import annotations

import argparse
import os
import time
import traceback
import warnings
from collections import Counter
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge

import bocce
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson")
LEVELS = (0.0, 0.0, 0.0, 20.0, 1e4, 1e8)  # that targets lie around
METHODS = ("auto", "auto", "auto", "plane", "plane", "auto-shb", "T", "T", "batch")


def design(rng: np.random.Generator) -> Any:
    n, d = int(rng.integers(2, 400)), int(rng.integers(1, 40))
    X = rng.standard_normal((n, d))
    kind = rng.integers(9)
    if kind == 1:
        X = rng.standard_t(1.5, (n, d))
    elif kind == 2:
        X[rng.integers(n)] *= 10.0 ** rng.integers(2, 9)
    elif kind == 3:
        X *= rng.random((n, d)) < 0.05
    elif kind == 4:
        X[:, -1] = X[:, 0]
    elif kind == 5:
        X[:, 0] = 1.0
        X[:, -1] = 0.0
    elif kind == 6:
        X *= 10.0 ** rng.integers(-8, 9, d)
    elif kind == 7:
        X = 1.0 * (X > 1.5)
    elif kind == 8:
        X *= 10.0 ** float(rng.integers(-160, 161))
    if rng.random() < 0.1:
        X = X.astype(np.float32) if np.abs(X).max() < 1e30 else X
    return sp.csr_array(X) if rng.random() < 0.25 else X


def targets(rng: np.random.Generator, X: Any, loss: str) -> Any:
    n, d = X.shape
    size = max(float(abs(X).max()), 1e-300)
    z = np.asarray(X @ (rng.standard_normal(d) / size)).ravel() + 0.3 * rng.standard_normal(n)
    if loss in ("squared", "huber"):
        return z * 10.0 ** float(rng.integers(-6, 7)) + LEVELS[rng.integers(len(LEVELS))]
    if loss == "poisson":
        return np.minimum(rng.poisson(np.exp(np.clip(z, -5.0, 5.0))), 1000)
    y = z > np.median(z)
    y[0], y[-1] = False, True
    return y


def falls(p: Any, u: Any) -> bool:
    """Does a plain gradient step of some length make f fall by a tenth?"""
    with np.errstate(all="ignore"):
        here, g = p.value(u), p.gradient(u)
        size = float(np.abs(g).max())
        steps = 10.0 ** np.arange(-160.0, 161.0) if size > 0.0 else []
        return any(p.value(u - t * (g / size)) < here - 0.1 * abs(here) for t in steps)


def judged(p: Any, r: Any, tol: float, first: float) -> list[str]:
    u = np.append(r.w, r.intercept) if p.intercept else r.w
    if not np.isfinite(u).all():
        return ["not finite"]
    found = []
    with np.errstate(all="ignore"):
        start, end = p.value(np.zeros(p.width)), p.value(u)
        ratio = bocce.problems.norm(p.gradient(u)) / first if first > 0 else 0.0
    if end > start + 1e-9 * abs(start):
        found.append("above")
    if end >= start - 1e-9 * abs(start) and falls(p, u):
        found.append("stuck")
    if r.status == "converged" and ratio > 1.01 * tol + 1e-13:
        found.append("false")
    return found


def minimize_once(rng: np.random.Generator) -> tuple[list[str], str]:
    loss = LOSSES[rng.integers(len(LOSSES))]
    X = design(rng)
    n = X.shape[0]
    weights = rng.random(n) + 0.1 if rng.random() < 0.2 else None
    p = bocce.Problem(
        X,
        targets(rng, X, loss),
        loss,
        l2=float(rng.choice([0.0, 1e-8, 1e-3, 1.0])),
        sample_weight=weights,
        intercept=bool(rng.random() < 0.3),
    )
    tol, method = float(rng.choice([1e-2, 1e-5, 1e-8])), METHODS[rng.integers(len(METHODS))]
    keywords: dict[str, Any] = {"tol": tol, "seed": int(rng.integers(1000)), "passes": 300}
    if method in ("T", "batch"):
        keywords["batch_size"] = int(rng.integers(1, n + 1))
    if method == "T":
        keywords |= {"T": int(rng.integers(1, 500)), "passes": None}
    r = bocce.minimize(p, "auto" if method in ("T", "batch") else method, **keywords)
    with np.errstate(all="ignore"):
        first = bocce.problems.norm(p.gradient(np.zeros(p.width)))
    return judged(p, r, tol, first), r.status


def fit_once(rng: np.random.Generator) -> tuple[list[str], str]:
    X, classifies = design(rng), bool(rng.random() < 0.5)
    y = targets(rng, X, "logistic" if classifies else "squared")
    l2, n = float(rng.choice([1e-6, 1e-3, 1.0])), X.shape[0]
    kind: Any = HeavyBallClassifier if classifies else HeavyBallRegressor
    before = time.process_time()
    model = kind(l2=l2, random_state=0, max_iter=1000).fit(X, y)
    ours = time.process_time() - before
    found = [] if np.isfinite(model.coef_).all() else ["not finite"]
    if ours > 0.1:
        other: Any = (
            LogisticRegression(C=1 / (n * l2), max_iter=1000) if classifies else Ridge(n * l2)
        )
        before = time.process_time()
        other.fit(X, y)
        if ours > 20 * (time.process_time() - before):
            found.append("slow")
    return found, "fitted"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    ends: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    shown = 0
    for run in range(asked.runs):
        rng = np.random.default_rng([asked.seed, run])
        once = fit_once if run % 4 == 3 else minimize_once
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, end = once(rng)
        except (ValueError, TypeError) as error:
            said = str(error)
            ours = ";" in said and ("must" in said or "leaves" in said)
            found, end = ([] if ours else ["raw"]), "refused"
            if not ours:
                traceback.print_exc()
        except Exception:
            traceback.print_exc()
            found, end = ["raw"], "refused"
        ends[end] += 1
        wrong.update(found)
        if found and shown < 40:
            shown += 1
            print(f"run {run} of seed {asked.seed} ({once.__name__}): {', '.join(found)}")
    print(f"{asked.runs} runs: " + ", ".join(f"{k} {v}" for k, v in sorted(ends.items())))
    names = ("false", "above", "stuck", "raw", "not finite", "slow")
    print("wrong: " + ", ".join(f"{name} {wrong[name]}" for name in names))


if __name__ == "__main__":
    main()
