"""Standard errors against statsmodels and glum on ten data sets, and the coverage of intervals.

    python benchmarks/inference.py                      # agreement and CPU time
    python benchmarks/inference.py --coverage 4000      # 95 % intervals, so many draws a setting

Agreement is the largest relative difference of a standard error, over all coefficients: of the
model, and of the sandwich (HC0). Columns are divided by their standard deviation first, so that
nobody's rounding is measured. Time is CPU time of a fit with the model's errors, the least of
several repeats taken in turns, over that of statsmodels. glum is compared where it is installed.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import statsmodels.api as sm
from scipy.special import ndtri
from sklearn.datasets import load_breast_cancer, load_diabetes

import bocce
from bocce.inference import infer
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

try:
    from glum import GeneralizedLinearRegressor
except ImportError:
    GeneralizedLinearRegressor = None

Data = tuple[np.ndarray, np.ndarray]
Errors = tuple[list[np.ndarray], float]
KINDS = ("model", "sandwich")
HC0 = {"model": "nonrobust", "sandwich": "HC0"}
FAMILIES = {
    "squared": lambda: sm.families.Gaussian(),
    "logistic": lambda: sm.families.Binomial(),
    "poisson": lambda: sm.families.Poisson(),
    "gamma": lambda: sm.families.Gamma(sm.families.links.Log()),
}
GLUM = {"squared": "normal", "logistic": "binomial", "poisson": "poisson", "gamma": "gamma"}


def _of_statsmodels(name: str, target: Callable[[Any], Any] = lambda y: y) -> Data:
    data = getattr(sm.datasets, name).load()
    X, y = np.asarray(data.exog, float), np.asarray(data.endog, float)
    return X[:, X.std(axis=0) > 0.0], np.asarray(target(y), float)


def _breast_cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, [1, 4, 8, 9, 11]], y.astype(float)  # columns that do not separate the classes


def _drawn() -> Data:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100_000, 20))
    return X, (X[:, 0] - 0.5 * X[:, 1] + rng.logistic(size=len(X)) > 0).astype(float)


SETS: dict[str, tuple[str, Callable[[], Data]]] = {
    "longley": ("squared", lambda: _of_statsmodels("longley")),
    "stackloss": ("squared", lambda: _of_statsmodels("stackloss")),
    "diabetes": ("squared", lambda: load_diabetes(return_X_y=True)),
    "spector": ("logistic", lambda: _of_statsmodels("spector")),
    "affairs": ("logistic", lambda: _of_statsmodels("fair", lambda y: y > 0)),
    "breast cancer": ("logistic", _breast_cancer),
    "randhie": ("poisson", lambda: _of_statsmodels("randhie")),
    "cpunish": ("poisson", lambda: _of_statsmodels("cpunish")),
    "scotland": ("gamma", lambda: _of_statsmodels("scotland")),
    "anes96": ("softmax", lambda: _of_statsmodels("anes96")),
    "drawn 100k x 20": ("logistic", _drawn),
}


def ours(loss: str, X: np.ndarray, y: np.ndarray, kinds: tuple[str, ...] = KINDS) -> Errors:
    """Standard errors of the coefficients and then the intercept, by kind, and the dispersion."""
    if loss in ("logistic", "softmax"):
        model = HeavyBallClassifier(l2=0.0, tol=1e-10).fit(X, y)
    else:
        model = HeavyBallRegressor(l2=0.0, loss=loss, tol=1e-10).fit(X, y)
    found = [model._infer(kind)[0] for kind in kinds]
    errors = [_against_first(f) if loss == "softmax" else f.standard_errors for f in found]
    return errors, found[0].dispersion


def _against_first(found: Any) -> np.ndarray:
    """Of the differences from the first class, as MNLogit has them."""
    m, q = found.standard_errors.shape
    D = np.column_stack([-np.ones(q - 1), np.eye(q - 1)])
    A = np.kron(np.eye(m), D)
    return np.sqrt(np.diag(A @ found.covariance @ A.T)).reshape(m, q - 1)


def theirs(loss: str, X: np.ndarray, y: np.ndarray, kinds: tuple[str, ...] = KINDS) -> Errors:
    kinds = tuple(HC0[kind] for kind in kinds)
    A = np.column_stack([X, np.ones(len(X))])
    if loss == "softmax":
        how = {"method": "newton", "maxiter": 100, "tol": 1e-12, "disp": 0}
        model = sm.MNLogit(y, A)
        return [model.fit(cov_type=kind, **how).bse for kind in kinds], 1.0
    model = sm.GLM(y, A, family=FAMILIES[loss]())
    how = {"tol": 1e-12, "maxiter": 100}
    return [model.fit(cov_type=kind, **how).bse for kind in kinds], 1.0


def of_glum(loss: str, X: np.ndarray, y: np.ndarray, dispersion: float) -> list[np.ndarray]:
    """glum puts the intercept first. Its variances have the factor n/(n - d - 1), in every family,
    and it is given the dispersion, which it would divide by n."""
    model = GeneralizedLinearRegressor(
        alpha=0.0, family=GLUM[loss], link="auto" if loss in ("squared", "logistic") else "log",
        gradient_tol=1e-10, max_iter=1000,
    ).fit(X, y)  # fmt: skip
    found = []
    for robust in (False, True):
        se = model.std_errors(
            X, y, dispersion=dispersion, robust=robust, expected_information=not robust
        )
        factor = (len(X) - X.shape[1] - 1) / len(X)
        found.append(np.sqrt(factor) * np.append(se[1:], se[0]))
    return found


def _difference(a: list[np.ndarray], b: list[np.ndarray]) -> list[float]:
    return [float(np.abs(x / z - 1.0).max()) for x, z in zip(a, b)]


def _cpu(run: Callable[..., Errors], *data: Any) -> float:
    start = time.process_time()
    run(*data, KINDS[:1])
    return time.process_time() - start


def agreement(repeats: int) -> None:
    print(f"{'data':16} {'loss':9} {'rows':>7}  model    HC0      glum            time")
    for name, (loss, load) in SETS.items():
        X, y = load()
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        mine, dispersion = ours(loss, X, y)
        found = _difference(mine, theirs(loss, X, y)[0])
        glum = "-" * 15
        if GeneralizedLinearRegressor is not None and loss != "softmax":
            glum = " ".join(f"{x:.1e}" for x in _difference(mine, of_glum(loss, X, y, dispersion)))
        times = [[_cpu(run, loss, X, y) for run in (ours, theirs)] for _ in range(repeats)]
        here, there = np.min(times, axis=0)
        shown = " ".join(f"{x:.1e} " for x in found)
        print(f"{name:16} {loss:9} {len(y):7}  {shown} {glum:16} {here / there:.2f}", flush=True)


def coverage(draws: int) -> None:
    """How often 95 % intervals hold the truth, with a penalty as without."""
    rng, n = np.random.default_rng(5), 400
    X = rng.standard_normal((n, 2))
    truth, half = np.array([0.5, -0.3]), float(ndtri(0.975))
    eta = X @ truth + 0.2
    makers: dict[str, Callable[[], np.ndarray]] = {
        "squared": lambda: eta + rng.standard_normal(n),
        "logistic": lambda: eta + rng.logistic(size=n) > 0,
        "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
        "gamma": lambda: rng.gamma(3.0, np.exp(eta) / 3.0),
    }
    print(f"{draws} draws: a share has a standard error of {100 * np.sqrt(0.0475 / draws):.2f} %")
    for loss, make in makers.items():
        for l2 in (0.0, 0.02):
            counts = {kind: np.zeros(2) for kind in ("model", "sandwich")}
            for _ in range(draws):
                p = bocce.Problem(X, make(), loss, l2, intercept=True)
                fit = bocce.minimize(p, tol=1e-6)
                for kind, count in counts.items():
                    found = infer(p, p.join_intercept(fit.w, fit.intercept), kind)
                    count += np.abs(found.centre[:2] - truth) <= half * found.spread[:2]
            shown = "  ".join(f"{kind} {100 * c / draws}" for kind, c in counts.items())
            print(f"{loss:9} l2={l2:<5} {shown}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--coverage", type=int, metavar="DRAWS")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # statsmodels speaks of iterations, pandas of strings
    if given.coverage:
        coverage(given.coverage)
    else:
        agreement(given.repeats)


if __name__ == "__main__":
    main()
