"""The matrices behind ``certify_convex``, the same for floats and for exact fractions.

Everything is a quadratic form in (w, w-, w--, u-, u), errors and gradients at two successive
points y- and y, with w* = 0 and L = 1; beside it stand the coefficients of F = f(y) - f* and of
F- = f(y-) - f*.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Number: TypeAlias = Any  # a float, a Fraction, or an expression of cvxpy
Array: TypeAlias = Any  # of such numbers
POINTS = ("y", "y-", "*")
PAIRS = tuple(itertools.permutations(POINTS, 2))


class MethodNumbers(NamedTuple):
    """a = alpha L, beta, theta, m = mu/L, R = L_max/L and z = zeta0^2: floats, or Fractions."""

    a: Number
    beta: Number
    theta: Number
    m: Number
    R: Number
    z: Number


@dataclass(frozen=True)
class Multipliers:
    """A Lyapunov function V = S^T P S + p F- and the multipliers that prove its decrease.

    Attributes
    ----------
    P, pairs : ndarray, dict
        The matrix P, of shape (4, 4); the multipliers of the inequalities Q_ij, >= 0.
    p, n_value : Fraction
        Weight of the last value; share of the noise's weight P_11 a^2 z that values of f bound.
    above : tuple of (Fraction, Fraction)
        The multipliers of Q for (y-, *) and (*, y-): V >= ||w||^2 up to a factor.
    """

    P: Array
    p: Number
    n_value: Number
    pairs: dict[tuple[str, str], Number]
    above: tuple[Number, Number]


def symmetric(x: Array, y: Array) -> Array:
    """<x, y> as a symmetric matrix."""
    return (np.outer(x, y) + np.outer(y, x)) / 2


def interpolation(m: Number, dx: Array, u_i: Array, u_j: Array) -> Array:
    """f_i - f_j - <u_j, x_i - x_j> >= (|du|^2 + m |dx|^2 - 2 m <du, dx>)/(2 (1 - m)), L = 1.

    The conditions for three points to lie on a function of F_{m,1} (Taylor, Hendrickx and
    Glineur 2017); here without f_i - f_j.
    """
    du = u_i - u_j
    curved = np.outer(du, du) + m * np.outer(dx, dx) - 2 * m * symmetric(du, dx)
    return -symmetric(u_j, dx) - curved / (2 * (1 - m))


class Decrease:
    """What must hold for V to fall by r^2 a step with one method, and to bound |w|^2."""

    def __init__(self, method: MethodNumbers) -> None:
        # 1, as a number of the method's kind
        self.method = method
        one = method.m / method.m
        w, w1, w2, u1, u = np.eye(5, dtype=int) * one
        y = w + method.theta * (w - w1)
        y1 = w1 + method.theta * (w1 - w2)
        after = w + method.beta * (w - w1) - method.a * u
        zero = w - w
        self.now = np.array([w, w1, w2, u1])  # the state
        self.then = np.array([after, w, w1, u])  # the state after a step without noise
        self.value = -np.outer(u, u)  # with 2 R F it bounds the noise of a row,
        self.slope = method.R * symmetric(u, y) + self.value  # and so does R <u, y> - |u|^2
        places = {"y": y, "y-": y1, "*": zero}
        slopes = {"y": u, "y-": u1, "*": zero}
        self.interpolation = {  # Q_ij >= 0, the quadratic part
            (i, j): interpolation(method.m, places[i] - places[j], slopes[i], slopes[j])
            for i, j in PAIRS
        }

    def noise_weight(self, P: Array) -> Number:
        """What a row's noise is multiplied with in E V+."""
        return P[0, 0] * (self.method.a * self.method.a * self.method.z)

    def fall(self, x: Multipliers, r2: Number) -> Array:
        """r^2 V - E V+ - sum of multipliers times Q_ij: must be >= 0 as a matrix."""
        mean = self.then.T @ x.P @ self.then - r2 * (self.now.T @ x.P @ self.now)
        noise = (self.noise_weight(x.P) - x.n_value) * self.slope + x.n_value * self.value
        held = sum(x.pairs[pair] * self.interpolation[pair] for pair in PAIRS)
        return -(mean + noise + held)

    def values(self, x: Multipliers, r2: Number) -> tuple[Number, Number]:
        """The coefficients of F and F- in E V+ - r^2 V + sum of multipliers times Q_ij: 0."""
        y, y1 = (
            sum(((i == point) - (j == point)) * x.pairs[i, j] for i, j in PAIRS if point in (i, j))
            for point in ("y", "y-")
        )
        return x.p + 2 * self.method.R * x.n_value + y, y1 - r2 * x.p

    def height(self, x: Multipliers, least: Number) -> Array:
        """V - least |w|^2 - multipliers times Q: must be >= 0 as a matrix (on the state)."""
        first, second = x.above
        held = first * self.interpolation["y-", "*"] + second * self.interpolation["*", "y-"]
        corner = np.diag([1, 0, 0, 0])
        # Q of (y-, *) touches the state alone: its first four rows and columns
        return x.P - held[:4, :4] - corner * least

    def signs(self, x: Multipliers) -> list[Number]:
        """What must be >= 0 beside the multipliers themselves."""
        return [self.noise_weight(x.P) - x.n_value, x.p - x.above[0] + x.above[1]]

    def proved(self, x: Multipliers, r2: Fraction, least: Fraction) -> bool:
        """Do these Fractions prove E V+ <= r^2 V and V >= least |w|^2? Exact arithmetic."""
        return (
            min([x.p, x.n_value, *x.above, *x.pairs.values(), *self.signs(x)]) >= 0
            and least > 0
            and all(value == 0 for value in self.values(x, r2))
            and positive_definite(self.fall(x, r2))
            and positive_definite(self.height(x, least))
        )


def positive_definite(matrix: Array) -> bool:
    """Is a symmetric matrix of Fractions positive definite? By exact LDL^T: all pivots > 0."""
    rest = np.array(matrix, dtype=object)
    for k in range(len(rest)):
        pivot = rest[k, k]
        if pivot <= 0:
            return False
        rest[k + 1 :, k + 1 :] -= np.outer(rest[k + 1 :, k], rest[k, k + 1 :]) / pivot
    return True
