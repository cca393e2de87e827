"""What the PyTorch and the Optax adapter share: a schedule from lr, and the rows beyond its end."""

from __future__ import annotations

import numpy as np

from . import _checks
from .schedules import REGISTRY, Schedule

AFTER = ("hold", "restart", "stop", "raise")
KAPPA = 100.0  # momentum 0.9025: what benchmarks/torch_networks.py measures
Row = tuple[float, float, float]


def row(schedule: Schedule, k: int, after: str) -> Row:
    """(alpha, beta, theta) of step k, which may lie beyond T.

    ``hold`` repeats the last row, ``restart`` the table from rest, ``stop`` moves no more;
    ``raise`` has no step there. In each of them theta_T = 0, so that after T steps the
    parameters hold w_T, whether more steps come or not.

    >>> from bocce.schedules import nesterov
    >>> s = nesterov(T=2, L=4.0, mu=1.0)
    >>> [row(s, k, "hold")[2] > 0 for k in range(4)]
    [True, True, False, True]
    """
    T = schedule.T
    if k >= T and after in ("stop", "raise"):
        return 0.0, 0.0, 0.0
    at = k % T if after == "restart" else min(k, T - 1)
    alpha, beta, theta = (float(c[at]) for c in (schedule.alpha, schedule.beta, schedule.theta))
    if k >= T and at == 0 and after == "restart":
        return alpha, 0.0, 0.0
    return alpha, beta, 0.0 if k == T else theta


def held(where: str, schedule: Schedule) -> str:
    """The warning at the first step beyond T, where ``after`` is "hold"."""
    return (
        f"{where}: the schedule {schedule.name!r} ended at T={schedule.T}; its last row is "
        "repeated from here on. Give a longer one, or pass after='restart', 'stop' or 'raise'."
    )


def refused(where: str, schedule: Schedule) -> str:
    """The error at a step beyond T, where ``after`` is "raise"."""
    return (
        f"{where}: the schedule {schedule.name!r} ended at T={schedule.T}; give a longer one, or "
        "pass after='hold', 'restart' or 'stop'."
    )


def from_rate(
    where: str, lr: float, kappa: float, T: int | None, method: str, decay: str | None
) -> Schedule:
    """The schedule of ``from_lr`` for lr = 1: the method for L = 1 and mu = 1/kappa, decayed.

    Times lr it is the method's for L = 1/lr and mu = 1/(lr kappa).

    >>> s = from_rate("from_lr", 0.1, 100.0, 50, "shb", "cosine")
    >>> float(s.alpha[0]), round(float(s.alpha[25]), 12), round(float(s.beta[0]), 4)
    (1.0, 0.5, 0.9025)
    """
    if T is None:
        rule = "the number of steps of the whole run"
        remedy = "give epochs times batches an epoch"
        raise _checks.refused(ValueError, where, "T", T, rule, remedy)
    if decay is not None:
        _checks.choice(where, "decay", decay, ["cosine"])
    _checks.real(where, "lr", lr, above=0.0, remedy="lr plays 1/L")
    kappa = _checks.real(where, "kappa", kappa, least=1.0, remedy="100 is a start for networks")
    name = _checks.choice(where, "method", method, REGISTRY)
    constants = {"L": 1.0, "mu": 1.0 / kappa}
    missing = [need for need in REGISTRY[name].needs if need not in constants]
    if missing:
        raise ValueError(
            f"{where}: method={name!r} also needs {', '.join(missing)}, which lr and kappa do "
            "not give; build the schedule with bocce.schedules and pass it."
        )
    schedule: Schedule = REGISTRY[name].build(T, constants)
    decays_by_itself = schedule.alpha.min() < schedule.alpha.max()
    if decay is None or decays_by_itself:
        return schedule
    factor = 0.5 * (1.0 + np.cos(np.pi * np.arange(T) / T))
    name = f"{schedule.name}, cosine"
    return Schedule(factor * schedule.alpha, schedule.beta, schedule.theta, name)
