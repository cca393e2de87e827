"""Stages of constant step, each from rest."""

from __future__ import annotations

import math
import warnings

import numpy as np

from .. import _checks
from . import _rules
from .schedule import Schedule

RULES = ("theorem", "fit", "authors")


def _lambert_stages(T: int, kappa: float, unit: int) -> int:
    """floor(W(T ln sqrt2/(unit sqrt kappa))/ln sqrt2), Lambert's W.

    By W e^W = x it is the largest i with unit sqrt(kappa) i 2^(i/2) <= T; compared as squares,
    so that a T on the threshold is not lost to rounding.
    """
    i = 0
    while (unit * (i + 1)) ** 2 * 2 ** (i + 1) * kappa <= T * T:
        i += 1
    return i


def _stage_length(i: int, kappa: float) -> int:
    """T_i = ceil(4/(2 - sqrt 2) 2^(i/2) sqrt(kappa) ((i/2 + 5) ln 2 + ln sqrt(kappa)))."""
    logs = (i / 2 + 5) * math.log(2) + 0.5 * math.log(kappa)
    return math.ceil(4 / (2 - math.sqrt(2)) * 2 ** (i / 2) * math.sqrt(kappa) * logs)


def stage_count(T: int, kappa: float, rule: str = "theorem") -> int:
    """I, the number of stages after stage 0; 0 means that stage 0 takes all T steps.

    "theorem": floor(W(T ln sqrt2/(384 sqrt kappa))/ln sqrt2), zero unless T >= 384 sqrt(2 kappa);
    "fit": the largest I whose stages fill at most T/2 (all that the proof uses);
    "authors": floor(W(T ln2/(2 sqrt kappa))/ln sqrt2), as the released code has it.
    Source: ``thm:SHB_multistage``.

    Parameters
    ----------
    T, kappa : int, float
        Number of steps, at least 1; condition number L/mu, at least 1.
    rule : {"theorem", "fit", "authors"}, default "theorem"
        How stages are counted.

    Returns
    -------
    int

    Examples
    --------
    >>> [stage_count(7000, 1000.0, rule) for rule in ("theorem", "fit", "authors")]
    [0, 1, 9]
    """
    T, kappa = _rules.given("stage_count", T=T, kappa=kappa)
    rule = _checks.choice("stage_count", "rule", rule, RULES)
    if rule != "fit":
        return _lambert_stages(T, kappa, unit=384 if rule == "theorem" else 1)
    stages = 0
    used = _stage_length(1, kappa)
    while used <= T / 2:
        stages += 1
        used += _stage_length(stages + 1, kappa)
    return stages


def stage_lengths(T: int, kappa: float, rule: str = "theorem") -> list[int]:
    """The lengths of stages 0 .. I, summing to T; the last stage absorbs what is left over.

    ``authors``: T_0 = floor(0.4 T), then ceil((T - T_0) 2^(i/2)/sum_j 2^(j/2)), as released; the
    last one ends at T.

    >>> stage_lengths(7000, 1000.0, "fit"), stage_lengths(17174, 1000.0)
    ([3500, 3500], [8587, 8587])
    """
    stages = range(1, stage_count(T, kappa, rule) + 1)
    if not stages:
        return [T]
    if rule == "authors":
        first = math.floor(0.4 * T)
        weights = [2 ** (i / 2) for i in stages]
        share = (T - first) / sum(weights)
        lengths = [first, *(math.ceil(share * weight) for weight in weights)]
    else:
        lengths = [T // 2, *(_stage_length(i, kappa) for i in stages)]
    ends = np.minimum(np.cumsum(lengths), T)  # rounded up, the authors' may pass T before the end
    ends[-1] = T
    return [int(length) for length in np.diff(ends, prepend=0)]


def multistage(
    T: int, L: float, mu: float, stages: str = "theorem", momentum: str = "stage"
) -> Schedule:
    """Multi-stage accelerated heavy ball: halve the step from stage to stage.

    Stage i has alpha = 2^-i/L and beta = (1 - sqrt(alpha mu)/2)^2; its first beta is 0.

    Guarantee: ``theory.bound_multistage`` with L = L_max and b >= b*(2^-I). The theorem's rule
    needs T >= 384 sqrt(2 kappa) for a second stage; a shorter T gives a warning. Source:
    ``algo:shb_multi``, ``thm:SHB_multistage``.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.
    stages : {"theorem", "fit", "authors"}, default "theorem"
        The rule for the number and lengths of the stages, see ``stage_count``.
    momentum : {"stage", "constant"}, default "stage"
        beta as above, or (1 - 1/(2 sqrt kappa))^2 in every stage (Multi-SHB-CNST).

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = multistage(7000, L=1000.0, mu=1.0, stages="fit")
    >>> [int(k) for k in np.flatnonzero(s.beta == 0)], float(s.alpha[-1])
    ([0, 3500], 0.0005)
    """
    T, L, mu = _rules.given("multistage", T=T, L=L, mu=mu)
    stages = _checks.choice("multistage", "stages", stages, RULES)
    momentum = _checks.choice("multistage", "momentum", momentum, ["stage", "constant"])
    lengths = stage_lengths(T, L / mu, stages)
    if len(lengths) == 1 and stages == "theorem":
        needed = math.ceil(384 * math.sqrt(2 * L / mu))
        warnings.warn(
            f"multistage: T={T} leaves no stage after stage 0 under the theorem's rule "
            f"(kappa={L / mu:.6g}): this is constant heavy ball; raise T to {needed} or more, or "
            'use stages="fit" or "authors".',
            stacklevel=2,
        )
    alpha = np.repeat(0.5 ** np.arange(len(lengths)) / L, lengths)
    beta = (1.0 - 0.5 * np.sqrt(alpha * mu)) ** 2
    name = "multi-shb"
    if momentum == "constant":
        beta = np.full(T, _rules.momentum(1.0 / L, mu))
        name = "multi-shb-cnst"
    starts = np.cumsum([0, *lengths[:-1]])
    beta[starts[starts < T]] = 0.0
    return Schedule(alpha, beta, name=name)


def pan(T: int, L: float, mu: float, C: float = 2.0) -> Schedule:
    """The multi-stage heavy ball of Pan et al., velocity carried over between stages.

    K = ceil(T/log_C(T sqrt kappa)),  alpha_k = C^-floor(k/K)/L,  beta = (1 - 1/sqrt kappa)^2.

    Guarantee: theirs asks for a large batch; at b = 1 it can diverge (``fig:panetal_multistage``).
    Source: Pan et al. (2023), as compared with in ``app:pan-comparison``.

    Parameters
    ----------
    T, L, mu : number
        As for ``shb``.
    C : float, default 2.0
        The factor between the steps of consecutive stages, 1 < C <= T sqrt(kappa).

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = pan(100, L=4.0, mu=1.0)
    >>> float(s.beta[0]), [int(k) for k in np.flatnonzero(np.diff(s.alpha))[:2]]
    (0.25, [13, 27])
    """
    T, L, mu = _rules.given("pan", T=T, L=L, mu=mu)
    span = T * math.sqrt(L / mu)
    remedy = "C lies in (1, T sqrt(kappa)]; 2 is usual"
    C = _checks.real("pan", "C", C, above=1.0, most=span, remedy=remedy)
    K = math.ceil(T / (math.log(span) / math.log(C)))
    alpha = C ** -(np.arange(T) // K).astype(np.float64) / L
    return Schedule(alpha, (1.0 - math.sqrt(mu / L)) ** 2, name="multi-shb-pan")
