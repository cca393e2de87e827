"""The problems of benchmarks/auto.py: a fixed grid, or fresh ones drawn from a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import bocce

PROFILES = {
    "quick": {"T": 2000, "n": 400, "d": 6, "kappas": (10, 300), "real": ("ijcnn1",),
              "shares": (0.0, 0.05, 0.5, 1.0), "seeds": 3},
    "full": {"T": 4000, "n": 1000, "d": 8, "kappas": (10, 100, 500, 2000),
             "real": ("ijcnn1", "a9a", "covtype.libsvm.binary.scale"),
             "shares": (0.0, 0.003, 0.02, 0.1, 0.5, 0.9, 1.0), "seeds": 5},
}  # fmt: skip
FRESH = 300  # cells drawn from a seed
FRESH_DATA = ("w8a", "mushrooms", "abalone_scale")
FRESH_ROWS = ("haar", "gaussian", "heavy", "diagonal", "student", "sparse", *FRESH_DATA)


class Cell(NamedTuple):
    """A problem, a batch and a number of steps; noise is that of the targets, over their size."""

    design: str
    kappa: float
    problem: Any
    b: int
    noise: float
    T: int


def targets(X: np.ndarray, noise: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    clean = X @ rng.uniform(size=X.shape[1])
    return clean + noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(len(X))


def real_rows(name: str, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows in their d leading principal coordinates, and their labels."""
    X, y = bocce.data.load(name)
    rows = np.random.default_rng(0).permutation(X.shape[0])[:n]
    block = X[np.sort(rows)]
    block = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
    _, _, V = np.linalg.svd(block, full_matrices=False)
    return block @ V[:d].T, y[np.sort(rows)]


def diagonal_rows(d: int, kappa: float, copies: int) -> np.ndarray:
    X, _, _ = bocce.data.diagonal(d, kappa)
    return np.repeat(X.toarray() if hasattr(X, "toarray") else X, copies, axis=0)


def large_columns(rows: np.ndarray, kappa: float) -> np.ndarray:
    """The principal coordinates whose eigenvalues are within kappa of the largest.

    An l2 would do as well, but leave noise at the minimiser.
    """
    spectrum = (rows**2).mean(axis=0)
    return rows[:, spectrum >= spectrum[0] / kappa]


def problems(profile: dict[str, Any], noise: float) -> Iterator[tuple[str, int, Any]]:
    n, d = profile["n"], profile["d"]
    for kappa in profile["kappas"]:
        for design in ("haar", "gaussian", "heavy"):
            X, _, _ = bocce.data.regression(n, d, kappa, design=design)
            yield design, kappa, bocce.LeastSquares(X, targets(X, noise, 1))
        X = diagonal_rows(2 * d, kappa, 2)  # noise needs n > d
        yield "diagonal", kappa, bocce.LeastSquares(X, targets(X, noise, 1))
    for name in profile["real"]:
        rows, labels = real_rows(name, n, d)
        for kappa in profile["kappas"]:
            X = large_columns(rows, kappa)
            y = np.where(labels == labels.max(), 1.0, -1.0) if noise else targets(X, 0.0, 1)
            yield name.split(".")[0], kappa, bocce.LeastSquares(X, y)


def grid(profile: dict[str, Any]) -> Iterator[Cell]:
    for noise in (0.0, 0.3):
        for design, kappa, p in problems(profile, noise):
            for b in sorted({max(1, round(share * p.n)) for share in profile["shares"]}):
                if noise == 0.0 or b < p.n:
                    yield Cell(design, kappa, p, b, noise, profile["T"])


def fresh(seed: int) -> Iterator[Cell]:
    """Rows, kappa, n, d, T, batch and noise at random; other data sets than those of the grid."""
    rng = np.random.default_rng(seed)
    for _ in range(FRESH):
        d, n = int(rng.integers(3, 10)), int(rng.integers(200, 2000))
        kappa, T = between(rng, 5.0, 5000.0), int(between(rng, 500.0, 8000.0))
        design = str(rng.choice(FRESH_ROWS))
        X = fresh_rows(rng, design, n, d, kappa)
        b = min(len(X), round(between(rng, 1.0, len(X))))
        noisy = rng.uniform() < 0.6 and b < len(X)
        noise = between(rng, 0.03, 2.0) if noisy else 0.0
        p = bocce.LeastSquares(X, targets(X, noise, int(rng.integers(10**6))))
        yield Cell(design, round(kappa), p, b, noise, T)


def between(rng: np.random.Generator, low: float, high: float) -> float:
    """Uniform in the logarithm."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def fresh_rows(rng: np.random.Generator, design: str, n: int, d: int, kappa: float) -> np.ndarray:
    seed = int(rng.integers(10**6))
    if design in FRESH_DATA:
        return large_columns(real_rows(design, min(n, 1000), d)[0], kappa)
    if design == "diagonal":
        return diagonal_rows(2 * d, kappa, int(rng.integers(2, 6)))
    if design in ("haar", "gaussian", "heavy"):
        spectrum = str(rng.choice(["linear", "sqrt"]))
        X, _, _ = bocce.data.regression(n, d, kappa, design=design, spectrum=spectrum, seed=seed)
        return X
    entries = rng.standard_t(3, size=(n, d))  # a few rows are large
    if design == "sparse":
        entries = rng.standard_normal((n, d)) * (rng.uniform(size=(n, d)) < 0.2)
    return entries * np.geomspace(1.0, math.sqrt(kappa), d)
