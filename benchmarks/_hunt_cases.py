"""The random inputs of benchmarks/hunt.py: shapes, spectra, penalties, types, orders, losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

LOSSES = ("squared", "logistic", "softmax", "huber", "poisson", "gamma", "squared_hinge")
SHARES = (0.3, 0.3, 0.08, 0.08, 0.1, 0.07, 0.07)  # of the cases, by loss
KINDS = ("independent", "factors", "decaying", "unlike", "outliers", "shifted", "rounded", "marks")
NUMBERS = (1e3, 4e6)  # the least and the most numbers of X
SPARSE_NUMBERS = (1e3, 2e6)
CLASSES = (3, 4, 6, 10)
DELTA = 1.0  # of Huber's loss, in the units of the noise


@dataclass(frozen=True)
class Case:
    """An input, and the objective: mean loss + l2/2 ||coef||^2, with a free intercept or none."""

    label: str
    loss: str
    X: Any
    y: np.ndarray
    l2: float
    intercept: bool
    target: float  # the share of the fall of f that may be left

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        return int(self.X.shape[1])


def draw(seed: int, number: int) -> Case:
    """Input ``number`` of a seed: it depends on nothing else."""
    rng = np.random.default_rng([seed, number])
    loss = str(rng.choice(LOSSES, p=SHARES))
    sparse = bool(rng.random() < 0.3)
    kind = "sparse" if sparse else str(rng.choice(KINDS))
    if sparse:
        X = _sparse(rng)
    else:
        X = _dense(rng, kind)
    intercept = bool(rng.random() < 0.7) and loss != "squared_hinge"  # liblinear penalises it
    size2 = float(sp.linalg.norm(X) ** 2 if sparse else np.vdot(X, X)) / X.shape[0]
    mean_square = size2 / X.shape[1]
    l2 = mean_square * 10.0 ** rng.uniform(-7.0, -0.5)
    single = bool(rng.random() < 0.25)
    by_columns = bool(rng.random() < 0.2) and not sparse
    y = _targets(rng, loss, X)
    if single:
        X = X.astype(np.float32)
    if by_columns:
        X = np.asfortranarray(X)
    target = 10.0 ** rng.uniform(-7.0, -3.0)
    if single:
        target = max(target, 1e-6)
    words = [loss, f"{X.shape[0]} x {X.shape[1]}", kind, X.dtype.name]
    words += ["by columns"] * by_columns + ["intercept"] * intercept
    if sparse:
        words.append(f"{X.nnz / X.shape[0]:.3g} entries a row")
    words.append(f"l2 {l2:.1e}, to {target:.0e}")
    return Case(", ".join(words), loss, X, y, float(l2), intercept, float(target))


def _shape(rng: np.random.Generator, most: float) -> tuple[int, int]:
    numbers = 10.0 ** rng.uniform(np.log10(NUMBERS[0]), np.log10(most))
    d = 10.0 ** rng.uniform(np.log10(2.0), np.log10(min(3_000.0, numbers / 20.0)))
    return max(20, int(numbers / d)), max(2, int(d))


def _dense(rng: np.random.Generator, kind: str) -> np.ndarray:
    n, d = _shape(rng, NUMBERS[1])
    X = rng.standard_normal((n, d))
    if kind == "factors":
        k = int(rng.integers(1, min(20, d) + 1))
        X += 3.0 * rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    elif kind == "decaying":
        X *= np.arange(1.0, d + 1.0) ** -rng.uniform(0.5, 2.0)
        k = min(d, 64)
        rotation = np.linalg.qr(rng.standard_normal((k, k)))[0]
        X[:, :k] = X[:, :k] @ rotation
    elif kind == "unlike":
        X *= 10.0 ** rng.uniform(-2.0, 2.0, d)
    elif kind == "outliers":
        X[rng.integers(0, n, 3)] *= 100.0
    elif kind == "shifted":
        X += rng.uniform(-10.0, 10.0, d)
    elif kind == "rounded":
        X = np.round(X * rng.uniform(0.3, 2.0, d))
    elif kind == "marks":
        X = (rng.uniform(-1.5, 1.0, d) > X).astype(np.float64)
    return X


def _sparse(rng: np.random.Generator) -> sp.csr_array:
    """Rows whose columns are drawn with unlike frequencies, as words are; counts or real values;
    sometimes a column without zeros, sometimes few columns."""
    entries = 10.0 ** rng.uniform(np.log10(SPARSE_NUMBERS[0]), np.log10(SPARSE_NUMBERS[1]))
    a_row = 10.0 ** rng.uniform(0.3, 2.0)
    n = max(20, int(entries / a_row))
    d = max(2, int(a_row * 10.0 ** rng.uniform(0.3, 2.5)))
    frequencies = np.arange(1.0, d + 1.0) ** -rng.uniform(0.0, 1.1)
    columns = rng.choice(d, size=int(n * a_row), p=frequencies / frequencies.sum())
    rows = rng.integers(0, n, columns.size)
    values = rng.standard_normal(columns.size) if rng.random() < 0.5 else np.ones(columns.size)
    X = sp.csr_array((values, (rows, columns)), shape=(n, d))
    X.sum_duplicates()
    if rng.random() < 0.15:
        ones = sp.csr_array(np.ones((n, 1)))
        X = sp.csr_array(sp.hstack([X, ones]))
    X.sort_indices()
    X.indices = X.indices.astype(np.int32)  # most of scikit-learn's solvers take no others
    X.indptr = X.indptr.astype(np.int32)
    return X


def _targets(rng: np.random.Generator, loss: str, X: Any) -> np.ndarray:
    n, d = X.shape
    outputs = int(rng.choice(CLASSES)) if loss == "softmax" else 1
    W = rng.standard_normal((d, outputs))
    Z = np.asarray(X @ W)
    Z = (Z - Z.mean(axis=0)) / (Z.std(axis=0) + 1e-12)
    z = Z[:, 0]
    if loss in ("logistic", "squared_hinge"):
        y = (rng.random(n) < expit(2.0 * z + rng.normal())).astype(np.float64)
        y[:2] = [0.0, 1.0]
    elif loss == "softmax":
        y = np.argmax(2.0 * Z + rng.gumbel(size=Z.shape), axis=1).astype(np.float64)
        y[:outputs] = np.arange(outputs)
    elif loss == "poisson":
        y = rng.poisson(np.exp(0.5 * z)).astype(np.float64)
        y[0] += 1.0
    elif loss == "gamma":
        y = np.exp(0.3 * z) * rng.gamma(2.0, 0.5, n) + 1e-3
    elif loss == "huber":
        y = 5.0 * z + rng.standard_t(2.0, n)
    else:
        y = z + 10.0 ** rng.uniform(-2.0, 1.0) * rng.standard_normal(n)
    return y
