"""The lower bound: a diagonal problem on which heavy ball with a small batch diverges.

n = d, sample i touches coordinate i alone, alpha = 1/lambda_max. The coordinate of largest
curvature is in the batch with probability b/n. A step is (w_{k+1}, w_k) = H (w_k, w_{k-1}) with
H = [[t, -beta], [1, 0]]; t is 1 + beta - n/b if the coordinate is in the batch, else 1 + beta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _checks
from .._extras import install
from ..schedules import _rules
from ..schedules.schedule import FloatArray
from .batch import zeta2
from .result import bisect

Moment = tuple[float, float, float]  # the symmetric matrix [[p, q], [q, s]]


def _moments(spread: float, beta: float, steps: int) -> tuple[Moment, Moment]:
    """M_steps and its derivative in beta, from M_0 = I, M_{j+1} = E[H^T M_j H].

    ``spread`` is Var t = (n - b)/b, and E t = beta: only these two moments of t enter.
    """
    p = 1.0
    q = 0.0
    s = 1.0
    dp = 0.0
    dq = 0.0
    ds = 0.0
    square = spread + beta * beta
    for _ in range(steps):
        dp, dq, ds = (
            square * dp + 2.0 * beta * p + 2.0 * (q + beta * dq) + ds,
            -(2.0 * beta * p + q) - beta * (beta * dp + dq),
            2.0 * beta * p + beta * beta * dp,
        )
        p, q, s = square * p + 2.0 * beta * q + s, -beta * (beta * p + q), beta * beta * p
    return (p, q, s), (dp, dq, ds)


def _along(moment: Moment, theta: float) -> float:
    p, q, s = moment
    sine = math.sin(theta)
    cosine = math.cos(theta)
    return p * sine * sine + 2.0 * q * sine * cosine + s * cosine * cosine


def _smallest(moment: Moment) -> float:
    """The smaller eigenvalue of [[p, q], [q, s]], as determinant over the larger one."""
    p, q, s = moment
    largest = 0.5 * (p + s + math.hypot(p - s, 2.0 * q))
    if largest > 0.0:
        return (p * s - q * q) / largest
    return 0.0


def _checked(
    where: str, n: int, b: int, beta: float, theta: float, steps: int
) -> tuple[float, float, float, int]:
    n, b = _rules.given(where, n=n, b=b)
    beta = _checks.real(where, "beta", beta, least=0.0, most=1.0, remedy="beta is the momentum")
    theta = _checks.real(where, "theta", theta, remedy="theta is an angle in radians")
    steps = _checks.integer(where, "steps", steps, least=0, remedy="6 in the paper, 3 for n = 2")
    return (n - b) / b, beta, theta, steps


def psi(n: int, b: int, beta: float, theta: float, steps: int = 6) -> float:
    """Psi: the factor by which E||(w_k, w_{k-1})||^2 grows in ``steps`` steps.

    Psi = phi^T M_steps phi with phi = (sin theta, cos theta), M_0 = I, M_{j+1} = E[H^T M_j H]:
    the paper's sum over all 2^steps sequences, in O(steps).

    Guarantee: min over theta > 1 proves divergence; the converse is not true. Source:
    ``thm:divergence-n-case``; ``thm:divergence-2-case`` with n=2, b=1, steps=3.

    Parameters
    ----------
    n, b, steps : int
        Rows of the data and of a batch, 1 <= b <= n; number of steps that the criterion looks at.
    beta, theta : float
        Momentum, from 0 to 1; angle of the start (w_0, w_{-1}) in radians (not the lookahead).

    Returns
    -------
    float

    Examples
    --------
    >>> round(psi(100, 70, 0.8, 0.5), 6)
    1.136388
    """
    spread, beta, theta, steps = _checked("psi", n, b, beta, theta, steps)
    return _along(_moments(spread, beta, steps)[0], theta)


def psi_derivative(n: int, b: int, beta: float, theta: float, steps: int = 6) -> float:
    """The derivative of ``psi`` in beta (``table:der_beta``), by the same recursion.

    Parameters
    ----------
    n, b, beta, theta, steps : number
        As for ``psi``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(psi_derivative(100, 70, 0.25, 0.0), 3)
    0.12
    """
    spread, beta, theta, steps = _checked("psi_derivative", n, b, beta, theta, steps)
    return _along(_moments(spread, beta, steps)[1], theta)


def psi_minimum(n: int, b: int, beta: float, steps: int = 6) -> float:
    """The least ``psi`` over theta, the smaller eigenvalue of M_steps: above 1, SHB diverges.

    Parameters
    ----------
    n, b, beta, steps : number
        As for ``psi``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(psi_minimum(2, 1, 0.63, steps=3), 4)
    1.0843
    """
    spread, beta, _, steps = _checked("psi_minimum", n, b, beta, 0.0, steps)
    return _smallest(_moments(spread, beta, steps)[0])


def psi_two_samples(beta: float, theta: float) -> float:
    """Psi of the 2-sample problem, ``psi(2, 1, beta, theta, steps=3)``: the paper's polynomial.

    Source: ``thm:divergence-2-case``. Its least value at beta = .63 is 1.0843, printed as 1.1. In
    truth this problem diverges for every beta > 0 (``lower_bound_threshold`` is above 1).

    Parameters
    ----------
    beta, theta : float
        As for ``psi``.

    Returns
    -------
    float

    Examples
    --------
    >>> round(psi_two_samples(0.63, 0.5), 12) == round(psi(2, 1, 0.63, 0.5, steps=3), 12)
    True
    """
    _, x, theta, _ = _checked("psi_two_samples", 2, 1, beta, theta, 3)
    sine = math.sin(2.0 * theta)
    cosine = math.cos(2.0 * theta)
    return (
        (-(x**6) + 3 * x**5 - 5 * x**4 + 2 * x**3 - 2 * x**2) * sine
        + (x**5 - 2 * x**4 + 3 * x**3 - 3 * x**2 - 1) * cosine
        + (x**6 - 3 * x**5 + 6 * x**4 - 3 * x**3 + 5 * x**2 + 1)
    )


def psi_derivative_table(n: int = 100, b: int = 70) -> FloatArray:
    """The table of the paper's appendix: d Psi/d beta for 11 angles by 10 momenta.

    Rows: theta = 0, .2 pi, .., 2 pi. Columns: beta from .25 to .999 in ten equal steps (so the
    column headed .915 is .91578). Source: ``table:der_beta``.

    Parameters
    ----------
    n, b : int, default 100 and 70
        Rows of the data and of a batch, 1 <= b <= n.

    Returns
    -------
    ndarray of float

    Examples
    --------
    >>> psi_derivative_table()[0, :4].round(3).tolist()
    [0.12, 0.299, 0.667, 1.364]
    """
    momenta = np.linspace(0.25, 0.999, 10).tolist()
    angles = (0.2 * math.pi * np.arange(11)).tolist()
    return np.array([[psi_derivative(n, b, beta, t) for beta in momenta] for t in angles])


def psi_expression(steps: int = 6, n: int | None = None, b: int | None = None) -> Any:
    """``psi`` as a SymPy expression in n, b, beta and theta; ``n`` and ``b`` may be fixed.

    Needs the extra ``symbolic``. Source: ``fig:psi_function``.

    Parameters
    ----------
    steps, n, b : int
        As for ``psi``; n and b are symbols by default.

    Returns
    -------
    sympy.Expr

    Raises
    ------
    ImportError
        If SymPy is not installed.

    Examples
    --------
    >>> print(psi_expression(steps=1, n=2, b=1).subs("theta", 0))
    beta**2
    """
    steps = _checks.integer("psi_expression", "steps", steps, least=0, remedy="6 in the paper")
    try:
        import sympy  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(f"psi_expression: needs SymPy; run {install('symbolic')}.") from error
    beta, theta = sympy.symbols("beta theta")
    if n is None:
        size = sympy.Symbol("n")
    else:
        size = sympy.Integer(n)
    share = (sympy.Symbol("b") if b is None else sympy.Integer(b)) / size
    outcomes = [(1 + beta, 1 - share), (1 + beta - 1 / share, share)]
    matrices = [(sympy.Matrix([[t, -beta], [1, 0]]), weight) for t, weight in outcomes]
    moment = sympy.eye(2)
    for _ in range(steps):
        terms = [weight * H.T * moment * H for H, weight in matrices]
        moment = (terms[0] + terms[1]).applyfunc(sympy.expand)
    phi = sympy.Matrix([sympy.sin(theta), sympy.cos(theta)])
    return sympy.expand((phi.T * moment * phi)[0])


def _turn(grows: Callable[[float], bool], low: float, high: float) -> float:
    """The point of [low, high] where ``grows`` turns from False to True, on a log scale."""
    return math.exp(bisect(lambda x: grows(math.exp(x)), math.log(low), math.log(high)))


def _diverges(spread: float, beta: float) -> bool:
    """Does the paper's criterion hold: min over theta of Psi > 1 after six steps?"""
    return _smallest(_moments(spread, beta, 6)[0]) > 1.0


def kappa_star(b: int, n: int = 100) -> float:
    """kappa*(b): from it on, six steps prove that batch size b diverges.

    kappa* = 1/(4 (1 - sqrt(beta*))^2) for the smallest beta* in [1/4, 1) with min over theta of
    Psi > 1. Guarantee: rests on Psi growing with beta, checked for n = 100 and all b in the tests.
    Source: ``thm:divergence-n-case``, ``fig:beta_star``.

    Parameters
    ----------
    b, n : int
        Rows of a batch and of the data, 1 <= b < n; n is 100 by default.

    Returns
    -------
    float

    Examples
    --------
    >>> kappa_star(39), round(kappa_star(70), 2)
    (1.0, 18.28)
    """
    n = _checks.integer("kappa_star", "n", n, least=2, remedy=_rules.INTEGERS["n"])
    b = _checks.integer("kappa_star", "b", b, most=n - 1, remedy="the full batch never diverges")

    def grows(kappa: float) -> bool:
        return _diverges((n - b) / b, _rules.momentum(1.0, 1.0 / kappa))

    if grows(1.0):
        return 1.0
    return _turn(grows, 1.0, 1e14)


def best_fit_line(n: int = 100, most: int | None = None) -> tuple[float, float]:
    """Slope and intercept of ln zeta0^2(b) against ln kappa*(b), b = 1 .. ``most`` (n - 1).

    The paper prints -0.6 and -3.8, then uses 3.3 and 4. A fitted line is not a bound: six steps
    do not support it at b = 84 .. 99. Source: ``fig:kap_batch``.

    Parameters
    ----------
    n, most : int
        Rows of the data, by default 100; largest batch size of the fit, by default n - 1.

    Returns
    -------
    tuple of (float, float)

    Examples
    --------
    >>> [round(number, 3) for number in best_fit_line()]
    [-0.565, -3.418]
    """
    n = _checks.integer("best_fit_line", "n", n, least=3, remedy="a line needs two batch sizes")
    last = n - 1 if most is None else most
    last = _checks.integer("best_fit_line", "most", last, least=2, most=n - 1)
    batches = range(1, last + 1)
    x = [math.log(kappa_star(b, n)) for b in batches]
    slope, intercept = np.polyfit(x, [math.log(zeta2(n, b)) for b in batches], 1)
    return float(slope), float(intercept)


def lower_bound_threshold(n: int, kappa: float, which: str = "exact") -> float:
    """The batch size below which heavy ball (a = 1) diverges on the diagonal problem.

    "exact" is n/(1 + phi), phi = (1-beta)(1+2 beta)/(1+beta), beta = (1 - 1/(2 sqrt kappa))^2: it
    diverges in mean square if and only if b is below. Below "six-step" the paper's criterion holds
    (min Psi > 1 after six steps). "printed" is n/(1 + (n-1)/(e^3.3 kappa^0.6)), stated for n = 100;
    b = 99 is stable for 18345 <= kappa <= 21928.

    Source: ``thm:divergence-n-case``; the exact form is Theorem S with equality.

    Parameters
    ----------
    n, kappa : int, float
        Rows of the data, at least 2; condition number L/mu, at least 1.
    which : {"exact", "six-step", "printed"}, default "exact"
        The criterion.

    Returns
    -------
    float

    Examples
    --------
    >>> rules = ("printed", "six-step", "exact")
    >>> [round(lower_bound_threshold(100, 100.0, which), 1) for which in rules]
    [81.3, 82.0, 87.4]
    """
    where = "lower_bound_threshold"
    n = _checks.integer(where, "n", n, least=2, remedy=_rules.INTEGERS["n"])
    (kappa,) = _rules.given(where, kappa=kappa)
    which = _checks.choice(where, "which", which, ["exact", "six-step", "printed"])
    if which == "printed":
        return n / (1.0 + (n - 1) / (math.exp(3.3) * math.pow(kappa, 0.6)))
    beta = _rules.momentum(1.0, 1.0 / kappa)
    if which == "exact":
        return n / (1.0 + (1.0 - beta) * (1.0 + 2.0 * beta) / (1.0 + beta))
    # M grows with the spread (n - b)/b, so the criterion holds for every smaller batch too
    return n / (1.0 + _turn(lambda spread: _diverges(spread, beta), 1e-14, 1e6))
