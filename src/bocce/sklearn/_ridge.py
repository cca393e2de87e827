"""Ridge regression for many penalties: one eigendecomposition serves all of them.

With weights c_i of sum W, rows x_i and targets y_i about their means, D = diag(c/W), and the
decomposition D^1/2 X = Q diag(s) V^T,

    w(l2)   = V diag(s/(s^2 + l2)) Q^T D^1/2 y
    h_i(l2) = c_i/W + sum_j Q_ij^2 s_j^2/(s_j^2 + l2)

minimise 1/2W sum_i c_i (x_i . w - y_i)^2 + l2/2 ||w||^2; h_i is what row i has to say about its own
prediction. So a fit without row i (and with the penalty W l2 of all rows) misses y_i by
r_i/(1 - h_i), where r_i is the residual of the fit with it. Without an intercept the means are
zero and the term c_i/W is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import r2_score

from ..rows import Array, Moments

MOST_DECOMPOSED = 3000  # rows or columns, the fewer of them, of a matrix that is decomposed
LARGEST_ENTRY = 1e140  # of an entry: sums of larger squares overflow
FLAT_EIGENVALUE = 1e-14  # of the largest eigenvalue: smaller ones are rounding


def affordable(X: Any) -> bool:
    """Is the matrix small enough to decompose, and do its squares have a place in a double?"""
    entries = X.data if sp.issparse(X) else X
    largest = max(entries.max(initial=0.0), -entries.min(initial=0.0))
    return min(X.shape) <= MOST_DECOMPOSED and float(largest) < LARGEST_ENTRY


class Model(NamedTuple):
    """Coefficients of all penalties: coef(l2) = right / (values + l2) @ rotated, by the means.
    ``right`` is ``basis``, or rows^T basis where rows are fewer than columns."""

    values: Array  # (r,)
    basis: Array  # (d or n, r)
    rotated: Array  # (r, q)
    mean: Array  # (d + q,)
    rows: Array | None = None  # (n, d)

    def at(self, l2: float) -> tuple[Array, Array]:
        """Coefficients (q, d) and intercepts (q,)."""
        curvature = self.values + l2
        used = curvature > FLAT_EIGENVALUE * self.values.max(initial=0.0)
        inverse = np.divide(1.0, curvature, where=used, out=np.zeros(curvature.size))
        point = self.basis @ (self.rotated * inverse[:, None])
        coef = (point if self.rows is None else self.rows.T @ point).T
        d = coef.shape[1]
        return coef, self.mean[d:] - coef @ self.mean[:d]


class CentredRows:
    """Rows and targets about their means, as dense float64."""

    def __init__(self, X: Any, Y: Array, weights: Array | None, intercept: bool) -> None:
        c = np.ones(len(Y)) if weights is None else weights
        self.share = c / float(c.sum())
        self.root = np.sqrt(self.share)
        self.weights = weights
        self.intercept = intercept
        X = X.toarray() if sp.issparse(X) else np.asarray(X)
        X = X.astype(np.float64, copy=False)
        self.centre = np.zeros(X.shape[1] + Y.shape[1])
        if intercept:
            self.centre = np.append(self.share @ X, self.share @ Y)
        self.X = X - self.centre[: X.shape[1]]
        self.Y = Y - self.centre[X.shape[1] :]

    def subset(self, rows: Array) -> Model:
        """Of some of the rows, where columns are many."""
        d = self.X.shape[1]
        share = self.share[rows] / float(self.share[rows].sum())
        X = self.X[rows]
        Y = self.Y[rows]
        mean = np.zeros_like(self.centre)
        if self.intercept:
            mean = np.append(share @ X, share @ Y)
        root = np.sqrt(share)[:, None]
        X = root * (X - mean[:d])
        Y = root * (Y - mean[d:])
        values, left = np.linalg.eigh(X @ X.T)
        return Model(np.maximum(values, 0.0), left, left.T @ Y, self.centre + mean, X)

    def folds(self, folds: Sequence[tuple[Array, Array]]) -> list[Model]:
        """A model for the training rows of each fold."""
        n, d = self.X.shape
        if d > n:
            return [self.subset(train) for train, _ in folds]
        counts = np.bincount(np.concatenate([test for _, test in folds]), minlength=n)
        whole = (counts == 1).all() and all(len(a) + len(b) == n for a, b in folds)
        if not whole:
            return [self._model(self._sums(train)) for train, _ in folds]
        # each row is left out once: the sums of the other parts, added, lose no digits
        parts = [self._sums(test) for _, test in folds]
        others = [parts[:j] + parts[j + 1 :] for j in range(len(parts))]
        return [self._model(reduce(add, rest)) for rest in others]

    def _sums(self, rows: Array) -> Moments:
        """Of some of the rows, about the mean of all."""
        weights = None if self.weights is None else self.weights[rows]
        return Moments.of(self.X[rows], self.Y[rows], weights, np.zeros_like(self.centre))

    def _model(self, sums: Moments) -> Model:
        """Of rows with these sums, where columns are fewer than rows."""
        mean = sums.mean if self.intercept else np.zeros_like(self.centre)
        inner = sums.about(mean).without_unit()
        values, right = inner.eigen()
        return Model(values, right, right.T @ inner.moment, self.centre + mean)

    @cached_property
    def whole(self) -> tuple[Model, Array]:
        """Of all rows, about their mean; and Q, one column for each eigenvalue."""
        X = self.root[:, None] * self.X
        Y = self.root[:, None] * self.Y
        n, d = X.shape
        values, basis = np.linalg.eigh(X.T @ X if d <= n else X @ X.T)
        used = values > FLAT_EIGENVALUE * max(values[-1], 0.0)
        values = values[used]
        basis = basis[:, used]
        if d > n:
            return Model(values, basis, basis.T @ Y, self.centre, X), basis
        model = Model(values, basis, basis.T @ (X.T @ Y), self.centre)
        return model, X @ basis / np.sqrt(values)

    def left_out(self, l2s: Array) -> list[Array]:
        """For each penalty the predictions (n, q) of the fits without each row."""
        values = self.whole[0].values
        Q = self.whole[1]
        Q2 = np.square(Q)
        Y = self.root[:, None] * self.Y
        rotated = Q.T @ Y
        middle = self.centre[self.X.shape[1] :]
        found = []
        for l2 in l2s:
            kept = values / (values + l2)
            h = Q2 @ kept + (self.share if self.intercept else 0.0)
            residual = Y - Q @ (kept[:, None] * rotated)
            with np.errstate(divide="ignore", invalid="ignore"):
                missed = residual / (1.0 - h)[:, None]
            found.append((Y - missed) / self.root[:, None] + middle)
        return found


def r2_scores(Y: Array, guesses: list[Array], weights: Array | None) -> Array:
    """R^2 of each penalty's predictions (n, q), the mean over outputs: as ``r2_score``, whose
    checks take longer than all of a small fit."""
    c = np.ones(len(Y)) if weights is None else weights
    spread = c @ np.square(Y - c @ Y / float(c.sum()))
    if len(Y) < 2 or not (spread > 0.0).all():  # which has its own rules for constant targets
        return np.array([r2_score(Y, guess, sample_weight=weights) for guess in guesses])
    missed = np.array([c @ np.square(Y - guess) for guess in guesses])
    return np.asarray((1.0 - missed / spread).mean(axis=1))
