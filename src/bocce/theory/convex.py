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
from ._lmi import (
    PAIRS,
    Matrices,
    MethodNumbers,
    Multipliers,
    fall,
    height,
    matrices,
    proves,
    values,
)
from ._lmi import Array as LmiArray

GRID = 2**48  # multipliers are rounded to this fraction
LEAST = 1e-9  # of the margin: below it a solution counts as none
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

    Guarantee: the multipliers are rounded to fractions and the inequality is checked in exact
    arithmetic (LDL^T), so the rate returned is a proof and rests on no solver. That no smaller rate
    is returned proves nothing: the family of V is limited. Source: not in the paper; the
    inequalities of Taylor, Hendrickx and Glineur (2017), with the batch as a parameter;
    docs/theory/convex.md. Needs the extra ``certify``.

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
        If cvxpy or Clarabel is not installed.

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
    method = MethodNumbers(alpha * L, beta, theta, mu / L, L_max / L, zeta2)
    scale = Fraction(L)
    exact = MethodNumbers(
        *(Fraction(alpha) * scale, Fraction(beta), Fraction(theta)),
        *(Fraction(mu) / scale, Fraction(L_max) / scale, Fraction(zeta2)),
    )
    solve = _Programme(method).solve
    low, high, found = 0.0, 1.0, _proved(solve, exact, 1.0)
    while found is not None and high - low > CLOSE * (1.0 - low):
        middle = 0.5 * (low + high)
        if (better := _proved(solve, exact, middle)) is None:
            low = middle
        else:
            found, high = better, middle
    if high == 1.0:
        where = f"at zeta0^2={zeta2:.3g}: raise the batch, or" if zeta2 else "even with all rows:"
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

    def __init__(self, method: MethodNumbers) -> None:
        try:
            cp: Any = importlib.import_module("cvxpy")
            importlib.import_module("clarabel")
        except ImportError as missing:
            raise ImportError(
                "certify_convex: cvxpy and clarabel must be installed for the semidefinite "
                f"programme; run {install('certify')}."
            ) from missing
        self.cp, self.margin, self.r2 = cp, cp.Variable(), cp.Parameter(nonneg=True)
        self.P = cp.Variable((4, 4), symmetric=True)
        self.rest = cp.Variable(4 + len(PAIRS), nonneg=True)
        M: Matrices = matrices(method)
        x = self._multipliers(self.P, self.rest)
        weight = self.P[0, 0] * (method.a**2 * method.z)
        constraints = [
            fall(x, method, M, self.r2) - self.margin * np.eye(5) >> 0,
            height(x, M, self.margin) - self.margin * np.eye(4) >> 0,
            *(value == 0 for value in values(x, method, self.r2)),
            weight - x.n_value >= 0,
            x.p - x.above[0] + x.above[1] >= 0,
            *(cp.abs(self.P) <= 1, self.rest <= 10, self.margin <= 1),
        ]
        self.problem = cp.Problem(cp.Maximize(self.margin), constraints)

    @staticmethod
    def _multipliers(P: LmiArray, rest: LmiArray) -> Multipliers:
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
        if self.margin.value is None or self.margin.value < LEAST:
            return None
        return self._multipliers(self.P.value, self.rest.value), float(self.margin.value)


def _proved(solve: Any, method: MethodNumbers, rate: float) -> Multipliers | None:
    """Fractions that prove the rate, from the solver's floats; None if there are none."""
    if (found := solve(rate)) is None:
        return None
    floats, margin = found
    r2 = Fraction(rate) ** 2
    x = _rounded(floats, method, r2)
    return x if proves(x, method, r2, _fraction(0.5 * margin)) else None


def _fraction(value: float) -> Fraction:
    return Fraction(round(float(value) * GRID), GRID)


def _rounded(x: Multipliers, method: MethodNumbers, r2: Fraction) -> Multipliers:
    """On a grid of fractions, and moved so that the two equations hold exactly.

    The multipliers of (*, y) and (*, y-) enter one equation each, and take up what is left.
    """
    P = np.array([[_fraction(0.5 * (a + b)) for a, b in zip(*rows)] for rows in zip(x.P, x.P.T)])
    weight = P[0, 0] * method.a * method.a * method.z
    pairs = {pair: max(_fraction(value), Fraction(0)) for pair, value in x.pairs.items()}
    pairs["*", "y"] = pairs["*", "y-"] = Fraction(0)
    above = (max(_fraction(x.above[0]), Fraction(0)), max(_fraction(x.above[1]), Fraction(0)))
    p = max(_fraction(x.p), Fraction(0))
    n_value = min(max(_fraction(x.n_value), Fraction(0)), weight)
    open_ = Multipliers(P, p, n_value, pairs, above)
    pairs["*", "y"], pairs["*", "y-"] = values(open_, method, r2)
    return Multipliers(P, p, n_value, pairs, above)
