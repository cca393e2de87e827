"""The names that the paper's legends use, and the schedules they stand for in each setting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from .. import policies, schedules
from ..control import registry
from . import authors


@dataclass(frozen=True)
class Told:
    """What a method is told: horizon, rows, batch and constants, true or not."""

    T: int
    n: int
    b: int
    L: float
    mu: float
    L_max: float
    kappa_tilde: float | None


Build = Callable[[Told], Any]

PAPER: dict[str, Build] = {
    "SGD": lambda t: schedules.sgd(t.T, t.L),
    "SGD, 1/L_max": lambda t: schedules.sgd(t.T, t.L_max),
    "SHB": lambda t: schedules.shb(t.T, t.L, t.mu),
    "NON-ACC-SHB": lambda t: schedules.shb_averaged(t.T, t.L, t.mu),
    "Multi-SHB": lambda t: schedules.multistage(t.T, t.L, t.mu),
    "Multi-SHB-CNST": lambda t: schedules.multistage(t.T, t.L, t.mu, momentum="constant"),
    "2P-SHB": lambda t: schedules.two_phase(t.T, t.L, t.mu),
    "Nesterov-EXP": lambda t: schedules.nesterov_exponential(t.T, t.L, t.mu),
    "Multi-SHB-PAN-2": lambda t: schedules.pan(t.T, t.L, t.mu, C=2.0),
    "Multi-SHB-PAN-T-KAP": lambda t: schedules.pan(t.T, t.L, t.mu, C=t.T * math.sqrt(t.L / t.mu)),
    "K-CNST": lambda t: schedules.sgd(t.T, t.L),
    "K-EXP": lambda t: schedules.sgd_exponential(t.T, t.L),
    "SLS-EXP": lambda t: policies.sgd_sls_exponential(t.T),
    "SHB-CNST": lambda t: schedules.shb_averaged(t.T, t.L, t.mu),
    "SHB-EXP": lambda t: schedules.shb_exponential(t.T, t.L, t.mu),
    "SHB-SLS-EXP": lambda t: policies.shb_sls_exponential(t.T, t.mu),
    "Multi-SHB (fit)": lambda t: schedules.multistage(t.T, t.L, t.mu, "fit"),
    "Multi-SHB (authors' stages)": lambda t: schedules.multistage(t.T, t.L, t.mu, "authors"),
    "Multi-SHB-CNST (authors' stages)": lambda t: schedules.multistage(
        t.T, t.L, t.mu, "authors", "constant"
    ),
}

AUTHORS: dict[str, Build] = {
    "SHB": lambda t: authors.shb(t.T, t.L, t.mu, t.n, t.b),
    "NON-ACC-SHB": lambda t: authors.shb_constant(t.T, t.L, t.mu),
    "Multi-SHB": lambda t: authors.multistage(t.T, t.L, t.mu),
    "Multi-SHB-CNST": lambda t: authors.multistage(t.T, t.L, t.mu, constant_momentum=True),
    "2P-SHB": lambda t: authors.two_phase(t.T, t.L, t.mu),
    "Multi-SHB-PAN-2": lambda t: authors.pan(t.T, t.L, t.mu),
    "Multi-SHB-PAN-T-KAP": lambda t: authors.pan(t.T, t.L, t.mu, C=None),
    "K-EXP": lambda t: authors.sgd_exponential(t.T, t.L, t.mu),
    "SHB-CNST": lambda t: authors.shb_constant(t.T, t.L, t.mu),
    "SHB-EXP": lambda t: authors.shb_exponential(t.T, t.L, t.mu),
}

# fitted to the one panel of the release's notebook: SHB as printed, the rest as released
PUBLISHED: dict[str, Build] = {
    name: AUTHORS[name]
    for name in ("Multi-SHB", "Multi-SHB-CNST", "Multi-SHB-PAN-2", "Multi-SHB-PAN-T-KAP")
} | {"2P-SHB": lambda t: authors.published_two_phase(t.T, t.L, t.mu)}
BY_SETTING: dict[str, dict[str, Build]] = {
    "paper": {},
    "released-rows": {},
    "authors": AUTHORS,
    "published": PUBLISHED,
}


def build(setting: str, rule: str, told: Told) -> Any:
    """The schedule or policy of a rule: a name of the paper's legends, or a registry name.

    >>> told = Told(T=4, n=10, b=9, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=None)
    >>> build("paper", "SGD", told).alpha.tolist(), build("paper", "auto", told).name
    ([0.25, 0.25, 0.25, 0.25], 'auto')
    """
    for table in (BY_SETTING[setting], PAPER):
        if rule in table:
            return table[rule](told)
    given = {key: value for key, value in asdict(told).items() if key != "T"}
    return registry()[rule].build(told.T, given)
