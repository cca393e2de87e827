"""The two passes over a schedule behind ``certify``: means forwards, weights backwards.

Along an eigenvalue lam the error e and the velocity v obey, with x = alpha lam, s = beta - theta x,

    v+ = s v - x e - alpha xi,    e+ = e + v+,    gradient taken at e + theta v,

so H = [[1-x, s], [-x, s]] and the noise enters along (1, 1). A table is (alpha, beta, theta). Plain
Python here; `compiled` hands the same functions to numba.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._compiled import on_disk, part
from ..schedules.schedule import FloatArray, Table

IntArray = npt.NDArray[np.int64]

LARGEST_WEIGHT = 1e290  # beyond it a weight is on its way to overflow, and the bound is infinite


@functools.cache
def compiled(body: Callable[..., Any]) -> Callable[..., Any]:
    """``body``, compiled when first used (numba is slow to import)."""
    kernel: Callable[..., Any] = on_disk(body, nogil=True)
    return kernel


def means(
    table: Table, lam: FloatArray, error0: FloatArray, apart: bool, L_max: float, excess: float
) -> tuple[FloatArray, FloatArray]:
    """The means after the last step, and what they feed into the noise at each step.

    ``fed[k]`` has sum lam (L_max - lam) m_y^2 and sum excess lam m_y^2; the largest terms instead
    of the sums where the start is not known by eigenvalue (``apart`` is false).
    """
    alpha, beta, theta = table
    fed = np.zeros((alpha.size, 2))
    m = np.sqrt(error0)
    v = np.zeros(lam.size)
    for k in range(alpha.size):
        for i in range(lam.size):
            y = m[i] + theta[k] * v[i]
            first = lam[i] * (L_max - lam[i]) * y * y
            second = excess * lam[i] * y * y
            if apart:
                fed[k, 0] += first
                fed[k, 1] += second
            else:
                fed[k, 0] = max(fed[k, 0], first)
                fed[k, 1] = max(fed[k, 1], second)
            x = alpha[k] * lam[i]
            v[i] = (beta[k] - theta[k] * x) * v[i] - x * m[i]
            m[i] += v[i]
    return m, fed


def weights(
    table: Table,
    lam: FloatArray,
    final: FloatArray,
    fed: FloatArray,
    aim: FloatArray,
    reach: FloatArray,
    L_max: float,
    excess: float,
    zeta2: float,
    chi2: float,
    chi_tilde2: float,
) -> tuple[float, float]:
    """What sampling adds to sum final E e_T^2: at most, without and with noise at the minimiser.

    Backwards, W <- H^T W H + q (1, theta)(1, theta)^T. Each step needs a line c1 + c2 t above the
    points (1/lam, u), u = (1, 1) W (1, 1)^T; of these lines it takes the lowest at t = aim[k]. lam
    must decrease, so that 1/lam grows.

    Where ``reach`` (T, 2) is not empty, lam are nodes of an interval, and u and lam u are nowhere
    on it more than reach[k] times their largest values there. The line is then c1 or c2 t alone.
    """
    alpha, beta, theta = table
    W = np.zeros((3, lam.size))
    W[0] = final
    u = np.empty(lam.size)
    hull = np.empty(lam.size + 1, np.int64)
    start = 0.0
    total = 0.0
    for k in range(alpha.size - 1, -1, -1):
        c1, slope = largest(W, lam, u)
        if c1 == math.inf:
            return math.inf, math.inf
        c2 = 0.0
        if reach.size > 0:
            c1 *= reach[k, 0]
            c2 = slope * reach[k, 1]
            c1, c2 = (c1, 0.0) if c1 <= c2 * aim[k] or aim[k] == math.inf else (0.0, c2)
        elif aim[k] < math.inf:
            c1, c2 = line_above(lam, u, aim[k], c1, hull)
        strength = alpha[k] ** 2 * zeta2
        moving = c1 * fed[k, 0] + c2 * fed[k, 1]
        resting = c1 * chi2 + c2 * chi_tilde2
        start += strength * moving
        total += strength * (math.sqrt(moving) + math.sqrt(resting)) ** 2
        for i in range(lam.size):
            q = strength * lam[i] * (c1 * (L_max - lam[i]) + c2 * excess)
            carry_back(W, i, u[i], alpha[k] * lam[i], beta[k], theta[k], q)
    return start, total


@part(forceinline=True)
def carry_back(
    W: FloatArray, i: int, u: float, x: float, beta: float, theta: float, q: float
) -> None:
    """W <- H^T W H + q (1, theta)(1, theta)^T along eigenvalue i."""
    s = beta - theta * x
    a = W[0, i]
    b = W[1, i]
    W[0, i] = a - 2.0 * x * (a + b) + x * x * u + q
    W[1, i] = s * (a + b - x * u) + q * theta
    W[2, i] = s * s * u + q * theta**2


@part(forceinline=True)
def largest(W: FloatArray, lam: FloatArray, u: FloatArray) -> tuple[float, float]:
    """The largest u, infinite where a weight is on its way to overflow, and the largest lam u.

    ``u`` takes (1, 1) W (1, 1)^T along each eigenvalue; W has rows W_11, W_12 and W_22.
    """
    top = 0.0
    slope = 0.0
    for i in range(lam.size):
        size = W[0, i] + 2.0 * W[1, i] + W[2, i]
        if not size < LARGEST_WEIGHT:
            return math.inf, math.inf
        u[i] = max(size, 0.0)
        top = max(top, u[i])
        slope = max(slope, lam[i] * u[i])
    return top, slope


@part(forceinline=True)
def line_above(
    lam: FloatArray, u: FloatArray, aim: float, top: float, hull: IntArray
) -> tuple[float, float]:
    """(c1, c2): the line c1 + c2 t above the points (1/lam, u) that is lowest at t = ``aim``.

    ``top`` is the largest u; ``hull`` is scratch.
    """
    c1 = top
    c2 = 0.0
    count = upper_hull(lam, u, hull)
    for j in range(1, count):
        i = hull[j]
        if aim <= 1.0 / lam[i]:
            o = hull[j - 1]
            t, height = (0.0, 0.0) if o < 0 else (1.0 / lam[o], u[o])
            slope = (u[i] - height) / (1.0 / lam[i] - t)
            if slope > 0.0:
                c1 = max(height - slope * t, 0.0)
                c2 = slope
            break
    short = 0.0  # of rounding: the line must lie above every point
    for i in range(lam.size):
        short = max(short, u[i] - c1 - c2 / lam[i])
    return c1 + short, c2


@part(forceinline=True)
def upper_hull(lam: FloatArray, u: FloatArray, hull: IntArray) -> int:
    """Write the corners of the points' upper hull, from the origin (-1) on; returns their number.

    The last corner is dropped while it lies below the line from the corner before it to point i.
    """
    count = 1
    hull[0] = -1
    for i in range(lam.size):
        while count > 1:
            p = hull[count - 1]
            o = hull[count - 2]
            t, height = (0.0, 0.0) if o < 0 else (1.0 / lam[o], u[o])
            t_p = 1.0 / lam[p]
            t_i = 1.0 / lam[i]
            if (u[p] - height) * (t_i - t) > (u[i] - height) * (t_p - t):
                break
            count -= 1
        hull[count] = i
        count += 1
    return count
