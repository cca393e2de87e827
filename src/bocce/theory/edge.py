"""The edge of stability: the largest step, curvature or noise of momentum."""

from __future__ import annotations

import math

from ..schedules import _rules


def edge(
    *,
    alpha: float | None = None,
    beta: float = 0.0,
    lam: float | None = None,
    zeta2: float | None = None,
    L_max: float | None = None,
    theta: float = 0.0,
) -> float:
    """The largest stable step, curvature or sampling noise, given the other two.

    The update is ``y = w + theta (w - w_prev)``, ``w_next = w + beta (w - w_prev) - alpha g(y)``,
    with a batch of variance factor zeta0^2. With x = alpha lam and s = beta - theta x it is stable
    in mean square along a curvature lam iff

        lam/(1 + s) + zeta0^2 (L_max - lam)/(1 - s) (1 + 2 theta (1 + theta) x/(1 + s)) <= 2/alpha.

    Guarantee: necessary and sufficient where every row touches one coordinate, with curvature L_max
    or 0. On other least squares it is sufficient if it holds at every eigenvalue; for theta = 0 at
    mu and lambda_max. Source: not in the paper; docs/theory/certificate.md.

    Parameters
    ----------
    alpha, lam, zeta2 : float, optional
        Step size > 0; curvature > 0; variance factor of a batch, ``theory.zeta2(n, b)``. Exactly
        one of the three is left out.
    beta, theta, L_max : float
        Momentum 0 <= beta < 1; lookahead >= 0 (0 is heavy ball, beta is Nesterov); largest
        curvature of one row's loss, at least lam, not needed where zeta2 = 0.

    Returns
    -------
    float
        The largest stable value of what was left out (``lam`` is at most L_max); 0.0 where no value
        is stable, infinity where every zeta2 is.

    Raises
    ------
    ValueError
        If not exactly one of alpha, lam, zeta2 is left out, or a number is out of its range.

    Examples
    --------
    >>> edge(beta=0.5, lam=1.0, zeta2=0.0)  # heavy ball on all rows: 2 (1 + beta)/lam
    3.0
    >>> edge(lam=1.0, zeta2=1.0, L_max=4.0)  # SGD, one row: 2/L_max
    0.5
    """
    where = "edge"
    if [alpha, lam, zeta2].count(None) != 1:
        raise ValueError(
            f"{where}: alpha={alpha!r}, lam={lam!r}, zeta2={zeta2!r} must be two numbers and one "
            "None; leave out the one that you ask for."
        )
    given = {"alpha": alpha, "lam": lam, "zeta2": zeta2, "L_max": L_max}
    known = {name: value for name, value in given.items() if value is not None}
    found = dict(zip(known, _rules.given(where, **known)))
    beta, theta = _rules.given(where, beta=beta, theta=theta)
    if L_max is None and zeta2 != 0.0:
        raise ValueError(
            f"{where}: L_max=None must be a number unless zeta2 = 0; give the largest curvature of "
            "a row."
        )
    top = math.inf if L_max is None else L_max
    if lam is not None and lam > top * (1.0 + 1e-12):
        raise ValueError(
            f"{where}: L_max={L_max!r} must be >= lam={lam!r}; the largest row bounds the mean."
        )
    if lam is None:
        return _largest_lam(found["alpha"], beta, theta, found["zeta2"], top)
    room = max(top - lam, 0.0)
    if zeta2 is None:
        return _largest_zeta2(found["alpha"], beta, theta, lam, room)
    return _largest_alpha(beta, theta, lam, zeta2 * room if zeta2 else 0.0)


def _largest_alpha(beta: float, theta: float, lam: float, q: float) -> float:
    """The root of q a (p + a lam c) = (1 - beta + theta a lam)(2 p - a lam r), see the theory."""
    p = 1.0 + beta
    r = 1.0 + 2.0 * theta
    square = lam * theta * r * (q + lam)  # >= 0
    slope = q * p + lam * (r * (1.0 - beta) - 2.0 * theta * p)
    constant = -2.0 * p * (1.0 - beta)  # < 0
    spread = math.sqrt(slope * slope - 4.0 * square * constant)
    if slope >= 0.0:
        return -2.0 * constant / (slope + spread)
    return (spread - slope) / (2.0 * square)


def _largest_zeta2(alpha: float, beta: float, theta: float, lam: float, room: float) -> float:
    x = alpha * lam
    s = beta - theta * x
    left = (1.0 - s) * (2.0 * (1.0 + s) - x)
    if left < 0.0:
        return 0.0
    if room == 0.0:
        return math.inf
    return left / (alpha * room * (1.0 + s + 2.0 * theta * (1.0 + theta) * x))


def _largest_lam(alpha: float, beta: float, theta: float, zeta2: float, top: float) -> float:
    """Where the same polynomial, now in lam, turns positive for the last time before L_max."""
    p = 1.0 + beta
    r = 1.0 + 2.0 * theta
    noise = zeta2 * top if zeta2 else 0.0
    square = alpha * alpha * theta * r * (1.0 - zeta2)
    slope = alpha * (noise * alpha * theta * r - zeta2 * p + r * (1.0 - beta) - 2.0 * theta * p)
    constant = noise * alpha * p - 2.0 * p * (1.0 - beta)
    if zeta2 and square * top * top + slope * top + constant <= 0.0:
        return top
    spread = slope * slope - 4.0 * square * constant
    if spread < 0.0 or (square == 0.0 and slope <= 0.0):
        return 0.0
    if square == 0.0:
        root = -constant / slope
    else:
        root = (math.sqrt(spread) - slope) / (2.0 * square)
    return min(max(root, 0.0), top)
