"""Stages: Theorem 4, the range of T that it covers, and stages with one momentum."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from ..schedules.accelerated import sampling_noise
from ..schedules.stages import RULES, stage_count, stage_lengths
from .batch import above, batch_threshold
from .certificate import bound_stationary, certificate, certified_rate, certifies
from .result import MEAN_NORM, Bound, grown, verdict, verdict_for_rows

ROOT_2 = 0.5 * math.log(2.0)  # ln sqrt 2
SLOWER = (1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 1.0)  # how much of 1 - r is given up for the constant


def multistage_horizon(kappa: float) -> float:
    """T_bar = (3 2^8 sqrt(kappa)/ln 2) max{4 kappa, e^2}: Theorem 4 starts at this T.

    Parameters
    ----------
    kappa : float
        The condition number L/mu, at least 1.

    Returns
    -------
    float

    Examples
    --------
    >>> f"{multistage_horizon(200.0):.2e} {multistage_horizon(1000.0):.2e}"
    '1.25e+07 1.40e+08'
    """
    (kappa,) = _rules.given("multistage_horizon", kappa=kappa)
    return 768.0 * math.sqrt(kappa) / math.log(2.0) * max(4.0 * kappa, math.e**2)


def _log_factor(T: float, kappa: float) -> float:
    """1 + 2 ln^2 x, x = T ln sqrt2/(384 sqrt kappa)."""
    return 1.0 + 2.0 * math.log(T * ROOT_2 / (384.0 * math.sqrt(kappa))) ** 2


def _c_1(T: float, kappa: float) -> float:
    """C_1 = 2^9 3 sqrt(kappa (1 + 2 ln^2 x))/ln 2, for which 2^(-I/2) <= C_1/T."""
    return 1536.0 * math.sqrt(kappa * _log_factor(T, kappa)) / math.log(2.0)


def bound_multistage(
    T: int,
    L: float,
    mu: float,
    n: int,
    b: int,
    D: float = 1.0,
    chi: float = 0.0,
    stages: str = "theorem",
    L_max: float | None = None,
    which: str = "corrected",
) -> Bound:
    """Theorem 4: multi-stage heavy ball on quadratics (``schedules.multistage``).

    With I = ``stage_count(T, kappa, stages)`` and any T,

        E||w_T - w*|| <= 2^(-I/4) [6 sqrt2 sqrt(kappa) exp(-T/(8 sqrt kappa)) D
                                   + 24 chi kappa/(mu (kappa - 1))].

    Guarantee: L >= L_max, kappa > 1 and b >= b*(a_I), a_I = 2^-I. At such a batch ``bound_shb`` is
    already smaller; ``bound_stationary`` shows why decay helps in practice. Source:
    ``thm:SHB_multistage``, ``eq:multi-overall-conv``.

    Parameters
    ----------
    T, L, mu, n, b, D, chi, L_max : number
        As for ``bound_shb``.
    stages : {"theorem", "fit"}, default "theorem"
        The rule for the number of stages, see ``stage_count``.
    which : {"corrected", "printed"}, default "corrected"
        "printed", for the theorem's own stages and T >= T_bar (``multistage_horizon``), is C_7
        exp(-T/(8 sqrt kappa)) D + C_8 chi/sqrt T.

    Returns
    -------
    Bound

    Examples
    --------
    >>> run = dict(T=7000, L=200.0, mu=1.0, n=10**9, b=10**9 - 1000, chi=0.1)
    >>> bound = bound_multistage(**run, stages="fit")
    >>> f"{bound.bias:.3e} {bound.noise:.3e} {bound.valid}"
    '1.143e-25 1.706e+00 True'
    """
    where = "bound_multistage"
    which = _checks.choice(where, "which", which, ["corrected", "printed"])
    if which == "printed":
        rules = ["theorem"]
    else:
        rules = ["theorem", "fit"]
    stages = _checks.choice(where, "stages", stages, rules)
    T, L, mu, D, chi = _rules.given(where, T=T, L=L, mu=mu, D=D, chi=chi)
    kappa = _checks.real(where, "L / mu", L / mu, above=1.0, remedy="use bound_shb for kappa = 1")
    count = stage_count(T, kappa, stages)
    conditions = [above(b, batch_threshold(n, kappa, 2.0**-count))]
    bias = grown(6.0 * math.sqrt(2.0 * kappa) * D, -T / (8.0 * math.sqrt(kappa)))
    noise = 24.0 * chi * kappa / (mu * (kappa - 1.0))
    if which == "printed":
        horizon = multistage_horizon(kappa)
        conditions.append((horizon <= T, f"T={T} is below T_bar={horizon:.6g}"))
        bias *= _log_factor(T, kappa) ** 0.25 / math.sqrt(2.0 * kappa)
        noise *= math.sqrt(_c_1(T, kappa) / T)
    else:
        bias = 2.0 ** (-count / 4) * bias
        noise = 2.0 ** (-count / 4) * noise
    return Bound(MEAN_NORM, bias, noise, *verdict_for_rows(where, L, L_max, *conditions))


@dataclass(frozen=True)
class Horizons:
    """The numbers of steps that a theorem covers.

    Attributes
    ----------
    low, high : float
        The smallest and the largest T.
    valid, why : bool, str
        Whether any T lies between them; the reason, in words.
    """

    low: float
    high: float
    valid: bool
    why: str


def multistage_range(n: int, b: int, kappa: float, which: str = "corrected") -> Horizons:
    """The T for which Theorem 4 holds at a given batch size: from T_bar until b < b*(2^-I(T)).

    ``corrected`` solves 2^-I(T) >= zeta^2 exactly: with J = floor(-log2 zeta^2) + 1, T < 384
    sqrt(kappa) J 2^(J/2). ``sufficient`` is T <= (384 sqrt(kappa)/ln sqrt2) R ln R, R = 1/zeta.
    ``printed`` is T <= C_1(T) R, which reaches too far. Source: ``col:multi_stage_T_crit``.

    Parameters
    ----------
    n, b, kappa : int, int, float
        Rows of the data and of a batch, 1 <= b <= n; condition number L/mu, at least 1.
    which : {"corrected", "sufficient", "printed"}, default "corrected"
        The form of the upper end, see above.

    Returns
    -------
    Horizons

    Examples
    --------
    >>> for which in ("printed", "corrected", "sufficient"):
    ...     print(which, f"{multistage_range(10**6, 999_000, 10.0, which).high:.4g}")
    printed 2.436e+09
    corrected 8.16e+08
    sufficient 6.273e+08
    """
    where = "multistage_range"
    which = _checks.choice(where, "which", which, ["corrected", "sufficient", "printed"])
    (kappa,), noise2 = _rules.given(where, kappa=kappa), 3.0 * sampling_noise(where, n, b)
    low = multistage_horizon(kappa)
    high, exact = (_end(form, noise2, kappa) for form in (which, "corrected"))
    conditions = [
        above(b, batch_threshold(n, kappa, interpolation=True)),
        (low <= high, f"no T is covered: the range ends at {high:.6g}, before T_bar={low:.6g}"),
    ]
    if which == "printed":
        conditions.append((high <= exact, f"beyond T={exact:.6g} the batch is below b*(2^-I)"))
    return Horizons(low, high, *verdict(*conditions))


def _end(form: str, noise2: float, kappa: float) -> float:
    """The largest T of the range, for zeta^2 = noise2."""
    if noise2 == 0.0:
        return math.inf
    zeta = math.sqrt(noise2)
    unit = 384.0 * math.sqrt(kappa)
    if form == "corrected":  # I(T) reaches J at T = 384 sqrt(kappa) J 2^(J/2)
        halvings = math.floor(-math.log2(noise2)) + 1
        return max(0.0, math.ceil(unit * halvings * math.pow(2.0, halvings / 2)) - 1.0)
    if form == "sufficient":
        return max(0.0, -unit / ROOT_2 * math.log(zeta) / zeta)
    # the fixed point of T -> C_1(T)/zeta, which contracts: C_1 grows as ln T
    T = multistage_horizon(kappa) * max(1.0, 1.0 / zeta) ** 2
    for _ in range(200):
        T = _c_1(T, kappa) / zeta
    return T


def stage_constant(alpha: float, beta: float, mu: float, lam_max: float, rate: float) -> float:
    """C of Theorem S: sqrt(E||e_k||^2) <= C rate^k ||e_0|| from rest, at a certified rate.

    C^2 = max r^2 G(lam) max (1 - 2 beta t/(r^2 + beta) + beta^2/r^2), t = 1 + beta - alpha lam and
    r^2 G = (1+beta')/((1-beta')((1+beta')^2 - t^2/r^2)), beta' = beta/r^2; both at an end of
    [mu, lam_max]. Infinite where the noise-free method is not faster than ``rate``.

    >>> round(stage_constant(alpha=0.1, beta=0.0, mu=1.0, lam_max=10.0, rate=1.0), 4)
    2.2942
    """
    r2 = rate * rate
    shrunk = beta / r2
    speeds = [1.0 + beta - alpha * lam for lam in (mu, lam_max)]  # t at the two ends
    least = min((1.0 + shrunk) ** 2 - t * t / r2 for t in speeds)
    most = max(1.0 - 2.0 * beta * t / (r2 + beta) + beta * beta / r2 for t in speeds)
    if shrunk >= 1.0 or least <= 0.0:
        return math.inf
    return math.sqrt((1.0 + shrunk) / ((1.0 - shrunk) * least) * most)


def bound_multistage_constant(
    T: int,
    L: float,
    mu: float,
    n: int,
    b: int,
    L_max: float,
    D: float = 1.0,
    chi: float = 0.0,
    stages: str = "fit",
    lam_max: float | None = None,
) -> Bound:
    """The bound for multi-stage heavy ball with one momentum, ``multistage(momentum="constant")``.

    Stage i has alpha_i = 2^-i/L, the same beta = (1 - 1/(2 sqrt kappa))^2 and T_i steps from rest.
    With r_i any rate that Theorem S certifies for (alpha_i, beta), C_i its constant and F_i^2 the
    floor of ``bound_stationary``, root mean square errors obey D_{i+1} <= C_i r_i^T_i D_i + F_i:

        sqrt(E||w_T - w*||^2) <= prod C_i r_i^T_i D + sum_i F_i prod_{j > i} C_j r_j^T_j.

    Guarantee: least squares with any l2, independent batches, zeta0^2 below ``certificate(1/L,
    beta, ...)``. With many short stages ``theory.certify`` says more. Source: not in the paper;
    proof in docs/theory/multistage.md.

    Parameters
    ----------
    T, L, mu, n, b, D, chi : number
        As for ``bound_shb``.
    L_max, lam_max : float
        Largest curvature of one row's loss, l2 included (or ``Constants.R2``); largest eigenvalue
        of the Hessian, by default L.
    stages : {"fit", "theorem", "authors"}, default "fit"
        As in ``schedules.multistage``.

    Returns
    -------
    Bound

    Examples
    --------
    >>> run = dict(T=4000, L=100.0, mu=1.0, n=10_000, b=2_000, L_max=300.0, chi=0.1)
    >>> bound = bound_multistage_constant(**run)
    >>> f"{bound.bias:.1e} {bound.noise:.1e} {bound.valid}"
    '5.0e-78 2.3e-04 True'
    """
    where = "bound_multistage_constant"
    T, L, mu, D, chi = _rules.given(where, T=T, L=L, mu=mu, D=D, chi=chi)
    stages = _checks.choice(where, "stages", stages, RULES)
    zeta2 = sampling_noise(where, n, b)
    top = L if lam_max is None else lam_max
    L_max, mu, top = _rules.given(where, L_max=L_max, mu=mu, lam_max=top)
    beta = _rules.momentum(1.0 / L, mu)
    stable = certifies(zeta2, certificate(1.0 / L, beta, L_max, mu, top))
    if not stable[0]:
        return Bound(MEAN_NORM, math.inf, math.inf, *stable)
    log_bias = 0.0
    noise = 0.0
    for i, length in enumerate(stage_lengths(T, L / mu, stages)):
        known = (0.5**i / L, beta, zeta2, L_max, mu, top)
        log_factor = _log_decay(0.5**i / L, beta, length, certified_rate(*known), mu, top)
        log_bias += log_factor
        noise = grown(noise, log_factor) + math.sqrt(bound_stationary(*known, chi * chi).noise)
    return Bound(MEAN_NORM, grown(D, log_bias), noise, *stable)


def _log_decay(
    alpha: float, beta: float, length: int, fastest: float, mu: float, lam_max: float
) -> float:
    """ln of the smallest C r^T_i over some certified rates; every choice is a bound."""
    if length == 0:
        return 0.0
    rates = [fastest + (1.0 - fastest) * share for share in SLOWER]
    constants = [stage_constant(alpha, beta, mu, lam_max, rate) for rate in rates]
    return min(math.log(C) + length * math.log(r) for C, r in zip(constants, rates))
