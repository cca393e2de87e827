"""Stages: Theorem 4 and the range of T that it covers."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .. import _checks
from ..schedules import _rules
from ..schedules.adaptive import sampling_noise
from ..schedules.stages import stage_count
from ._arguments import noise_root, run
from .batch import above, batch_threshold
from .result import MEAN_NORM, Bound, grown, row_smoothness, verdict

ROOT_2 = 0.5 * math.log(2.0)  # ln sqrt 2


def multistage_horizon(kappa: float) -> float:
    """T_bar = (3 2^8 sqrt(kappa)/ln 2) max{4 kappa, e^2}: Theorem 4 starts at this T.

    Source: ``thm:SHB_multistage``.

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
    kappa = _rules.condition_number("multistage_horizon", kappa)
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

    ``which="printed"``: C_7 exp(-T/(8 sqrt kappa)) D + C_8 chi/sqrt T for T >= T_bar
    (``multistage_horizon``), C_7 = 6 (1 + 2 ln^2 x)^(1/4), C_8 = 24 kappa sqrt(C_1)/(mu (kappa-1)),
    under the theorem's own stages only.

    Guarantee: L >= L_max, kappa > 1 and b >= b*(a_I), a_I = 2^-I. That condition makes zeta <=
    sqrt(a_I), so ``bound_shb`` at the same batch is already smaller: Theorem 4 never improves on
    Theorem 2. Why decay helps in practice is seen in ``bound_stationary``. Source:
    ``thm:SHB_multistage``, eq. ``eq:multi-overall-conv`` for the default.

    Parameters
    ----------
    T, L, mu, n, b, D, chi, L_max : number
        As for ``bound_shb``.
    stages : {"theorem", "fit"}, default "theorem"
        The rule for the number of stages, see ``stage_count``.
    which : {"corrected", "printed"}, default "corrected"
        The proved constants, or those that the paper prints.

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
    rules = ["theorem"] if which == "printed" else ["theorem", "fit"]
    stages = _checks.choice(where, "stages", stages, rules)
    T, L, mu, D = run(where, T, L, mu, D)
    kappa = _checks.real(where, "L / mu", L / mu, above=1.0, remedy="use bound_shb for kappa = 1")
    chi = noise_root(where, chi)
    count = stage_count(T, kappa, stages)
    conditions, trusted = row_smoothness(where, L, L_max)
    conditions.append(above(b, batch_threshold(n, kappa, 2.0**-count)))
    bias = grown(6.0 * math.sqrt(2.0 * kappa) * D, -T / (8.0 * math.sqrt(kappa)))
    noise = 24.0 * chi * kappa / (mu * (kappa - 1.0))
    if which == "printed":
        horizon = multistage_horizon(kappa)
        conditions.append((horizon <= T, f"T={T} is below T_bar={horizon:.6g}"))
        bias *= _log_factor(T, kappa) ** 0.25 / math.sqrt(2.0 * kappa)
        noise *= math.sqrt(_c_1(T, kappa) / T)
    else:
        bias, noise = 2.0 ** (-count / 4) * bias, 2.0 ** (-count / 4) * noise
    return Bound(MEAN_NORM, bias, noise, *verdict(conditions, trusted))


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
    """The T for which Theorem 4 holds at a given batch size.

    It starts at T_bar. Its end: the batch must satisfy b >= b*(2^-I(T)), that is 2^-I(T) >= zeta^2.
    ``corrected`` solves this exactly: with J = floor(-log2 zeta^2) + 1, T < 384 sqrt(kappa) J
    2^(J/2); ``sufficient`` is the closed form T <= (384 sqrt(kappa)/ln sqrt2) R ln R, R = 1/zeta;
    ``printed`` is T <= C_1(T) R, which uses 2^-I <= (C_1/T)^2 in the wrong direction and reaches
    too far.

    Source: ``col:multi_stage_T_crit``.

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
    kappa = _rules.condition_number(where, kappa)
    noise2 = 3.0 * sampling_noise(where, n, b)
    low = multistage_horizon(kappa)
    ends = {"corrected": _exact_end, "sufficient": _sufficient_end, "printed": _printed_end}
    high = math.inf if noise2 == 0.0 else ends[which](noise2, kappa)
    conditions = [
        above(b, batch_threshold(n, kappa, interpolation=True)),
        (low <= high, f"no T is covered: the range ends at {high:.6g}, before T_bar={low:.6g}"),
    ]
    if which == "printed":
        exact = math.inf if noise2 == 0.0 else _exact_end(noise2, kappa)
        conditions.append((high <= exact, f"beyond T={exact:.6g} the batch is below b*(2^-I)"))
    return Horizons(low, high, *verdict(conditions))


def _exact_end(noise2: float, kappa: float) -> float:
    """The largest T with 2^-I(T) >= zeta^2; I(T) reaches J at T = 384 sqrt(kappa) J 2^(J/2)."""
    halvings = math.floor(-math.log2(noise2)) + 1
    if halvings <= 0:
        return 0.0
    return float(math.ceil(384.0 * math.sqrt(kappa) * halvings * 2.0 ** (halvings / 2)) - 1)


def _sufficient_end(noise2: float, kappa: float) -> float:
    noise = math.sqrt(noise2)
    return max(0.0, -384.0 * math.sqrt(kappa) / ROOT_2 * math.log(noise) / noise)


def _printed_end(noise2: float, kappa: float) -> float:
    """The fixed point of T -> C_1(T)/zeta, which contracts: C_1 grows as ln T."""
    noise = math.sqrt(noise2)
    T = multistage_horizon(kappa) * max(1.0, 1.0 / noise) ** 2
    for _ in range(200):
        T = _c_1(T, kappa) / noise
    return T
