"""How large a batch the paper asks for, and what it then promises for a target accuracy."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from ..schedules.accelerated import sampling_noise
from .result import Condition, verdict_for_rows

C = 3**5 * 2**6  # the constant of b*, 15552
C_GRONWALL = 216  # the same constant when the induction is replaced by Gronwall's lemma


def zeta2(n: int, b: int) -> float:
    """zeta0^2 = (n - b)/((n - 1) b): the variance of a batch mean over the variance of one row.

    Batches are drawn without replacement. The paper writes zeta for both zeta0 and sqrt(3) zeta0;
    here zeta = sqrt(3) zeta0. Source: ``lem:batch-factor``.

    Parameters
    ----------
    n, b : int
        Rows of the data and of a batch, 1 <= b <= n.

    Returns
    -------
    float

    Examples
    --------
    >>> zeta2(100, 1), zeta2(100, 50), zeta2(100, 100)
    (1.0, 0.010101010101010102, 0.0)
    """
    return sampling_noise("zeta2", n, b)


def zeta(where: str, n: int, b: int) -> float:
    """sqrt(3) zeta0, the zeta of Theorem 2."""
    return math.sqrt(3.0 * sampling_noise(where, n, b))


def fraction_for(n: int, zeta0_squared: float) -> float:
    """The real b at which (n - b)/((n - 1) b) equals the given value: n/(1 + (n-1) zeta0^2)."""
    if n == 1:
        return 1.0  # the only batch, also where zeta0^2 is infinite
    return n / (1.0 + (n - 1) * zeta0_squared)


def batch_threshold(
    n: int, kappa: float, a: float = 1.0, interpolation: bool = False, which: str = "printed"
) -> float:
    """b*, the real batch size, at most n, from which Theorem 2 promises acceleration.

    b* = n max{1/(1 + (n-1)/(C kappa^2)), 1/(1 + (n-1) a/3)}, C = 3^5 2^6.

    Guarantee: valid for kappa = L_max/mu, not for kappa = lambda_max/mu (docs/theory/accelerated.md
    has an example). Source: ``thm:SHB_quad``, ``thm:shb-interpolation``.

    Parameters
    ----------
    n, kappa, a : int, float, float
        Rows of the data; condition number L/mu >= 1; factor of the step a/L, 0 < a <= 1.
    interpolation : bool, default False
        Whether all rows are fitted exactly (chi = 0); then the first part is enough.
    which : {"printed", "gronwall"}, default "printed"
        "gronwall" is the first part with C = 216, for ``bound_shb(which="gronwall")``.

    Returns
    -------
    float

    Examples
    --------
    >>> [round(batch_threshold(10_000, kappa), 1) for kappa in (10.0, 100.0)]
    [9936.1, 9999.4]
    """
    n, kappa, a = _rules.given("batch_threshold", n=n, kappa=kappa, a=a)
    which = _checks.choice("batch_threshold", "which", which, ["printed", "gronwall"])
    constant = C if which == "printed" else C_GRONWALL
    first = fraction_for(n, 1.0 / (constant * kappa * kappa))
    if interpolation or which == "gronwall":
        return first
    return max(first, fraction_for(n, a / 3.0))


def above(b: int, threshold: float) -> Condition:
    """The condition b >= threshold, in words."""
    return b >= threshold, f"b={b} is below b*={threshold:.8g}"


def useful_batch(
    *,
    L: float,
    R2: float,
    gradient_noise: float = 0.0,
    gap: float | None = None,
    momentum_gain: float = 1.0,
) -> float:
    """B, the batch at which half of the possible speed is reached: twice the steps of all rows.

    B = 2 (R2 + gradient_noise/(2 gap))/L times momentum_gain.

    On all rows SGD gains from longer steps up to the edge 2/L. With batches of b rows the error
    falls fastest at alpha = b/R2, half of its edge. A noise floor alpha gradient_noise/(4 b) of
    half of the gap needs alpha <= 2 b gap/gradient_noise. So 1/alpha = L/2 + R2/b +
    gradient_noise/(2 b gap), to a factor of about 1.5, and the steps are proportional to 1/alpha:
    S = S_min (1 + B/b). Momentum divides S_min by ``momentum_gain`` and leaves the rows S_min B at
    small batches as they are, so it multiplies B.

    Guarantee: none, a rule. Measured against exact curves in docs/which-batch.md. What is proved
    (batches and steps that no momentum can use) is in docs/theory/useful-batch.md. It holds for
    quadratics and constant steps. Source: not in the paper.

    Parameters
    ----------
    L, R2 : float
        The largest eigenvalue of the Hessian A; the least rho with E[|x|^2 x x^T] <= rho A,
        ``problem.constants().sharpest[0]`` (Gaussian rows: tr A + 2 L); R2 >= L.
    gradient_noise, gap : float
        The trace of the covariance of one row's gradient at the minimiser,
        ``problem.noise().chi2``; the f - f* that is aimed at, needed where there is noise.
    momentum_gain : float, default 1.0
        Steps of SGD over steps with momentum, on all rows; 1 for SGD.

    Returns
    -------
    float
        Rows. Of n rows without replacement the batch is ``n/(1 + (n - 1)/B)``.

    Raises
    ------
    ValueError
        If gap is left out where gradient_noise > 0, or a number is out of its range.

    Examples
    --------
    >>> useful_batch(L=1.0, R2=12.0)
    24.0
    >>> useful_batch(L=1.0, R2=12.0, gradient_noise=0.4, gap=0.01, momentum_gain=3.0)
    192.0
    """
    where = "useful_batch"
    L = _checks.real(where, "L", L, above=0.0, remedy="the largest eigenvalue of the Hessian")
    remedy = "rows bound their mean; tr A + 2 L for Gaussian rows"
    R2 = _checks.real(where, "R2", R2, least=L * (1.0 - 1e-12), remedy=remedy)
    noise = _checks.real(where, "gradient_noise", gradient_noise, least=0.0, remedy="a variance")
    remedy = "SGD's steps over those with momentum"
    gain = _checks.real(where, "momentum_gain", momentum_gain, above=0.0, remedy=remedy)
    if gap is not None:
        gap = _checks.real(where, "gap", gap, above=0.0, remedy="the f - f* that is aimed at")
        return 2.0 * (R2 + noise / (2.0 * gap)) / L * gain
    if noise > 0.0:
        rule = f"a number where gradient_noise={noise:.6g} is not 0"
        remedy = "noise matters by the gap that is aimed at: give f - f*"
        raise _checks.refused(ValueError, where, "gap", gap, rule, remedy)
    return 2.0 * R2 / L * gain


@dataclass(frozen=True)
class Target:
    """The step scale and the number of steps for a target accuracy.

    Attributes
    ----------
    a, T : float
        The scale of the step a/L; the number of steps, infinite where the batch is too small.
    valid, why : bool, str
        Whether the conditions hold; the condition that fails, or what was taken on trust.
    """

    a: float
    T: float
    valid: bool
    why: str


def epsilon_target(
    epsilon: float,
    L: float,
    mu: float,
    n: int,
    b: int,
    chi: float = 0.0,
    D: float = 1.0,
    L_max: float | None = None,
) -> Target:
    """The step and the number of steps that bring E||w_T - w*|| to sqrt(epsilon).

    a = min{1, (mu/(24 chi))^2 epsilon}, T = ceil(2 sqrt(kappa)/(sqrt(a) rate) ln(12 sqrt2
    sqrt(kappa) D/sqrt(a epsilon))), rate = 1 - 2 sqrt(kappa zeta); T is infinite if rate <= 0.

    Guarantee: when b >= b*(a) and L >= L_max; as epsilon falls, b*(a) tends to n. Source:
    ``thm:shb_q_noise`` (which states it without the expectation).

    Parameters
    ----------
    epsilon : float
        Target for ||w_T - w*||^2, > 0.
    L, mu, n, b, chi, D, L_max : number
        As for ``bound_shb``.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        An argument is out of its range, or the step scale underflows.

    Examples
    --------
    >>> target = epsilon_target(1e-4, L=10.0, mu=1.0, n=10_000, b=9_990, chi=1e-3)
    >>> target.a, target.T, target.valid
    (0.1736111111111111, 169.0, True)
    """
    where = "epsilon_target"
    epsilon = _checks.real(where, "epsilon", epsilon, above=0.0, remedy="the target is its root")
    L, mu, chi, D = _rules.given(where, L=L, mu=mu, chi=chi, D=D)
    kappa = L / mu
    noise = zeta(where, n, b)
    if chi == 0.0:
        a = 1.0
    else:
        a = min(1.0, (mu / (24.0 * chi)) ** 2 * epsilon)
    if a == 0.0:
        raise ValueError(
            f"{where}: epsilon={epsilon!r} must be larger, because the step scale (mu/(24 chi))^2 "
            "epsilon underflows; raise epsilon."
        )
    rate = 1.0 - 2.0 * math.sqrt(kappa * noise)
    start = 12.0 * math.sqrt(2.0 * kappa) * D / (math.sqrt(a) * math.sqrt(epsilon))
    T = 0.0 if start <= 1.0 else math.inf
    if rate > 0.0 and start > 1.0:
        T = float(math.ceil(2.0 * math.sqrt(kappa) / (math.sqrt(a) * rate) * math.log(start)))
    enough = above(b, batch_threshold(n, kappa, a, interpolation=chi == 0.0))
    return Target(a, T, *verdict_for_rows(where, L, L_max, enough))
