"""The problems of benchmarks/peers.py: data, loss, and a minimum that is certified."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bocce

LOSSES = {"logistic": bocce.Logistic, "squared": bocce.LeastSquares}
SYNTHETIC = "synthetic"
# name in the table: LIBSVM name, dense?, losses
REAL = {
    "ijcnn1": ("ijcnn1.tr", True, ("logistic", "squared")),
    "a9a": ("a9a", False, ("logistic", "squared")),
    "w8a": ("w8a", False, ("logistic",)),
    "covtype": ("covtype.libsvm.binary.scale", True, ("logistic", "squared")),
    "sector": ("sector.scale", False, ("logistic",)),
}
NAMES = (*REAL, SYNTHETIC)
QUICK_ROWS = {"covtype": 20_000, SYNTHETIC: 20_000}
OTHERS_QUICK_ROWS = 6_000
CERTIFIED = 1e-8  # of f(0) - f*: what may be unknown of f*


@dataclass
class Cell:
    """One problem to be raced on; y is +-1, or a number for the synthetic squared loss."""

    data: str
    loss: str
    dense: bool
    X: Any
    y: np.ndarray
    l2: float
    problem: Any
    start: float
    best: float

    @property
    def n(self) -> int:
        return int(self.X.shape[0])

    def gap(self, w: np.ndarray) -> float:
        """(f(w) - f*)/(f(0) - f*), infinite where w is no point."""
        w = np.ravel(w).astype(float)
        if not np.isfinite(w).all():
            return float("inf")
        with np.errstate(over="ignore", invalid="ignore"):
            gap = (self.problem.value(w) - self.best) / (self.start - self.best)
        return float(gap) if np.isfinite(gap) else float("inf")


def synthetic(n: int, d: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian columns of scales 1 to 0.1 (condition number 100), a linear model, unit noise."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1.0, 0.1, d)
    w = rng.standard_normal(d) / np.sqrt((scales**2).sum())
    X = rng.standard_normal((n, d))
    X *= scales
    return X, X @ w + rng.standard_normal(n)


def _real(name: str) -> tuple[Any, np.ndarray, bool]:
    source, dense, _ = REAL[name]
    X, y = bocce.data.load(source)
    # two classes: the larger label is +1; more (sector): the first against the rest
    first = 1 if np.unique(y).size > 2 else y.max()
    X = X.toarray() if dense else sp.csr_matrix(X)
    return X, np.where(y == first, 1.0, -1.0), dense


def cells(names: list[str], l2: float | None, quick: bool, cache: Path) -> Iterator[Cell]:
    """One cell a data set and loss, in memory one data set at a time."""
    for name in names:
        if name == SYNTHETIC:
            X, y = synthetic(QUICK_ROWS[name] if quick else 1_000_000)
            dense, losses = True, tuple(LOSSES)
        else:
            try:
                X, y, dense = _real(name)
            except FileNotFoundError as error:
                print(f"{name}: left out. {error}")
                continue
            losses = REAL[name][2]
        if quick:
            rows = np.random.default_rng(0).permutation(X.shape[0])
            rows = np.sort(rows[: QUICK_ROWS.get(name, OTHERS_QUICK_ROWS)])
            X, y = X[rows], y[rows]
        for loss in losses:
            targets = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
            yield _cell(name, loss, dense, X, targets, l2 or 1.0 / X.shape[0], cache)


def _cell(name: str, loss: str, dense: bool, X: Any, y: np.ndarray, l2: float, cache: Path) -> Cell:
    problem = LOSSES[loss](X, y, l2=l2)
    start = problem.value(np.zeros(problem.d))
    best = _certified_minimum(f"{name} {loss} {X.shape} {l2!r}", problem, start, cache)
    return Cell(name, loss, dense, X, y, l2, problem, start, best)


def _certified_minimum(key: str, problem: Any, start: float, cache: Path) -> float:
    """f* from a point whose gradient proves it: f(w) - f* <= ||g||^2/(2 l2).

    The point is kept in ``cache``; what is found there must pass the same test.
    """
    path = cache / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.npy"
    for found in (lambda: np.load(path), problem.minimiser):
        try:
            w = found()
        except FileNotFoundError:
            continue
        g, value = problem.gradient(w), problem.value(w)
        if g @ g / (2.0 * problem.l2) <= CERTIFIED * (start - value):
            cache.mkdir(parents=True, exist_ok=True)
            np.save(path, w)
            return float(value)
    raise SystemExit(f"peers: no certified minimum for {key}: the gradient is too large.")
