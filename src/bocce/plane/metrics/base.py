"""The contracts of a metric and of a metric policy.

A metric is a matrix P that is like the Hessian; the plane's new direction is -P^-1 g. A policy
decides before each step whether another metric is worth its price. Prices are nanoseconds of an
imagined machine (``Prices``), never of a clock, so that a run takes the same steps on any machine.
"""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..._types import Array
from ...engines.base import Goal
from ...problems import Problem
from ...rows import Rows
from .factor import FactorMetric, Identity


@dataclass(frozen=True)
class Prices:
    """What operations cost: nanoseconds on one core, rounded."""

    call: float = 1.7e5  # a step, in Python
    matrix: float = 6e4  # a Hessian, in Python
    draw: float = 9e4  # the sample of a Hessian, in Python
    row: float = 25.0  # a step's element-wise work on one row
    column: float = 15.0  # a step's element-wise work on one column
    dense: float = 0.45  # a multiplication of X v, read from memory
    sparse: float = 1.3  # a multiplication of X v, sparse
    gram: float = 0.025  # a multiplication of a dense Gram matrix
    touch: float = 2.2  # an entry that is weighted for a Gram matrix
    sparse_gram: float = 2.7  # a multiplication of a sparse Gram matrix
    squares: float = 1.5  # an entry squared, weighted and summed
    factor: float = 0.05  # a multiplication of Cholesky's method
    square: float = 14.0  # an entry of a d x d matrix


PRICES = Prices()
ScoresOf = Callable[[slice], Array]  # returns x_i . w of a slice of rows


class Metric(Protocol):
    """A positive definite matrix P.

    ``newton_like``: is P like the Hessian in all directions, so that -P^-1 g is nearly Newton's
    step at full length?
    """

    @property
    def newton_like(self) -> bool: ...

    def solve(self, g: Array) -> Array:
        """P^-1 g.

        Parameters
        ----------
        g : ndarray
            A gradient, with a column for each output.

        Returns
        -------
        ndarray
        """

    def gap(self, g: Array) -> float:
        """About how far f is above its minimum if its gradient is g.

        Parameters
        ----------
        g : ndarray
            The gradient.

        Returns
        -------
        float
            Infinite if P does not know.
        """

    def state_dict(self) -> dict[str, Array]:
        """The arrays that P is made of.

        Returns
        -------
        dict of str to ndarray
            Empty for the identity, and for a metric that is computed before each step.
        """


@dataclass(frozen=True)
class Sample:
    """Which rows a Hessian is summed over.

    Attributes
    ----------
    rows, turn : int
        About how many rows; other rows are drawn at each turn.
    whole : bool
        Whether to take all rows.
    """

    rows: int = 0
    turn: int = 1
    whole: bool = True


class SumsOverRows(Protocol):
    """Sums over rows where a run stands; the scores of a run give them."""

    def hessian(self, sample: Sample) -> Array: ...

    def hessian_diagonal(self) -> Array: ...

    def row_curvature(self) -> Array: ...

    def scores(self, place: slice) -> Array: ...


class RunState(Protocol):
    """Where a run stands, as a ``View`` of it needs it."""

    @property
    def problem(self) -> Problem: ...

    @property
    def metric(self) -> Metric: ...

    @property
    def goal(self) -> Goal: ...

    @property
    def ridge(self) -> Array: ...

    @property
    def gradient(self) -> Array: ...

    @property
    def gradient_ratio(self) -> float: ...

    @property
    def scores(self) -> SumsOverRows: ...


class View:
    """What a policy may know of a run: where the run stands, and sums over rows there.

    Products with X are counted, in ``products`` and ``passes`` (two products each).

    Parameters
    ----------
    run : PlaneRun
        The run. The view has the run's ``problem``, ``ridge`` (the penalty of each variable),
        ``gradient``, ``gradient_ratio`` (the gradient's norm over the norm before the last step;
        NaN at the first step), ``metric`` and ``goal``.

    Attributes
    ----------
    hessian : callable
        ``hessian(sample)`` is sum_i c_i loss''_i x_i x_i^T / n over the rows of a ``Sample``,
        without the penalty.
    hessian_diagonal : callable
        ``hessian_diagonal()`` is the diagonal of the Hessian of all rows, without the penalty.
    row_curvature : callable
        ``row_curvature()`` is c_i loss''_i, one number a row.
    """

    def __init__(self, run: RunState) -> None:
        self.problem = run.problem
        self.metric = run.metric
        self.goal = run.goal
        self.ridge = run.ridge
        self.gradient = run.gradient
        self.gradient_ratio = run.gradient_ratio
        self._scores = run.scores
        self.hessian: Callable[[Sample], Array] = run.scores.hessian
        self.hessian_diagonal: Callable[[], Array] = run.scores.hessian_diagonal
        self.row_curvature: Callable[[], Array] = run.scores.row_curvature
        self.products = self.passes = 0

    @property
    def scores(self) -> ScoresOf:
        """The function that returns x_i . w of a slice of rows, where there are several outputs."""
        found: ScoresOf = self._scores.scores
        return found

    def hessian_times(self, V: Array) -> Array:
        """The Hessian, with the penalty, times the columns of V.

        Parameters
        ----------
        V : ndarray
            The columns; each costs a pass over the data.

        Returns
        -------
        ndarray
        """
        rows = self.problem.rows
        columns = V.reshape(len(V), -1)
        self.passes += columns.shape[1]
        self.products += 2 * columns.shape[1]
        by_row = rows.times(columns) * self.row_curvature()[:, None]
        penalty = np.broadcast_to(self.ridge.reshape(-1), len(V))[:, None] * columns
        product = rows.combine(by_row) / self.problem.n + penalty
        return np.asarray(product).reshape(V.shape)


class MetricPolicy(ABC):
    """Decides before each step whether another metric is worth its price; made of a problem.

    ``passes`` counts passes over the data that a policy or its metrics make without a ``View``.
    ``every_step``: is the metric the Hessian of all rows, computed before each step?
    ``each_point``: does ``update`` return another metric at each point? ``restarts``: are stored
    directions dropped when the policy replaces the identity? ``samples_first``: may a run begin
    with the minimum over a sample of the rows, whose Hessian is then given to ``known``?

    Parameters
    ----------
    problem : Problem
        The problem whose steps it serves.
    """

    problem: Problem
    passes: int = 0
    each_point: ClassVar[bool] = False
    restarts: ClassVar[bool] = False
    samples_first: bool = False

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Whether the policy is for a problem.

        Parameters
        ----------
        problem : Problem
            The problem.

        Returns
        -------
        bool
        """
        return True

    @property
    def every_step(self) -> bool:
        return False

    @property
    def before_first_step(self) -> bool:
        """Is the Hessian of all rows of a quadratic worth its price before the first step? Then the
        run needs X^T X and X^T y alone, and its metric is the Hessian."""
        return False

    def known(self, H: Array, ridge: Array) -> Metric:
        """The metric from a Hessian that was computed elsewhere.

        Parameters
        ----------
        H, ridge : ndarray
            A Hessian without the penalty, and the penalty of each variable.

        Returns
        -------
        Metric
        """
        return FactorMetric.of(H, ridge.reshape(-1))

    def begin(self, ridge: Array) -> Metric:
        """The metric of the first step: the identity, or one that is known already.

        Parameters
        ----------
        ridge : ndarray
            The penalty of each variable.

        Returns
        -------
        Metric
        """
        return Identity()

    def update(self, view: View) -> Metric | None:
        """Decide before a step.

        Parameters
        ----------
        view : View
            What the policy may know.

        Returns
        -------
        Metric or None
            Another metric, or None to keep the one in use.
        """
        return None

    def state_dict(self) -> dict[str, Array]:
        """What later decisions depend on.

        Returns
        -------
        dict of str to ndarray
        """
        return {}

    def load_state_dict(self, state: dict[str, Array], metric: dict[str, Array]) -> Metric:
        """Continue from a checkpoint.

        Parameters
        ----------
        state, metric : dict of str to ndarray
            What ``state_dict`` of the policy and of its metric returned.

        Returns
        -------
        Metric
            The metric whose arrays were ``metric``.
        """
        if metric:
            return FactorMetric(metric["root"], metric.get("factor"))
        return Identity()


class IdentityPolicy(MetricPolicy):
    """The policy of the identity, which is never replaced; the base class of other policies.

    Parameters
    ----------
    problem : Problem
        The problem.
    """


def outputs_of(problem: Problem) -> int:
    """How many scores a row has."""
    return math.prod(problem.shape[1:])


def is_sparse(rows: Rows) -> bool:
    """Has X enough zeros for sparse products to be faster?"""
    return bool(rows.cost < 0.99 * rows.n * rows.d)


def cost_of_step(problem: Problem) -> float:
    """The price of a step of the plane in the identity's metric, in nanoseconds."""
    rows = problem.rows
    outputs = outputs_of(problem)
    if is_sparse(rows):
        entry = PRICES.sparse * outputs
    else:
        entry = max(PRICES.dense, PRICES.gram * outputs)
    scores = PRICES.row * float(problem.n) + PRICES.column * float(rows.d)
    return float(PRICES.call + 2.0 * entry * rows.cost + scores * outputs)
