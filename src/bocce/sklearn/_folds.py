"""Cross-validation along a path of penalties: the folds follow the path of all rows.

At each penalty first all rows are fitted, then each fold without its test rows, which have weight
zero there: so all share X, the frame and the curvature. A fold's points are its own: a start at the
minimiser of all rows would know the test rows. Where X is so large that no curvature is computed,
there is nothing to share: folds are fitted alone, on the rows they have.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_expit, log_softmax
from sklearn.base import is_classifier
from sklearn.utils.extmath import safe_sparse_dot

from ..plane.metrics.hessian import MOST_COLUMNS
from ..plane.metrics.rowspace import SPARSE_ROWS
from ..rows import Array
from ..run.path import PathSolver
from ._arrays import elsewhere, rows_at
from ._base import HeavyBall
from ._errors import FIRST_TOL
from ._run import TINY_TOL, dense_pays, tiny


def curvature_is_shared(X: Any) -> bool:
    """Is X so small that a path computes Hessians, which folds can use?"""
    return bool(X.shape[1] <= MOST_COLUMNS or X.shape[0] <= SPARSE_ROWS)


Quick = Callable[[Array, Array], Array]


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
        self.model, self.given, self.d = model, X, int(X.shape[1])
        model.n_features_in_ = self.d
        if leader is None:
            X, targets, weights = model._prepared(*model._weighted_rows(X, y, weights))
        else:
            targets, weights = model._encoded(y, weights)
        self.n = int(X.shape[0])
        if sp.issparse(X) and dense_pays(X):
            X = X.toarray()
        tol = FIRST_TOL if model.tol == "auto" else model.tol
        if tiny(X):
            tol, n_scored_rows = min(tol, TINY_TOL), 0
        self.ways: list[PathSolver] = []
        p = None
        for j, target in enumerate(targets):
            if p is None:
                p = model._problem(X, target, weights)
            led = leader.ways[j] if leader else self.ways[0] if self.ways else None
            self.ways.append(
                PathSolver(
                    p.with_encoded(target), weakest, tol, leader=led, n_scored_rows=n_scored_rows
                )
            )
        self.follows = leader is not None

    def fit(self, l2: float) -> dict[str, Any]:
        """Fit the model with the next penalty; returns its ``coef_`` and ``intercept_``."""
        rows = self.model._outputs(len(self.ways))
        coef, intercept = np.zeros((rows, self.d)), np.zeros(rows)
        for j, way in enumerate(self.ways):
            point = way.model(l2, self.follows)
            self.model._put(coef, intercept, self.model._place(j), point)
        fitted = self.model._fitted(coef, intercept, self.given)
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
        self.X, self.y = rows_at(X, test), y[test]
        self.weights = None if weights is None else weights[test]
        if leader and leader.n == len(y) and model._like(leader.model, y[train]):
            own = np.zeros(len(y))
            np.add.at(own, train, 1.0 if weights is None else weights[train])
            self.track = Track(model, X, y, own, weakest, test.size, leader)
        else:  # there is no leader, rows are left out, or a class is not there
            kept = None if weights is None else weights[train]
            self.track = Track(model, rows_at(X, train), y[train], kept, weakest, test.size)

    def score(self, l2: float, scorer: Any, scoring: Any) -> float:
        """On the rows left out, of the model with the next penalty: by the scorer, or as quickly as
        can be what ``scoring`` names."""
        self.track.fit(l2)
        if (quick := self._quick(scoring)) is not None:
            model, places = self.track.model, self._places
            z = safe_sparse_dot(self.X, model.coef_.T, dense_output=True) + model.intercept_
            if model.loss != "squared_hinge":
                self.track.ways[0].note_scored(log_likelihoods(z, places))
            return float(np.average(quick(z, places), weights=self.weights))
        more = {} if self.weights is None else {"sample_weight": self.weights}
        return float(scorer(self.track.model, self.X, self.y, **more))

    def _quick(self, scoring: Any) -> Quick | None:
        """None unless all is as usual: float64 in memory, and each class among the rows."""
        model = self.track.model
        if elsewhere(self.X) or not is_classifier(model):
            return None
        if self.X.dtype != np.float64 or self._places is None:
            return None
        return quick_score(model, scoring)

    @cached_property
    def _places(self) -> Array | None:
        """Of the classes of the rows, among those of the model."""
        classes, places = np.unique(self.y, return_inverse=True)
        return places if np.array_equal(classes, self.track.model.classes_) else None


# -- scikit-learn's usual scores, without its checks of what has been checked: 1.5 to 2.3 times as
#    fast on iris and wine, where these checks take as long as the fits ----------------------------


def accuracies(z: Array, places: Array) -> Array:
    """Is the highest score that of a row's class?"""
    found = z[:, 0] > 0 if z.shape[1] == 1 else z.argmax(axis=1)
    return np.asarray(found == places, dtype=np.float64)


def log_likelihoods(z: Array, places: Array) -> Array:
    """Of the rows, from their scores; no probability is less than the rounding of 1."""
    if z.shape[1] == 1:
        own = log_expit(np.where(places == 1, z[:, 0], -z[:, 0]))
    else:
        own = log_softmax(z, axis=1)[np.arange(len(z)), places]
    eps = np.finfo(np.float64).eps
    return np.clip(own, np.log(eps), np.log1p(-eps))


def quick_score(model: Any, scoring: Any) -> Quick | None:
    """The score of each row, of which scikit-learn's is the mean; None where its own is needed."""
    if scoring in (None, "accuracy"):
        return accuracies
    if scoring == "neg_log_loss" and model.loss == "log_loss":
        return log_likelihoods
    return None
