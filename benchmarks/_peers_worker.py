"""Peers that are not in the project's environment, each in a process of its own.

    python benchmarks/_peers_worker.py NAME FOLDER

NAME is a key of ``PEERS``. FOLDER has ``data.npz`` (the rows, the targets, l2 and the loss). Prints
``ready``, or why the peer cannot be used; then reads settings, a number a line, and answers each by
the CPU seconds of the fit, with the point in ``NAME.npy``. All peers minimise mean loss +
l2/2 ||w||^2 without an intercept, on one thread; the race judges every point by our own objective.

Install what you want to race against into any environment, and give its interpreter to
``peers.py --python``: pip install scikit-learn scipy cyanure glum skglm adelie snapml
scikit-learn-intelex
statsmodels torch
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_name}_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

MOST_DENSE = 2_000  # sparse rows with more columns are not made dense for a peer
TIGHT = 1e-12  # a peer's own tolerance, so that the setting decides


class Task(NamedTuple):
    """What is fitted: y is +-1 for the logistic loss."""

    X: Any
    y: np.ndarray
    l2: float
    loss: str

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def logistic(self) -> bool:
        return self.loss == "logistic"

    @property
    def labels(self) -> np.ndarray:
        """0 and 1, or the numbers."""
        return (self.y > 0).astype(float) if self.logistic else self.y

    def value_gradient(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        z = self.X @ w
        if self.logistic:
            m = self.y * z
            value = np.logaddexp(0.0, -m).mean()
            slope = -self.y / (1.0 + np.exp(np.minimum(m, 700.0)))
        else:
            slope = z - self.y
            value = 0.5 * np.square(slope).mean()
        return value + 0.5 * self.l2 * w @ w, self.X.T @ slope / self.n + self.l2 * w


Fit = Callable[[Task, float], np.ndarray]


def cyanure() -> Fit:
    import cyanure.estimators as cy

    def fit(task: Task, count: float) -> np.ndarray:
        settings = {
            "penalty": "l2", "lambda_1": task.l2, "fit_intercept": False, "tol": TIGHT,
            "max_iter": int(count), "verbose": False, "n_threads": 1,
        }  # fmt: skip
        model = (
            cy.Classifier(loss="logistic", **settings)
            if task.logistic
            else cy.Regression(**settings)
        )
        return model.fit(task.X, task.y).coef_

    return fit


def glum() -> Fit:
    from glum import GeneralizedLinearRegressor

    def fit(task: Task, count: float) -> np.ndarray:
        model = GeneralizedLinearRegressor(
            family="binomial" if task.logistic else "normal", alpha=task.l2, l1_ratio=0.0,
            fit_intercept=False, gradient_tol=TIGHT, max_iter=int(count),
        )  # fmt: skip
        return model.fit(task.X, task.labels).coef_

    return fit


def skglm() -> Fit:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic, Quadratic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    def fit(task: Task, count: float) -> np.ndarray:
        solver = LBFGS(max_iter=int(count), tol=TIGHT)
        solver.fit_intercept = solver.warm_start = False  # which the estimator asks for
        datafit = Logistic() if task.logistic else Quadratic()
        model = GeneralizedLinearEstimator(datafit, L2(task.l2), solver)
        return model.fit(task.X, task.y).coef_

    return fit


def adelie() -> Fit:
    import adelie as ad

    def fit(task: Task, count: float) -> np.ndarray:
        if sp.issparse(task.X):
            X = ad.matrix.sparse(sp.csc_matrix(task.X), method="naive", n_threads=1)
        else:
            X = np.asfortranarray(task.X)
        kind = ad.glm.binomial if task.logistic else ad.glm.gaussian
        state = ad.grpnet(
            X, kind(task.labels, dtype=np.float64), alpha=0.0, lmda_path=np.array([task.l2]),
            intercept=False, tol=10.0**-count, early_exit=False, progress_bar=False, n_threads=1,
        )  # fmt: skip
        return state.betas.toarray()[-1]

    return fit


def snapml() -> Fit:
    import snapml as snap

    def fit(task: Task, count: float) -> np.ndarray:
        kind = snap.LogisticRegression if task.logistic else snap.LinearRegression
        model = kind(
            regularizer=task.n * task.l2, max_iter=int(count), tol=TIGHT, fit_intercept=False,
            n_jobs=1,
        )  # fmt: skip
        return model.fit(task.X, task.y).coef_

    return fit


def intelex() -> Fit:
    from sklearnex.linear_model import LogisticRegression, Ridge

    def fit(task: Task, count: float) -> np.ndarray:
        if not task.logistic:
            return Ridge(alpha=task.n * task.l2, fit_intercept=False).fit(task.X, task.y).coef_
        model = LogisticRegression(
            C=1.0 / (task.n * task.l2), tol=TIGHT, max_iter=int(count), fit_intercept=False
        )
        return model.fit(task.X, task.y).coef_

    return fit


def statsmodels() -> Fit:
    import statsmodels.api as sm

    def fit(task: Task, count: float) -> np.ndarray:
        if sp.issparse(task.X) and task.X.shape[1] > MOST_DENSE:
            raise ValueError("dense rows only")
        X = task.X.toarray() if sp.issparse(task.X) else task.X
        if not task.logistic:
            return sm.OLS(task.y, X).fit_regularized(alpha=task.l2, L1_wt=0.0).params
        model = sm.GLM(task.labels, X, family=sm.families.Binomial())
        return model.fit_regularized(alpha=task.l2, L1_wt=0.0, maxiter=int(count)).params

    return fit


def scipy() -> Fit:
    from scipy.optimize import minimize

    def fit(task: Task, count: float) -> np.ndarray:
        start = np.zeros(task.X.shape[1])
        how = {"maxiter": int(count), "gtol": TIGHT, "ftol": 0.0}
        return minimize(task.value_gradient, start, jac=True, method="L-BFGS-B", options=how).x

    return fit


def torch() -> Fit:
    import torch as t

    t.set_num_threads(1)

    def fit(task: Task, count: float) -> np.ndarray:
        if sp.issparse(task.X):
            raise ValueError("dense rows only")
        X, y = t.from_numpy(task.X), t.from_numpy(task.y)
        w = t.zeros(X.shape[1], dtype=t.float64, requires_grad=True)
        steps = t.optim.LBFGS(
            [w], max_iter=int(count), tolerance_grad=TIGHT, tolerance_change=0.0,
            line_search_fn="strong_wolfe",
        )  # fmt: skip

        def closure() -> Any:
            steps.zero_grad()
            z = X @ w
            losses = t.nn.functional.softplus(-y * z) if task.logistic else 0.5 * (z - y) ** 2
            value = losses.mean() + 0.5 * task.l2 * w @ w
            value.backward()
            return value

        steps.step(closure)
        return w.detach().numpy()

    return fit


PEERS: dict[str, Callable[[], Fit]] = {
    "cyanure": cyanure,
    "glum": glum,
    "skglm": skglm,
    "adelie": adelie,
    "snapml": snapml,
    "intelex": intelex,
    "statsmodels": statsmodels,
    "SciPy": scipy,
    "torch": torch,
}


def load(folder: Path) -> Task:
    kept = np.load(folder / "data.npz")
    if "X" in kept:
        X = kept["X"]
    else:
        parts = kept["data"], kept["indices"], kept["indptr"]
        X = sp.csr_matrix(parts, shape=tuple(kept["shape"]))
    return Task(X, kept["y"], float(kept["l2"]), str(kept["loss"]))


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what peers print is none of ours
    try:
        fit = PEERS[name]()
    except ImportError as error:
        print(f"not installed ({error})", file=answers, flush=True)
        return
    print("ready", file=answers, flush=True)
    if not (folder / "data.npz").exists():  # somebody only asks whether the peer is here
        return
    task = load(folder)
    for line in sys.stdin:
        try:
            begin = time.process_time()
            w = fit(task, float(line))
            spent = time.process_time() - begin
            np.save(folder / f"{name}.npy", np.ravel(w).astype(np.float64))
            print(f"{spent!r}", file=answers, flush=True)
        except Exception as error:  # a peer may fail on a cell: the race goes on
            said = (str(error).splitlines() or [type(error).__name__])[0]
            print(f"failed: {said[:80]}", file=answers, flush=True)


if __name__ == "__main__":
    main()
