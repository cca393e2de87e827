"""The heavy ball that no other step and momentum beats: Theorem S, minimised."""

from __future__ import annotations

import math

import numpy as np

from ..schedules.schedule import FloatArray

_MOMENTA = 65  # momenta looked at together
_ZOOMS = 5  # times that the grid is narrowed; after more, points differ by rounding alone
_TIE = 1e-9  # of 1 - rate: momentum that gains less is none
_HALVINGS = 44  # of the bracket of ln(1 - rate)


def step_range(
    slow: FloatArray, beta: FloatArray, zeta2: float, L_max: float, lam: float
) -> tuple[FloatArray, FloatArray]:
    """The steps with which Theorem S certifies the rate 1 - slow at eigenvalue lam; empty: (1, 0).

    The condition is quadratic in alpha, written so that nothing cancels: with r = 1 - slow,

        (alpha lam - s)(m - alpha lam) >= zeta0^2 K alpha^2 lam (L_max - lam),
        s = (1-r)(1-beta/r),  m = (1+r)(1+beta/r),  K = (r^2+beta)/(r^2-beta).
    """
    r = 1.0 - slow
    with np.errstate(all="ignore"):
        s = slow * (1.0 - beta / r)
        m = (2.0 - slow) * (1.0 + beta / r)
        noise = zeta2 * (L_max - lam) / lam * (r * r + beta) / (r * r - beta)
        inside = (m - s) ** 2 - 4.0 * s * m * noise
        top = s + m + np.sqrt(inside)
        low = 2.0 * s * m / top
        high = 0.5 * top / (1.0 + noise)
    fine = (r * r > beta) & (inside >= 0.0)
    return np.where(fine, low / lam, 1.0), np.where(fine, high / lam, 0.0)


def _steps(
    slow: FloatArray,
    beta: FloatArray,
    zeta2: float,
    L_max: float,
    mu: float,
    lam_max: float,
    longest: float,
) -> tuple[FloatArray, FloatArray]:
    """The steps, at most ``longest``, that serve both ends of the spectrum (and all between)."""
    low, high = step_range(slow, beta, zeta2, L_max, mu)
    low_, high_ = step_range(slow, beta, zeta2, L_max, lam_max)
    return np.maximum(low, low_), np.minimum(np.minimum(high, high_), longest)


def best_steps(
    beta: FloatArray, zeta2: float, L_max: float, mu: float, lam_max: float, longest: float
) -> tuple[FloatArray, FloatArray]:
    """For each momentum the largest 1 - rate that a step attains, and that step.

    -1 where none of the rates looked at is certified.
    """
    floor = 1e-4 / (1.0 + lam_max / mu + zeta2 * L_max / mu)
    low = np.full(beta.size, math.log(floor))
    high = np.log(1.0 - np.sqrt(beta))
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        a, b = _steps(np.exp(middle), beta, zeta2, L_max, mu, lam_max, longest)
        low = np.where(a <= b, middle, low)
        high = np.where(a <= b, high, middle)
    slow = np.exp(low)
    a, b = _steps(slow, beta, zeta2, L_max, mu, lam_max, longest)
    return np.where(a <= b, slow, -1.0), np.sqrt(a * np.maximum(b, a))


def minimax_heavy_ball(
    zeta2: float, L_max: float, mu: float, lam_max: float, longest: float = math.inf
) -> tuple[float, float, float]:
    """(alpha, beta, rate) of the smallest rate that Theorem S certifies, alpha <= ``longest``.

    For each beta the condition leaves an interval of alpha (a quadratic at each end of the
    spectrum), so the rate of the best alpha is one root; a grid of ln(1 - beta), narrowed around
    its best point, does the rest. At zeta0^2 = 0 it is Polyak's heavy ball; from zeta0^2 (L_max +
    lam_max) of about lam_max on it is SGD. ``theory.best_heavy_ball`` says what is guaranteed.

    >>> alpha, beta, rate = minimax_heavy_ball(0.0, 200.0, 1.0, 100.0)
    >>> round(alpha, 4), round(beta, 3), round(rate, 4)  # Polyak: 4/121, (9/11)^2, 9/11
    (0.0331, 0.669, 0.8182)
    """
    width = math.log(100.0 * math.sqrt(lam_max / mu) + 10.0)
    centre = -0.5 * width
    best = plain = (-1.0, 0.0, 0.0)
    for zoom in range(_ZOOMS):
        x = centre + np.linspace(-0.5, 0.5, _MOMENTA) * width
        beta = -np.expm1(np.minimum(x, 0.0))
        if zoom == 0:
            beta[-1] = 0.0
        slow, alpha = best_steps(beta, zeta2, L_max, mu, lam_max, longest)
        if zoom == 0:
            plain = (float(slow[-1]), float(alpha[-1]), 0.0)
        i = int(np.argmax(slow))
        if slow[i] > best[0] * (1.0 + 1e-12):
            best = (float(slow[i]), float(alpha[i]), float(beta[i]))
        centre = min(float(x[i]), 0.0)
        width = width * 6.0 / _MOMENTA
    if plain[0] >= best[0] * (1.0 - _TIE):
        best = plain
    return best[1], best[2], 1.0 - best[0]
