"""Attacks on minimize and the estimators: hostile data, sizes, settings; what must never happen.

    python benchmarks/attack.py [--runs 10000] [--seed 0] [--only NAME ...]

Each run draws a design (rows of heavy tails, one huge row, rare, equal, constant or empty columns,
more columns than rows, sizes from 1e-160 to 1e160, float32, sparse), a loss, weights, an intercept,
l2, a method and a tolerance. Counted are

    false       "converged" where the gradient, computed apart, is not within tolerance
    above       a result whose objective is above that at the start
    stuck       a result at the start, from where a plain gradient step makes f fall by a tenth
    raw         an exception that is not an error of ours with a remedy
    not finite  NaN or infinity in w
    doubled     "finished" with a gap f - f* above twice that of the start (methods with a table of
                steps, small batches: shb, hb, nesterov, 2p-shb, sgd, auto; b = 1, 2, 5, 20)
    slow        an estimator that takes 20 times as long as scikit-learn's (CPU time, above 0.1 s)
    pinball     a quantile regression whose pinball loss is more than 1 % above the least one
    split       a quantile regression with a wrong share of rows below, by more than 1/n + 1 %
    gamma       a gamma regression whose deviance is above that of scikit-learn's by 1e-6 of it
    stream      partial_fit more than 1e-3 standard errors from least squares in long double

and all of them must be 0, as those of _attack_inference.py. ``--only`` names the attacks that run.
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

import _attack_inference
import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import GammaRegressor, LogisticRegression, QuantileRegressor, Ridge
from sklearn.metrics import mean_gamma_deviance, mean_pinball_loss

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


def diverge_once(rng: np.random.Generator) -> tuple[list[str], str]:
    """A method of given steps and small batches, stable or not, from zero."""
    n, d = int(rng.integers(20, 400)), int(rng.integers(1, 10))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
    z = X @ rng.standard_normal(d) * rng.choice([0.0, 0.1, 1.0]) + rng.standard_normal(n)
    loss = str(rng.choice(["squared", "logistic", "huber"]))
    p = bocce.Problem(X, z > np.median(z) if loss == "logistic" else z, loss, l2=1e-3)
    r = bocce.minimize(
        p,
        str(rng.choice(["shb", "hb", "nesterov", "2p-shb", "sgd", "auto"])),
        T=int(rng.integers(5, 500)),
        batch_size=int(rng.choice([1, 2, 5, 20])),
        seed=int(rng.integers(1000)),
        record_every=int(rng.choice([1, 20])),
    )
    first, last = r.history["value"][[0, -1]]
    least = p.value(p.minimiser())
    doubled = last - least > 2.0 * (first - least)
    return ["doubled"] if doubled and r.status == "finished" else [], r.status


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


def ordinary(rng: np.random.Generator, n: int, d: int) -> Any:
    """Rows of full rank: normal, heavy-tailed, of many sizes, far from 0, or correlated."""
    X = rng.standard_normal((n, d))
    kind = rng.integers(5)
    if kind == 1:
        X = rng.standard_t(2.5, (n, d))
    elif kind == 2:
        X *= 10.0 ** rng.integers(-6, 7, d)
    elif kind == 3:
        X += 10.0 ** rng.integers(0, 5)
    elif kind == 4:
        X[:, 1:] = X[:, :1] + 0.1 * X[:, 1:]
    return X


def quantile_once(rng: np.random.Generator) -> tuple[list[str], str]:
    """Quantile regression against the linear program, with y times 1e-6 to 1e6."""
    d = int(rng.integers(2, 6))
    n = int(rng.integers(100 * d, 300 * d))
    X = ordinary(rng, n, d)
    errors = rng.standard_t(2, n) if rng.random() < 0.5 else rng.standard_normal(n)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = z @ rng.standard_normal(d) + 10.0 ** rng.uniform(-4, 1) * errors
    level, unit = float(rng.uniform(0.05, 0.95)), 10.0 ** float(rng.integers(-6, 7))
    best = QuantileRegressor(quantile=level, alpha=0.0).fit(z, y)
    least = mean_pinball_loss(y, best.predict(z), alpha=level)
    model = HeavyBallRegressor(l2=0.0, loss="quantile", quantile=level).fit(X, unit * y)
    guess = model.predict(X)
    found = []
    if mean_pinball_loss(unit * y, guess, alpha=level) > 1.01 * unit * least:
        found.append("pinball")
    if abs(np.mean(unit * y < guess) - level) > 1 / n + 0.01:
        found.append("split")
    return found, "fitted"


def gamma_once(rng: np.random.Generator) -> tuple[list[str], str]:
    """Gamma regression against scikit-learn's, with y times 1e-6 to 1e6."""
    d = int(rng.integers(1, 8))
    n = int(rng.integers(10 * d, 100 * d))
    X = ordinary(rng, n, d)
    z = (X - X.mean(axis=0)) / X.std(axis=0)
    mean = np.exp(np.clip(z @ rng.standard_normal(d), -8.0, 8.0))
    shape = float(rng.uniform(0.3, 5.0))
    y = np.maximum(rng.gamma(shape, mean / shape), 1e-12) * 10.0 ** float(rng.integers(-6, 7))
    theirs = GammaRegressor(alpha=0.0, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    least = mean_gamma_deviance(y, theirs.fit(z, y / y.mean()).predict(z) * y.mean())
    model = HeavyBallRegressor(l2=0.0, loss="gamma").fit(X, y)
    above = mean_gamma_deviance(y, model.predict(X)) > least * (1.0 + 1e-6)
    return ["gamma"] * above, "fitted"


def triangular(X: Any, y: Any) -> tuple[Any, Any]:
    """Least squares in long double: coefficients and standard errors."""
    A, b = X.astype(np.longdouble), y.astype(np.longdouble)
    n, d = A.shape
    Q, R = A.copy(), np.zeros((d, d), dtype=np.longdouble)
    for j in range(d):
        for k in [*range(j), *range(j)]:
            share = Q[:, k] @ Q[:, j]
            R[k, j] += share
            Q[:, j] -= share * Q[:, k]
        R[j, j] = np.sqrt(Q[:, j] @ Q[:, j])
        Q[:, j] /= R[j, j]
    w, right = np.zeros(d, dtype=np.longdouble), Q.T @ b
    for j in reversed(range(d)):
        w[j] = (right[j] - R[j, j + 1 :] @ w[j + 1 :]) / R[j, j]
    noise = float(np.square(b - A @ w).sum() / max(1, n - d))
    inverse = np.linalg.inv(R.astype(float))
    return w.astype(float), np.sqrt(noise * np.square(inverse).sum(axis=1))


def stream_once(rng: np.random.Generator) -> tuple[list[str], str]:
    """Chunks whose columns jump, drift, walk, lie far from 0 or are nearly the same."""
    d = int(rng.integers(1, 6))
    n = int(rng.integers(20 * d, 1000))
    X = rng.standard_normal((n, d))
    kind, size = rng.integers(5), 10.0 ** rng.uniform(0, 7)
    if kind == 0:
        X[int(rng.integers(n)) :] += size
    elif kind == 1:
        X += np.linspace(0.0, size, n)[:, None] * rng.standard_normal(d)
    elif kind == 2:
        X += size * np.cumsum(rng.standard_normal((n, d)), axis=0)
    elif kind == 3:
        X += size
    else:
        X[:, 1:] = X[:, :1] + X[:, 1:] / size
        moves = 1e3 * (rng.random() < 0.5)  # columns that agree to 12 digits count as copies
        X += moves * np.sin(np.arange(n) / 50.0)[:, None]
    y = X @ rng.standard_normal(d) / np.abs(X).max() + rng.standard_normal(n)
    intercept = bool(rng.random() < 0.5)
    if intercept:
        w, errors = triangular(X - X.astype(np.longdouble).mean(axis=0), y - y.mean())
    else:
        w, errors = triangular(X, y)
    model = HeavyBallRegressor(l2=0.0, fit_intercept=intercept)
    cuts = np.sort(rng.choice(np.arange(1, n), int(rng.integers(1, min(n, 60))), replace=False))
    for part in np.split(np.arange(n), cuts):
        model.partial_fit(X[part], y[part])
    return ["stream"] * bool((np.abs(model.coef_ - w) > 1e-3 * errors).any()), "streamed"


# Attacks by name, and how many runs of each round they get.
ATTACKS = {
    "minimize": (minimize_once, 5),
    "fit": (fit_once, 2),
    "diverge": (diverge_once, 1),
    "quantile": (quantile_once, 1),
    "gamma": (gamma_once, 1),
    "stream": (stream_once, 1),
    **{name: (once, 1) for name, once in _attack_inference.ATTACKS.items()},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", choices=ATTACKS, default=list(ATTACKS))
    asked = parser.parse_args()
    ends: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    shown = 0
    turns = [once for name in asked.only for once in [ATTACKS[name][0]] * ATTACKS[name][1]]
    for run in range(asked.runs):
        rng = np.random.default_rng([asked.seed, run])
        once = turns[run % len(turns)]
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
    names = ("false", "above", "stuck", "doubled", "raw", "not finite", "slow", "pinball", "split")
    names = (*names, "gamma", "stream", *_attack_inference.NEVER)
    print("wrong: " + ", ".join(f"{name} {wrong[name]}" for name in names))


if __name__ == "__main__":
    main()
