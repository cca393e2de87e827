"""The second moments of the error on Gaussian rows, step by step, and their adjoint.

For rows ``x ~ N(0, A)`` with ``A = diag(lam)`` and targets of variance ``noise`` around the best
prediction, the covariance of one row's gradient at an error of second moment P is

    N(P) = E[x x^T (x^T P x)] - A P A + noise A = A P A + (tr(A P) + noise) A.

So the diagonal of P closes. Let e be the error along eigenvalue j and v its velocity; p, c, q are
the second moments of (e, e), (e, v), (v, v). With ``x = alpha lam_j``, ``s = beta - theta x``

    c' = s c - x p                                        E e v_next
    q' = s (s q - x c) - x c' + alpha^2 zeta0^2 N_jj      E v_next^2
    p  <- p + 2 c' + q',    c <- c' + q',    q <- q'.

An eigenvalue of multiplicity ``count`` is one node: p, c, q are then sums over its directions.

Plain Python here; `compiled` hands the same functions to numba.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._compiled import on_disk, part
from .schedule import FloatArray, Table

BatchTable = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # a Table, and zeta0^2

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}
KERNEL: dict[str, Any] = {"fastmath": FAST, "error_model": "numpy"}
Step = tuple[float, float, float, float]  # a row of a BatchTable


@functools.cache
def compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, compiled when first used (numba is slow to import)."""
    kernel: Callable[..., Any] = on_disk(body, nogil=True, **KERNEL)
    return kernel


def with_batches(table: Table, zeta0_2: FloatArray | float) -> BatchTable:
    """The table of a schedule and zeta0^2 of each step, or of all."""
    alpha, beta, theta = table
    return alpha, beta, theta, np.full(alpha.size, zeta0_2)


def at_rest(errors: FloatArray) -> FloatArray:
    """The state (p, c, q) of a start without velocity."""
    state = np.zeros((3, errors.size))
    state[0] = errors
    return state


def moments(
    table: BatchTable,
    lam: FloatArray,
    count: FloatArray,
    noise: float,
    state: FloatArray,
    states: FloatArray,
) -> FloatArray:
    """[error2, grad2, gap] (T + 1, 3): the step of the module's docstring, d of them at once.

    ``state`` (3, d) holds p, c and q, and is moved on. ``states`` (T, 3, d) takes the state before
    each step, unless its size is 0.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    totals = np.full((T + 1, 3), np.inf)
    trace = measured(lam, state, theta[0], totals[0])
    for k in range(T):
        if states.size > 0:
            keep(state, states[k])
        ahead = theta[k + 1] if k + 1 < T else 0.0
        row = (alpha[k], beta[k], theta[k], zeta2[k])
        trace, error2, grad2, gap = moved(row, lam, count, trace + noise, ahead, state)
        if not error2 + grad2 + abs(trace) < np.inf:
            break
        totals[k + 1, 0] = error2
        totals[k + 1, 1] = grad2
        totals[k + 1, 2] = 0.5 * gap
    return totals


@part(inline="always", **KERNEL)
def keep(state: FloatArray, place: FloatArray) -> None:
    for j in range(state.shape[1]):
        place[0, j] = state[0, j]
        place[1, j] = state[1, j]
        place[2, j] = state[2, j]


@part(inline="always", **KERNEL)
def measured(lam: FloatArray, state: FloatArray, ahead: float, totals: FloatArray) -> float:
    """tr(A P_y), y the point with lookahead ``ahead``; ``totals`` takes error2, grad2 and gap."""
    p = state[0]
    c = state[1]
    q = state[2]
    error2 = 0.0
    grad2 = 0.0
    gap = 0.0
    trace = 0.0
    for j in range(lam.size):
        trace += lam[j] * (p[j] + 2.0 * ahead * c[j] + ahead * ahead * q[j])
        error2 += p[j]
        grad2 += lam[j] * lam[j] * p[j]
        gap += lam[j] * p[j]
    totals[0] = error2
    totals[1] = grad2
    totals[2] = 0.5 * gap
    return trace


@part(inline="always", **KERNEL)
def moved(
    row: Step, lam: FloatArray, count: FloatArray, drive: float, ahead: float, state: FloatArray
) -> tuple[float, float, float, float]:
    """Move the state by one step; returns tr(A P_y) of the next step, error2, grad2 and 2 gap.

    ``drive`` is tr(A P_y) + noise of this step, ``ahead`` the lookahead of the next one.
    """
    alpha, beta, theta, zeta2 = row
    strength = alpha * alpha * zeta2
    p = state[0]
    c = state[1]
    q = state[2]
    error2 = 0.0
    grad2 = 0.0
    gap = 0.0
    trace = 0.0
    for j in range(lam.size):
        x = alpha * lam[j]
        s = beta - theta * x
        at_y = p[j] + 2.0 * theta * c[j] + theta * theta * q[j]
        injected = strength * lam[j] * (lam[j] * at_y + count[j] * drive)
        cross = s * c[j] - x * p[j]
        square = s * (s * q[j] - x * c[j]) - x * cross + injected
        e = max(p[j] + 2.0 * cross + square, 0.0)  # rounding may leave -1e-17 of the largest
        ev = cross + square
        p[j] = e
        c[j] = ev
        q[j] = square
        trace += lam[j] * (e + 2.0 * ahead * ev + ahead * ahead * square)
        error2 += e
        grad2 += lam[j] * lam[j] * e
        gap += lam[j] * e
    return trace, error2, grad2, gap


def moments_backward(
    table: BatchTable,
    lam: FloatArray,
    count: FloatArray,
    noise: float,
    states: FloatArray,
    cotangent: FloatArray,
) -> tuple[FloatArray, float]:
    """The adjoint of ``moments``: derivatives of the final value in the table, and in ``noise``.

    d_NAME is the derivative of the final value in NAME. ``cotangent`` (3, d), the derivative in the
    last state, becomes the derivative in the first. The moments are linear in start and noise, so
    that these two alone give the value of every start at every noise. With ``states`` of size 0 the
    derivatives in the table (4, T) are 0.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    gradient = np.zeros((4, T))
    d_p = cotangent[0]
    d_c = cotangent[1]
    d_q = cotangent[2]
    d_noise = 0.0
    for k in range(T - 1, -1, -1):
        row = (alpha[k], beta[k], theta[k], zeta2[k])
        strength = alpha[k] * alpha[k] * zeta2[k]
        d_drive = 0.0
        for j in range(lam.size):
            d_drive += strength * count[j] * lam[j] * (d_p[j] + d_c[j] + d_q[j])
        d_noise += d_drive
        if states.size > 0:
            d_row = row_derivatives(row, lam, count, noise, states[k], cotangent, d_drive)
            gradient[0, k] = d_row[0]
            gradient[1, k] = d_row[1]
            gradient[2, k] = d_row[2]
            gradient[3, k] = d_row[3]
        move_back(row, lam, cotangent, d_drive)
    return gradient, d_noise


@part(inline="always", **KERNEL)
def row_derivatives(
    row: Step,
    lam: FloatArray,
    count: FloatArray,
    noise: float,
    state: FloatArray,
    cotangent: FloatArray,
    d_drive: float,
) -> Step:
    """Derivatives in alpha, beta, theta and zeta0^2 of a step that begins at ``state``."""
    alpha, beta, theta, zeta2 = row
    strength = alpha * alpha * zeta2
    p = state[0]
    c = state[1]
    q = state[2]
    d_p = cotangent[0]
    d_c = cotangent[1]
    d_q = cotangent[2]
    drive = noise
    for j in range(lam.size):
        drive += lam[j] * (p[j] + 2.0 * theta * c[j] + theta * theta * q[j])
    d_alpha = 0.0
    d_beta = 0.0
    d_theta = 0.0
    d_strength = 0.0
    for j in range(lam.size):
        x = alpha * lam[j]
        s = beta - theta * x
        at_y = p[j] + 2.0 * theta * c[j] + theta * theta * q[j]
        cross = s * c[j] - x * p[j]
        d_square = d_p[j] + d_c[j] + d_q[j]
        d_cross = 2.0 * d_p[j] + d_c[j] - x * d_square
        d_y = strength * lam[j] * lam[j] * d_square + lam[j] * d_drive
        d_s = d_square * (2.0 * s * q[j] - x * c[j]) + d_cross * c[j]
        d_x = -d_square * (s * c[j] + cross) - d_cross * p[j] - theta * d_s
        d_beta += d_s
        d_theta += 2.0 * d_y * (c[j] + theta * q[j]) - x * d_s
        d_alpha += lam[j] * d_x
        d_strength += lam[j] * (lam[j] * at_y + count[j] * drive) * d_square
    d_alpha += 2.0 * alpha * zeta2 * d_strength
    return d_alpha, d_beta, d_theta, alpha * alpha * d_strength


@part(inline="always", **KERNEL)
def move_back(row: Step, lam: FloatArray, cotangent: FloatArray, d_drive: float) -> None:
    """Turn the derivative in the state after a step into the derivative in the state before it."""
    alpha, beta, theta, zeta2 = row
    strength = alpha * alpha * zeta2
    d_p = cotangent[0]
    d_c = cotangent[1]
    d_q = cotangent[2]
    for j in range(lam.size):
        x = alpha * lam[j]
        s = beta - theta * x
        d_square = d_p[j] + d_c[j] + d_q[j]
        d_cross = 2.0 * d_p[j] + d_c[j] - x * d_square
        d_y = strength * lam[j] * lam[j] * d_square + lam[j] * d_drive
        d_p[j] += d_y - x * d_cross
        d_c[j] = s * (d_cross - x * d_square) + 2.0 * theta * d_y
        d_q[j] = s * s * d_square + theta * theta * d_y
