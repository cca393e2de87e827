"""The problems of benchmarks/peers.py: data, loss, penalty, and a minimum that is certified."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import bocce
from sklearn import datasets

LOSSES = {"logistic": bocce.Logistic, "squared": bocce.LeastSquares}
BOTH = ("logistic", "squared")
# name in the table: LIBSVM name, dense?, losses
REAL = {
    "ijcnn1": ("ijcnn1.tr", True, BOTH),
    "a9a": ("a9a", False, BOTH),
    "w8a": ("w8a", False, ("logistic",)),
    "covtype": ("covtype.libsvm.binary.scale", True, BOTH),
    "sector": ("sector.scale", False, ("logistic",)),
    "rcv1 subset": ("rcv1_vw_subset_1747", False, ("logistic",)),
}
SIMULATED = {
    "200 x 500": (200, 500), "1k x 10": (1_000, 10), "300k x 20": (300_000, 20),
    "100k x 400": (100_000, 400),
}  # fmt: skip
WORDS, MILLION, WIDE = "words", "million", "wide"
SMALL = ("iris", "cancer")
NAMES = (*SMALL, *REAL, *SIMULATED, WIDE, WORDS, MILLION)
QUICK_ROWS = 6_000
L2S: dict[str, Callable[[int], float]] = {"1/n": lambda n: 1.0 / n, "0.01/n": lambda n: 0.01 / n}
CERTIFIED = 1e-8  # of f(0) - f*: what may be unknown of f*


@dataclass
class Cell:
    """One problem to be raced on; y is +-1, or a number for the million rows' squared loss."""

    data: str
    loss: str
    label: str  # of l2
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


# -- data ------------------------------------------------------------------------------------------


def million(n: int, d: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian columns of scales 1 to 0.1 (condition number 100), a linear model, unit noise."""
    rng = np.random.default_rng(0)
    scales = np.geomspace(1.0, 0.1, d)
    w = rng.standard_normal(d) / np.sqrt((scales**2).sum())
    X = rng.standard_normal((n, d))
    X *= scales
    return X, X @ w + rng.standard_normal(n)


def simulated(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """As benchopt's benchmark_logreg_l2 makes it: isotropic, and separable."""
    rng = np.random.RandomState(42)
    truth = rng.randn(d)
    X = rng.randn(n, d)
    return X, np.sign(X @ truth)


def words(n: int, d: int = 100_000, entries: int = 100) -> tuple[Any, np.ndarray]:
    """Rows of unit length with entries in columns as rare as words are, and noisy classes."""
    rng = np.random.default_rng(0)
    columns = np.minimum(d ** rng.random((n, entries)) - 1.0, d - 1).astype(np.int32)
    values = np.abs(rng.standard_normal((n, entries)))
    starts = np.arange(0, n * entries + 1, entries)
    X = sp.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(n, d))
    X.sum_duplicates()
    X.data /= np.repeat(np.sqrt(np.add.reduceat(X.data**2, X.indptr[:-1])), np.diff(X.indptr))
    return X, np.sign(X @ (3.0 * rng.standard_normal(d)) + 0.3 * rng.standard_normal(n))


def wide(n: int = 2_000, d: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Columns that share fifty factors, as genes do."""
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((n, 50))
    X = 0.5 * factors @ rng.standard_normal((50, d))
    X += rng.standard_normal((n, d))
    return X, np.sign(factors[:, 0] + rng.logistic(size=n))


def small(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Columns of mean 0 and variance 1; two classes."""
    kept = datasets.load_iris() if name == "iris" else datasets.load_breast_cancer()
    X = (kept.data - kept.data.mean(axis=0)) / kept.data.std(axis=0)
    return X, np.where(kept.target == 1, 1.0, -1.0)


def real(name: str) -> tuple[Any, np.ndarray]:
    """Two classes: the larger label is +1; of sector's 105, the first against the rest."""
    source, dense, _ = REAL[name]
    X, y = bocce.data.load(source)
    first = 1 if np.unique(y).size > 2 else y.max()
    return X.toarray() if dense else sp.csr_matrix(X), np.where(y == first, 1.0, -1.0)


def load(name: str, rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Rows and targets; the first so many of a fixed shuffle where ``rows`` is given."""
    if name == MILLION:
        return million(rows or 1_000_000)
    if name == WORDS:
        return words(rows or 200_000)
    if name == WIDE:
        return wide(*((500, 5_000) if rows else ()))
    if name in SMALL:
        return small(name)
    X, y = simulated(*SIMULATED[name]) if name in SIMULATED else real(name)
    if rows is None or rows >= len(y):
        return X, y
    some = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
    return X[some], y[some]


def losses_of(name: str) -> tuple[str, ...]:
    if name == MILLION:
        return BOTH
    return REAL[name][2] if name in REAL else ("logistic",)


# -- cells -----------------------------------------------------------------------------------------


def cells(name: str, wanted: list[tuple[str, str]], quick: bool, cache: Path) -> Iterator[Cell]:
    """One cell for each (loss, label of l2) that is wanted of a data set."""
    try:
        X, y = load(name, QUICK_ROWS if quick else None)
    except FileNotFoundError as error:
        print(f"{name}: left out. {error}")
        return
    for loss, label in wanted:
        targets = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
        l2 = L2S[label](X.shape[0])
        problem = LOSSES[loss](X, targets, l2=l2)
        start = problem.value(np.zeros(problem.d))
        best = _certified_minimum(f"{name} {loss} {X.shape} {l2!r}", problem, start, cache)
        yield Cell(name, loss, label, X, targets, l2, problem, start, best)


def _certified_minimum(key: str, problem: Any, start: float, cache: Path) -> float:
    """f* from a point whose gradient proves it: f(w) - f* <= ||g||^2/(2 l2).

    The point is kept in ``cache``; what is found there must pass the same test.
    """
    path = cache / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.npy"

    def run() -> np.ndarray:
        return np.asarray(bocce.minimize(problem, method="plane", tol=1e-9).w)

    for found in (lambda: np.load(path), run, problem.minimiser):
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
