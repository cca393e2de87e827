"""The cells of benchmarks/regret.py, and which of them are held out while a rule is chosen."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from _auto_cells import fresh

import bocce
from bocce.exact import Gaussian

N = 10_000  # rows of a model
HELD_OUT = 3  # one cell in so many, by a hash of its name


class Cell(NamedTuple):
    """A model or problem, its constants for the factories, a batch, a horizon, and its noise."""

    name: str  # says everything that was drawn: two cells never share a name
    model: Any
    constants: dict[str, Any]
    b: int
    T: int
    noise: float

    @property
    def held_out(self) -> bool:
        return zlib.crc32(self.name.encode()) % HELD_OUT == 0


def models(seed: int) -> Iterator[Cell]:
    """d = 200 eigenvalues, kappa 10 to 1e5, T from 2 to 100 sqrt(kappa), without end."""
    rng, d = np.random.default_rng(seed), 200
    while True:
        kappa = 10 ** rng.uniform(1, 5)
        T = int(10 ** rng.uniform(math.log10(2 * kappa**0.5), math.log10(100 * kappa**0.5)))
        T, b = min(1000, max(5, T)), min(9000, int(10 ** rng.uniform(0, 4)))
        shape = str(rng.choice(["geometric", "power"]))
        power = np.arange(1, d + 1.0) ** (-math.log(kappa) / math.log(d))
        lam = np.geomspace(1 / kappa, 1, d) if shape == "geometric" else power
        level = 0.0 if rng.uniform() < 0.4 else 10 ** rng.uniform(-4, 0.5)
        model = Gaussian(lam, noise=level * float(lam.sum()), n=N)
        name = f"models {seed}: {shape} {kappa:.4g}, b {b}, T {T}, noise {level:.3g}"
        yield Cell(name, model, model.schedule_arguments(b), b, T, level)


def data(seed: int) -> Iterator[Cell]:
    """The 300 fresh cells of benchmarks/auto.py, with T cut to 400."""
    for i, cell in enumerate(fresh(seed)):
        name = f"data {seed}.{i}: {cell.design} {cell.kappa}"
        yield _on_rows(name, cell.problem, cell.b, min(400, cell.T), cell.noise)


def _on_rows(name: str, p: Any, b: int, T: int, noise: float) -> Cell:
    c = p.constants()
    R2, tilde = c.sharpest
    mu = c.mu or c.L / T**2  # as minimize gives it
    known = {"L": c.L, "mu": mu, "L_max": max(R2, c.L), "kappa_tilde": tilde, "n": p.n, "b": b}
    return Cell(f"{name}, b {b}, T {T}, noise {noise:.3g}", p, known, b, T, noise)


def hard(seed: int) -> Iterator[Cell]:
    """660 cells: every kind of rows, batch, horizon and noise; in a random order.

    The eight kinds, the batches (1, 2, n/10, n/2, n - 1, n), the horizons and the three noises are
    those of an earlier study of 660 cells, whose script is lost. 660 cells need two more kinds with
    six batches each; here they are plain Gaussian rows and rows of which a tenth is ten times as
    large.
    """
    rng = np.random.default_rng(seed)
    cells = []
    for name, X, l2 in hard_rows(rng):
        n = len(X)
        for noise in (0.0, 0.3, -0.3):  # negative: heavy-tailed
            clean = X @ rng.uniform(size=X.shape[1])
            drawn = rng.standard_normal(n) if noise >= 0 else rng.standard_t(2.1, n)
            y = clean + abs(noise) * np.sqrt(np.mean(clean**2)) * drawn
            p = bocce.LeastSquares(X, y, l2=l2)
            for b in sorted({1, min(2, n), max(1, n // 10), max(1, n // 2), n - 1, n}):
                cells += [
                    _on_rows(f"hard {seed}: {name}", p, b, T, noise) for T in (3, 20, 200, 1500)
                ]
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
    yield "two rows", rng.standard_normal((2, 2)), 0.0
    yield "gaussian", rng.standard_normal((200, d)), 0.0
    large = rng.standard_normal((200, d))
    large[:20] *= 10.0
    yield "a tenth x10", large, 0.0


KINDS = {"models": models, "data": data, "hard": hard}
