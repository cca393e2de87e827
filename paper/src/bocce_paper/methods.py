"""The names that the paper's legends use, and the schedules they stand for in each setting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from bocce import methods, policies, schedules

from . import authors


@dataclass(frozen=True)
class KnownNumbers:
    """What a method knows: horizon, rows, batch and constants, true or not."""

    T: int
    n: int
    b: int
    L: float
    mu: float
    L_max: float
    kappa_tilde: float | None


COSINE = "cosine, 0.9"


def cosine(T: int, L: float) -> schedules.Schedule:
    """Heavy ball with momentum 0.9 and steps that fall from 1/L to 0 along half a cosine.

    What many people would try first, from L alone.

    >>> s = cosine(4, L=2.0)
    >>> s.alpha.round(3).tolist(), float(s.beta[1])
    ([0.5, 0.427, 0.25, 0.073], 0.9)
    """
    alpha = 0.5 * (1.0 + np.cos(np.pi * np.arange(T) / T)) / L
    return schedules.Schedule(alpha, np.full(T, 0.9), name=COSINE)


# Functions of T that take what they need of `KnownNumbers` by its name.
Factories = dict[str, Callable[..., Any]]

PAPER: Factories = {
    "SGD": schedules.sgd,
    "SGD, 1/L_max": lambda T, L_max: schedules.sgd(T, L_max),
    "SHB": schedules.shb,
    "NON-ACC-SHB": schedules.shb_averaged,
    "Multi-SHB": schedules.multistage,
    "Multi-SHB-CNST": partial(schedules.multistage, momentum="constant"),
    "2P-SHB": schedules.two_phase,
    "Nesterov-EXP": schedules.nesterov_exponential,
    "Multi-SHB-PAN-2": schedules.pan,
    "Multi-SHB-PAN-T-KAP": lambda T, L, mu: schedules.pan(T, L, mu, C=T * math.sqrt(L / mu)),
    "K-CNST": schedules.sgd,
    "K-EXP": schedules.sgd_exponential,
    "SLS-EXP": policies.sgd_sls_exponential,
    "SHB-CNST": schedules.shb_averaged,
    "SHB-EXP": schedules.shb_exponential,
    "SHB-SLS-EXP": policies.shb_sls_exponential,
    COSINE: cosine,
    "Multi-SHB (fit)": partial(schedules.multistage, stages="fit"),
    "Multi-SHB (authors' stages)": partial(schedules.multistage, stages="authors"),
    "Multi-SHB-CNST (authors' stages)": partial(
        schedules.multistage, stages="authors", momentum="constant"
    ),
}

AUTHORS: Factories = {
    "SHB": authors.shb,
    "NON-ACC-SHB": authors.shb_constant,
    "Multi-SHB": authors.multistage,
    "Multi-SHB-CNST": partial(authors.multistage, constant_momentum=True),
    "2P-SHB": authors.two_phase,
    "Multi-SHB-PAN-2": authors.pan,
    "Multi-SHB-PAN-T-KAP": partial(authors.pan, C=None),
    "K-EXP": authors.sgd_exponential,
    "SHB-CNST": authors.shb_constant,
    "SHB-EXP": authors.shb_exponential,
}

# fitted to the one panel of the release's notebook: SHB as printed, the rest as released
PUBLISHED: Factories = {
    name: AUTHORS[name]
    for name in ("Multi-SHB", "Multi-SHB-CNST", "Multi-SHB-PAN-2", "Multi-SHB-PAN-T-KAP")
} | {"2P-SHB": authors.published_two_phase}
BY_SETTING = {"authors": PAPER | AUTHORS, "published": PAPER | PUBLISHED}


def build(setting: str, rule: str, known: KnownNumbers) -> Any:
    """The schedule or policy of a rule: a name of the paper's legends, or a registry name.

    >>> known = KnownNumbers(T=4, n=10, b=9, L=4.0, mu=1.0, L_max=8.0, kappa_tilde=None)
    >>> build("paper", "SGD", known).alpha.tolist(), build("paper", "auto", known).name
    ([0.25, 0.25, 0.25, 0.25], 'auto')
    """
    factories = BY_SETTING.get(setting, PAPER)
    values = asdict(known)
    registry = methods()
    if rule in registry:
        method = registry[rule]
    else:
        method = schedules.Method(rule, factories[rule], "")
    return method.build(values.pop("T"), values)
