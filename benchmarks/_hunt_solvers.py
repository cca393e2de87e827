"""The objective of benchmarks/hunt.py, computed in float64 by NumPy alone, and who minimises it.

A racer is a name, a ladder of settings from rough to exact, and ``fit(case, setting)``, which
returns coefficients (d, K) and intercepts (K,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from _hunt_cases import DELTA, Case
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, Ridge
from sklearn.svm import LinearSVC

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

Point = tuple[np.ndarray, np.ndarray]
TOLERANCES = tuple(10.0**-e for e in np.arange(1.0, 11.0, 0.5))
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 33, 42, 55, 70, 90, 120, 160, 220, 300, 450, 700)
TIGHT = 1e-14
COLUMNS = 3_500  # solvers that form a d x d matrix are left out above
OURS = "bocce"


class Racer(NamedTuple):
    name: str
    ladder: tuple[float, ...]
    fit: Callable[[Case, float], Point]


class Objective:
    """f of a case, in float64."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.X = case.X.astype(np.float64)
        self.outputs = int(case.y.max()) + 1 if case.loss == "softmax" else 1
        if case.loss in ("logistic", "squared_hinge"):
            self.y = 2.0 * case.y - 1.0
        else:
            self.y = case.y
        if case.loss == "softmax":
            self.marks = np.eye(self.outputs)[case.y.astype(int)]

    def value(self, point: Point) -> float:
        coef = np.asarray(point[0], dtype=np.float64)
        Z = self.X @ coef + np.asarray(point[1], dtype=np.float64)
        with np.errstate(all="ignore"):
            loss, _ = self._loss(Z)
        return loss + 0.5 * self.case.l2 * float(np.vdot(coef, coef))

    def start(self) -> Point:
        return np.zeros((self.case.d, self.outputs)), np.zeros(self.outputs)

    def _loss(self, Z: np.ndarray) -> tuple[float, np.ndarray]:
        """The mean loss, and its derivatives by the scores times n."""
        kind = self.case.loss
        if kind == "softmax":
            total = logsumexp(Z, axis=1)
            return float((total - (self.marks * Z).sum(axis=1)).mean()), softmax(Z, 1) - self.marks
        z = Z[:, 0]
        y = self.y
        if kind == "squared":
            value, slope = 0.5 * (z - y) ** 2, z - y
        elif kind == "logistic":
            value, slope = np.logaddexp(0.0, -y * z), -y * expit(-y * z)
        elif kind == "squared_hinge":
            short = np.maximum(0.0, 1.0 - y * z)
            value, slope = short**2, -2.0 * y * short
        elif kind == "huber":
            r = z - y
            slope = np.clip(r, -DELTA, DELTA)
            value = slope * (r - 0.5 * slope)
        elif kind == "poisson":
            rate = np.exp(z)
            value, slope = rate - y * z, rate - y
        else:
            part = y * np.exp(-z)
            value, slope = z + part, 1.0 - part
        return float(value.mean()), slope[:, None]

    def by_scipy(self, steps: float) -> Point:
        """SciPy's L-BFGS-B on this objective, in X's own type and order."""
        case = self.case
        d = case.d

        def f(flat: np.ndarray) -> tuple[float, np.ndarray]:
            w = flat.reshape(-1, self.outputs)
            coef = w[:d]
            Z = np.asarray(case.X @ coef.astype(case.X.dtype), dtype=np.float64)
            if case.intercept:
                Z += w[d]
            with np.errstate(all="ignore"):
                loss, slopes = self._loss(Z)
            slopes = slopes / case.n
            gradient = np.asarray(case.X.T @ slopes.astype(case.X.dtype), dtype=np.float64)
            gradient += case.l2 * coef
            if case.intercept:
                gradient = np.vstack([gradient, slopes.sum(axis=0)])
            return loss + 0.5 * case.l2 * float(np.vdot(coef, coef)), gradient.ravel()

        limits = {"maxiter": int(steps), "ftol": 0.0, "gtol": 0.0, "maxfun": 10**6}
        start = np.zeros((d + case.intercept) * self.outputs)
        w = minimize(f, start, jac=True, method="L-BFGS-B", options=limits).x
        w = w.reshape(-1, self.outputs)
        return w[:d], w[d] if case.intercept else np.zeros(self.outputs)


def _point(model: Any) -> Point:
    coef = np.atleast_2d(np.asarray(model.coef_))
    return coef.T, np.atleast_1d(np.asarray(model.intercept_))


def _ours(case: Case, tol: float) -> Point:
    common = {"l2": case.l2, "tol": tol, "fit_intercept": case.intercept, "random_state": 0}
    if case.loss in ("logistic", "softmax", "squared_hinge"):
        loss = "squared_hinge" if case.loss == "squared_hinge" else "log_loss"
        model: Any = HeavyBallClassifier(loss=loss, **common)
    else:
        delta = {"delta": DELTA} if case.loss == "huber" else {}
        model = HeavyBallRegressor(loss=case.loss, **delta, **common)
    return _point(model.fit(case.X, case.y))


def _logistic(solver: str) -> Callable[[Case, float], Point]:
    def fit(case: Case, steps: float) -> Point:
        model = LogisticRegression(
            C=1.0 / (case.n * case.l2), solver=solver, tol=TIGHT, max_iter=int(steps),
            fit_intercept=case.intercept,
        )  # fmt: skip
        return _point(model.fit(case.X, case.y))

    return fit


def _ridge(solver: str) -> Callable[[Case, float], Point]:
    def fit(case: Case, setting: float) -> Point:
        model = Ridge(alpha=case.n * case.l2, solver=solver, fit_intercept=case.intercept)
        if solver == "sparse_cg":
            model.set_params(tol=TIGHT, max_iter=int(setting))
        elif solver == "lsqr":
            model.set_params(tol=setting)
        return _point(model.fit(case.X, case.y))

    return fit


def _glm(kind: Any, solver: str) -> Callable[[Case, float], Point]:
    def fit(case: Case, steps: float) -> Point:
        model = kind(
            alpha=case.l2, solver=solver, tol=TIGHT, max_iter=int(steps),
            fit_intercept=case.intercept,
        )  # fmt: skip
        return _point(model.fit(case.X, case.y))

    return fit


def _hinge(case: Case, steps: float) -> Point:
    model = LinearSVC(
        C=1.0 / (case.n * case.l2), dual=False, tol=TIGHT, max_iter=int(steps), fit_intercept=False
    )
    return _point(model.fit(case.X, case.y))


def racers(case: Case, objective: Objective) -> list[Racer]:
    """bocce first, then everybody who minimises the same objective."""
    found = [Racer(OURS, TOLERANCES, _ours)]
    square = case.d <= COLUMNS
    if case.loss == "squared":
        found.append(Racer("sparse_cg", STEPS, _ridge("sparse_cg")))
        if not sp.issparse(case.X):
            found += [Racer("lsqr", TOLERANCES, _ridge("lsqr"))]
            found += [Racer("cholesky", (1,), _ridge("cholesky"))]
        elif square and not case.intercept:
            found += [Racer("cholesky", (1,), _ridge("cholesky"))]
    elif case.loss in ("logistic", "softmax"):
        names = ["lbfgs", "newton-cg"] + ["newton-cholesky"] * square
        names += ["liblinear"] * (case.loss == "logistic" and not case.intercept)
        found += [Racer(name, STEPS, _logistic(name)) for name in names]
    elif case.loss in ("poisson", "gamma"):
        kind = PoissonRegressor if case.loss == "poisson" else GammaRegressor
        names = ["lbfgs"] + ["newton-cholesky"] * square
        found += [Racer(name, STEPS, _glm(kind, name)) for name in names]
    elif case.loss == "squared_hinge":
        found.append(Racer("liblinear", STEPS, _hinge))
    bare = Racer("SciPy", STEPS, lambda case, steps: objective.by_scipy(steps))
    return [*found, bare]
