"""Second moments of a batch gradient, in the eigenbasis of the data's Gram matrix.

Let ``e = w - w*``, ``r_i = y_i - x_i.w*``, ``A_0 = X^T X / n`` and ``c = mean(x_i r_i) = l2 w*``.
The gradient of a batch of b rows drawn without replacement, at a random point of mean m and second
moment P, has the covariance ``zeta0^2 N(P, m)``::

    N(P, m) = E[x x^T (x^T P x)] - A_0 P A_0 - 2 E[r (x.m) x x^T]
              + A_0 m c^T + c m^T A_0 + E[r^2 x x^T] - c c^T

There are two ways to apply N: `Tabulated` keeps it as a D x D matrix, D = d (d + 1)/2, on the upper
triangle; `Streamed` goes through the rows of X at every product. ``covariance`` is N(P, m), and
``homogeneous`` is N without the data's noise, E[x x^T (x^T P x)] - A_0 P A_0, on packed P.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import eigh

from .._types import Design
from ..problems import Problem

FloatArray = npt.NDArray[np.float64]

BLOCK_NUMBERS = 1 << 22  # numbers in one block of rows: 32 MB, a few times the last cache
GEMV_COST = 4.0  # a matrix-vector flop waits for memory; this many matrix-matrix flops
TABLES = 3  # D x D arrays alive at once: the table, its scaled copy, LAPACK's
KEPT_BYTES = 1e7  # a table no larger than this (d = 45) stays with its problem
MATRICES = 16  # d x d arrays alive at once: Gram, basis, three covariances, products


class Triangle:
    """Symmetric d x d matrices as vectors of their upper triangle, D = d (d + 1)/2 numbers.

    Entries off the diagonal carry sqrt(2), so that dot products are traces and a symmetric
    operator on matrices is a symmetric matrix on vectors.
    """

    def __init__(self, d: int) -> None:
        self.d = d
        self.D = d * (d + 1) // 2
        self.rows, self.columns = np.triu_indices(d)
        self.scale = np.where(self.rows == self.columns, 1.0, np.sqrt(2.0))
        self._place = np.empty((d, d), dtype=np.intp)
        self._place[self.rows, self.columns] = np.arange(self.D)
        self._place[self.columns, self.rows] = np.arange(self.D)

    def pack(self, matrix: FloatArray) -> FloatArray:
        return matrix[self.rows, self.columns] * self.scale

    def unpack(self, vector: FloatArray) -> FloatArray:
        return (vector / self.scale)[self._place]

    def squares(self, Z: FloatArray) -> FloatArray:
        """The packed z z^T of each row z."""
        return Z[:, self.rows] * Z[:, self.columns] * self.scale


@dataclass(frozen=True)
class Eigenframe:
    """The problem in the eigenbasis of A_0, on the span of the rows.

    A direction that no row touches feels no noise: there the error follows the one recurrence of
    the eigenvalue l2, so it is left out here and counted apart.
    """

    p: Problem
    basis: FloatArray  # (d, r) orthonormal, r the rank of X
    lam0: FloatArray  # (r,) eigenvalues of A_0, increasing, > 0
    minimiser: FloatArray  # (d,)
    residual: FloatArray  # (n,) r_i

    @property
    def lam(self) -> FloatArray:
        """Eigenvalues of the Hessian A_0 + l2 I on the span of the rows."""
        return self.lam0 + self.p.l2

    @property
    def rank(self) -> int:
        return int(self.lam0.size)

    @property
    def all_eigenvalues(self) -> FloatArray:
        """Of the Hessian, each that moves: the span's, and l2 > 0 where no row reaches."""
        untouched = self.rank < self.p.d and self.p.l2 > 0
        if untouched:
            return np.append(self.lam, self.p.l2)
        return self.lam

    def along(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues, and w - w* along them; what lies outside the span is one more direction."""
        error = w - self.minimiser
        inside = self.basis.T @ error
        if self.rank < self.p.d:
            outside = error - self.basis @ inside
        else:
            outside = np.zeros(1)
        if not outside.any():
            return self.lam, inside
        return np.append(self.lam, self.p.l2), np.append(inside, np.sqrt(outside @ outside))


def row_blocks(p: Problem, width: int, numbers: int) -> Iterator[tuple[slice, Design]]:
    """Blocks of rows (dense as float64, CSR as it is), for ``width`` numbers of work a row and at
    most so many ``numbers`` a block."""
    step = max(1, numbers // width)
    first = 0
    for large in p.rows.blocks():
        for start in range(0, large.shape[0], step):
            block = large[start : start + step]
            rows = slice(first, first + block.shape[0])
            first = rows.stop
            yield rows, block


def _no_least_squares(where: str, name: str) -> TypeError:
    return TypeError(
        f"{where}: p={name} must be a LeastSquares problem, moments close for "
        "quadratics alone; run bocce.minimize over several seeds instead."
    )


def require_plain(where: str, p: Problem) -> None:
    """Refuse what has no exact moments: other losses, weights, penalties by column."""
    if not isinstance(p, Problem):
        raise _no_least_squares(where, type(p).__name__)
    if not p.loss.quadratic:
        raise _no_least_squares(where, p.loss.problem_name)
    if p.intercept:
        raise ValueError(
            f"{where}: p has an intercept, must have none; give X a column of ones instead, which "
            "is the same problem where l2 = 0."
        )
    if p.weight is not None or p.penalty is not None:
        if p.weight is None:
            given = "penalty"
        else:
            given = "sample_weight"
        raise ValueError(
            f"{where}: p has a {given}, must have neither sample_weight nor penalty; scale the "
            "rows or columns of X instead, which is the same problem."
        )


def frame_of(where: str, p: Problem) -> Eigenframe:
    """Eigenbasis, spectrum and residuals of a least-squares problem, memory checked first."""
    require_plain(where, p)
    _require_memory(where, p.d, 8 * MATRICES * p.d**2, "streamed moments")
    spectrum, vectors = eigh(p.gram)
    touched = spectrum > max(p.n, p.d) * np.finfo(np.float64).eps * max(spectrum[-1], 0.0)
    minimiser = p.minimiser()
    return Eigenframe(
        p=p,
        basis=np.ascontiguousarray(vectors[:, touched]),
        lam0=spectrum[touched],
        minimiser=minimiser,
        residual=p.y - p.predict(minimiser),
    )


class Streamed:
    """N through the rows of X: O(n d^2 + d^3) a product, O(d^2) memory."""

    def __init__(self, frame: Eigenframe, numbers: int = BLOCK_NUMBERS) -> None:
        self.frame = frame
        self.numbers = numbers
        self.triangle = Triangle(frame.rank)
        self.mean_gradient = frame.basis.T @ frame.p.combine(frame.residual) / frame.p.n  # c
        second = self._mean_square(lambda rows, block: frame.residual[rows] ** 2)
        self.at_minimiser = second - np.outer(self.mean_gradient, self.mean_gradient)

    def _mean_square(self, weigh: Callable[[slice, Design], FloatArray]) -> FloatArray:
        """E[weight z z^T] in one pass, the weights of a block made while it is in the cache."""
        p = self.frame.p
        basis = self.frame.basis
        total = np.zeros((p.d, p.d))
        for rows, block in row_blocks(p, p.d, self.numbers):
            weights = weigh(rows, block)
            if p.sparse:
                total += (block.T @ (sp.diags_array(weights) @ block)).toarray()
            else:
                total += block.T @ (weights[:, None] * block)
        return basis.T @ (total / p.n) @ basis

    def _rows(self, P: FloatArray, m: FloatArray) -> FloatArray:
        """E[(z^T P z - 2 r z.m) z z^T]."""
        basis = self.frame.basis
        residual = self.frame.residual
        Px = basis @ P @ basis.T
        mx = basis @ m

        def weigh(rows: slice, block: Design) -> FloatArray:
            image = block @ Px
            if self.frame.p.sparse:
                quadratic = np.asarray(block.multiply(image).sum(axis=1)).ravel()
            else:
                quadratic = np.einsum("ij,ij->i", block, image)
            return np.asarray(quadratic - 2.0 * residual[rows] * (block @ mx))

        return self._mean_square(weigh)

    @property
    def tabulated(self) -> Tabulated | None:
        """N as a table, where it is one."""
        return None

    def covariance(self, P: FloatArray, m: FloatArray) -> FloatArray:
        lam0 = self.frame.lam0
        cross = np.outer(lam0 * m, self.mean_gradient)
        curved = self._rows(P, m) - lam0[:, None] * P * lam0
        return curved + cross + cross.T + self.at_minimiser

    def homogeneous(self, packed: FloatArray) -> FloatArray:
        P = self.triangle.unpack(packed)
        lam0 = self.frame.lam0
        curved = self._rows(P, np.zeros(self.frame.rank)) - lam0[:, None] * P * lam0
        return self.triangle.pack(curved)


class Tabulated:
    """N as a table: O(n D^2) to build with matrix products, O(D^2) a product and in memory.

    On packed second moments P and means m, ``N = quartic P + cubic m + constant``.
    """

    def __init__(self, frame: Eigenframe, numbers: int = BLOCK_NUMBERS) -> None:
        self.triangle = t = Triangle(frame.rank)
        quartic = np.zeros((t.D, t.D))
        cubic = np.zeros((t.D, t.d))
        constant = np.zeros(t.D)
        mean_gradient = np.zeros(t.d)
        for rows, block in row_blocks(frame.p, t.D, numbers):
            Z = block @ frame.basis
            r = frame.residual[rows]
            squares = t.squares(Z)
            quartic += squares.T @ squares
            cubic += squares.T @ (r[:, None] * Z)
            constant += squares.T @ r**2
            mean_gradient += r @ Z
        mean_gradient /= frame.p.n
        quartic /= frame.p.n
        diagonal = np.arange(t.D)
        quartic[diagonal, diagonal] -= frame.lam0[t.rows] * frame.lam0[t.columns]
        self.quartic = quartic
        self.cubic = _mean_gradient_table(t, frame.lam0, mean_gradient) - 2.0 * cubic / frame.p.n
        self.constant = constant / frame.p.n - t.pack(np.outer(mean_gradient, mean_gradient))

    @property
    def tabulated(self) -> Tabulated | None:
        return self

    def covariance(self, P: FloatArray, m: FloatArray) -> FloatArray:
        packed = self.quartic @ self.triangle.pack(P) + self.cubic @ m + self.constant
        return self.triangle.unpack(packed)

    def homogeneous(self, packed: FloatArray) -> FloatArray:
        return self.quartic @ packed


RowNoise: TypeAlias = Streamed | Tabulated
# Of each problem that is alive, its table if that is small: several curves share it.
_tables: WeakKeyDictionary[Problem, Tabulated] = WeakKeyDictionary()


def _mean_gradient_table(t: Triangle, lam0: FloatArray, mean_gradient: FloatArray) -> FloatArray:
    """The D x d matrix of m -> A_0 m c^T + c m^T A_0."""
    table = np.zeros((t.D, t.d))
    places = np.arange(t.D)
    np.add.at(table, (places, t.rows), lam0[t.rows] * mean_gradient[t.columns] * t.scale)
    np.add.at(table, (places, t.columns), lam0[t.columns] * mean_gradient[t.rows] * t.scale)
    return table


def memory_budget() -> float:
    """Bytes that one request may take: half of the machine's memory, 4 GB where it is unknown."""
    try:
        return 0.5 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 4e9


def _require_memory(where: str, d: int, need: float, what: str) -> None:
    budget = memory_budget()
    if need > budget:
        raise ValueError(
            f"{where}: d={d} needs {need / 1e9:.3g} GB for {what} and {budget / 1e9:.3g} GB may be "
            "taken (half of the memory); keep fewer columns (a projection), or average runs of "
            "bocce.minimize."
        )


def table_bytes(d: int) -> float:
    """Memory of the D x D operator while it is built and used."""
    D = d * (d + 1) / 2
    return 8.0 * (TABLES * D**2 + 2 * D * d + 3 * BLOCK_NUMBERS)


def table_cost(n: int, d: int, products: int) -> float:
    """Flops of building the table (a symmetric product, n D^2) and of ``products`` with it."""
    D = d * (d + 1) / 2
    return n * D**2 + GEMV_COST * 2 * D**2 * products


def stream_cost(n: int, d: int, products: int) -> float:
    """Flops of ``products`` through the rows: X P and X^T (weights X), and the change of basis."""
    return products * (4.0 * n * d**2 + 8.0 * d**3)


def noise_of(where: str, frame: Eigenframe, products: int) -> RowNoise:
    """The cheaper operator for so many products, among those that fit in memory.

    At n = 10,000 a curve of 7,000 steps takes the table up to d = 130 and a hundred products up to
    d = 40 (measured: the two cost the same at about 110 and 30); beyond, and where 24 D^2 bytes
    are too many, the rows.
    """
    n = frame.p.n
    r = frame.rank
    fits = table_bytes(r) <= memory_budget()
    if fits and table_cost(n, r, products) <= stream_cost(n, r, products):
        table = _tables.get(frame.p) or Tabulated(frame)
        if 8.0 * table.triangle.D**2 <= KEPT_BYTES:
            _tables[frame.p] = table
        return table
    _require_memory(where, r, 8.0 * (MATRICES * r**2 + 3 * BLOCK_NUMBERS), "streamed moments")
    return Streamed(frame)
