"""The table of T steps with the least mean log gap on a twin of the data, inside the certificate.

A twin is a least-squares problem with Gaussian rows: a spectrum of a few nodes, the noise of its
targets, and the starts and noises that are possible. The search moves knots of the table; between
knots the table is linear in the coordinates of the search. Each step is the longest that a closed
form of ``theory.lookahead_certificate`` allows at its momentum and lookahead, divided by 1 + e^v,
so that the certificate holds for every step whatever the search does.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .moments import at_rest, compiled, moments, moments_backward, with_batches
from .schedule import FloatArray, Table

# Sizes of the search; none of them is a shape of the schedule.
KNOTS = (5, 10, 20, 40)  # few knots first: with many at once L-BFGS ends in poorer minima
MEMORY = 20  # pairs that L-BFGS keeps
COARSE_STEPS = 200  # of L-BFGS with fewer knots than the last
COMPARED = 2  # The closed forms are compared when the search has reached this many of KNOTS.
MOST_SEARCH = 600
LEAST_SEARCH = 10
WORK = 400_000  # steps of L-BFGS times T, between the two limits
SETTLED_GAIN = 1e-9  # The search ends when a step lowers the mean log gap by less.
RESTART_GAIN = 1e-3  # in the mean log gap: L-BFGS is begun again while that gains more.
COARSE = 1000  # A longer run is searched in a quarter of its steps first.
LONGEST = 200_000  # A longer run takes the knots of a shorter one as they are.
LOG_STEP = 1e-5  # of log(1 - beta) and log(1 + theta), for the slope of the longest step
LEAST_GAP = 1e-30  # of f(w_0) - f*: smaller gaps count as this one
LOST = 700.0  # stands for the logarithm of a value that has overflown
BOUNDS = ((-8.0, 30.0), (-18.0, 0.0), (0.0, 12.0))  # of v, log(1 - beta), log(1 + theta)


class SamplingNoise(NamedTuple):
    """What sampling does: q = zeta0^2 L_max/L, p = zeta0^2 kappa~, and p/q = kappa~ L/L_max."""

    q: float
    p: float
    ratio: float


def longest_steps(
    slack: FloatArray, theta: FloatArray, q: float, p: float, ratio: float
) -> FloatArray:
    """The longest alpha L at 1 - beta = slack and theta, certified for all data with q and p.

    The other rows of the answer (3, T) are the slopes of its logarithm in log(slack) and in
    log(1 + theta). Let h = 2 - slack and w = 1 + 2 theta. The noise gain of the certificate is a
    sum of two partial fractions. Their numerators are A = (h - w slack)/(2 h + w slack/theta) and
    B = h w^2/(w slack + 2 h theta). The largest value of each gives the sufficient condition

        A/(slack/(q X) + theta/p) + q X B/(D - w X) <= 1,   X = alpha L,

    with D = (1 + sqrt(1 - slack))^2 <= 2 h. Equality is a quadratic equation in X. On all rows
    X = D at theta = 0: Polyak's step. Plain Python here; `compiled` compiles it.

    >>> at = longest_steps(np.array([0.1, 0.01]), np.array([0.3, 0.5]), q=0.1, p=0.5, ratio=5.0)
    >>> at[0].round(2).tolist()
    [1.75, 1.46]
    """
    found = np.zeros((3, slack.size))
    for k in range(slack.size):
        for i in range(3):
            s = slack[k]
            look = theta[k]
            if i == 1:
                s *= 1.0 - LOG_STEP
            elif i == 2:
                look += LOG_STEP * (1.0 + look)
            h = 2.0 - s
            w = 1.0 + 2.0 * look
            D = (1.0 + np.sqrt(1.0 - s)) ** 2
            A = max(h - w * s, 0.0) * look / (2.0 * h * look + w * s)
            B = h * w * w / (w * s + 2.0 * h * look)
            square = look * (w + q * B) - A * p * w
            linear = ratio * s * (w + q * B) + D * (A * p - look)
            constant = D * ratio * s
            root = np.sqrt(linear * linear + 4.0 * square * constant)
            if linear > 0.0:  # two forms of the one root, neither of which cancels
                found[i, k] = 2.0 * constant / (linear + root)
            else:
                found[i, k] = (root - linear) / (2.0 * square)
        found[1, k] = (1.0 - found[1, k] / found[0, k]) / LOG_STEP
        found[2, k] = (found[2, k] / found[0, k] - 1.0) / LOG_STEP
    return found


def between(knots: FloatArray, values: FloatArray, T: int) -> FloatArray:
    """Linear between the knots, where ``values`` (3, m) are given: (3, T).

    Compiled code may divide by multiplying with a rounded inverse. A share above 1 by rounding
    would lead beyond the values, to a lookahead below 0.
    """
    found = np.zeros((3, T))
    m = 0
    for k in range(T):
        while m + 2 < knots.size and k >= knots[m + 1]:
            m += 1
        after = min(m + 1, knots.size - 1)
        share = min((k - knots[m]) / max(1.0, knots[after] - knots[m]), 1.0)
        for i in range(3):
            found[i, k] = (1.0 - share) * values[i, m] + share * values[i, after]
    return found


def gathered(knots: FloatArray, slopes: FloatArray) -> FloatArray:
    """The adjoint of ``between``: slopes in the values at the knots, (3, m)."""
    found = np.zeros((3, knots.size))
    m = 0
    for k in range(slopes.shape[1]):
        while m + 2 < knots.size and k >= knots[m + 1]:
            m += 1
        after = min(m + 1, knots.size - 1)
        share = min((k - knots[m]) / max(1.0, knots[after] - knots[m]), 1.0)
        for i in range(3):
            found[i, m] += (1.0 - share) * slopes[i, k]
            found[i, after] += share * slopes[i, k]
    return found


class Twin(NamedTuple):
    """What the search knows of the data, in units where f(w_0) - f* = 1."""

    nodes: FloatArray  # eigenvalues
    times: FloatArray  # how many directions each stands for
    starts: FloatArray  # squared errors that are possible, summed over the directions of a node
    zeta2: float  # the variance factor of a batch, larger where rows are less even than Gaussian
    levels: FloatArray  # noises that are possible


class Search:
    """The mean log gap of a table of T steps on a twin, as a function of the table's knots."""

    def __init__(
        self,
        twin: Twin,
        T: int,
        L: float,
        noise: SamplingNoise,
        lookahead: bool,
        most_knots: int = KNOTS[-1],
    ) -> None:
        self.twin = twin
        self.T = T
        self.L = L
        self.noise = noise
        self.limits = (L, noise, lookahead)  # for a search of the same tables with fewer numbers
        self.lookahead = lookahead
        turns = np.pi * np.linspace(0.0, 1.0, min(T, most_knots))
        self.knots = np.unique(np.round((T - 1) * (1.0 - np.cos(turns)) / 2.0))
        bounds = BOUNDS if lookahead else (*BOUNDS[:2], (0.0, 0.0))
        self.bounds = [pair for pair in bounds for _ in self.knots]

    def table(self, u: FloatArray) -> Table:
        return self._laid_out(u)[0]

    def _laid_out(self, u: FloatArray) -> tuple[Table, FloatArray]:
        """The table, and the slopes of log alpha in v, log(1 - beta) and log(1 + theta)."""
        v, slack, look = compiled(between)(self.knots, u.reshape(3, -1), self.T)
        shorter = 1.0 / (1.0 + np.exp(v))
        slack = np.exp(slack)
        theta = np.expm1(look)
        slopes = compiled(longest_steps)(slack, theta, *self.noise)
        alpha = slopes[0] * shorter / self.L
        slopes[0] = shorter - 1.0
        return (alpha, 1.0 - slack, theta), slopes

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray]:
        """The mean log gap, and its gradient in the knots.

        The moments are linear in start and noise. So one pass backwards gives the gap of every
        start at every noise, and the gradient of the mean log gap is that of the gap of one start
        and one noise: their means, weighted by 1/gap.
        """
        twin = self.twin
        table, slopes = self._laid_out(u)
        known = (with_batches(table, twin.zeta2), twin.nodes, twin.times)
        nothing = np.empty((0, 3, 0))
        last = at_rest(0.5 * twin.nodes)
        first = last.copy()
        _, by_noise = compiled(moments_backward)(*known, 0.0, nothing, first)
        # near 0 rounding may leave less than 0
        by_error = np.maximum(first[0], 0.0)
        gaps = np.add.outer(twin.starts @ by_error, twin.levels * max(by_noise, 0.0)) + LEAST_GAP
        if not np.isfinite(gaps).all():
            return LOST, np.zeros_like(u)
        shares = 1.0 / (gaps * gaps.size)
        start = at_rest(shares.sum(axis=1) @ twin.starts)
        noise = float(shares.sum(axis=0) @ twin.levels)
        states = np.empty((self.T, *start.shape))
        compiled(moments)(*known, noise, start, states)
        gradient, _ = compiled(moments_backward)(*known, noise, states, last)
        alpha, beta, theta = table
        columns = slopes * (gradient[0] * alpha)
        columns[1] += gradient[1] * (beta - 1.0)
        columns[2] += gradient[2] * (1.0 + theta)
        if not np.isfinite(columns).all():
            return LOST, np.zeros_like(u)
        return float(np.log(gaps).mean()), compiled(gathered)(self.knots, columns).ravel()

    def coordinates(self, table: Table) -> FloatArray:
        """The knots of a table; a step that is not inside the certificate is shortened."""
        alpha, beta, theta = (column[self.knots.astype(int)] for column in table)
        slack = np.clip(1.0 - beta, math.exp(BOUNDS[1][0]), 1.0)
        longest = compiled(longest_steps)(slack, theta, *self.noise)[0]
        times = np.maximum(longest / (alpha * self.L), 1.01)
        look = np.log1p(theta) if self.lookahead else np.zeros_like(theta)
        return np.concatenate([np.log(times - 1.0), np.log(slack), look])

    def stretched(self, u: FloatArray, coarser: Search) -> FloatArray:
        """The knots of a table with fewer knots or of a shorter run, at the same shares of T."""
        places = self.knots / (self.T - 1)
        known = coarser.knots / (coarser.T - 1)
        return np.concatenate([np.interp(places, known, row) for row in u.reshape(3, -1)])

    def descend(self, u: FloatArray, steps: int) -> tuple[float, FloatArray]:
        """L-BFGS-B from u. It stops early at kinks of the longest step, and then begins again."""
        from scipy.optimize import minimize  # which is slow to import

        value = math.inf
        while steps > 0:
            found = minimize(
                self,
                u,
                jac=True,
                method="L-BFGS-B",
                bounds=self.bounds,
                options={"maxiter": steps, "maxcor": MEMORY, "ftol": SETTLED_GAIN, "gtol": 0.0},
            )
            gained = value - float(found.fun)
            value = float(found.fun)
            u = found.x
            steps -= max(1, found.nit)
            if gained < RESTART_GAIN:
                break
        return value, u


def closed_forms(T: int, L: float, mu: float, expected_L: float) -> list[Table]:
    """Where the search begins: a constant accelerated table, and SGD with falling steps."""
    slack = max(math.sqrt(mu / L), min(0.5, 3.0 / T))
    level = np.full(T, 0.3)
    falling = 1.0 / (1.0 + 3.0 * np.arange(T) / T) / expected_L
    return [(np.full(T, 0.9 / L), np.full(T, 1.0 - slack), level), (falling, level, level)]


def searched(
    twin: Twin,
    T: int,
    L: float,
    mu: float,
    noise: SamplingNoise,
    lookahead: bool,
    begin: Table | None,
) -> Table:
    """The table of T steps that the search finds on the twin, from few knots or from ``begin``."""
    search = Search(twin, T, L, noise, lookahead)
    u = _knots(search, mu)
    if begin is not None:
        value, other = search.descend(search.coordinates(begin), _steps(T))
        if value < search(u)[0]:
            u = other
    return search.table(u)


def _steps(T: int) -> int:
    """The steps of L-BFGS that a run of T steps is worth."""
    return max(LEAST_SEARCH, min(MOST_SEARCH, WORK // T))


def _knots(search: Search, mu: float) -> FloatArray:
    """The table with few knots, then with twice as many, and so on.

    The knots of a long run are first found for a run of a quarter of its steps.
    """
    T = search.T
    if T > COARSE:
        shorter = Search(search.twin, min(T // 4, LONGEST), *search.limits)
        u = search.stretched(_knots(shorter, mu), shorter)
        return u if T > LONGEST else search.descend(u, _steps(T))[1]
    levels = [Search(search.twin, T, *search.limits, m) for m in KNOTS[:-1] if m < T]
    levels.append(search)
    coarser, u = _first_knots(levels[:COMPARED], mu)
    for level in levels[COMPARED:]:
        start = level.stretched(u, coarser)
        u = start if level is search else level.descend(start, COARSE_STEPS)[1]
        coarser = level
    return search.descend(u, _steps(T))[1]


def _first_knots(levels: list[Search], mu: float) -> tuple[Search, FloatArray]:
    """The better of the descents from the closed forms, and the level that it has reached."""
    first = levels[0]
    L = first.L
    found = []
    for table in closed_forms(first.T, L, mu, L * (1.0 + first.noise.q)):
        value, u = first.descend(first.coordinates(table), COARSE_STEPS)
        for coarser, level in pairwise(levels):
            value, u = level.descend(level.stretched(u, coarser), COARSE_STEPS)
        found.append((value, u))
    return levels[-1], min(found, key=lambda one: one[0])[1]
