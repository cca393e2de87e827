"""Problems for the tests and experiments of the plane: rows, a loss and a penalty, no more."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Dense:
    sparse = False

    def __init__(self, X):
        self.X, (self.n, self.d) = X, X.shape
        self.cost, self.gram_cost = float(X.size), float(X.size) * self.d

    def times(self, v):
        return np.asarray(self.X @ v, dtype=float)

    def combine(self, c):
        return np.asarray((c @ self.X) if c.ndim == 1 else self.X.T @ c, dtype=float)

    def gram(self, weights=None):
        X = np.asarray(self.X, dtype=float)
        if weights is None:
            return X.T @ X / self.n
        total, step = np.zeros((self.d, self.d)), max(1, (1 << 17) // self.d)
        root = np.sqrt(weights)
        for i in range(0, self.n, step):
            part = X[i : i + step] * root[i : i + step, None]
            total += part.T @ part
        return total / self.n

    def squares(self, weights):
        total, step = np.zeros(self.d), max(1, (1 << 17) // self.d)
        for i in range(0, self.n, step):
            part = np.asarray(self.X[i : i + step], dtype=float)
            total += weights[i : i + step] @ (part * part)
        return total / self.n

    def take(self, rows):
        return Dense(self.X[rows])


class Csr:
    sparse = True

    def __init__(self, X):
        self.X, (self.n, self.d) = sp.csr_array(X), X.shape
        self.T = self.X.T
        self.cost = float(X.nnz)
        self.gram_cost = 64.0 * self.cost**2 / max(1, self.n)

    def times(self, v):
        return self.X @ v

    def combine(self, c):
        return self.T @ c

    def gram(self, weights=None):
        X = self.X
        data = X.data * np.repeat(weights, np.diff(X.indptr)) if weights is not None else X.data
        other = sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
        return np.asarray((self.T @ other).toarray()) / self.n

    def squares(self, weights):
        X = self.X
        return sp.csr_array((X.data**2, X.indices, X.indptr), shape=X.shape).T @ weights / self.n

    def take(self, rows):
        return Csr(self.X[rows])


class Squared(NamedTuple):
    quadratic = True
    curvature = 1.0

    def value(loss, z, y):
        return 0.5 * (z - y) ** 2

    def slope(loss, z, y):
        return z - y

    def bend(loss, z, y):
        return np.ones_like(z)


class Logistic(NamedTuple):
    quadratic = False
    curvature = 0.25

    def value(loss, z, y):
        return np.maximum(-y * z, 0.0) + np.log1p(np.exp(-np.abs(z)))

    def slope(loss, z, y):
        e = np.exp(-np.abs(z))
        return -y * np.where(y * z > 0.0, e, 1.0) / (1.0 + e)

    def bend(loss, z, y):
        e = np.exp(-np.abs(z))
        return e / (1.0 + e) ** 2

    def together(loss, z, y):
        m = y * z
        e = np.exp(-np.abs(z))
        one = 1.0 + e
        value = np.log1p(e)
        value -= np.minimum(m, 0.0)
        e /= one
        slope = np.maximum(e, (m <= 0.0) / one)
        slope *= -y
        e /= one
        return value, slope, e


class Poisson(NamedTuple):
    quadratic = False
    curvature = None

    def value(loss, z, y):
        return np.exp(z) - y * z

    def slope(loss, z, y):
        return np.exp(z) - y

    def bend(loss, z, y):
        return np.exp(z)


class Huber(NamedTuple):
    delta: float = 1.0
    quadratic = False
    curvature = 1.0

    def value(loss, z, y):
        near = np.minimum(np.maximum(z - y, -loss.delta), loss.delta)
        return near * (z - y - 0.5 * near)

    def slope(loss, z, y):
        return np.minimum(np.maximum(z - y, -loss.delta), loss.delta)

    def bend(loss, z, y):
        return 1.0 * (np.abs(z - y) <= loss.delta)


class SquaredHinge(NamedTuple):
    quadratic = False
    curvature = 2.0

    def value(loss, z, y):
        return np.maximum(0.0, 1.0 - y * z) ** 2

    def slope(loss, z, y):
        return -2.0 * y * np.maximum(0.0, 1.0 - y * z)

    def bend(loss, z, y):
        return 2.0 * (y * z < 1.0)


class Softmax(NamedTuple):
    quadratic = False
    curvature = 0.5

    def value(loss, z, y):
        top = z.max(axis=1)
        return top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - (z * y).sum(axis=1)

    def _shares(loss, z):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def bend(loss, z, y):
        return loss._shares(z) * (1.0 - loss._shares(z))

    def slope(loss, z, y):
        return loss._shares(z) - y

    def bend_times(loss, z, y, u):
        p = loss._shares(z)
        return p * (u - (p * u).sum(axis=-1, keepdims=True))


def problem(X, y, loss, ridge, weight=None):
    rows = Csr(X) if sp.issparse(X) else Dense(np.asarray(X))
    if weight is not None:
        weight = np.asarray(weight, dtype=float) / np.mean(weight)
    return SimpleNamespace(
        n=rows.n, rows=rows, loss=loss, y=np.asarray(y, dtype=float), weight=weight, ridge=ridge
    )


def value(p, w):
    losses = p.loss.value(p.rows.times(w), p.y)
    losses = losses if p.weight is None else losses * p.weight
    ridge = np.asarray(p.ridge)
    return losses.mean() + 0.5 * float(np.sum((ridge * w.T).T * w))


def gradient(p, w):
    slopes = p.loss.slope(p.rows.times(w), p.y)
    slopes = slopes if p.weight is None else (slopes.T * p.weight).T
    return p.rows.combine(slopes) / p.n + (np.asarray(p.ridge) * w.T).T
