"""Overflow-safe norms, and the small linear systems of Newton's method on the plane."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import blas, lapack

from .._types import Array
from ..problems import norm as norm


def largest(v: Array) -> float:
    """max |v_i|."""
    flat = v.reshape(-1)
    return abs(float(flat[blas.idamax(flat)]))


def length(max_change: float, d: Array) -> float:
    """The number by which a direction is divided that changes scores by at most ``max_change``."""
    if 0.0 < max_change < math.inf:
        return max_change
    return largest(d)


def falls(change: float, slack: float, after: float, before: float) -> bool:
    """Does f fall? If the change is below rounding, do the slopes say that f falls?

    ``before`` < 0 and ``after`` are the slopes along the step at its ends. A convex f falls if
    after <= 0. A nearly quadratic f (and f is nearly quadratic where rounding matters) falls if
    after < -before.
    """
    if change < -slack:
        return True
    return change <= slack and after <= -0.9 * before


def units(H: Array) -> Array:
    """1/sqrt(H_jj), and 1 for a direction without curvature."""
    diagonal = H.diagonal()
    if diagonal.min() > 0.0:
        return np.asarray(diagonal**-0.5)
    return np.asarray(np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5)


def solve(H: Array, a: Array, unit: Array) -> Array:
    """H^-1 a. H is scaled to a unit diagonal, to which a little is added if H is singular."""
    scaled = H * unit
    scaled *= unit[:, None]
    more = 1e-13
    while True:
        scaled.flat[:: a.size + 1] = 1.0 + more
        _, x, failed = lapack.dposv(scaled, a * unit)
        if not failed:
            return np.asarray(x * unit)
        more *= 100.0
