"""``path``: one problem with many penalties, each run begun where the last one ended."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from .. import _checks
from .._threads import one_thread
from ..control import PLANE, open_ended_names
from ..plane.small import SmallNewton
from ..problems import Frame, PathCache, Problem, norm
from ..rows import Array
from .columns import spread
from .constant import value_at_constant
from .prepare import best_constant, goals, is_tiny, on_rows, trimmed
from .request import CheckedRequest, check_problem, check_tol
from .result import Result
from .solve import end, solve
from .stop import Stop

# A run of a path goes on until its gradient is this share of the gradient where it began ...
MOVES = 0.1
LEAST = 1e-3  # ... but not below this share of what ``tol`` asks for.
SAMPLE = 1000  # Possible starts are compared on this many rows.
# See ``PathSolver.enough``.
VARIANCE_SHARE = 5e-6
OF_ERROR = 0.01
# The variance of the losses counts as at least this share of their squared mean.
LEAST_VARIANCE = 0.1
USUAL = 1e-4  # With a smaller ``tol`` scores are as much more exact.
EXACT = 1e-9  # A model of small data that is to be scored may leave this share of f.
FINER = 0.01  # A run that is to be scored goes on to this share of what ``tol`` asks for.


@one_thread()
def path(p: Problem, l2s: Iterable[float], tol: float = 1e-6, method: str = "auto") -> list[Result]:
    """Minimise ``p`` for each of the penalties ``l2s``; ``p.l2`` is not used.

    The runs go from the strongest penalty to the weakest, on all rows (``plane``). Each run starts
    at the minimiser of the run before, or where a line or parabola through the last minimisers (as
    functions of log l2) leads. Whatever does not depend on the penalty is computed once: the scales
    of the columns, the Gram matrix and the last Hessian. A run adds its own penalty to that Hessian
    for the price of one Cholesky factorisation. On the squared loss the Hessian is X^T X/n, so each
    further penalty takes a step or two. Data in parts are not kept in memory, so their runs only
    start warm. The problem is prepared as ``minimize`` prepares it.

    Parameters
    ----------
    p : Problem
        A problem of ``Problem``, ``LeastSquares`` or ``Logistic``.
    l2s : iterable of float
        The penalties, >= 0, in any order.
    tol : float, default 1e-06
        A run stops when the norm of its gradient is at most tol times the norm at w = 0, and a
        tenth of its norm at the start of the run. So a small change of the penalty still moves the
        weights.
    method : {"auto", "auto-shb", "plane"}, default "auto"
        The method of each run.

    Returns
    -------
    list of Result
        The runs, in the order of ``l2s``.

    Raises
    ------
    ValueError
        If the loss leaves a parameter to the residuals: give it a number.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X, y, _ = bocce.data.regression(n=100, d=5, kappa=10.0, noise_var=0.1)
    >>> p = bocce.LeastSquares(X, y)
    >>> weak, strong = bocce.path(p, [0.1, 10.0], tol=1e-9)
    >>> bool(np.allclose(weak.w, p.replace(l2=0.1).minimiser()))
    True
    """
    check_problem("path", p)
    penalties = check_penalties("path", l2s)
    tol = check_tol("path", tol)
    method = _checks.choice("path", "method", method, open_ended_names())
    if p.adapts:
        raise ValueError(
            f"path: {p.loss.name} with a parameter that is None must have a number, the same for "
            "all penalties; take the loss of a result of minimize."
        )
    solver = PathSolver(p, float(penalties.min()), tol, method)
    results = {}
    for place in np.argsort(-penalties, kind="stable").tolist():
        run = solver.next_run(float(penalties[place]))
        results[place] = replace(run, w=spread(run.w, solver.columns, p.d, axis=0))
    return [results[place] for place in range(penalties.size)]


def check_penalties(where: str, l2s: Iterable[float]) -> Array:
    """Penalties as an array: at least one, finite, none negative."""
    remedy = "give penalties such as [1.0, 1e-2, 1e-4]"
    if not isinstance(l2s, Iterable):
        raise _checks.refused(TypeError, where, "l2s", l2s, "several numbers", remedy)
    penalties = [_checks.real(where, "l2s", l2, least=0.0, remedy=remedy) for l2 in l2s]
    if not penalties:
        raise ValueError(f"{where}: l2s is empty, must have one penalty or more; {remedy}.")
    return np.array(penalties)


class PathSolver:
    """The runs of a path, one after the other: what they share, and the last solutions.

    Columns are scaled for the penalty ``weakest``. A ``leader`` solves a problem with the same rows
    and other weights or targets; its variables are used. ``n_scored_rows`` is the number of rows on
    which the models are scored; 0 where each model must meet ``tol``.
    """

    def __init__(
        self,
        p: Problem,
        weakest: float,
        tol: float,
        method: str = PLANE.name,
        leader: PathSolver | None = None,
        n_scored_rows: int = 0,
    ) -> None:
        if leader is None:
            p, self.columns = trimmed(p)
        else:
            self.columns = leader.columns
            p = on_rows(p, leader.p.given, leader.columns)
        self.p: Problem = p
        self.tol = tol
        self.leader = leader
        direct = p.loss.quadratic  # there a run is a step or two
        if direct or p.in_parts or is_tiny(p):
            self.n_scored_rows = 0
        else:
            self.n_scored_rows = n_scored_rows
        self.method = method if p.in_parts else PLANE.name
        self.frame: Frame = Frame.of(p.replace(l2=weakest)) if leader is None else leader.frame
        if leader is None:
            inner = self.frame.problem(p)
        else:
            inner = p.with_rows(leader.inner.rows, penalty=leader.inner.penalty)
        self.cache = PathCache()  # what is handed on from run to run is the path's own
        self.inner: Problem = inner.with_fields(handed_on=self.cache)
        nowhere = self.inner.replace(l2=0.0).look(np.zeros(self.inner.shape))
        self.first = Stop(tol, self.frame).user_norm(nowhere.gradient)
        if p.in_parts:
            self.zero_value = nowhere.value
        else:
            self.zero_value = value_at_constant(p, self.inner)
        self.solutions: list[tuple[float, Array]] = []  # penalties, and their minimisers
        self.scored_variance = 0.0  # of the last model's losses on the scored rows, if known

    @cached_property
    def is_small(self) -> bool:
        return SmallNewton.suits(self.inner)

    @cached_property
    def unit_penalty(self) -> Problem:
        return self.p.replace(l2=1.0)

    @cached_property
    def sample(self) -> Problem:
        """Rows spread over the data."""
        n = self.inner.n
        return self.inner.on(np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.int64))

    def model(self, l2: float, follow: bool = False) -> Array:
        """The minimiser for the next penalty, as exact as scores need it where models are scored.

        ``follow``: with the curvature that the leader has just found for this penalty. A run does
        not begin at the leader's minimiser: where the leader has seen rows that this run has not,
        whatever is left of those rows when the run stops would flatter it on them.
        """
        if follow:
            assert self.leader is not None
            self.cache.follow(self.leader.cache, self.p.loss.quadratic)
        given = self._next(l2, EXACT if self.is_small else 0.0)
        return self._solved(l2, end(*given))

    def next_run(self, l2: float) -> Result:
        """The run for the next penalty."""
        result = solve(*self._next(l2))
        self._solved(l2, self.p.join_intercept(result.w, result.intercept))
        return result

    def _next(
        self, l2: float, share: float = 0.0
    ) -> tuple[Problem, CheckedRequest, Stop, Frame, Problem]:
        """What ``solve`` needs for the next penalty. ``share``: of f, which is allowed as a gap."""
        finer = self._finer(l2)
        start = self._start(l2)
        gaps = 0.0, 0.0
        if self.n_scored_rows:
            finer *= FINER
            variance = self._variance(start)
            # With more columns than rows a weak penalty makes the losses of fitted rows vanish, but
            # not the losses of scored rows. Hashed text takes 0.4 of the time (benchmarks/cv.py).
            gaps = self.enough(variance), self.enough(max(variance, self.scored_variance))
        first = self.first
        tol, enough = goals(self.p, self.tol)
        if enough > 0.0:
            enough *= finer
        else:
            first *= finer
        stop = Stop(
            tol, self.frame, first, required=enough,
            max_gap=gaps[0], loose_gap=gaps[1], gap_share=share, zero_value=self.zero_value,
        )  # fmt: skip
        p = self.p.replace(l2=l2)
        inner = self.inner.replace(l2=l2)
        request = CheckedRequest(self.method, w0=start, tol=self.tol)
        return p, request, stop, self.frame, inner

    def _solved(self, l2: float, w: Array) -> Array:
        """Remember the minimiser for a penalty."""
        self.solutions = [*self.solutions[-2:], (l2, w)]
        return w

    def _finer(self, l2: float) -> float:
        """The share of what ``tol`` asks for that the next run goes on to."""
        goal = self.tol * self.first
        if not (self.solutions and goal > 0.0):
            return 1.0
        before, end = self.solutions[-1]
        # the gradient where the run begins
        begins = abs(before - l2) * norm(self.unit_penalty.penalty_gradient(end))
        return min(1.0, max(LEAST, MOVES * begins / goal))

    def note_scored(self, losses: Array) -> None:
        """Take note of the last model's losses on the scored rows."""
        self.scored_variance = float(np.var(losses))

    def enough(self, variance: float) -> float:
        """How far f may stay above its minimum so that no score changes noticeably, if the losses
        of the rows have this variance.

        Let s be the standard deviation of the rows' losses and m the number of scored rows, so
        s/sqrt(m) is the standard error of a score. If f is too high by e, the score is too high by
        e, and e should be a small share of that standard error. Also, the model is off along some
        direction of length sqrt(2 e) in the Hessian's norm, and along it the scored rows have a
        slope of order 1/sqrt(m). So e should be a still smaller share of s^2.
        """
        finer = min(1.0, self.tol / USUAL) ** 2
        error = float(np.sqrt(variance / self.n_scored_rows))
        return finer * min(VARIANCE_SHARE * variance, OF_ERROR * error)

    def _variance(self, w: Array) -> float:
        """The variance of the losses of the fitted rows."""
        own = self.sample
        losses = own.loss.value(own.predict(self.frame.into(w)), own.y)
        if own.weight is None:
            weight = np.ones(own.n)
        else:
            weight = own.weight
        if not weight.any():
            return 0.0
        mean = np.average(losses, weights=weight)
        variance = float(np.average((losses - mean) ** 2, weights=weight))
        # Under a strong penalty all losses are alike.
        return max(variance, LEAST_VARIANCE * float(mean) ** 2)

    def _start(self, l2: float) -> Array:
        """Where f is least, on a sample of the rows: the last minimiser, or where the line or the
        parabola through the last ones leads (as a function of log l2)."""
        ends = self.solutions
        if not ends:
            return np.zeros(self.p.shape) if self.p.in_parts else best_constant(self.p)
        known = [l2, *(before for before, _ in ends)]
        apart = min(known) > 0.0 and len(set(known)) == len(known)
        if self.p.in_parts or not apart or len(ends) == 1:
            return ends[-1][1]
        points = [extrapolate(ends[-k:], l2) for k in range(1, len(ends) + 1)]
        own = self.sample.replace(l2=l2)
        return min(points, key=lambda w: own.value(self.frame.into(w)))


def extrapolate(ends: list[tuple[float, Array]], l2: float) -> Array:
    """The polynomial in log l2 through the ends (l2, w), at another l2.

    >>> extrapolate([(10.0, np.array([1.0])), (1.0, np.array([2.0]))], 0.1).round(9)
    array([3.])
    """
    logs = np.log([known for known, _ in ends]).tolist()
    place = float(np.log(l2))
    point = np.zeros_like(ends[0][1])
    for j, (_, w) in enumerate(ends):
        factor = 1.0
        for other in logs[:j] + logs[j + 1 :]:
            factor *= (place - other) / (logs[j] - other)
        point += factor * w
    return point
