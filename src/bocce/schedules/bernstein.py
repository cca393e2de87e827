"""A certificate's condition on a whole interval of eigenvalues, proved by Bernstein coefficients.

The condition of ``theory.lookahead_certificate`` says that a quartic in the eigenvalue is not
negative; a polynomial lies above its least Bernstein coefficient, so coefficients that are not
negative are a proof. docs/theory/lookahead.md has the argument.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from .schedule import FloatArray

_BINOMIALS = {m: np.array([math.comb(m, i) for i in range(m + 1)], dtype=float) for m in range(5)}
_DEPTH = 60
Number = TypeVar("Number", float, FloatArray)


def gain_factors(
    alpha: Number, beta: Number, theta: Number, r: Number, lam: Number
) -> tuple[Number, Number, Number, Number]:
    """Numerator and three denominators of g_r(lam) = r^4 lam top/(f1 f2 f3), each linear in lam.

    f1, f2, f3 are r^2 times 1 + phi2, 1 - phi2 - phi1, 1 - phi2 + phi1, written so that nothing
    cancels; all positive exactly when the noise-free method contracts faster than r at lam.
    """
    push, pull = alpha * (1.0 + theta), alpha * theta
    top = (push * push + (pull / r) ** 2) * (r * r + beta - pull * lam)
    top -= 2.0 * push * pull * (1.0 + beta - push * lam)
    f1 = r * r - beta + pull * lam
    f2 = (r * push - pull) * lam - (1.0 - r) * (r - beta)
    f3 = (1.0 + r) * (r + beta) - (r * push + pull) * lam
    return top, f1, f2, f3


@dataclass(frozen=True)
class TailSetting:
    """alpha, beta, theta and the rows' constants; the spectrum fills [mu, lam_max]."""

    alpha: float
    beta: float
    theta: float
    L_max: float
    kappa_tilde: float  # infinite if unknown
    mu: float
    lam_max: float


def _product(*factors: FloatArray) -> FloatArray:
    """The Bernstein coefficients of a product; a linear factor is its values at the two ends."""
    scaled = np.ones(1)
    for factor in factors:
        scaled = np.convolve(scaled, factor * _BINOMIALS[factor.size - 1])
    result: FloatArray = scaled / _BINOMIALS[scaled.size - 1]
    return result


@dataclass(frozen=True)
class Quartics:
    """What a certificate needs to hold, as quartics on [mu, lam_max] in Bernstein form.

    zeta2 is certified by weights c1 = (1-u)/L_max, c2 = u/kappa~ if
    gain >= zeta2 noise on the interval, each (1-u) first + u second.
    """

    gain: tuple[FloatArray, FloatArray]
    noise: tuple[FloatArray, FloatArray]

    def holds(self, zeta2: float, second: bool) -> bool:
        """Is there a u in [0, 1] (u = 0 alone unless ``second``) that certifies zeta2?"""
        first, other = (gain - zeta2 * noise for gain, noise in zip(self.gain, self.noise))
        low, high = 0.0, 1.0 if second else 0.0
        for _ in range(_DEPTH):
            u = 0.5 * (low + high)
            at = _negative_point((1.0 - u) * first + u * other)
            if at is None:
                return True
            # the constraint at that point is linear in u: cut the interval where it turns
            here, there = _value(first, at), _value(other, at)
            if max(here, there) < 0.0 or low == high:
                return False
            turn = here / (here - there)
            low, high = (turn, high) if there > here else (low, turn)
            if low > high:
                return False
        return False


def quartics(m: TailSetting, r: float, sharp: bool) -> Quartics | None:
    """The two sides of zeta2 g_r(lam) lam (1 - c1 lam) <= r^2 (c1 lam + c2), times f1 f2 f3 / r^2.

    None if the noise-free method does not contract faster than r. Without ``sharp`` the -c1 lam,
    which comes from the square of the mean Hessian, is dropped.
    """
    ends = [gain_factors(m.alpha, m.beta, m.theta, r, lam) for lam in (m.mu, m.lam_max)]
    top, f1, f2, f3 = (np.array(pair) for pair in zip(*ends))
    if min(f1.min(), f2.min(), f3.min()) <= 0.0:
        return None
    lam, one = np.array([m.mu, m.lam_max]), np.ones(2)
    room = one - lam / m.L_max if sharp else one
    cubic = _product(f1, f2, f3)
    twice = _product(lam, lam, top) * r * r
    return Quartics(
        gain=(_product(cubic, lam) / m.L_max, _product(cubic, one) / m.kappa_tilde),
        noise=(_product(twice, room), _product(twice, one)),
    )


def _value(p: FloatArray, at: float) -> float:
    """p at the share ``at`` of the interval."""
    powers = _BINOMIALS[4] * (1.0 - at) ** np.arange(4, -1, -1) * at ** np.arange(5)
    return float(powers @ p)


def _negative_point(p: FloatArray) -> float | None:
    """None if p >= 0 on the interval; otherwise a point where it is, or may be, negative.

    A polynomial lies above its least Bernstein coefficient, so coefficients >= 0 on every piece
    are a proof. Pieces are halved until that shows, or an end is negative, or the piece is too
    small to matter (counted as negative, so the answer errs on the safe side).
    """
    pieces = [(0.0, 1.0, p.tolist())]
    while pieces:
        start, end, c = pieces.pop()
        if min(c) >= 0.0:
            continue
        if c[0] < 0.0:
            return start
        if c[4] < 0.0:
            return end
        if end - start < 1e-13:
            return start
        left, right = _halves(c)
        middle = 0.5 * (start + end)
        pieces += [(middle, end, right), (start, middle, left)]
    return None


def _halves(c: list[float]) -> tuple[list[float], list[float]]:
    """De Casteljau at the middle: the coefficients on the two halves."""
    left, right = [c[0]], [c[4]]
    for _ in range(4):
        c = [0.5 * (x + y) for x, y in itertools.pairwise(c)]
        left.append(c[0])
        right.append(c[-1])
    return left, right[::-1]


def certifies(setting: TailSetting, zeta2: float, rate: float) -> bool:
    """Is ``rate`` certified at zeta2, proved on all of [mu, lam_max]?"""
    found = quartics(setting, rate, sharp=True)
    return found is not None and found.holds(zeta2, math.isfinite(setting.kappa_tilde))
