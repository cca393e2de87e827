"""A certificate for all three parameters: heavy ball, Nesterov, MaSS.

In y_k the update is an ARMA recursion in every eigendirection. The condition says that a quartic in
the eigenvalue is not negative. A polynomial lies above its least Bernstein coefficient, so
coefficients that are not negative are a proof. docs/theory/lookahead.md has the argument.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ..schedules import _rules
from ..schedules.schedule import FloatArray
from .result import bisect

_BINOMIALS = {m: np.array([math.comb(m, i) for i in range(m + 1)], dtype=float) for m in range(5)}
_DEPTH = 60


def gain_factors(
    alpha: float, beta: float, theta: float, r: float, lam: float
) -> tuple[float, float, float, float]:
    """Numerator and three denominators of g_r(lam) = r^4 lam top/(f1 f2 f3), each linear in lam.

    f1, f2, f3 are r^2 times 1 + phi2, 1 - phi2 - phi1, 1 - phi2 + phi1, written so that nothing
    cancels; all positive exactly when the noise-free method contracts faster than r at lam.
    """
    push = alpha * (1.0 + theta)
    pull = alpha * theta
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
        low = 0.0
        high = 1.0 if second else 0.0
        for _ in range(_DEPTH):
            u = 0.5 * (low + high)
            at = _negative_point((1.0 - u) * first + u * other)
            if at is None:
                return True
            # the constraint at that point is linear in u: cut the interval where it turns
            here = _value(first, at)
            there = _value(other, at)
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
    lam = np.array([m.mu, m.lam_max])
    one = np.ones(2)
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
    left = [c[0]]
    right = [c[4]]
    for _ in range(4):
        c = [0.5 * (x + y) for x, y in itertools.pairwise(c)]
        left.append(c[0])
        right.append(c[-1])
    return left, right[::-1]


def certifies(setting: TailSetting, zeta2: float, rate: float) -> bool:
    """Is ``rate`` certified at zeta2, proved on all of [mu, lam_max]?"""
    found = quartics(setting, rate, sharp=True)
    return found is not None and found.holds(zeta2, math.isfinite(setting.kappa_tilde))


def _method(where: str, kappa_tilde: float | None, **known: float) -> TailSetting:
    """The numbers of a method, checked."""
    (tilde,) = (
        _rules.given(where, kappa_tilde=kappa_tilde) if kappa_tilde is not None else (math.inf,)
    )
    alpha, beta, theta, L_max, mu, lam_max = _rules.given(where, **known)
    return TailSetting(alpha, beta, theta, max(L_max, lam_max), tilde, mu, lam_max)


def lookahead_gain(alpha: float, beta: float, theta: float, lam: float, rate: float = 1.0) -> float:
    """g_r(lam): how much unit noise adds to sum_t r^(-2t) lam e_t^2 along a direction lam.

    With a' = alpha(1+theta), d' = alpha theta, c = -d'/r, phi1 = (1+beta-a' lam)/r,
    phi2 = -(beta - d' lam)/r^2:

        g_r(lam) = lam [(a'^2 + c^2)(1-phi2) + 2 a' c phi1]/((1+phi2)((1-phi2)^2 - phi1^2)),

    infinite where the noise-free method does not contract faster than r. Source: not in the paper
    (the variance of an ARMA(2,1) sequence).

    Parameters
    ----------
    alpha, beta, theta, lam, rate : float
        Step size > 0; momentum 0 <= beta < 1; lookahead >= 0 (0 is heavy ball, beta is Nesterov);
        eigenvalue of the Hessian, > 0; factor of the root-mean-square error a step, at most 1.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_gain(0.1, 0.7, 0.0, lam=10.0), 6)
    0.236111
    """
    known = {"alpha": alpha, "beta": beta, "theta": theta, "rate": rate, "lam": lam}
    alpha, beta, theta, rate, lam = _rules.given("lookahead_gain", **known)
    top, *bottom = gain_factors(alpha, beta, theta, rate, lam)
    if min(bottom) <= 0.0:
        return math.inf
    return float(rate**4 * lam * top / math.prod(bottom))


def _largest(m: TailSetting, where: str, rate: float, sharp: bool) -> float:
    """The largest certified zeta2 (0 if none), by bisection; the end returned is certified."""
    (r,) = _rules.given(where, rate=rate)
    two_sides = quartics(m, r, sharp)
    if two_sides is None:
        return 0.0
    second = math.isfinite(m.kappa_tilde)
    # at the two ends of the spectrum no choice of u can do better than the better of the two
    ratios = [
        np.divide(g[[0, 4]], h[[0, 4]], out=np.full(2, np.inf), where=h[[0, 4]] > 0.0)
        for g, h in zip(two_sides.gain, two_sides.noise)
    ]
    high = float(min(np.maximum(*ratios) if second else ratios[0]))
    if math.isinf(high):
        return math.inf
    low = high
    while not two_sides.holds(low, second):
        high = low
        low = 0.5 * low
        if low < 1e-300:
            return 0.0
    while high > low * (1.0 + 1e-12):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if two_sides.holds(middle, second) else (low, middle)
    return low


def lookahead_phi(
    alpha: float,
    beta: float,
    theta: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
    rate: float = 1.0,
) -> float:
    """Phi_r = min{c1 L_max + c2 kappa~ : c1, c2 >= 0, g_r(lam) <= c1 + c2/lam on [mu, lam_max]}.

    Guarantee: zeta0^2 Phi_r <= r^2 certifies the contraction r^2 of E V, V >= 2 (f - f*), under
    interpolation. ``lookahead_certificate`` is never weaker. Infinite if the noise-free method
    does not contract faster than ``rate``.

    Parameters
    ----------
    alpha, beta, theta, rate : float
        As for ``lookahead_gain``.
    L_max, kappa_tilde, mu, lam_max : float
        Largest curvature of one row's loss; largest x_i^T A^-1 x_i over the rows, A the Hessian,
        None if unknown; extreme eigenvalues of the Hessian, mu <= lam_max.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_phi(0.1, 0.7, 0.0, 100.0, None, mu=1.0, lam_max=10.0), 4)
    23.6111
    """
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method("lookahead_phi", kappa_tilde, **known, lam_max=lam_max)
    largest = _largest(m, "lookahead_phi", rate, sharp=False)
    if largest == 0.0:
        return math.inf
    return rate * rate / largest


def lookahead_certificate(
    alpha: float,
    beta: float,
    theta: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
    rate: float = 1.0,
) -> float:
    """The largest zeta0^2 for which (alpha, beta, theta) contracts by ``rate`` in mean square.

    The largest z with c1, c2 >= 0, c1 L_max + c2 kappa~ = 1, such that on [mu, lam_max]

        z g_r(lam) lam (1 - c1 lam) <= r^2 (c1 lam + c2),

    proved on the interval by Bernstein coefficients. With theta = 0 and c2 = 0
    (``kappa_tilde=None``) this is Theorem S.

    Guarantee: least squares, any data with these constants, or with R2 for L_max (E[A_i^2] <= R2 A
    for the rows' Hessians A_i); 0 if nothing is certified. Source: not in the paper.

    Parameters
    ----------
    alpha, beta, theta, L_max, kappa_tilde, mu, lam_max, rate : float
        As for ``lookahead_phi``.

    Returns
    -------
    float

    Examples
    --------
    >>> z = lookahead_certificate(0.1, 0.5, 0.5, 100.0, 20.0, mu=1.0, lam_max=10.0)
    >>> round(z, 6)
    0.044444
    """
    where = "lookahead_certificate"
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method(where, kappa_tilde, **known, lam_max=lam_max)
    return _largest(m, where, rate, sharp=True)


def lookahead_rate(
    alpha: float,
    beta: float,
    theta: float,
    zeta2: float,
    L_max: float,
    kappa_tilde: float | None,
    mu: float,
    lam_max: float,
) -> float:
    """The smallest rate that ``lookahead_certificate`` certifies at zeta2; infinity if not even 1.

    Noise gains fall as r grows, so the rate is one root; the end of the bisection that is returned
    is the certified one.

    Parameters
    ----------
    alpha, beta, theta, zeta2, L_max, kappa_tilde, mu, lam_max : float
        As for ``lookahead_phi``; zeta2 is the variance factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(lookahead_rate(0.1, 0.5, 0.5, 0.01, 100.0, 20.0, mu=1.0, lam_max=10.0), 4)
    0.7682
    """
    where = "lookahead_rate"
    known = {"alpha": alpha, "beta": beta, "theta": theta, "L_max": L_max, "mu": mu}
    m = _method(where, kappa_tilde, **known, lam_max=lam_max)
    (zeta2,) = _rules.given(where, zeta2=zeta2)
    if not certifies(m, zeta2, 1.0):
        return math.inf
    return bisect(lambda rate: rate > 0.0 and certifies(m, zeta2, rate), 0.0, 1.0)
