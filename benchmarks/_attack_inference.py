"""Attacks on what is said about the certainty of coefficients, for attack.py.

certain    tol="auto" on hostile designs
               untrue      "proved" where a far more exact run differs by more than 0.01
                           standard errors
separated  a group without events, l2 = 0 or no penalty on its column
               silent      nobody says that there is no minimiser, or which column it is
               number      a standard error, limit or p-value of what runs away
               off         another coefficient is 0.1 standard errors or more from the fit
                           without the group
rank       columns that depend on one another, each in a unit of its own; every other table is
           well-posed
               missed      a number where the data do not determine a coefficient
               accused     NaN where they do
               unnamed     the summary does not name the column
edited     X or y changed after the fit
               stale       standard errors of other data than those of the fit
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import bocce
from bocce.inference import infer
from bocce.run.coefficients import coefficients
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

LOSSES = ("squared", "logistic", "softmax", "poisson", "gamma", "huber", "squared_hinge")
Attack = Callable[[np.random.Generator], tuple[list[str], str]]


def targets(rng: np.random.Generator, loss: str, eta: Any) -> Any:
    n = eta.size
    if loss == "poisson":
        return rng.poisson(np.exp(np.clip(eta, -4.0, 4.0))).astype(float)
    if loss == "gamma":
        return rng.gamma(2.0, np.exp(np.clip(eta, -4.0, 4.0)) / 2.0) + 1e-9
    if loss == "softmax":
        y = np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(n, 3)), axis=1)
        y[:3] = np.arange(3)
        return y
    y = eta + rng.logistic(size=n)
    if loss in ("logistic", "squared_hinge"):
        y = y > 0.0
        y[:2] = [False, True]
    return y


def variables(p: Any, r: Any) -> Any:
    return p.join_intercept(r.w, r.intercept)


def kind_of(loss: str) -> str:
    return "sandwich" if loss == "squared_hinge" else "model"


# -- tol="auto" ------------------------------------------------------------------------------------


def certain_once(rng: np.random.Generator) -> tuple[list[str], str]:
    loss = str(rng.choice(LOSSES))
    n = int(rng.integers(30, 300))
    d = int(rng.integers(1, 8))
    Z = rng.standard_normal((n, d))
    if rng.random() < 0.2:
        Z[rng.integers(n)] *= 100.0
    power = rng.integers(-8, 9, d)
    if rng.random() < 0.3:
        power = np.full(d, rng.integers(-300, 301))
    X = Z * 10.0 ** power.astype(float)
    y = targets(rng, loss, Z @ rng.standard_normal(d) * 0.5)
    weights = rng.random(n) + 0.1 if rng.random() < 0.2 else None
    l2 = float(rng.choice([0.0, 0.0, 1e-6, 1e-3]))
    X = sp.csr_array(X) if rng.random() < 0.25 else X
    p = bocce.Problem(X, y, loss, l2, sample_weight=weights, intercept=bool(rng.random() < 0.7))
    r = bocce.minimize(p, tol="auto")
    if "(proved)" not in r.message:
        return [], "not proved"
    w = variables(p, r)
    found = infer(p, w, kind_of(loss))
    exact = variables(p, bocce.minimize(p, tol=1e-14, w0=w))
    off = np.abs(w - exact)
    if loss == "softmax":
        apart = w - exact
        off = np.abs(apart - apart.mean(axis=1, keepdims=True))
    wrong = off > 0.01 * found.standard_errors + 1e-9 * np.abs(w)
    return ["untrue"] if (wrong & found.determined).any() else [], "proved"


# -- separated groups ------------------------------------------------------------------------------


def grouped(rng: np.random.Generator, loss: str) -> tuple[Any, ...]:
    """Covariates and the columns of groups, of which one has no event; rows and column of it."""
    n = int(rng.integers(60, 600))
    groups = int(rng.integers(2, 7))
    covariates = int(rng.integers(1, 4))
    group = np.where(rng.random(n) < 0.5 * rng.random(), 0, rng.integers(0, groups, n))
    group[:groups] = np.arange(groups)
    bad = int(rng.integers(1, groups))
    Z = rng.standard_normal((n, covariates))
    D = (group[:, None] == np.arange(1, groups)).astype(float)
    eta = 0.5 * Z @ rng.standard_normal(covariates) + 0.5 * D @ rng.standard_normal(groups - 1)
    y = targets(rng, loss, eta + 0.3)
    gone = group == bad
    if loss == "poisson":
        y[gone] = 0.0
    elif loss == "logistic":
        y[gone] = bool(rng.integers(2))
    else:
        lacks = int(rng.integers(3))
        y[gone & (y == lacks)] = (lacks + 1) % 3
    level = 10.0 ** rng.integers(-2, 4, covariates) * (rng.random() < 0.4)
    X = np.hstack([(Z + level) * 10.0 ** rng.integers(-6, 7, covariates).astype(float), D])
    order = rng.permutation(X.shape[1])
    return X[:, order], y, gone, int(np.flatnonzero(order == covariates + bad - 1)[0])


def separated_once(rng: np.random.Generator) -> tuple[list[str], str]:
    loss = str(rng.choice(["poisson", "logistic", "softmax"]))
    X, y, gone, column = grouped(rng, loss)
    if np.unique(y[~gone]).size < 2:
        return [], "empty"
    tol = [1e-4, 1e-8, "auto", "auto"][rng.integers(4)]
    l2 = float(rng.choice([0.0, 0.0, 1e-3]))
    penalty = np.ones(X.shape[1])
    penalty[column] = 0.0
    if rng.random() < 0.5:
        p = bocce.Problem(X, y, loss, l2, penalty=penalty, intercept=True)
        r = bocce.minimize(p, tol=tol)
        said = r.message
        table = coefficients(p, r, kind="model")
        w = variables(p, r)
    else:
        how: dict[str, Any] = {"tol": tol, "penalty": penalty}
        model = HeavyBallClassifier(l2, **how)
        if loss == "poisson":
            model = HeavyBallRegressor(l2, loss=loss, **how)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y)
        said = " ".join(str(one.message) for one in caught)
        table = model.summary()
        w = np.vstack([np.atleast_2d(model.coef_).T, np.atleast_1d(model.intercept_)])
    found = []
    if "no finite minimiser exists" not in said or f"x{column}" not in said:
        found.append("silent")
    if "std_error" not in table.columns:
        return [*found, "silent"], "separated"
    rows = np.arange(len(table.names)) % (X.shape[1] + 1)
    numbers = [table[name][rows == column] for name in table.columns if name != "coef"]
    if np.isfinite(numbers).any():
        found.append("number")
    if loss != "softmax" and not near_the_rest(X, y, gone, column, loss, l2, w.reshape(-1)):
        found.append("off")
    return found, "separated"


def near_the_rest(X: Any, y: Any, gone: Any, column: int, loss: str, l2: float, w: Any) -> bool:
    """Is w without the column within 0.1 standard errors of the fit without the group?"""
    share = np.count_nonzero(~gone) / gone.size  # l2 is for each row
    rest = np.delete(X, column, axis=1)[~gone]
    p = bocce.Problem(rest, y[~gone], loss, l2 / share, intercept=True)
    r = bocce.minimize(p, tol=1e-11)
    if "no finite minimiser" in r.message:  # another group has no events by chance
        return True
    best = variables(p, r)
    errors = np.sqrt(np.diag(infer(p, best).covariance))
    return bool((np.abs(np.delete(w, column) - best) <= 0.1 * errors).all())


# -- rank ------------------------------------------------------------------------------------------


def dependent(rng: np.random.Generator, X: Any) -> tuple[list[int], str]:
    """Make columns of X depend on one another; which, and how."""
    d = X.shape[1]
    kind = str(rng.choice(["copy", "constant", "zero", "combination", "groups"]))
    if kind == "copy":
        X[:, -1] = X[:, 0] * rng.choice([1.0, -1.0, 3.7])
        return [0, d - 1], "is a copy of"
    if kind == "constant":
        X[:, 1] = 1.3
        return [1, d], "is constant"
    if kind == "zero":
        X[:, 1] = 0.0
        return [1], "is zero in every row"
    if kind == "combination":
        X[:, -1] = X[:, 0] - 2.0 * X[:, 1]
        return [0, 1, d - 1], "is a combination of"
    X[:, :3] = rng.integers(0, 3, len(X))[:, None] == np.arange(3)
    return [0, 1, 2, d], "is a combination of"


def rank_once(rng: np.random.Generator) -> tuple[list[str], str]:
    loss = str(rng.choice(LOSSES))
    n = int(rng.integers(60, 400))
    d = int(rng.integers(4, 9))
    X = rng.standard_normal((n, d)) + (rng.random(d) < 0.3) * 10.0 ** rng.integers(-1, 4, d)
    centred = X - X.mean(axis=0)
    eta = 0.3 * centred @ rng.standard_normal(d)
    degenerate = rng.random() < 0.5
    which, word = dependent(rng, X) if degenerate else ([], "")
    X = X * 10.0 ** rng.integers(-8, 9, d).astype(float)
    y = targets(rng, loss, eta)
    p = bocce.Problem(X, y, loss, float(rng.choice([0.0, 0.0, 1e-3])), intercept=True)
    r = bocce.minimize(p, tol="auto" if rng.random() < 0.5 else 1e-6)
    if "no finite minimiser" in r.message:
        return [], "separated"
    table = coefficients(p, r, kind=kind_of(loss))
    if "std_error" not in table.columns:
        return [], "not converged"
    wanted = np.isin(np.arange(len(table.names)) % (d + 1), which)
    shown = np.array([table[name] for name in table.columns if name != "coef"])
    found = []
    if np.isfinite(shown[:, wanted]).any():
        found.append("missed")
    if np.isnan(shown[:, ~wanted]).any():
        found.append("accused")
    if word not in str(table):
        found.append("unnamed")
    return found, "degenerate" if degenerate else "well-posed"


# -- X edited after the fit ------------------------------------------------------------------------


def edited_once(rng: np.random.Generator) -> tuple[list[str], str]:
    n = int(rng.choice([100, 1000, 20_000]))
    d = int(rng.integers(2, 20))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.3:
        X *= rng.random((n, d)) < 0.3
    y = 1.0 * (X @ rng.standard_normal(d) + rng.logistic(size=n) > 0.0)
    data: Any = sp.csr_array(X) if rng.random() < 0.3 else X
    kind: Any = HeavyBallClassifier if rng.random() < 0.5 else HeavyBallRegressor
    kept, model = (kind(0.01).fit(data, y) for _ in range(2))
    expected = kept.standard_errors_
    numbers = data.data if sp.issparse(data) else data
    edit = rng.integers(4)
    if edit == 0:
        numbers *= 10.0
    elif edit == 1:
        numbers[:] = rng.standard_normal(numbers.shape)
    elif edit == 2:
        rng.shuffle(numbers)
    else:
        y[:] = rng.permutation(y)
    try:
        shown = model.standard_errors_
    except ValueError as error:
        return ([] if "changed after the fit" in str(error) else ["raw"]), "refused"
    return ([] if np.allclose(shown, expected, rtol=1e-9) else ["stale"]), "kept"


ATTACKS: dict[str, Attack] = {
    "certain": certain_once,
    "separated": separated_once,
    "rank": rank_once,
    "edited": edited_once,
}
NEVER = ("untrue", "silent", "number", "off", "missed", "accused", "unnamed", "stale")
