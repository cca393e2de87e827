"""One output's run: from a problem in scaled variables to a certificate in the caller's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import sampling
from ..engines.whole import WholeEngine
from ..policies import guard
from ..policies.anytime import FIRST_SHARE, accelerating_batch
from ..problems import LinearProblem, Logistic
from ..problems.frame import Frame, Framed
from ..result import Progress, Result
from ..schedules import Schedule
from ..solve import GUARDED, minimize, registry

PASSES_TO_TOL, PASSES = 10_000, 100  # of "auto"; of other methods, and of "auto" with tol = 0
TINY = 20_000  # numbers in X: a pass takes microseconds, so all rows are taken at each step,
TINY_TOL = 1e-13  # as far as rounding allows: the result depends on the objective alone
ROUNDING = 1e-9  # of the gradient at zero: less is no measure of anything
FEW_WRONG, FURTHER = 0.01, 0.01  # of the rows; of tol, where classes may be separable
OVERFLOW = (
    "fit: the first gradient overflows, must be finite; scale y, or leave out columns of huge "
    "values."
)
FAR_BELOW = 1e-3  # of the goal: what the run itself aims at, for it is stopped from outside


def tiny(X: Any) -> bool:
    """Is a pass over X so cheap that noise and an early stop save nothing?"""
    return bool(X.shape[0] * X.shape[1] <= TINY)


def dense_pays(X: Any) -> bool:
    """Are sparse rows so few or so full that dense ones, which can be centred, are cheaper?"""
    return tiny(X) or bool(3 * X.nnz >= X.shape[0] * X.shape[1])


class Ask(NamedTuple):
    """What the caller wants of a run."""

    method: str
    batch_size: float | None
    max_iter: int | None
    tol: float
    seed: int

    @property
    def passes(self) -> int:
        reaches = self.method in GUARDED and self.tol > 0
        return self.max_iter or (PASSES_TO_TOL if reaches else PASSES)


@dataclass
class Outcome:
    """Where a run ended and how it went."""

    u: np.ndarray
    ratio: float  # the gradient's norm over the first, in the caller's variables
    history: dict[str, np.ndarray]
    stopped: bool  # by a callback
    separated: bool  # classes, without l2: there is no finite minimiser

    @property
    def passes(self) -> float:
        return float(self.history["passes"][-1])


def constant(problem: LinearProblem) -> float:
    """The intercept of the best model without coefficients (0 where all labels are the same)."""
    mean = float(problem.weighted(problem.y).mean())
    if not isinstance(problem, Logistic):
        return mean
    return math.log((1.0 + mean) / (1.0 - mean)) if abs(mean) < 1.0 else 0.0


class Norms:
    """The gradient's norm in the scaled variables and in the caller's, over where it began.

    That is the norm at zero or at the best constant prediction, whichever is smaller: where y is
    far from 0, the gradient at zero is nearly all of the intercept and says little of the rest.
    """

    def __init__(self, problem: LinearProblem, frame: Frame) -> None:
        self.problem, self.frame = problem, frame
        self.known: tuple[np.ndarray, np.ndarray] | None = None  # a point, its gradient
        self.gradient: Callable[[np.ndarray], np.ndarray] = problem.gradient
        if isinstance(problem.X, Framed):  # large: let the compiled sums read it once
            engine = WholeEngine(problem, compiled=True)
            self.gradient = lambda u: engine.look(u)[1]

    @cached_property
    def first(self) -> tuple[float, ...]:
        """Both norms where the run is said to begin."""
        zero = np.zeros(self.problem.d)
        first = flat = self._both(zero)
        if self.frame.unit > 0.0:
            flat = self._both(self.frame.into(zero[:-1], constant(self.problem)))
        first = tuple(min(a, max(b, ROUNDING * a)) for a, b in zip(first, flat))
        if not np.isfinite(first).all():
            raise ValueError(OVERFLOW)
        return first

    def _both(self, u: np.ndarray) -> tuple[float, ...]:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.known is None or not np.array_equal(u, self.known[0]):
                self.known = u, self.gradient(u)
            g = self.known[1]
            coef, intercept = self.frame.gradient_out(g)
            return float(np.linalg.norm(g)), float(np.linalg.norm(np.append(coef, intercept)))

    def inner(self, norm: float) -> float:
        return norm / self.first[0] if self.first[0] > 0 else 0.0

    def outer(self, u: np.ndarray) -> float:
        return self._both(u)[1] / self.first[1] if self.first[1] > 0 else 0.0


def table(problem: LinearProblem, ask: Ask) -> tuple[Any, int]:
    """A named method for the passes asked for, under the guard, and its batch.

    Without strong convexity, T steps see no curvature below about L/T^2: that is mu then.
    """
    c = problem.constants()
    L = c.L if c.L > 0 else 1.0
    L_max = max(c.L_max, L)
    if ask.batch_size is not None:
        b = sampling.batch_rows("fit", ask.batch_size, problem.n)
    else:
        b = accelerating_batch(problem.n, L, max(c.mu, FIRST_SHARE**2 * L), L_max)
    T = max(1, int(ask.passes * problem.n / b))
    mu = min(L, c.mu or L / T**2)
    values = {"L": L, "mu": mu, "L_max": L_max, "n": problem.n, "b": b}
    values["kappa_tilde"] = c.kappa_tilde or L_max / mu  # which bounds it
    method = registry()[ask.method].build(T, values)
    return (guard(method) if isinstance(method, Schedule) else method), b


def descend(
    problem: LinearProblem,
    frame: Frame,
    start: np.ndarray,
    ask: Ask,
    tell: Callable[[int, np.ndarray, float, float, float], bool] | None,
) -> Outcome:
    """Run until the gradient is tol times the first in both sets of variables."""
    norms = Norms(problem, frame)
    goal = min(ask.tol, TINY_TOL) if tiny(problem.X) and ask.method in GUARDED else ask.tol
    watch = Watch(norms, goal, tell)
    with np.errstate(over="ignore", invalid="ignore"):  # refused at the first record
        try:
            u, history = _run(problem, start, ask, watch)
        except np.linalg.LinAlgError as error:
            raise ValueError(OVERFLOW) from error
    return Outcome(u, norms.outer(u), history, watch.stopped, _wrong_side(problem, u) == 0.0)


def _run(
    problem: LinearProblem, start: np.ndarray, ask: Ask, watch: Watch
) -> tuple[np.ndarray, Any]:
    if ask.method in GUARDED:
        return _to_goal(problem, start, ask, watch)
    method, b = table(problem, ask)
    result = minimize(problem, method, batch_size=b, w0=start, **_usual(ask, watch))
    return result.w, _columns(result, problem.n)


def _usual(ask: Ask, watch: Watch) -> dict[str, Any]:
    return {
        "seed": ask.seed,
        "sampling": "reshuffle",
        "record_every": "auto",
        "callback": watch,
    }


def _columns(result: Result, n: int, after: dict[str, np.ndarray] | None = None) -> Any:
    """The history as estimators have it; ``after`` is what went before."""
    found = {
        "iteration": result.history["k"],
        "passes": result.history["gradient_evaluations"] / n,
        "value": result.history["value"],
        "gradient_norm": result.history["grad_norm"],
    }
    if after is None:
        return found
    for name in ("iteration", "passes"):
        found[name] = found[name] + after[name][-1]
    return {name: np.concatenate([after[name], found[name][1:]]) for name in found}


def _to_goal(
    problem: LinearProblem, start: np.ndarray, ask: Ask, watch: Watch
) -> tuple[np.ndarray, Any]:
    """Without a number of steps; then again from rest on all rows, for as long as that helps.

    That is where f is flat to rounding but its slope is not yet, or where a batch that the caller
    chose has led nowhere in half of the passes.
    """
    u, history, norm = start, None, math.inf
    batch, left = ask.batch_size, float(ask.passes)
    if batch is None and tiny(problem.X):
        batch = problem.n
    elif batch is not None and ask.tol > 0:
        left = max(1.0, left / 2)
    while True:
        result = minimize(
            *(problem, ask.method),
            batch_size=batch,
            w0=u,
            tol=FAR_BELOW * watch.goal,
            passes=left,
            **_usual(ask, watch),
        )
        u, history = result.w, _columns(result, problem.n, history)
        last = history["gradient_norm"][-1]
        gained, norm = last < 0.5 * norm, last
        left = ask.passes - history["passes"][-1]
        if watch.done or not gained or left < 1.0:
            return u, history
        batch = problem.n


def _wrong_side(problem: LinearProblem, u: np.ndarray) -> float:
    """The share of rows on the wrong side where no l2 keeps u from growing; 1 where one does."""
    if problem.l2 > 0.0 or not isinstance(problem, Logistic):
        return 1.0
    return float((problem.y * problem.predict(u) <= 0.0).mean())


class Watch:
    """Looks at each record of a run; stops it when both norms are below the goal."""

    def __init__(self, norms: Norms, goal: float, tell: Any) -> None:
        self.norms, self.goal, self.tell = norms, goal, tell
        self.wanted = goal  # of the inner norm, before the outer one is worth a pass
        self.stopped = self.done = self.doubted = False

    def __call__(self, now: Progress) -> bool:
        if now.gradient is not None:
            self.norms.known = now.w, now.gradient
        inner = self.norms.inner(now.grad_norm)
        if self.tell is not None:
            self.stopped = self.tell(now.k, now.w, now.value, inner, self._share(inner))
        self.done = self.stopped or self._there(inner, now.w)
        return self.done

    def _share(self, inner: float) -> float:
        """How much of the way to the goal is made, in orders of magnitude."""
        if inner <= self.goal or self.goal == 0.0:
            return float(inner <= self.goal)
        return max(0.0, math.log(inner) / math.log(self.goal))

    def _there(self, inner: float, u: np.ndarray) -> bool:
        if self.goal == 0.0 or inner > self.wanted:
            return False
        outer = self.norms.outer(u)
        if outer <= self.goal:
            return not self._doubtful(u)
        self.wanted = inner * max(0.1, self.goal / outer)
        return False

    def _doubtful(self, u: np.ndarray) -> bool:
        """Without l2, with nearly all rows on their side: the others may follow, so go on once."""
        wrong = _wrong_side(self.norms.problem, u)
        if self.doubted or not 0.0 < wrong < FEW_WRONG:
            return False
        self.doubted, self.goal = True, FURTHER * self.goal
        self.wanted = self.goal
        return True
