"""The settings of benchmarks/batch_rules.py: Gaussian models drawn by a seed, and data sets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import bocce
from bocce.exact import Gaussian

TARGETS = (0.3, 0.1, 0.03, 0.01)  # of f(w_0) - f*
COLUMNS = 12  # of a data set, at most: its table of fourth moments has columns^4/4 numbers
ROWS = 20_000  # of data that are made here


class Setting(NamedTuple):
    """A model, and the gap to reach as a share of the gap at the start."""

    name: str
    model: Any
    target: float
    real: bool


def spectrum(rng: np.random.Generator, shape: str, d: int, kappa: float) -> np.ndarray:
    if shape == "geometric":
        return np.geomspace(1.0 / kappa, 1.0, d)
    if shape == "power":
        return np.arange(1.0, d + 1.0) ** (-np.log(kappa) / np.log(d))
    large = rng.integers(1, d // 2)
    lam = np.full(d, 1.0 / kappa)  # two clusters, the small one spread by 2 at most
    lam[:large] = 1.0
    return lam * rng.uniform(0.5, 1.0, d)


def models(seed: int) -> Iterator[Setting]:
    """Gaussian rows: three spectra, three starts, with and without noise, without end."""
    rng = np.random.default_rng(seed)
    for i in itertools.count():
        shape = str(rng.choice(["geometric", "power", "clusters"]))
        d = int(rng.integers(20, 80))
        kappa = float(10 ** rng.uniform(1, 3))
        lam = spectrum(rng, shape, d, kappa)
        start_name = str(rng.choice(["even", "equal gap", "smooth"]))
        start = {"even": np.ones(d), "equal gap": 1.0 / lam, "smooth": lam}[start_name]
        start = start / (0.5 * lam @ start)  # f(w_0) - f* = 1
        noise = 0.0 if rng.uniform() < 0.5 else float(10 ** rng.uniform(-3, 0))
        target = float(rng.choice((0.1, 0.03, 0.01, 0.003)))
        name = f"{i}: {shape} d {d} kappa {kappa:.0f} {start_name} noise {noise:.2g} to {target}"
        yield Setting(name, Gaussian(lam, noise=noise, start=start), target, False)


def _standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _with_constant(X: np.ndarray) -> np.ndarray:
    return np.column_stack([X, np.ones(len(X))])


def data_sets(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Real rows with real labels, then rows that are made, none of them Gaussian."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

    X, y = bocce.data.load("abalone_scale")
    X = np.asarray(X.todense(), dtype=np.float64)
    yield "abalone, scaled to [-1, 1], with a constant", _with_constant(X), y
    yield "abalone, standardised", _standardised(X), y - y.mean()
    for name, load in (
        ("diabetes", load_diabetes),
        ("wine", load_wine),
        ("breast cancer", load_breast_cancer),
    ):
        X, y = load(return_X_y=True)
        yield f"{name}, standardised", _standardised(X[:, :COLUMNS]), y - y.mean()
    X, y = bocce.data.load("ijcnn1")
    X = np.asarray(X[:, -COLUMNS:].todense(), dtype=np.float64)
    yield "ijcnn1, the last columns", X, y
    rng = np.random.default_rng(seed)
    scales = np.geomspace(0.1, 1.0, COLUMNS)
    w = rng.standard_normal(COLUMNS)
    for freedom in (3.5, 6.0):
        X = rng.standard_normal((ROWS, COLUMNS)) * scales
        X *= np.sqrt(freedom / rng.chisquare(freedom, (ROWS, 1)))
        yield f"Student rows, {freedom} degrees", X, X @ w + 0.1 * rng.standard_normal(ROWS)
    X = (rng.uniform(size=(ROWS, COLUMNS)) < np.geomspace(0.02, 0.5, COLUMNS)).astype(float)
    yield "marks (0 or 1)", X, X @ w + 0.1 * rng.standard_normal(ROWS)


def real(seed: int) -> Iterator[Setting]:
    for name, X, y in data_sets(seed):
        problem = bocce.LeastSquares(X, y)
        for target in TARGETS:
            yield Setting(f"{name} to {target}", problem, target, True)
