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

from .._compiled import on_disk
from .schedule import FloatArray, Table

BatchTable = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # a Table, and zeta0^2

# Sums may be reordered and contracted, but NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "nsz", "arcp"}


@functools.cache
def compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, compiled when first asked for (numba is slow to import)."""
    kernel: Callable[..., Any] = on_disk(body, nogil=True, fastmath=FAST, error_model="numpy")
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
    kept: FloatArray,
) -> FloatArray:
    """[error2, grad2, gap] (T + 1, 3): the step of the module's docstring, d of them at once.

    ``state`` (3, d) holds p, c and q, and is moved on. ``kept`` (T, 3, d) takes the state before
    each step, and is of size 0 where nobody asks for it.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    d = lam.size
    p = state[0]
    c = state[1]
    q = state[2]
    totals = np.full((T + 1, 3), np.inf)
    error2 = 0.0
    grad2 = 0.0
    gap = 0.0
    trace = 0.0
    ahead = theta[0]
    for j in range(d):
        trace += lam[j] * (p[j] + 2.0 * ahead * c[j] + ahead * ahead * q[j])
        error2 += p[j]
        grad2 += lam[j] * lam[j] * p[j]
        gap += lam[j] * p[j]
    totals[0, 0] = error2
    totals[0, 1] = grad2
    totals[0, 2] = 0.5 * gap
    for k in range(T):
        if kept.size > 0:
            for j in range(d):
                kept[k, 0, j] = p[j]
                kept[k, 1, j] = c[j]
                kept[k, 2, j] = q[j]
        drive = trace + noise  # tr(A P_y) + noise, known from the step before
        a = alpha[k]
        look = theta[k]
        ahead = theta[k + 1] if k + 1 < T else 0.0
        strength = a * a * zeta2[k]
        error2 = 0.0
        grad2 = 0.0
        gap = 0.0
        trace = 0.0
        for j in range(d):
            x = a * lam[j]
            s = beta[k] - look * x
            at_y = p[j] + 2.0 * look * c[j] + look * look * q[j]
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
        if not error2 + grad2 + abs(trace) < np.inf:
            break
        totals[k + 1, 0] = error2
        totals[k + 1, 1] = grad2
        totals[k + 1, 2] = 0.5 * gap
    return totals


def pulled_back(
    table: BatchTable,
    lam: FloatArray,
    count: FloatArray,
    noise: float,
    kept: FloatArray,
    cotangent: FloatArray,
) -> tuple[FloatArray, float]:
    """The adjoint of ``moments``: derivatives of the final value in the table, and in ``noise``.

    d_NAME is the derivative of the final value in NAME. ``cotangent`` (3, d), the derivative in the
    last state, becomes the derivative in the first. The moments are linear in start and noise, so
    that these two alone give the value of every start at every noise; ``kept`` of size 0 asks for
    no more, and the derivatives in the table (4, T) are then 0.
    """
    alpha, beta, theta, zeta2 = table
    T = alpha.size
    d = lam.size
    gradient = np.zeros((4, T))
    d_p = cotangent[0]
    d_c = cotangent[1]
    d_q = cotangent[2]
    d_noise = 0.0
    for k in range(T - 1, -1, -1):
        a = alpha[k]
        look = theta[k]
        strength = a * a * zeta2[k]
        d_drive = 0.0
        for j in range(d):
            d_drive += strength * count[j] * lam[j] * (d_p[j] + d_c[j] + d_q[j])
        d_noise += d_drive
        if kept.size > 0:
            p = kept[k, 0]
            c = kept[k, 1]
            q = kept[k, 2]
            drive = noise
            for j in range(d):
                drive += lam[j] * (p[j] + 2.0 * look * c[j] + look * look * q[j])
            d_a = 0.0
            d_beta = 0.0
            d_theta = 0.0
            d_strength = 0.0
            for j in range(d):
                x = a * lam[j]
                s = beta[k] - look * x
                at_y = p[j] + 2.0 * look * c[j] + look * look * q[j]
                cross = s * c[j] - x * p[j]
                d_square = d_p[j] + d_c[j] + d_q[j]
                d_cross = 2.0 * d_p[j] + d_c[j] - x * d_square
                d_y = strength * lam[j] * lam[j] * d_square + lam[j] * d_drive
                d_s = d_square * (2.0 * s * q[j] - x * c[j]) + d_cross * c[j]
                d_x = -d_square * (s * c[j] + cross) - d_cross * p[j] - look * d_s
                d_beta += d_s
                d_theta += 2.0 * d_y * (c[j] + look * q[j]) - x * d_s
                d_a += lam[j] * d_x
                d_strength += lam[j] * (lam[j] * at_y + count[j] * drive) * d_square
            gradient[0, k] = d_a + 2.0 * a * zeta2[k] * d_strength
            gradient[1, k] = d_beta
            gradient[2, k] = d_theta
            gradient[3, k] = a * a * d_strength
        for j in range(d):
            x = a * lam[j]
            s = beta[k] - look * x
            d_square = d_p[j] + d_c[j] + d_q[j]
            d_cross = 2.0 * d_p[j] + d_c[j] - x * d_square
            d_y = strength * lam[j] * lam[j] * d_square + lam[j] * d_drive
            d_p[j] += d_y - x * d_cross
            d_c[j] = s * (d_cross - x * d_square) + 2.0 * look * d_y
            d_q[j] = s * s * d_square + look * look * d_y
    return gradient, d_noise
