"""Rates on convex losses, batches included: a small semidefinite programme, then a proof."""

from __future__ import annotations

import importlib
import math
import warnings
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .._extras import install
from ..schedules import _rules
from ._lmi import PAIRS, Array, Decrease, MethodNumbers, Multipliers

GRID = 2**48  # multipliers are rounded to this fraction
LEAST_MARGIN = 1e-9  # of the margin: below it a solution counts as none
CLOSE = 2e-3  # of 1 - rate: when the bisection ends


@dataclass(frozen=True)
class ConvexCertificate:
    """A rate for convex losses and its proof.

    Attributes
    ----------
    rate : float
        sqrt(E||w_k - w*||^2) <= C rate^k for every problem with the given constants; infinite if no
        rate was proved.
    why : str
        The result in words.
    proof : Multipliers, optional
        The multipliers, as fractions that were checked exactly.
    """

    rate: float
    why: str
    proof: Multipliers | None = None


def certify_convex(
    alpha: float, beta: float, theta: float, mu: float, L: float, L_max: float, zeta2: float
) -> ConvexCertificate:
    """A rate for means of convex smooth rows: logistic loss and others, not quadratics alone.

    f is mu-strongly convex and L-smooth, the mean of convex L_max-smooth rows with a common
    minimiser (without one, give 2 zeta0^2: the rate is then that of the approach to a floor).
    With S = (w, w-, w--, u-), u = grad f(y), all relative to w*, it looks for
    V = S^T P S + p (f(y-) - f*) and multipliers lambda_ij >= 0 with

        E S+^T P S+ + p (f(y) - f*) - r^2 V + sum lambda_ij Q_ij <= 0,

    where Q_ij >= 0 are the interpolation inequalities of such f among y, y-, w*. The noise of a
    batch is bounded by E||g - u||^2 <= zeta0^2 (L_max <u, y - w*> - ||u||^2) or by the same with
    2 L_max (f(y) - f*). The smallest r is found by bisection (cvxpy, Clarabel).

    Guarantee: the inequality is checked in exact arithmetic with rounded multipliers, so the rate
    is a proof and rests on no solver. A smaller rate may be true. Source: not in the paper; Taylor,
    Hendrickx and Glineur (2017), with the batch as a parameter; docs/theory/convex.md.

    Parameters
    ----------
    alpha, beta, theta : float
        Step size > 0; momentum 0 <= beta < 1; lookahead >= 0 (0 is heavy ball, beta is Nesterov).
    mu, L, L_max, zeta2 : float
        Smallest and largest curvature of f, 0 < mu < L; largest curvature of one row's loss, at
        least L; variance factor of a batch, ``theory.zeta2(n, b)``.

    Returns
    -------
    ConvexCertificate

    Raises
    ------
    ValueError
        If mu = L, or an argument is out of its range.
    ImportError
        If the extra ``certify`` (cvxpy and Clarabel) is not installed.

    Examples
    --------
    >>> gd = certify_convex(0.01, 0.0, 0.0, mu=1.0, L=100.0, L_max=100.0, zeta2=0.0)
    >>> round(gd.rate, 3)  # gradient descent with 1/L: 1 - 1/kappa
    0.99
    """
    where = "certify_convex"
    known = {"alpha": alpha, "beta": beta, "theta": theta, "zeta2": zeta2, "mu": mu, "L": L}
    alpha, beta, theta, zeta2, mu, L, L_max = _rules.given(where, **known, L_max=L_max)
    L_max = max(L_max, L)  # but for rounding
    if mu == L:
        raise ValueError(
            f"{where}: mu={mu!r} must be < L={L!r} (mu = L is a quadratic); use certified_rate."
        )
    floats, exact = (
        Decrease(MethodNumbers(a * scale, b, c, m / scale, M / scale, z))
        for a, b, c, m, M, z, scale in (
            (alpha, beta, theta, mu, L_max, zeta2, L),
            (Fraction(x) for x in (alpha, beta, theta, mu, L_max, zeta2, L)),
        )
    )
    programme = _Programme(floats)
    low = 0.0
    high = 1.0
    found = _proved(programme, exact, 1.0)
    while found is not None and high - low > CLOSE * (1.0 - low):
        middle = 0.5 * (low + high)
        if (better := _proved(programme, exact, middle)) is None:
            low = middle
        else:
            found = better
            high = middle
    if high == 1.0:
        if zeta2:
            where = f"at zeta0^2={zeta2:.3g}: raise the batch, or"
        else:
            where = "even with all rows:"
        why = f"no rate below 1 was found {where} lower the step or the momentum"
        return ConvexCertificate(math.inf, why)
    return ConvexCertificate(high, "proved in exact arithmetic", found)


def convex_words(certificate: ConvexCertificate, b: int) -> str:
    """What a certificate for convex losses says, as a sentence for people.

    Parameters
    ----------
    certificate, b : ConvexCertificate, int
        The result of ``certify_convex``; rows of a batch.

    Returns
    -------
    str

    Examples
    --------
    >>> convex_words(ConvexCertificate(0.98, "proved in exact arithmetic"), 100)
    'At b = 100 the error falls by 0.98 a step in root mean square, down to what the noise at the
    minimiser leaves: proved for every convex loss with these constants.'
    """
    if math.isinf(certificate.rate):
        return f"Nothing is proved for convex losses at b = {b:,}: {certificate.why}."
    return (
        f"At b = {b:,} the error falls by {certificate.rate:.5g} a step in root mean square, down "
        "to what the noise at the minimiser leaves: proved for every convex loss with these "
        "constants."
    )


class _Programme:
    """The semidefinite programme for one method; the rate is its parameter."""

    def __init__(self, decrease: Decrease) -> None:
        try:
            cp: Any = importlib.import_module("cvxpy")
            importlib.import_module("clarabel")
        except ImportError as missing:
            raise ImportError(
                "certify_convex: cvxpy and clarabel must be installed for the semidefinite "
                f"programme; run {install('certify')}."
            ) from missing
        self.cp = cp
        self.margin = cp.Variable()
        self.r2 = cp.Parameter(nonneg=True)
        self.P = cp.Variable((4, 4), symmetric=True)
        self.rest = cp.Variable(4 + len(PAIRS), nonneg=True)
        x = self._multipliers(self.P, self.rest)
        constraints = [
            decrease.fall(x, self.r2) - self.margin * np.eye(5) >> 0,
            decrease.height(x, self.margin) - self.margin * np.eye(4) >> 0,
            *(value == 0 for value in decrease.values(x, self.r2)),
            *(value >= 0 for value in decrease.signs(x)),
            *(cp.abs(self.P) <= 1, self.rest <= 10, self.margin <= 1),
        ]
        self.problem = cp.Problem(cp.Maximize(self.margin), constraints)

    @staticmethod
    def _multipliers(P: Array, rest: Array) -> Multipliers:
        pairs = {pair: rest[4 + i] for i, pair in enumerate(PAIRS)}
        return Multipliers(P, rest[0], rest[1], pairs, (rest[2], rest[3]))

    def solve(self, rate: float) -> tuple[Multipliers, float] | None:
        """The multipliers with the widest margin, as floats, and that margin."""
        self.r2.value = rate * rate
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "may be inaccurate": it is checked afterwards
                self.problem.solve(solver=self.cp.CLARABEL)
        except self.cp.SolverError:
            return None
        if self.margin.value is None or self.margin.value < LEAST_MARGIN:
            return None
        return self._multipliers(self.P.value, self.rest.value), float(self.margin.value)


def _proved(programme: _Programme, decrease: Decrease, rate: float) -> Multipliers | None:
    """Fractions that prove the rate, from the solver's floats; None if there are none.

    The floats are put on a grid of fractions. The multipliers of (*, y) and (*, y-) enter one
    equation each, and take up what is left, so that the two equations hold exactly.
    """
    if (found := programme.solve(rate)) is None:
        return None
    (x, margin), r2 = found, Fraction(rate) ** 2
    P = np.array([[_fraction(0.5 * (a + b)) for a, b in zip(*rows)] for rows in zip(x.P, x.P.T)])
    p, n_value, *above = (max(_fraction(y), Fraction(0)) for y in (x.p, x.n_value, *x.above))
    n_value = min(n_value, decrease.noise_weight(P))
    pairs = {pair: max(_fraction(value), Fraction(0)) for pair, value in x.pairs.items()}
    pairs["*", "y"] = pairs["*", "y-"] = Fraction(0)
    rounded = Multipliers(P, p, n_value, pairs, (above[0], above[1]))
    pairs["*", "y"], pairs["*", "y-"] = decrease.values(rounded, r2)
    if decrease.proved(rounded, r2, _fraction(0.5 * margin)):
        return rounded
    return None


def _fraction(value: float) -> Fraction:
    return Fraction(round(float(value) * GRID), GRID)
