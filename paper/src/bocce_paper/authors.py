"""What the released code does, as tables: each departs from the paper as docs/deviations.md says.

They exist to show what the published figures show. None of them is offered as a method.
`published_two_phase` is not in the released code: it is fitted to the one panel of the release's
notebook.
"""

from __future__ import annotations

import math

import numpy as np

from bocce.schedules import Schedule, momentum, stage_count


def step_factor(n: int, b: int, kappa: float) -> float:
    """a = 1/((1 - b/n) sqrt(kappa)) where the paper says a = 1; 1 at the full batch.

    >>> round(step_factor(8000, 7200, 1000.0), 2), step_factor(8000, 8000, 1000.0)
    (0.32, 1.0)
    """
    if b == n:
        return 1.0
    return 1.0 / ((1.0 - b / n) * math.sqrt(kappa))


def shb(T: int, L: float, mu: float, n: int, b: int) -> Schedule:
    """SHB with their step factor; above 1, as it is for small kappa, it may diverge at any batch.

    >>> round(float(shb(2, 1000.0, 1.0, 10, 9).alpha[0]) * 1000, 3)
    0.316
    """
    alpha = step_factor(n, b, L / mu) / L
    return Schedule(np.full(T, alpha), np.full(T, momentum(alpha, mu)), name="SHB (authors)")


def _averaged(
    steps: np.ndarray, coming: np.ndarray, powers: np.ndarray, mu: float, omega: float
) -> tuple[np.ndarray, np.ndarray]:
    """(alpha, beta) with lambda = omega/eta * mu (...): mu multiplies where the paper divides.

    ``coming`` holds the next step's eta and ``powers`` the exponent that goes with it. Momentum
    that turns negative (by about 1e-6, where their steps grow) is 0 here.
    """
    after = omega / coming * mu * (1.0 - (1.0 - coming * mu) ** powers)
    before = np.concatenate([[0.0], after[:-1]])
    return steps / (1.0 + after), np.maximum((1.0 - steps * mu) * before / (1.0 + after), 0.0)


def shb_exponential(T: int, L: float, mu: float) -> Schedule:
    """SHB-EXP with upsilon = 1/(2L), tau = 10 kappa, lambda times mu^2, eta_0 = eta_1.

    >>> s = shb_exponential(100, L=10.0, mu=1.0)  # 10 kappa = T: the steps do not decay at all
    >>> s.alpha[[0, 99]].tolist(), float(s.beta.max())
    ([0.05, 0.05], 0.0)
    """
    gamma = (10.0 * L / mu / T) ** (1.0 / T)
    k = np.arange(T)
    steps = gamma ** np.maximum(k, 1) / (2.0 * L)
    coming = gamma ** (k + 1.0) / (2.0 * L)
    alpha, beta = _averaged(steps, coming, k + 1.0, mu, 1.0 - gamma)
    return Schedule(alpha, beta, name="SHB-EXP (authors)")


def shb_constant(T: int, L: float, mu: float) -> Schedule:
    """NON-ACC-SHB and SHB-CNST: with eta = 1/(2L) all lambda vanish, which leaves SGD.

    >>> s = shb_constant(3, L=1.0, mu=0.5)
    >>> s.alpha.tolist(), s.beta.tolist()
    ([0.5, 0.5, 0.5], [0.0, 0.0, 0.0])
    """
    return Schedule(np.full(T, 0.5 / L), np.zeros(T), name="SGD with 1/(2L)")


def sgd_exponential(T: int, L: float, mu: float) -> Schedule:
    """K-EXP with tau = 5 kappa, from gamma^0.

    >>> sgd_exponential(40, L=4.0, mu=1.0).alpha[[0, 20]].round(4).tolist()
    [0.25, 0.1768]
    """
    gamma = (5.0 * L / mu / T) ** (1.0 / T)
    return Schedule(gamma ** np.arange(T) / L, np.zeros(T), name="K-EXP (authors)")


def two_phase(T: int, L: float, mu: float) -> Schedule:
    """2P-SHB: phase 1 with 1/(2L) and (1 - sqrt(alpha mu))^2, one step longer; lambda_1 skipped.

    >>> s = two_phase(10, L=4.0, mu=1.0)
    >>> int(np.argmin(s.beta)), float(s.alpha[5]), float(s.alpha[6]) < 0.125
    (6, 0.125, True)
    """
    first = min(T, math.ceil(0.5 * T) + 1)
    alpha = np.full(T, 0.5 / L)
    beta = np.full(T, (1.0 - math.sqrt(0.5 * mu / L)) ** 2)
    horizon = max(T - first + 1, 1)
    gamma = (1.0 / horizon) ** (1.0 / horizon)
    s = np.arange(1.0, T - first + 1.0)
    coming = gamma ** (s + 1.0) / (2.0 * L)
    tail = _averaged(gamma**s / (2.0 * L), coming, s + 1.0, mu, 1.0 - gamma)
    alpha[first:], beta[first:] = tail
    return Schedule(alpha, beta, name="2P-SHB (authors)")


def published_two_phase(T: int, L: float, mu: float) -> Schedule:
    """2P-SHB of the published panel: phase 1 is SHB as printed, phase 2 as released.

    >>> s = published_two_phase(10, L=4.0, mu=1.0)
    >>> float(s.alpha[5]), bool(s.alpha[6] == two_phase(10, 4.0, 1.0).alpha[6])
    (0.25, True)
    """
    released = two_phase(T, L, mu)
    first = min(T, math.ceil(0.5 * T) + 1)
    alpha = released.alpha.copy()
    beta = released.beta.copy()
    alpha[:first] = 1.0 / L
    beta[:first] = momentum(1.0 / L, mu)
    return Schedule(alpha, beta, name="2P-SHB (published)")


def _stage_of(ends: list[int], T: int) -> np.ndarray:
    """The stage of each step; their search gives stage 0 one step more."""
    return np.searchsorted(np.array(ends), np.arange(T))


def multistage(T: int, L: float, mu: float, constant_momentum: bool = False) -> Schedule:
    """Multi-SHB: their number of stages, 0.4 T in stage 0, and no restart.

    >>> s = multistage(7000, L=1000.0, mu=1.0)
    >>> int(np.flatnonzero(np.diff(s.alpha))[0]), bool((s.beta > 0).all())
    (2800, True)
    """
    stages = stage_count(T, L / mu, "authors")
    first = int(0.4 * T)
    weights = [2.0 ** (i / 2) for i in range(1, stages + 1)]
    lengths = [math.ceil((T - first) / sum(weights) * weight) for weight in weights]
    ends = np.cumsum([first, *lengths]).tolist()
    ends[-1] = T
    alpha = 0.5 ** _stage_of(ends, T) / L
    beta = (1.0 - 0.5 * np.sqrt((np.full(T, 1.0 / L) if constant_momentum else alpha) * mu)) ** 2
    if constant_momentum:
        name = "Multi-SHB-CNST (authors)"
    else:
        name = "Multi-SHB"
    return Schedule(alpha, beta, name=name)


def pan(T: int, L: float, mu: float, C: float | None = 2.0) -> Schedule:
    """The method of Pan et al. with one step more in stage 0; C = None is floor(T sqrt(kappa)).

    >>> int(np.flatnonzero(np.diff(pan(100, 4.0, 1.0).alpha))[0])
    14
    """
    span = T * math.sqrt(L / mu)
    base = float(int(span)) if C is None else C
    length = math.ceil(T / (math.log(span) / math.log(base)))
    ends = [*range(length, T + 1, length), T]
    alpha = base ** -_stage_of(ends, T).astype(np.float64) / L
    return Schedule(alpha, (1.0 - math.sqrt(mu / L)) ** 2, name="Multi-SHB-PAN (authors)")
