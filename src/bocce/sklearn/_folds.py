"""Cross-validation along a path of penalties: the folds follow the path of all rows.

At each penalty first all rows are fitted, then each fold without its test rows, which have weight
zero there: so all share X, the frame and the curvature. A fold's points are its own: a start at the
minimiser of all rows would know the test rows. Where X is so large that no curvature is computed,
there is nothing to share: folds are fitted alone, on the rows they have.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from ..problems.limits import LIMITS
from ..rows import Array
from ..run.path import PathSolver
from ..run.request import FIRST_TOL
from ._arrays import elsewhere, rows_at
from ._base import HeavyBall
from ._coefficients import Coefficients


def curvature_is_shared(X: Any) -> bool:
    """Is X so small that a path computes Hessians, which folds can use?"""
    n, d = X.shape
    return bool(d <= LIMITS.factor_columns or n <= LIMITS.sparse_kernel_rows)


class Track:
    """The fits of one model, penalty by penalty; with a leader, after its own, on the same rows."""

    def __init__(
        self,
        model: HeavyBall,
        X: Any,
        y: Array,
        weights: Array | None,
        weakest: float,
        n_scored_rows: int,
        leader: Track | None = None,
    ) -> None:
        self.model = model
        self.given = X
        model.n_features_in_ = int(X.shape[1])
        if leader is None:
            X, targets, weights, _ = model._prepared(*model._weighted_rows(X, y, weights))
        else:
            targets, weights = model._encoded(y, weights)
        self.n = int(X.shape[0])
        tol = FIRST_TOL if model.tol == "auto" else model.tol
        self.solvers: list[PathSolver] = []
        p = None
        for j, target in enumerate(targets):
            if p is None:
                p = model._problem(X, target, weights)
            else:
                p = model._next_problem(p, j, target)
            if leader:
                led = leader.solvers[j]
            else:
                led = self.solvers[0] if self.solvers else None
            solver = PathSolver(p, weakest, tol, leader=led, n_scored_rows=n_scored_rows)
            self.solvers.append(solver)
        self.follows = leader is not None

    def fit(self, l2: float) -> dict[str, Any]:
        """Fit the model with the next penalty; returns its ``coef_`` and ``intercept_``."""
        columns = self.solvers[0].columns
        found = Coefficients(self.model, self.given, len(self.solvers), columns)
        for j, solver in enumerate(self.solvers):
            found.put(j, solver.model(l2, self.follows))
        fitted = found.fitted()
        for name, value in fitted.items():
            setattr(self.model, name, value)
        return fitted


class Fold:
    """What is left out, and the track of the rest."""

    def __init__(
        self,
        model: HeavyBall,
        data: tuple[Any, Array, Array | None],
        fold: tuple[Any, Any],
        weakest: float,
        leader: Track | None,
    ) -> None:
        X, y, weights = data
        train, test = (np.arange(len(y))[rows] for rows in fold)
        self.X = rows_at(X, test)
        self.y = y[test]
        if weights is None:
            self.weights = None
        else:
            self.weights = weights[test]
        if leader and leader.n == len(y) and model._like(leader.model, y[train]):
            own = np.zeros(len(y))
            np.add.at(own, train, 1.0 if weights is None else weights[train])
            self.track = Track(model, X, y, own, weakest, test.size, leader)
        else:  # there is no leader, rows are left out, or a class is not there
            kept = None if weights is None else weights[train]
            self.track = Track(model, rows_at(X, train), y[train], kept, weakest, test.size)

    def score(self, l2: float, scorer: Any) -> float:
        """The score on the rows left out, of the model with the next penalty."""
        self.track.fit(l2)
        self._note_losses()
        more = {} if self.weights is None else {"sample_weight": self.weights}
        return float(scorer(self.track.model, self.X, self.y, **more))

    def _note_losses(self) -> None:
        """Tell the path how much the losses of the scored rows vary, where it counts on them."""
        model = self.track.model
        solver = self.track.solvers[0]
        if not solver.n_scored_rows or self._targets is None:
            return
        z = safe_sparse_dot(self.X, model.coef_.T, dense_output=True) + model.intercept_
        z = z if solver.p.loss.multi_output else z[:, 0]
        solver.note_scored(solver.p.loss.value(z, self._targets))

    @cached_property
    def _targets(self) -> Array | None:
        """What the first run is fitted to, of the scored rows; None where a class is not known to
        the model, or the rows are elsewhere."""
        model = self.track.model
        if not is_classifier(model) or elsewhere(self.X):
            return None
        if not np.isin(self.y, model.classes_).all():
            return None
        return next(model._targets(np.searchsorted(model.classes_, self.y)))
