"""Multi-SHB-CNST, the heuristic that the paper does not analyse: stages that telescope."""

from __future__ import annotations

import math

import numpy as np

from .. import _checks
from ..schedules import _rules
from ..schedules.adaptive import sampling_noise
from ..schedules.stages import RULES, stage_lengths
from ._arguments import noise_root, run
from ._arguments import spectrum as interval_of
from .certificate import bound_stationary, certificate, certified_rate
from .result import MEAN_NORM, Bound, grown, verdict

SLOWER = (1e-3, 1e-2, 0.03, 0.1, 0.3, 0.6, 1.0)  # how much of 1 - r is given up for the constant


def stage_constant(alpha: float, beta: float, mu: float, lam_max: float, rate: float) -> float:
    """C of Theorem S: sqrt(E||e_k||^2) <= C rate^k ||e_0|| from rest, at a certified rate.

    C^2 = max r^2 G(lam) max (1 - 2 beta t/(r^2 + beta) + beta^2/r^2), t = 1 + beta - alpha lam and
    r^2 G = (1+beta')/((1-beta')((1+beta')^2 - t^2/r^2)), beta' = beta/r^2; both at an end of
    [mu, lam_max]. Infinite where the noise-free method is not faster than ``rate``.

    >>> round(stage_constant(alpha=0.1, beta=0.0, mu=1.0, lam_max=10.0, rate=1.0), 4)
    2.2942
    """
    r2, least, most = rate * rate, math.inf, 0.0
    shrunk = beta / r2
    if shrunk >= 1.0:
        return math.inf
    for lam in (mu, lam_max):
        t = 1.0 + beta - alpha * lam
        least = min(least, (1.0 + shrunk) ** 2 - t * t / r2)
        most = max(most, 1.0 - 2.0 * beta * t / (r2 + beta) + beta * beta / r2)
    if least <= 0.0:
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
    With r_i any rate that Theorem S certifies for (alpha_i, beta), C_i its constant
    (``stage_constant``) and F_i^2 the floor of ``bound_stationary``, root mean squares obey

        D_{i+1} <= C_i r_i^T_i D_i + F_i,
        sqrt(E||w_T - w*||^2) <= prod C_i r_i^T_i D + sum_i F_i prod_{j > i} C_j r_j^T_j.

    The floors fall with the steps, F_i^2 about proportional to alpha_i. A stage that is shorter
    than its time constant may have C_i r_i^T_i > 1: with many such stages (``stages="authors"``)
    the bound holds but says little, and ``theory.certify`` says more.

    Guarantee: least squares with or without l2, independent batches, any data with these constants,
    zeta0^2 below ``certificate(1/L, beta, ...)``: stage 0 decides, a shorter step at the same
    momentum keeps the certificate. Source: not in the paper, which leaves Multi-SHB-CNST without an
    analysis; docs/theory/multistage.md has the proof.

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
        On sqrt(E||w_T - w*||^2), hence on E||w_T - w*||.

    Examples
    --------
    >>> run = dict(T=4000, L=100.0, mu=1.0, n=10_000, b=2_000, L_max=300.0, chi=0.1)
    >>> bound = bound_multistage_constant(**run)
    >>> f"{bound.bias:.1e} {bound.noise:.1e} {bound.valid}"
    '5.0e-78 2.3e-04 True'
    """
    where = "bound_multistage_constant"
    T, L, mu, D = run(where, T, L, mu, D)
    chi = noise_root(where, chi)
    stages = _checks.choice(where, "stages", stages, list(RULES))
    zeta2 = sampling_noise(where, n, b)
    L_max, mu, top = interval_of(where, L_max, mu, L if lam_max is None else lam_max)
    beta = _rules.momentum(1.0 / L, mu)
    limit = certificate(1.0 / L, beta, L_max, mu, top)
    stable = limit > 0.0 and zeta2 < limit
    message = f"zeta2={zeta2:.6g} is not below the certified {limit:.6g}"
    if not stable:
        return Bound(MEAN_NORM, math.inf, math.inf, *verdict([(stable, message)]))
    log_bias, noise = 0.0, 0.0
    for i, length in enumerate(stage_lengths(T, L / mu, stages)):
        alpha = 0.5**i / L
        known = (zeta2, L_max, mu, top)
        log_factor = _log_factor(alpha, beta, length, certified_rate(alpha, beta, *known), mu, top)
        floor = bound_stationary(alpha, beta, *known, chi * chi).noise
        log_bias += log_factor
        noise = grown(noise, log_factor) + math.sqrt(floor)
    return Bound(MEAN_NORM, grown(D, log_bias), noise, *verdict([(stable, message)]))


def _log_factor(
    alpha: float, beta: float, length: int, fastest: float, mu: float, lam_max: float
) -> float:
    """ln of the smallest C r^T_i over some certified rates; every choice is a bound."""
    if length == 0:
        return 0.0
    rates = fastest + (1.0 - fastest) * np.array(SLOWER)
    found = [
        math.log(constant) + length * math.log(rate)
        for rate in rates
        if math.isfinite(constant := stage_constant(alpha, beta, mu, lam_max, float(rate)))
    ]
    return min(found)
