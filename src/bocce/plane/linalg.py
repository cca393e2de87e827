"""Numbers of any size: the largest of many, and the small systems of Newton on the plane."""

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


def length(far: float, d: Array) -> float:
    """What a direction is divided by that moves the farthest score by ``far``."""
    return far if 0.0 < far < math.inf else largest(d)


def falls(change: float, slack: float, after: float, before: float) -> bool:
    """Does f fall? And where that is rounding, is the slope at the end such that it must?

    ``before`` < 0 and ``after`` are the slopes along the step at its ends. A convex f falls if
    after <= 0, and a nearly quadratic one, as f is wherever rounding matters, if after < -before.
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
    """H^-1 a, by H scaled to a unit diagonal, to which a little is added where it is singular."""
    scaled = H * unit
    scaled *= unit[:, None]
    more = 1e-13
    while True:
        scaled.flat[:: a.size + 1] = 1.0 + more
        _, x, failed = lapack.dposv(scaled, a * unit)
        if not failed:
            return np.asarray(x * unit)
        more *= 100.0
