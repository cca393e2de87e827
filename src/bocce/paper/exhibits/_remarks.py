"""Remarks of the text about batch sizes, judged by formulas alone."""

from __future__ import annotations

from dataclasses import replace

from ... import theory
from ..results import Results
from ..texts import HORIZON, claims
from ..verdicts import Case, Finding

C = theory.batch_threshold(10**18, 1.0, interpolation=True)  # 15,552: b* of many rows at kappa = 1


def _share_falls(results: Results, setting: str) -> Finding:
    cases: dict[str, Case] = {}
    numbers: dict[str, float] = {}
    for kappa in (10.0, 100.0, 1000.0):
        for n in (10**3, 10**4, 10**5, 10**6, 10**7):
            many, few = (theory.batch_threshold(m, kappa) / m for m in (10 * n, n))
            cases[f"kappa={kappa:g}, n={n}"] = many <= few
            numbers[f"b*/n, kappa={kappa:g}, n={n}"] = few
    return Finding(
        cases,
        numbers,
        "Both parts of b*/n, 1/(1 + (n-1)/(C kappa^2)) and 1/(1 + (n-1)a/3), fall with n; while n "
        "is below C kappa^2 they hardly do.",
    )


def _proportional_horizon(results: Results, setting: str) -> Finding:
    """T = psi n with psi = 1 and kappa = 10: the two parts of b* over n."""
    numbers: dict[str, float] = {}
    parts = {}
    for n in (10**6, 10**9, 10**12):
        stages = theory.stage_count(n, 10.0)
        first = theory.batch_threshold(n, 10.0, interpolation=True) / n
        second = 1.0 / (1.0 + (n - 1) * 2.0**-stages / 3.0)
        parts[n] = (first, second)
        numbers[f"first part of b*/n, n={n:.0e}"] = first
        numbers[f"second part of b*/n, n={n:.0e}"] = second
    return Finding(
        {
            "the second part is 1/(1 + 1/(4 psi)) = 0.8": all(
                abs(second - 0.8) < 0.05 for _, second in parts.values()
            ),
            "at n = 10^6 the condition number decides": parts[10**6][0] > parts[10**6][1],
        },
        numbers,
        f"a_I is of the order (ln T/T)^2, not 1/T: at kappa = 10 and psi = 1 the second part is "
        f"{parts[10**6][1]:.3f} n at n = 10^6 (so that the condition number decides, as the paper "
        f"concludes), {parts[10**9][1]:.2f} n at n = 10^9 and tends to n.",
    )


def _bollapragada(results: Results, setting: str) -> Finding:
    kappa = 100.0
    just_above = 2.0 * kappa**0.5  # columns, above the stated sqrt(kappa)
    return Finding(
        {
            "in orders, d = 2 sqrt(kappa)": kappa**2 < just_above * kappa**1.5,
            "with the printed C, d = 2 sqrt(kappa)": C * kappa**2 < just_above * kappa**1.5,
        },
        {"C": C, "d from which C kappa^2 < d kappa^(3/2), over sqrt(kappa)": C},
        "In orders it is so: kappa^2 < d kappa^(3/2) from d = sqrt(kappa) on. With the printed "
        "C = 15,552 it is so from d = 15,552 sqrt(kappa) on (the other constant is not given), and "
        "kappa is L_max/mu in b*, which is at least d.",
    )


def _lee(results: Results, setting: str) -> Finding:
    average, kappa = 1.0, 1.0
    share = average / kappa**0.5
    return Finding(
        {"kappa_bar = kappa = 1": share == 1.0},
        {"required share of n": share, "b*/n at kappa = 1, n = 1e6": C / 1e6},
        "Their condition as quoted, b >= n kappa_bar/sqrt(kappa), is b = n there, where equal rows "
        "leave no sampling noise at all.",
    )


_JUDGED = claims(
    "remarks",
    batch_share_falls=_share_falls,
    batch_compared_bollapragada=_bollapragada,
    batch_compared_lee=_lee,
    horizon_proportional=_proportional_horizon,
)
REMARKS = (*_JUDGED[:-1], replace(_JUDGED[-1], changes=(HORIZON,)))
