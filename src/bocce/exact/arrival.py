"""The fewest steps to a target with a constant step and momentum, and the facts it begins from."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..schedules import Schedule
from ..schedules.moments import BatchTable, with_batches
from .adjoint import Dynamics, value_and_gradient
from .budget import LOST
from .model import BatchFacts, Model, exact_model
from .moments import FloatArray
from .search import coordinates, descend, gradient_of_coordinates, table_of

LONGEST_RUN = 1 << 20  # a run that is longer counts as one that does not reach its target
# Of the tables that a search begins from: momenta, and steps over half of the edge of stability.
MOMENTA = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98, 0.99)
SHARES = (1.0, 0.6, 1.6)
SLOWER = 1.5  # a table that takes so many times the fewest steps is given up
FASTEST_TABLES = 4  # tables that the search is started from, the fastest of those
SEARCH_STEPS = 30  # of L-BFGS for one number of steps
SEARCH_TOL = 1e-4  # largest derivative of log(value) that is left: steps are right to 1e-4 or so
PROGRESS = 2e-3  # the search ends when the number of steps falls by less, as a share
CHUNK_NUMBERS = 1 << 18  # moments that are stored at once while a run is followed
STALLED = 0.999  # a stretch that doubles the run and leaves more than this share will not arrive
# So many steps are taken before that: near the edge of stability a value may rise at first.
STEPS_BEFORE_JUDGED = 512


def batch_facts(model: Model) -> BatchFacts:
    """The constants of a model that rules for the batch size take.

    Parameters
    ----------
    model : Problem or exact.Gaussian
        Least squares; a Problem starts at 0.

    Returns
    -------
    BatchFacts

    Raises
    ------
    TypeError, ValueError
        If the model is no least-squares problem, has weights, a penalty by column or an intercept,
        or starts at its minimiser.

    Examples
    --------
    >>> from bocce.exact import Gaussian
    >>> facts = batch_facts(Gaussian([1.0, 0.5], noise=0.1))
    >>> facts.R2, round(facts.gradient_noise, 12), facts.gap
    (3.5, 0.15, 0.75)
    """
    return exact_model("batch_facts", model).facts()


class FewestSteps:
    """The constant step and momentum with the fewest steps to a target, at any zeta0^2."""

    def __init__(
        self,
        model: Model,
        target: float,
        of: str,
        facts: BatchFacts,
        free: int,
        most: int = LONGEST_RUN,
    ) -> None:
        self.most = most
        self.dynamics: Dynamics = exact_model("batch_curve", model).dynamics(1, of)
        self.level = target * self.dynamics.value(self.dynamics.start)
        self.facts = facts
        self.noise = facts.R2 + facts.gradient_noise / (2.0 * target * facts.gap)
        self.free = free  # numbers that are searched: the step, or the step and the momentum
        self.last: tuple[float, FloatArray] | None = None  # zeta0^2 and table of the batch before

    def fewest(self, zeta0_2: float) -> tuple[float, Schedule]:
        """The steps, and the schedule that takes them."""
        found = self._starts(zeta0_2)
        S = found[0][0]
        self.last = (zeta0_2, found[0][1])
        for _, start in found[:FASTEST_TABLES]:
            S = self._descended(zeta0_2, S, start)
        alpha, beta, theta, _ = _constant(math.ceil(S), self.last[1], zeta0_2)
        return S, Schedule(alpha, beta, theta, "constant")

    def _starts(self, zeta0_2: float) -> list[tuple[float, FloatArray]]:
        """Tables that arrive, with their steps, the fastest first.

        With momentum the value after T steps has several minima, so that many tables are tried:
        they cost a run each, where a descent costs a hundred.
        """
        momenta = MOMENTA if self.free > 1 else MOMENTA[:1]
        for halving in 0.5 ** np.arange(12.0):
            tables = self._after(zeta0_2)
            for beta in momenta:
                for share in SHARES:
                    alpha = halving * share / self._hold(zeta0_2, beta)
                    one = (np.array([alpha]), np.array([beta]), np.zeros(1))
                    tables.append(coordinates(one))
            found = []
            most = self.most
            for u in tables:
                S = self.arrival(zeta0_2, u, most)
                if math.isfinite(S):
                    most = min(most, math.ceil(SLOWER * S))
                    found.append((S, u))
            if found:
                return sorted(found, key=lambda one: one[0])
        raise ValueError(
            f"batch_curve: no constant step reaches the target within {self.most} steps; raise "
            "target, or start away from the minimiser."
        )

    def _after(self, zeta0_2: float) -> list[FloatArray]:
        """What the batch before ended with, its step scaled to this batch."""
        if self.last is None:
            return []
        before, u = self.last
        u = u.copy()
        beta = float(table_of(u)[1][0])
        u[0] += math.log(self._hold(before, beta) / self._hold(zeta0_2, beta))
        return [u]

    def _hold(self, zeta0_2: float, beta: float) -> float:
        """1/alpha at half of the edge of stability, or where noise leaves half of the target."""
        return self.facts.L / (1.0 + beta) + zeta0_2 * self.noise / (1.0 - beta)

    def _descended(self, zeta0_2: float, S: float, u: FloatArray) -> float:
        """Fewer steps than S if the search finds them; ``last`` holds the best table."""
        while True:
            T = math.ceil(S)
            objective = partial(self._objective, T, zeta0_2)
            u = descend(objective, u, SEARCH_STEPS, SEARCH_TOL)[0]
            arrived = self.arrival(zeta0_2, u, T)
            if arrived >= S:
                return S
            enough = arrived > S * (1.0 - PROGRESS)
            S = arrived
            self.last = (zeta0_2, u)
            if enough:
                return S

    def _objective(self, T: int, zeta0_2: float, u: FloatArray) -> tuple[float, FloatArray]:
        """log(value) after T steps, and its derivatives in the coordinates of the search."""
        one = table_of(u)
        with np.errstate(all="ignore"):
            value, gradient = value_and_gradient(self.dynamics, _constant(T, u, zeta0_2))
        if not 0.0 < value < math.inf or not np.isfinite(gradient).all():
            return LOST, np.zeros(u.size)
        slopes = gradient_of_coordinates(one, gradient[:3].sum(axis=1, keepdims=True) / value)
        slopes[self.free :] = 0.0
        return math.log(value), slopes

    def arrival(self, zeta0_2: float, u: FloatArray, most: int) -> float:
        """The first step at which the value is at most the level; infinite beyond ``most``."""
        state = self.dynamics.start.copy()
        longest = max(CHUNK_NUMBERS // state.size, 16)
        before = self.dynamics.value(state)
        lowest = before
        k = 0
        doubled = STEPS_BEFORE_JUDGED
        reference = lowest
        while k < most:
            length = min(max(k, 16), longest, most - k)
            table = _constant(length, u, zeta0_2)
            states = np.empty((length, *state.shape))
            with np.errstate(all="ignore"):
                self.dynamics.forward(table, state, states)
                values = np.append(self.dynamics.values(states[1:]), self.dynamics.value(state))
            if not np.isfinite(values).all():
                return math.inf
            below = np.flatnonzero(values <= self.level)
            if below.size:
                at = int(below[0])
                last = values[at - 1] if at else before
                if values[at] <= 0.0:  # one step ends at the minimiser itself
                    return float(k + at + 1)
                share = math.log(last / self.level) / math.log(last / values[at])
                return k + at + share
            before = float(values[-1])
            lowest = min(lowest, float(values.min()))
            k += length
            if k >= 2 * doubled:
                if lowest > STALLED * reference:
                    return math.inf
                reference = lowest
                doubled = k
        return math.inf


def _constant(T: int, u: FloatArray, zeta0_2: float) -> BatchTable:
    """T steps with the coordinates of one."""
    alpha, beta, theta = (np.full(T, column[0] + 0.0) for column in table_of(u))  # no -0.0
    return with_batches((alpha, beta, theta), zeta0_2)
