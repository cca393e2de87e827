"""The constants of the theorems at one setting: name, formula, line of the paper, both values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bocce import theory

from .thresholds import Setting

NU_MU = 0.5  # methods take half of mu, as in the table of bounds


@dataclass(frozen=True)
class Constant:
    """A constant of a theorem. ``printed`` is None where the paper has no such constant, and
    ``formula`` is the corrected form; where both forms agree, so do the values."""

    theorem: str
    name: str
    formula: str
    line: int
    printed: float | None
    corrected: float


def constants(s: Setting) -> list[Constant]:
    """All of them, with L = L_max as the theorems need, tau = 1 and a = 1.

    >>> from .thresholds import from_numbers
    >>> found = {c.name: c for c in constants(from_numbers(T=7000, kappa=10.0, ratio=1.0)[0])}
    >>> found["b*"].line, round(found["b*"].corrected)
    (252, 9936)
    """
    return [*_theorem_1(s), *_theorem_2(s), *_theorem_4(s), *_two_phase(s), *_wrong_mu(s)]


def _kappa(s: Setting) -> float:
    return s.L_max / s.mu


def _inverse(x: float) -> float:
    """1/x, infinite where x is too small for it."""
    if x > 0.0:
        return 1.0 / x
    return math.inf


def _c_L(s: Setting, T: float, nu: float = 1.0) -> tuple[float, float]:
    """c_L of lemma:Et_bound with tau = 1, as printed and corrected."""
    gamma = T ** (-1.0 / T)
    kappa = _kappa(s)
    reach = -math.expm1(-nu * gamma / (2.0 * kappa))
    printed = -4.0 * math.expm1(-math.log(T) / T) / (nu * s.mu) ** 2 * reach
    corrected = (1.0 - gamma / 2.0) / nu * -math.expm1(-nu * gamma / (4.0 * kappa))
    return printed, corrected


def _theorem_1(s: Setting) -> Iterator[Constant]:
    if s.T < 2:
        return
    name = "Theorem 1"
    kappa = _kappa(s)
    ell = math.log(s.T)
    gamma = s.T ** (-1.0 / s.T)
    zeta2 = theory.zeta2(s.n, s.b)
    c_B = (2.0 * kappa - 1.0) / (2.0 * kappa - 1.0 - zeta2 * (kappa - 1.0))
    printed_c_L, c_L = _c_L(s, s.T)
    spread = (kappa * ell / (math.e * gamma)) ** 2
    printed_C_4 = math.exp(1.0 / (kappa * ell)) * _inverse(printed_c_L)
    C_4 = math.exp(0.5 / (kappa * ell)) * _inverse(c_L)
    yield Constant(name, "gamma", "(1/T)^(1/T)", 229, gamma, gamma)
    formula = "(1 - gamma/2) [1 - exp(-gamma/(4 kappa))]"
    yield Constant(name, "c_L", formula, 692, printed_c_L, c_L)
    formula = "exp(1/(2 kappa ln T))/c_L"
    yield Constant(name, "C_4", formula, 681, printed_C_4, C_4)
    formula = "(2 kappa - 1)/(2 kappa - 1 - zeta0^2 (kappa - 1))"
    yield Constant(name, "c_B", formula, 626, None, c_B)
    formula = "8 kappa^2 c_B zeta0^2 ln^2 T/(L e^2 gamma^2)"
    printed_C_5 = 64.0 * s.L_max * zeta2 * kappa * spread
    yield Constant(name, "C_5", formula, 681, printed_C_5, 8.0 * c_B * zeta2 * spread / s.L_max)


def _theorem_2(s: Setting) -> Iterator[Constant]:
    name = "Theorem 2"
    kappa = _kappa(s)
    zeta = math.sqrt(3.0 * theory.zeta2(s.n, s.b))
    pace = 0.5 * max(0.75, 1.0 - 2.0 * math.sqrt(kappa * zeta))
    rows = (
        ("C", "3^5 2^6", 15_552.0),
        ("b*", "n max{1/(1 + (n-1)/(C kappa^2)), 1/(1 + (n-1)/3)}", s.paper_batch),
        ("zeta", "sqrt(3 (n-b)/((n-1) b))", zeta),
        ("bias factor", "6 sqrt(2 kappa)", 6.0 * math.sqrt(2.0 * kappa)),
        ("pace", "max{3/4, 1 - 2 sqrt(kappa zeta)}/(2 sqrt(kappa))", pace / math.sqrt(kappa)),
        ("noise", "12 chi min{1, zeta}/mu", 12.0 * math.sqrt(s.chi2) * min(1.0, zeta) / s.mu),
    )
    yield from (Constant(name, n, formula, 252, value, value) for n, formula, value in rows)


def _theorem_4(s: Setting) -> Iterator[Constant]:
    name = "Theorem 4"
    kappa = _kappa(s)
    stages = float(theory.stage_count(s.T, kappa, "theorem"))
    start = theory.multistage_horizon(kappa)
    formula = "3 2^8 sqrt(kappa) max{4 kappa, e^2}/ln 2"
    yield Constant(name, "T_bar", formula, 339, start, start)
    yield Constant(name, "I", "stages after stage 0", 339, stages, stages)
    yield Constant(name, "a_I", "2^-I", 339, 2.0**-stages, 2.0**-stages)


def _two_phase(s: Setting) -> Iterator[Constant]:
    name = "two-phase, c = 1/2"
    kappa = _kappa(s)
    second = s.T / 2.0
    if kappa > 1.0:
        q = theory.two_phase_exponent(kappa)
        yield Constant(name, "q", "1 - ln((sqrt(kappa) + 1)/2)/ln(kappa)", 1580, q, q)
    if second > 1.0:
        printed, corrected = _c_L(s, second)
        formula = "(1 - gamma/2) [1 - exp(-gamma/(4 kappa))], T/2 for T"
        yield Constant(name, "c_L", formula, 1580, printed, corrected)


def _wrong_mu(s: Setting) -> Iterator[Constant]:
    if s.T < 2:
        return
    printed, corrected = _c_L(s, s.T, NU_MU)
    formula = "(1 - gamma/2)/nu [1 - exp(-nu gamma/(4 kappa))]"
    yield Constant("wrong mu, nu = 1/2", "c_mu", formula, 867, printed, corrected)
