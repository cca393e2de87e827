"""Ours and the peers of benchmarks/peers.py: each a ladder of settings, refitted from scratch.

All minimise mean loss + l2/2 ||w||^2 without intercept; the race checks that on our own objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _peers_cells import Cell
from _peers_others import Peer
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

# w, passes where known, and the seconds where another process has taken them
Fit = Callable[[Cell, float], tuple[Any, ...]]

TOLERANCES = tuple(float(f"{m}e-{e}") for e in range(1, 9) for m in (3, 1))
COUNTS = (1, 2, 3, 4, 6, 9, 13, 20, 30, 45, 70, 100, 150, 225, 340, 500, 750, 1100, 1700, 2500)
TIGHT = 1e-12  # a peer's own tolerance, so that its number of iterations decides
DIGITS = (2, 3, 4, 5, 6, 7, 8, 10, 12)  # of a tolerance, where that is the setting
DIRECT = ("intelex", "statsmodels")  # their ridge regression is solved in one go
OURS = "bocce"
HESSIAN_COLUMNS = 5000  # newton-cholesky forms a d x d matrix, 24 GB on sector
SGD_GRID = (
    {"learning_rate": "optimal", "average": True},
    {"learning_rate": "constant", "eta0": 0.01, "average": True},
    {"learning_rate": "constant", "eta0": 0.1, "average": True},
    {"learning_rate": "invscaling", "eta0": 0.1, "average": True},
    {"learning_rate": "invscaling", "eta0": 1.0, "average": True},
    {"learning_rate": "adaptive", "eta0": 0.1},
)


@dataclass(frozen=True)
class Solver:
    """``label`` is what the tables say: the members of a grid share one, and one budget."""

    label: str
    kind: str  # "ours", "sklearn" or "process"
    ladder: tuple[float, ...]
    fit: Fit
    share: float = 1.0  # of a solver's budget
    name: str = ""


def fit_ours(cell: Cell, tol: float) -> tuple[np.ndarray, float | None]:
    """Defaults only, besides l2, tol, the intercept and the seed."""
    kind = HeavyBallClassifier if cell.loss == "logistic" else HeavyBallRegressor
    model = kind(l2=cell.l2, tol=tol, fit_intercept=False, random_state=0).fit(cell.X, cell.y)
    return model.coef_, float(model.history_["passes"][-1])


def _fit_sgd(settings: dict[str, Any]) -> Fit:
    def fit(cell: Cell, passes: float) -> tuple[np.ndarray, float | None]:
        common = {"alpha": cell.l2, "fit_intercept": False, "max_iter": int(passes), "tol": None}
        common |= {"random_state": 0, **settings}
        if cell.loss == "logistic":
            model = SGDClassifier(loss="log_loss", **common)
        else:
            model = SGDRegressor(**common)
        return model.fit(cell.X, cell.y).coef_, passes

    return fit


def _fit_logistic(solver: str, counts_passes: bool = False) -> Fit:
    def fit(cell: Cell, count: float) -> tuple[np.ndarray, float | None]:
        model = LogisticRegression(
            C=1.0 / (cell.n * cell.l2), solver=solver, tol=TIGHT, max_iter=int(count),
            fit_intercept=False, random_state=0,
        )  # fmt: skip
        model.fit(cell.X, cell.y)
        return model.coef_, float(model.n_iter_[0]) if counts_passes else None

    return fit


def _fit_ridge(solver: str, counts_passes: bool = False) -> Fit:
    def fit(cell: Cell, count: float) -> tuple[np.ndarray, float | None]:
        model = Ridge(
            alpha=cell.n * cell.l2, solver=solver, tol=TIGHT, max_iter=int(count),
            fit_intercept=False, random_state=0,
        )  # fmt: skip
        model.fit(cell.X, cell.y)
        return model.coef_, float(model.n_iter_[0]) if counts_passes else None

    return fit


def solvers(cell: Cell, peers: list[Peer]) -> list[Solver]:
    """Who runs on this cell, ours first; the peers in processes of their own last."""
    racers = [
        Solver(OURS, "ours", TOLERANCES, fit_ours),
        Solver("SGD", "sklearn", COUNTS, _fit_sgd({}), 0.25),
    ]
    for settings in SGD_GRID:
        name = " ".join(str(value) for value in settings.values())
        share = 0.5 / len(SGD_GRID)
        racers.append(Solver("SGD best", "sklearn", COUNTS, _fit_sgd(settings), share, name))
    if cell.loss == "logistic":
        racers += [
            Solver("sag", "sklearn", COUNTS, _fit_logistic("sag", True)),
            Solver("saga", "sklearn", COUNTS, _fit_logistic("saga", True)),
            Solver("lbfgs", "sklearn", COUNTS, _fit_logistic("lbfgs")),
            Solver("newton-cg", "sklearn", COUNTS, _fit_logistic("newton-cg")),
            Solver("liblinear", "sklearn", COUNTS, _fit_logistic("liblinear")),
        ]
        if cell.X.shape[1] <= HESSIAN_COLUMNS:
            newton = _fit_logistic("newton-cholesky")
            racers.append(Solver("newton-chol", "sklearn", COUNTS, newton))
    else:
        racers += [
            Solver("sag", "sklearn", COUNTS, _fit_ridge("sag", True)),
            Solver("saga", "sklearn", COUNTS, _fit_ridge("saga", True)),
            Solver("lsqr", "sklearn", COUNTS, _fit_ridge("lsqr")),
            Solver("sparse_cg", "sklearn", COUNTS, _fit_ridge("sparse_cg")),
            Solver("cholesky", "sklearn", (1,), _fit_ridge("cholesky")),
        ]
    for peer in peers:
        direct = cell.loss == "squared" and peer.name in DIRECT
        ladder = DIGITS if peer.name == "adelie" else COUNTS[:1] if direct else COUNTS
        racers.append(Solver(peer.name, "process", ladder, peer.fit))
    return racers
