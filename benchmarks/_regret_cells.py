"""The cells of benchmarks/regret.py: models, real data, hard rows and long runs, by a seed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import bocce
from bocce.exact import Gaussian

N = 10_000  # rows of a model
D = 40  # eigenvalues of a model
SPECTRA = ("geometric", "power", "linear", "spiked", "clusters", "random")
STARTS = {"equal errors": 0.0, "equal gaps": -1.0, "as the eigenvalues": 1.0}
REAL_ROWS = 2_000  # of a real data set at most: exact moments are of these rows
REAL_T = (30, 100, 300)


class Cell(NamedTuple):
    """A model or problem, its constants for the factories, a batch and a horizon."""

    name: str  # says everything that was drawn: two cells never share a name
    model: Any
    constants: dict[str, Any]  # spectrum and noise among them
    b: int
    T: int


def eigenvalues(kind: str, kappa: float, rng: np.random.Generator, d: int = D) -> np.ndarray:
    """d eigenvalues from 1/kappa to 1."""
    if kind == "geometric":
        return np.geomspace(1.0 / kappa, 1.0, d)
    if kind == "power":
        return np.arange(1.0, d + 1.0) ** (-math.log(kappa) / math.log(d))
    if kind == "linear":
        return np.linspace(1.0 / kappa, 1.0, d)
    if kind == "spiked":
        return np.concatenate([[1.0, 0.5, 0.2], np.full(d - 3, 1.0 / kappa)])
    if kind == "clusters":
        return np.repeat([1.0, 1.0 / kappa], [d // 2, d - d // 2])
    inner = kappa ** -rng.uniform(size=d - 2)
    return np.concatenate([[1.0], inner, [1.0 / kappa]])


def _models(seed: int, noisy: bool, most_T: float = 3.0, least_T: float = 1.3) -> Iterator[Cell]:
    rng = np.random.default_rng(seed)
    while True:
        kind = str(rng.choice(SPECTRA))
        kappa = 10 ** rng.uniform(1, 6)
        T = int(10 ** rng.uniform(least_T, most_T))
        b = min(N - 1, int(10 ** rng.uniform(0, 4)))
        start = str(rng.choice(list(STARTS)))
        level = 10 ** rng.uniform(-4, 0.5) if noisy else 0.0
        lam = eigenvalues(kind, kappa, rng)
        shape = lam ** STARTS[start]
        model = Gaussian(lam, noise=level, start=2.0 * shape / (lam @ shape), n=N)
        name = f"{kind} {kappa:.4g}, {start}, b {b}, T {T}, noise {level:.3g}"
        yield Cell(name, model, model.known(b), b, T)


def models(seed: int) -> Iterator[Cell]:
    """Six spectra, three starts, kappa 10 to 1e6, T 20 to 1,000, b 1 to n - 1, with noise."""
    return _models(seed, noisy=True)


def quiet(seed: int) -> Iterator[Cell]:
    """The same without noise in the targets."""
    return _models(seed, noisy=False)


def long(seed: int) -> Iterator[Cell]:
    """The same with noise, T from 5,000 to 1e5."""
    return _models(seed, noisy=True, least_T=3.7, most_T=5.0)


def real(seed: int) -> Iterator[Cell]:
    """Data with their own labels: abalone, diabetes, ijcnn1; T = 30, 100, 300; b = 1 to n/2."""
    rng = np.random.default_rng(seed)
    problems = dict(_real_problems(rng))
    while True:
        name = str(rng.choice(list(problems)))
        p = problems[name]
        T = int(rng.choice(REAL_T))
        b = max(1, int((p.n / 2) ** rng.uniform()))
        yield _on_rows(name, p, b, T)


def _real_problems(rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    from sklearn.datasets import load_diabetes

    tables = {"diabetes": load_diabetes(return_X_y=True, scaled=False)}
    for name in ("abalone_scale", "ijcnn1.tr"):
        X, y = bocce.data.load(name)
        tables[name] = (X.toarray(), y)
    for name, (X, y) in tables.items():
        few = rng.permutation(len(y))[:REAL_ROWS]
        scaled = (X[few] - X[few].mean(axis=0)) / np.maximum(X[few].std(axis=0), 1e-12)
        yield name, bocce.LeastSquares(scaled, y[few] - y[few].mean())


def _on_rows(name: str, p: Any, b: int, T: int) -> Cell:
    c = p.constants()
    R2, tilde = c.sharpest
    known = {"L": c.L, "mu": c.mu, "L_max": max(R2, c.L), "kappa_tilde": tilde, "n": p.n, "b": b}
    known |= {"spectrum": c.spectrum, "noise": p.pilot().noise}
    return Cell(f"{name}, b {b}, T {T}", p, known, b, T)


def hard(seed: int) -> Iterator[Cell]:
    """Rows that are nothing like Gaussian ones, and fewer rows than columns; in a random order."""
    rng = np.random.default_rng(seed)
    cells = []
    for name, X, l2 in hard_rows(rng):
        n = len(X)
        for noise in (0.0, 0.3):
            clean = X @ rng.uniform(size=X.shape[1])
            y = clean + noise * np.sqrt(np.mean(clean**2)) * rng.standard_normal(n)
            p = bocce.LeastSquares(X, y, l2=l2)
            for b in sorted({1, max(1, n // 10), max(1, n // 2), n - 1}):
                named = f"{name}, noise {noise}"
                cells += [_on_rows(named, p, b, T) for T in (20, 200)]
    yield from (cells[i] for i in rng.permutation(len(cells)))


def hard_rows(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, float]]:
    d = 5
    yield "student", rng.standard_t(2.1, (200, d)), 0.0
    columns = np.minimum(rng.zipf(1.5, 300), d) - 1
    columns[:d] = np.arange(d)
    yield "one-hot zipf", np.eye(d)[columns], 0.0
    yield "duplicates", np.repeat(rng.standard_normal((8, d)), 25, axis=0), 0.0
    yield "kappa 1e6", rng.standard_normal((200, d)) * np.geomspace(1.0, 1e-3, d), 0.0
    large = rng.standard_normal((200, d))
    large[0] *= 100.0
    yield "one row x100", large, 0.0
    yield "n < d", rng.standard_normal((6, 12)), 1e-3
    yield "mean 10", 10.0 + rng.standard_normal((200, d)), 0.0
    large = rng.standard_normal((200, d))
    large[:20] *= 10.0
    yield "a tenth x10", large, 0.0


KINDS = {"models": models, "quiet": quiet, "real": real, "hard": hard, "long": long}
