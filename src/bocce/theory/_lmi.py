"""The matrices behind ``certify_convex``, the same for floats and for exact fractions.

Everything is a quadratic form in (w, w-, w--, u-, u), errors and gradients at two successive
points y- and y, with w* = 0 and L = 1; beside it stand the coefficients of F = f(y) - f* and of
F- = f(y-) - f*.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = Any  # a float, a Fraction, or an expression of cvxpy
Array: TypeAlias = Any  # of such numbers
POINTS = ("y", "y-", "*")
PAIRS = tuple(itertools.permutations(POINTS, 2))


@dataclass(frozen=True)
class MethodNumbers:
    """a = alpha L, beta, theta, m = mu/L, R = L_max/L and z = zeta0^2: floats, or Fractions."""

    a: Number
    beta: Number
    theta: Number
    m: Number
    R: Number
    z: Number


def symmetric(x: Array, y: Array) -> Array:
    """<x, y> as a symmetric matrix."""
    return (np.outer(x, y) + np.outer(y, x)) / 2


@dataclass(frozen=True)
class Matrices:
    """What the inequality is made of, for one method."""

    now: Array  # (4, 5): the state (w, w-, w--, u-)
    then: Array  # (4, 5): the state after a step without noise
    slope: Array  # R <u, y> - |u|^2, what bounds the noise of a row
    value: Array  # -|u|^2: the same with 2 R F
    interpolation: dict[tuple[str, str], Array]  # Q_ij >= 0, the quadratic part


def matrices(method: MethodNumbers) -> Matrices:
    one = method.m / method.m  # a number of the method's kind
    w, w1, w2, u1, u = np.eye(5, dtype=int) * one
    y = w + method.theta * (w - w1)
    y1 = w1 + method.theta * (w1 - w2)
    after = w + method.beta * (w - w1) - method.a * u
    squared = -np.outer(u, u)
    zero = w - w
    places, slopes = {"y": y, "y-": y1, "*": zero}, {"y": u, "y-": u1, "*": zero}
    return Matrices(
        now=np.array([w, w1, w2, u1]),
        then=np.array([after, w, w1, u]),
        slope=method.R * symmetric(u, y) + squared,
        value=squared,
        interpolation={
            (i, j): _interpolation(method.m, places[i] - places[j], slopes[i], slopes[j])
            for i, j in PAIRS
        },
    )


def _interpolation(m: Number, dx: Array, u_i: Array, u_j: Array) -> Array:
    """f_i - f_j - <u_j, x_i - x_j> >= (|du|^2 + m |dx|^2 - 2 m <du, dx>)/(2 (1 - m)), L = 1.

    The conditions for three points to lie on a function of F_{m,1} (Taylor, Hendrickx and
    Glineur 2017); here without f_i - f_j.
    """
    du = u_i - u_j
    curved = np.outer(du, du) + m * np.outer(dx, dx) - 2 * m * symmetric(du, dx)
    return -symmetric(u_j, dx) - curved / (2 * (1 - m))


@dataclass(frozen=True)
class Multipliers:
    """A Lyapunov function V = S^T P S + p F- and the multipliers that prove its decrease.

    Attributes
    ----------
    P, pairs : ndarray, dict
        The matrix P, of shape (4, 4); the multipliers of the inequalities Q_ij, >= 0.
    p, n_value : Fraction
        Weight of the last value; share of the noise's weight that values of f bound.
    above : tuple of (Fraction, Fraction)
        The multipliers of Q for (y-, *) and (*, y-): V >= ||w||^2 up to a factor.
    """

    P: Array  # (4, 4)
    p: Number
    n_value: Number  # of the noise's weight P_11 a^2 z, the share bounded by values
    pairs: dict[tuple[str, str], Number]  # of Q_ij, >= 0
    above: tuple[Number, Number]  # of Q for (y-, *) and (*, y-): V >= |w|^2 up to a factor


def fall(x: Multipliers, method: MethodNumbers, M: Matrices, r2: Number) -> Array:
    """r^2 V - E V+ - sum of multipliers times Q_ij: must be >= 0 as a matrix."""
    weight = x.P[0, 0] * (method.a * method.a * method.z)
    mean = M.then.T @ x.P @ M.then - r2 * (M.now.T @ x.P @ M.now)
    noise = (weight - x.n_value) * M.slope + x.n_value * M.value
    held = sum(x.pairs[pair] * M.interpolation[pair] for pair in PAIRS)
    return -(mean + noise + held)


def values(x: Multipliers, method: MethodNumbers, r2: Number) -> tuple[Number, Number]:
    """The coefficients of F and F- in E V+ - r^2 V + sum of multipliers times Q_ij: must be 0."""
    balance = {
        point: sum(sign * x.pairs[pair] for pair in PAIRS for sign in _signs(pair, point))
        for point in POINTS
    }
    return x.p + 2 * method.R * x.n_value + balance["y"], balance["y-"] - r2 * x.p


def _signs(pair: tuple[str, str], point: str) -> list[int]:
    return [1] * (pair[0] == point) + [-1] * (pair[1] == point)


def height(x: Multipliers, M: Matrices, least: Number) -> Array:
    """V - least |w|^2 - multipliers times Q: must be >= 0 as a matrix (on the state)."""
    first, second = x.above
    held = first * M.interpolation["y-", "*"] + second * M.interpolation["*", "y-"]
    corner = np.zeros((4, 4), dtype=int)
    corner[0, 0] = 1
    # Q of (y-, *) touches the state alone: its first four rows and columns
    return x.P - held[:4, :4] - corner * least


def positive_definite(matrix: Array) -> bool:
    """Is a symmetric matrix of Fractions positive definite? By exact LDL^T: all pivots > 0."""
    rest = np.array(matrix, dtype=object)
    for k in range(len(rest)):
        pivot = rest[k, k]
        if pivot <= 0:
            return False
        rest[k + 1 :, k + 1 :] -= np.outer(rest[k + 1 :, k], rest[k, k + 1 :]) / pivot
    return True


def proves(x: Multipliers, method: MethodNumbers, r2: Fraction, least: Fraction) -> bool:
    """Do these Fractions prove E V+ <= r^2 V and V >= least |w|^2? Exact arithmetic throughout."""
    M = matrices(method)
    weight = x.P[0, 0] * method.a * method.a * method.z
    signs = [x.p, x.n_value, weight - x.n_value, *x.above, *x.pairs.values(), least]
    return (
        min(signs) >= 0
        and least > 0
        and all(value == 0 for value in values(x, method, r2))
        and x.p - x.above[0] + x.above[1] >= 0
        and positive_definite(fall(x, method, M, r2))
        and positive_definite(height(x, M, least))
    )
