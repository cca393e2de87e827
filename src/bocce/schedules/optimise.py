"""The fastest parameters that a certificate allows: a small search from a rule that has one."""

from __future__ import annotations

import math

import numpy as np

from .bernstein import Setting, certifies, gain_factors
from .schedule import FloatArray

Three = tuple[float, float, float]
_NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(33) / 32)  # of the interval of logarithms
_MOVES = np.array(np.meshgrid([-1, 0, 1], [-1, 0, 1], [-1, 0, 1])).reshape(3, -1).T
_MARGIN = 1.0 + 1e-3  # on zeta0^2: for what lies between the nodes, so that proofs seldom fail
_HALVINGS = 6


def _certified(
    points: FloatArray, r: FloatArray, zeta2: float, L_max: float, tilde: float, lam: FloatArray
) -> FloatArray:
    """Is rate r certified at each point (a row of alpha, beta, theta), judged at the nodes lam?

    The condition of ``lookahead_certificate`` is linear in u, so each node leaves an interval of
    weights, and the question is whether they meet.
    """
    alpha, beta, theta = points[:, :, None].transpose(1, 0, 2)
    with np.errstate(all="ignore"):
        top, f1, f2, f3 = gain_factors(alpha, beta, theta, r[:, None], lam)
        cubic = f1 * f2 * f3
        twice = zeta2 * lam * lam * top * r[:, None] ** 2
        here = cubic * lam / L_max - twice * (1.0 - lam / L_max)
        there = cubic / tilde - twice if math.isfinite(tilde) else np.full_like(here, -np.inf)
        slope = there - here
        turn = here / (here - there)
        low = np.where(slope > 0.0, turn, np.where((slope == 0.0) & (here < 0.0), np.inf, 0.0))
        high = np.where(slope < 0.0, turn, 1.0)
        meet = np.maximum(low.max(axis=1), 0.0) <= np.minimum(high.min(axis=1), 1.0)
        if not math.isfinite(tilde):
            meet = np.asarray((here >= 0.0).all(axis=1))  # u = 0 is all there is
        stable = (f1 > 0.0) & (f2 > 0.0) & (f3 > 0.0)
    return np.asarray(meet & np.asarray(stable).all(axis=1))


def _slowness(
    points: FloatArray, zeta2: float, L_max: float, tilde: float, lam: FloatArray
) -> FloatArray:
    """ln(1 - r) of the smallest rate certified at each point, -inf where there is none."""
    low = np.full(len(points), math.log(0.02 * lam[0] / L_max))
    high = np.zeros(len(points))
    for _ in range(24):
        middle = 0.5 * (low + high)
        fine = _certified(points, -np.expm1(middle), zeta2, L_max, tilde, lam)
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    start = _certified(points, -np.expm1(low), zeta2, L_max, tilde, lam)
    return np.where(start, low, -np.inf)


def _neighbours(best: FloatArray, width: float) -> FloatArray:
    """Factors of e^(-width), 1, e^width on alpha, 1 - beta and 1 + theta; theta = 0 stays."""
    moved = best * np.exp(width * _MOVES)
    alpha, slack, look = moved.T
    if best[2] == 1.0:
        look = np.ones_like(look)
    return np.column_stack([alpha, np.minimum(slack, 1.0), np.maximum(look, 1.0)])


def _parameters(points: FloatArray) -> FloatArray:
    return np.column_stack([points[:, 0], 1.0 - points[:, 1], points[:, 2] - 1.0])


def fastest(
    start: Three, zeta2: float, L_max: float, kappa_tilde: float | None, mu: float, lam_max: float
) -> Three:
    """(alpha, beta, theta) of a smaller certified rate, by a pattern search from ``start``.

    Minimises the r of ``lookahead_rate`` over ln alpha, ln(1 - beta) and ln(1 + theta): all 27
    moves of one width at a time, the width halved when none helps. theta = 0 stays 0 (heavy ball).
    The search looks at 33 nodes of the spectrum; the point returned is then proved on all of
    [mu, lam_max] by Bernstein coefficients, at the rate that the nodes gave it.

    Guarantee: the result is inside ``theory.lookahead_certificate``, at a rate no worse than the
    start's; ``start`` itself if nothing better is proved.

    >>> alpha, beta, theta = fastest((0.01, 0.9, 0.0), 0.0, 100.0, None, mu=1.0, lam_max=100.0)
    >>> round(alpha, 3), round(beta, 2)  # nearly Polyak's 0.033 and 0.67
    (0.033, 0.67)
    """
    tilde = math.inf if kappa_tilde is None else kappa_tilde
    lam = np.exp(math.log(mu) + _NODES * (math.log(lam_max) - math.log(mu)))
    lam[0], lam[-1] = mu, lam_max
    noise = zeta2 * _MARGIN

    def judge(points: FloatArray) -> FloatArray:
        return _slowness(_parameters(points), noise, L_max, tilde, lam)

    def proved(point: FloatArray, slow: float) -> bool:
        alpha, beta, theta = (float(x) for x in _parameters(point[None])[0])
        setting = Setting(alpha, beta, theta, L_max, tilde, mu, lam_max)
        return certifies(setting, zeta2, -math.expm1(slow))

    best = np.array([start[0], 1.0 - start[1], 1.0 + start[2]])
    reached, width, halvings = float(judge(best[None])[0]), math.log(2.0), 0
    steps: list[tuple[FloatArray, float]] = []
    while halvings < _HALVINGS:
        points = _neighbours(best, width)
        found = judge(points)
        i = int(np.argmax(found))
        if found[i] > reached + 1e-4:
            best, reached = points[i], float(found[i])
            steps.append((best, reached))
        else:
            width, halvings = 0.5 * width, halvings + 1
    for point, slow in reversed(steps):
        if proved(point, slow):
            alpha, beta, theta = (float(x) for x in _parameters(point[None])[0])
            return alpha, beta, theta
    return start
