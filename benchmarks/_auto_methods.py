"""The schedules that benchmarks/auto.py compares: every method of the registry, and ours."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np

import bocce
from bocce import theory
from bocce.schedules import REGISTRY, adaptive
from bocce.theory import zeta2

AVERAGED = "sgd-safe, tail average"  # not a schedule: shown, but not among the rivals
CERTIFIED = ("auto, certified", "auto, certified regret")
OURS = ("auto", "auto-shb", "auto, L_max and kappa~", "auto, decay", *CERTIFIED)
# what the certificate chooses among: the constants of adaptive.Averaging
CHOICES = [
    adaptive.Averaging(after=after, latest=latest, growth=growth)
    for after, latest, growth in itertools.product(
        (1.75, 3.5, 7.0), (0.25, 0.5, 0.75), (1 / 6, 1 / 3, 2 / 3)
    )
]
NOISES = np.logspace(-8.0, 8.0, 33)  # sizes of the noise over that of the start


def methods(p: Any, b: int, T: int, certify: bool = False) -> dict[str, bocce.Schedule]:
    """Every schedule of the registry, as the paper sets it and with L_max for L; and ours."""
    return rivals(p, b, T) | ours(p, b, T) | (certified(p, b, T) if certify else {})


def rivals(p: Any, b: int, T: int) -> dict[str, bocce.Schedule]:
    """A method added to the registry is a rival; one that is not a schedule is left out."""
    c = p.constants()
    own = {"mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde, "n": p.n, "b": b}
    built = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, method in REGISTRY.items():
            if name.startswith("auto"):
                continue
            built[name] = method.build(T, {"L": c.L, **own})
            if set(method.needs) <= {"L", "mu"}:
                built[f"{name}, safe"] = method.build(T, {"L": c.L_max, **own})
    return {name: table for name, table in built.items() if isinstance(table, bocce.Schedule)}


def ours(p: Any, b: int, T: int) -> dict[str, bocce.Schedule]:
    """auto with the constants that ``minimize`` gives it, and what it was chosen from."""
    c, z = p.constants(), zeta2(p.n, b)
    R2, tilde = c.sharpest
    make = bocce.schedules.auto
    given = {"T": T, "L": c.L, "mu": c.mu, "n": p.n, "b": b}
    alpha, beta, theta = adaptive.lookahead_table(
        T, c.L, c.mu, c.L_max, c.kappa_tilde, z, adaptive.Averaging(latest=1.0, after=np.inf)
    )
    tau = 2.0 * adaptive.batch_constants(c.L, c.mu, c.L_max, c.kappa_tilde, z)[2]
    shape = adaptive.decay(T, min(3.5 * tau / T, 0.5)) if b < p.n else np.ones(T)
    return {
        "auto": make(**given, L_max=R2, kappa_tilde=tilde),
        "auto-shb": make(**given, L_max=R2, family="shb"),
        "auto, L_max and kappa~": make(**given, L_max=c.L_max, kappa_tilde=c.kappa_tilde),
        "auto, decay": bocce.Schedule(alpha * shape, beta, theta),
    }


def certified(p: Any, b: int, T: int) -> dict[str, bocce.Schedule]:
    """Of CHOICES, those with the smallest certified error and with the least regret.

    The first is told w* and the noise there, which nobody knows before a run.
    """
    c, z = p.constants(), zeta2(p.n, b)
    R2, tilde = c.sharpest
    tables = [
        bocce.Schedule(*adaptive.lookahead_table(T, c.L, c.mu, R2, tilde, z, how))
        for how in CHOICES
    ]
    if b == p.n:
        return dict.fromkeys(CERTIFIED, tables[0])  # without noise they are the same
    bounds = [theory.certify_run(p, table, b).total for table in tables]
    best = tables[int(np.argmin(bounds))], tables[least_regret(p, tables, b)]
    return dict(zip(CERTIFIED, best))


def least_regret(p: Any, tables: list[bocce.Schedule], b: int) -> int:
    """The table whose certified error is nearest to the best one's, whatever the noise.

    Knows the spectrum, not w*: the error of the start and that of the noise are certified apart,
    and their sum is compared at every size of the noise.
    """
    R2, tilde = p.constants().sharpest
    lam = np.linalg.eigvalsh(p.gram)
    known = {"n": p.n, "b": b, "L_max": max(R2, lam[-1]), "kappa_tilde": tilde, "spectrum": lam}
    start = np.array([theory.certify(t, **known, error0=1.0).total for t in tables])
    noise = np.array([theory.certify(t, **known, error0=0.0, chi2=1.0).total for t in tables])
    errors = start[:, None] + NOISES * noise[:, None]
    with np.errstate(invalid="ignore"):
        regret = np.nan_to_num(errors / errors.min(axis=0), nan=np.inf).max(axis=1)
    return int(np.argmin(regret))
