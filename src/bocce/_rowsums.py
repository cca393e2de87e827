"""Matrices that are sums over rows, of one part of the data at a time, and what they determine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from .problems import Problem
from .rows import Array

SINGULAR = 1e-11  # of the largest eigenvalue of a matrix with unit diagonal: smaller ones are zero
NOISE = 1e-6  # An entry of a unit vector of a kernel below this number is rounding.

Join = Callable[[Any, Any], Any]
Ask = Callable[..., tuple[Any, ...]]


def over(p: Problem, join: Join, ask: Ask, *args: Any) -> tuple[Any, ...]:
    """What ``ask(part, *args)`` gives, joined over the parts of the data; parts may have parts."""
    if not p.in_parts:
        return ask(p, *args)
    found: tuple[Any, ...] = ()
    for _, answer in p.over(over, join, ask, *args):
        if found:
            found = tuple(map(join, found, answer))
        else:
            found = answer
    return found


def matrix(p: Problem, outputs: int, weights: Callable[[int, int], Array]) -> Array:
    """sum_i W_i (x) x_i x_i^T, where ``weights(k, l)`` are the entries of all W_i."""
    m = p.rows.d
    found = np.zeros((m, outputs, m, outputs))
    for k in range(outputs):
        for l in range(k + 1):
            found[:, k, :, l] = gram(p, weights(k, l))
            found[:, l, :, k] = found[:, k, :, l]
    return found.reshape(m * outputs, m * outputs)


def gram(p: Problem, weights: Array) -> Array:
    """sum_i s_i x_i x_i^T with weights of any sign: rows take roots of positive ones."""
    total = np.zeros((p.rows.d, p.rows.d))
    for sign in (1.0, -1.0):
        if (some := (sign * weights).clip(0.0)).any():
            total += sign * p.n * p.rows.gram(some)
    return total


def with_shifts(A: Array, outputs: int) -> Array:
    """A matrix that is zero along equal moves of all outputs, with curvature along those moves.

    The rest of its inverse and of its kernel do not change.
    """
    m = A.shape[0] // outputs
    size = A.diagonal().reshape(m, outputs).mean(axis=1)
    size[size <= 0.0] = 1.0
    return A + np.kron(np.diag(size), np.full((outputs, outputs), 1.0 / outputs))


def pseudo_inverse(A: Array) -> Array:
    """Of a symmetric matrix that is not negative; its inverse where there is one."""
    return inverse_and_kernel(A)[0]


def inverse_and_kernel(A: Array) -> tuple[Array, Array]:
    """The pseudo-inverse, and the directions along which the matrix is zero, as columns.

    Units do not matter: the matrix is judged with a unit diagonal.
    """
    size = np.sqrt(A.diagonal().clip(0.0))
    size[size == 0.0] = 1.0
    unit = A / size / size[:, None]
    factor, failed = lapack.dpotrf(unit, lower=1)
    if not failed and factor.diagonal().min(initial=1.0) ** 2 > SINGULAR:
        half, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(half) + np.tril(half, -1).T
        kernel = unit[:, :0]
    else:
        values, vectors = np.linalg.eigh(unit)
        used = values > SINGULAR * max(values[-1], 0.0)
        inverse = (vectors[:, used] / values[used]) @ vectors[:, used].T
        kernel = sparse_basis(vectors[:, ~used])
    return inverse / size / size[:, None], kernel / size[:, None]


def sparse_basis(vectors: Array) -> Array:
    """A basis of the same space in reduced form: each vector has an entry, as late as may be, that
    the others lack. A copy of a column is then a vector with two entries, and rounding is zero.

    >>> sparse_basis(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]]) / 2.0)
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.],
           [ 0., -1.]])
    """
    basis = vectors.T.copy()
    for done in range(len(basis)):
        largest = np.abs(basis[done:]).max(axis=0)
        place = int(np.flatnonzero(largest >= 0.3 * largest.max())[-1])
        row = done + int(np.abs(basis[done:, place]).argmax())
        basis[[done, row]] = basis[[row, done]]
        basis[done] /= basis[done, place]
        others = np.arange(len(basis)) != done
        basis[others] -= np.outer(basis[others, place], basis[done])
    basis[np.abs(basis) <= NOISE] = 0.0
    return 0.0 - basis[::-1].T
