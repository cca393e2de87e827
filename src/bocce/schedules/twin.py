"""``auto``: the table with the least regret on a twin of the data, inside the certificate."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from . import _rules
from .accelerated import sampling_noise
from .schedule import FloatArray, Schedule
from .search import SamplingNoise, Twin, searched

NODES = 32  # of a twin's spectrum
LEVELS = (0.0, 1e-3, 1e-1, 3.0)  # of the noise, where it is not known
FLAT_CURVATURE = 1e-14  # A curvature below this share of L is rounding.
CACHED_TABLES = 256  # the tables in the cache
# The search reads this many digits of its numbers: its minima are many, and rounding in a sum over
# the rows would decide which one it finds.
DIGITS = 8

Spectrum = tuple[FloatArray, FloatArray]  # nodes and the number of directions of each


def auto(
    T: int,
    L: float,
    mu: float,
    L_max: float,
    n: int,
    b: int,
    kappa_tilde: float | None = None,
    *,
    spectrum: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    noise: float | None = None,
    family: str | None = None,
) -> Schedule:
    """The table of T steps with the least mean log gap on a twin of the data, every step certified.

    The twin has Gaussian rows, the spectrum and the noise of the data, and three starts: equal
    errors, equal gaps, errors in proportion to the eigenvalue. A search lowers the mean of
    log(E f(w_T) - f*) over starts and noises, inside ``theory.lookahead_certificate`` at every
    step. What is not known is averaged over: three spectra with the trace L_max - 2L and kappa~ - 2
    eigenvalues; the noises 0, 0.001, 0.1 and 3. A search takes a tenth of a second to seconds; its
    table is cached for the next call.

    Guarantee: on least squares with L >= lambda_max every step is inside the certificate, so the
    schedule is mean-square stable at every batch size; reshuffled batches are not covered. A mu
    that is too small costs speed, never stability. Source: the problem that ``sec:conclusion``
    leaves open; docs/auto.md.

    Parameters
    ----------
    T, L, mu, L_max, n, b : number
        As for ``mass``. On least squares ``Constants.R2`` may stand in place of L_max.
    kappa_tilde : float, optional
        As for ``mass`` (or ``Constants.R2_tilde``). Without it the schedule is heavy ball.
    spectrum : array-like or pair of array-like, optional
        Eigenvalues of the Hessian that are above 0; or nodes, and how many eigenvalues each stands
        for.
    noise : float, optional
        The variance of the targets around the best prediction, divided by f(w_0) - f*.
    family : {"shb"}, optional
        "shb" forces heavy ball, theta = 0, even where kappa_tilde is known.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> s = auto(20, L=4.0, mu=1.0, L_max=9.0, n=10, b=5, family="shb")
    >>> s.name, bool(s.theta.any())
    ('auto-shb', False)
    """
    T, L, mu, L_max = _rules.given("auto", T=T, L=L, mu=mu, L_max=L_max)
    zeta2 = sampling_noise("auto", n, b)
    name = "auto"
    if family is not None:
        name = f"auto-{_checks.choice('auto', 'family', family, ['shb'])}"
    if kappa_tilde is not None:
        (kappa_tilde,) = _rules.given("auto", kappa_tilde=kappa_tilde)
    if noise is not None:
        remedy = "the variance of the targets over f(w_0) - f*; None where it is not known"
        noise = _checks.real("auto", "noise", noise, least=0.0, remedy=remedy)
    given = None
    if spectrum is not None:
        given = tuple(tuple(to_digits(part).tolist()) for part in reduced(*spectrum_of(spectrum)))
    lookahead = kappa_tilde is not None and family is None
    before = None
    if b == n and n > 1:
        before = sampling_noise("auto", n, n - 1)
    # rounded up, the constants of the certificate still bound those of the data
    L, L_max = to_digits([L, max(L_max, L)], up=True).tolist()
    (mu,) = to_digits([mu]).tolist()
    if kappa_tilde is not None:
        (kappa_tilde,) = to_digits([kappa_tilde], up=True).tolist()
    if noise is not None:
        (noise,) = to_digits([noise]).tolist()
    return _cached(zeta2, before, T, L, mu, L_max, kappa_tilde, given, noise, lookahead, name)


def to_digits(values: npt.ArrayLike, up: bool = False) -> FloatArray:
    """Numbers >= 0 rounded to ``DIGITS`` digits, to the nearest or ``up``, above the number.

    The places where the answer jumps lie between short decimals, which data often have.

    >>> bool((to_digits([0.1 + 0.2, 2.0]) == to_digits([0.3, 2.0])).all())
    True
    >>> bool((to_digits([0.1 + 0.2, 2.0], up=True) == to_digits([0.3, 2.0], up=True)).all())
    True
    """
    given = np.asarray(values, dtype=np.float64)
    unit = 10.0 ** (np.floor(np.log10(np.where(given > 0.0, given, 1.0))) + 1 - DIGITS)
    if up:
        return np.floor(given / unit + 1.25) * unit
    return np.floor(given / unit + 0.5) * unit


@functools.lru_cache(maxsize=CACHED_TABLES)
def _cached(
    zeta2: float,
    before: float | None,
    T: int,
    L: float,
    mu: float,
    L_max: float,
    kappa_tilde: float | None,
    spectrum: tuple[tuple[float, ...], ...] | None,
    noise: float | None,
    lookahead: bool,
    name: str,
) -> Schedule:
    """The schedule of these numbers, searched once.

    ``before`` is zeta0^2 of a batch that lacks one row, where the batch has all rows. Without
    sampling noise the search has many minima; the table of that batch keeps it from the poor ones.
    """
    begin = None
    if before is not None:
        less = (T, L, mu, L_max, kappa_tilde, spectrum, noise, lookahead, name)
        begin = _cached(before, None, *less).table
    if spectrum is None:
        nodes, counts = assumed(L, mu, L_max, kappa_tilde)
    else:
        nodes, *counts = (np.array(part) for part in spectrum)
    count = np.mean(counts, axis=0)
    # where rows are less even than Gaussian rows, a batch has more noise
    uneven = max(1.0, L_max / L / (2.0 + float(nodes @ count) / nodes.max()))
    # the noise of the targets was measured, row by row: there it is counted already
    levels = np.array(LEVELS if noise is None else (noise / uneven,))
    twin = Twin(nodes, count, possible_starts(nodes, counts), zeta2 * uneven, levels)
    tilde = L_max / mu if kappa_tilde is None else kappa_tilde
    sampling = SamplingNoise(zeta2 * L_max / L, zeta2 * tilde, tilde * L / L_max)
    table = searched(twin, T, L, mu, sampling, lookahead, begin)
    return Schedule(*table, name)


def possible_starts(nodes: FloatArray, counts: list[FloatArray]) -> FloatArray:
    """Squared errors with f(w_0) - f* = 1: equal errors, equal gaps, errors as the eigenvalues.

    Three for each spectrum that is possible, a spectrum being the counts of the nodes.
    """
    shapes = [count * nodes**power for count in counts for power in (0, -1, 1)]
    return np.array([2.0 * shape / (shape @ nodes) for shape in shapes])


def assumed(
    L: float, mu: float, L_max: float, kappa_tilde: float | None
) -> tuple[FloatArray, list[FloatArray]]:
    """Nodes from mu to L, and the counts of three spectra that four constants leave possible.

    For Gaussian rows L_max is 2 L + tr A and kappa~ is d + 2. The spectra have this trace: one of
    the form mu + (L - mu)(1 - u)^p, 0 < u < 1; one with two clusters, at mu and L; and one that is
    even in the logarithm. Without kappa~, the last alone.

    >>> nodes, counts = assumed(1.0, 0.1, 5.0, 8.0)
    >>> [round(float(count @ nodes), 2) for count in counts]
    [3.0, 3.0, 3.0]
    """
    if mu >= L * (1.0 - FLAT_CURVATURE):
        return np.array([L]), [np.array([max(L_max - 2.0 * L, L) / L])]
    nodes = np.geomspace(mu, L, NODES)
    trace = max(L_max - 2.0 * L, L)
    even = np.full(NODES, trace / float(nodes.sum()))
    if kappa_tilde is None:
        return nodes, [even]
    d = max(2.0, kappa_tilde - 2.0)
    u = (np.arange(NODES) + 0.5) / NODES
    share = min(max((trace / d - mu) / (L - mu), 1.0 / d), 1.0)
    powers = mu + (L - mu) * (1.0 - u) ** (1.0 / share - 1.0)
    clusters = np.zeros(NODES)
    clusters[-1] = min(max((trace - d * mu) / (L - mu), 1.0), d - 1.0)
    clusters[0] = d - clusters[-1]
    return nodes, [_onto(nodes, powers, d / NODES), clusters, even]


def _onto(nodes: FloatArray, lam: FloatArray, times: float) -> FloatArray:
    """Counts of the nodes for eigenvalues between them, each shared by two nodes at equal trace."""
    place = np.log(lam / nodes[0]) / math.log(nodes[1] / nodes[0])
    left = np.clip(place.astype(int), 0, nodes.size - 2)
    share = np.clip(place - left, 0.0, 1.0)
    gaps = np.bincount(left, (1.0 - share) * lam, nodes.size)
    gaps += np.bincount(left + 1, share * lam, nodes.size)
    return np.asarray(times * gaps / nodes)


def reduced(lam: FloatArray, count: FloatArray) -> Spectrum:
    """A spectrum of at most ``NODES`` nodes with the same trace: means of bins in log(lam).

    The two ends are nodes of their own.

    >>> nodes, count = reduced(np.geomspace(1e-3, 1.0, 200), np.ones(200))
    >>> nodes.size, round(float(count.sum())), float(nodes[0]), float(nodes[-1])
    (32, 200, 0.001, 1.0)
    """
    order = np.argsort(lam)
    lam = lam[order]
    count = count[order]
    if lam.size <= NODES:
        return lam, count
    bins = NODES - 2
    place = np.log(lam / lam[0]) / math.log(lam[-1] / lam[0]) if lam[-1] > lam[0] else 0.0 * lam
    which = 1 + np.minimum((bins * place).astype(int), bins - 1)
    which[0] = 0
    which[-1] = NODES - 1
    total = np.bincount(which, count, NODES)
    mean = np.bincount(which, count * lam, NODES)
    there = total > 0.0
    return mean[there] / total[there], np.asarray(total[there], dtype=np.float64)


SPECTRUM_REMEDY = "take the eigenvalues of the Hessian, or leave spectrum out"


def spectrum_of(spectrum: Any) -> Spectrum:
    """Eigenvalues, or nodes and counts, as the caller gave them; rounding is left out."""
    if isinstance(spectrum, tuple) and len(spectrum) == 2 and np.ndim(spectrum[0]) == 1:
        lam, count = (
            _checks.floats("auto", "spectrum", part, SPECTRUM_REMEDY) for part in spectrum
        )
    else:
        lam = _checks.floats("auto", "spectrum", spectrum, SPECTRUM_REMEDY)
        count = np.ones(lam.shape)
    fits = lam.ndim == 1 and lam.size > 0 and lam.shape == count.shape
    if not (fits and np.isfinite(lam).all() and lam.min() >= 0.0 and lam.max() > 0.0):
        raise ValueError(
            f"auto: spectrum={spectrum!r} must be eigenvalues >= 0 in one dimension, or a pair of "
            f"such nodes and how many eigenvalues each stands for; {SPECTRUM_REMEDY}."
        )
    if not (np.isfinite(count).all() and count.min() > 0.0):
        raise ValueError(
            f"auto: spectrum has the count {count.min():.6g}, each must be > 0; leave out nodes "
            "that stand for no eigenvalue."
        )
    moves = lam > FLAT_CURVATURE * lam.max()
    return lam[moves], count[moves]
