"""``partial_fit``: a schedule that goes on from call to call, over chunks that are seen once.

A chunk is n/b steps of an engine, over disjoint batches of it. What is kept between calls is a
``Stream``: plain numbers and arrays, so a pickled estimator goes on where it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import engines, sampling
from ..policies.anytime import FIRST_SHARE, LOWER
from ..policies.guard import MOST_RETREATS, VALUE_FACTOR, Guarded
from ..problems import LeastSquares, LinearProblem
from ..problems.frame import Frame
from ..schedules import Schedule
from ..schedules.adaptive import design
from ..solve import GUARDED
from ._run import Ask, constant, table

BATCH = 8  # rows of a batch, unless said: of 8, 16, 32 and hundreds the best on streams
FIRST_STAGE = 32  # steps; each further stage of "auto" is twice as long,
CUT = math.sqrt(0.5)  # and its steps are so much shorter
AVERAGED = 4  # stages whose iterates are averaged: the last 7/8 of all steps or more
SLACK = 1e-8  # of the loss at zero: a rise by less is no divergence


class SeenOnce(LeastSquares):
    """A Gram matrix would cost more than the one pass that is made."""

    gram_fits = False


@dataclass
class Trail:
    """One output: w, v = w - w_before, and the sums of w over the last stages, one a row."""

    w: np.ndarray
    v: np.ndarray
    sums: np.ndarray

    @classmethod
    def at(cls, w: np.ndarray) -> Trail:
        return cls(w, np.zeros(w.size), np.zeros((AVERAGED, w.size)))


@dataclass
class Place:
    """What the steps of a chunk change, and what goes back with them."""

    trails: list[Trail]
    k: int = 0
    stage: int = 0
    stage_end: int = FIRST_STAGE
    summed: tuple[int, ...] = (0,) * AVERAGED  # steps in each row of the trails' ``sums``

    def count(self, steps: int) -> None:
        """So many steps were taken; a stage may end with them."""
        self.k += steps
        self.summed = (self.summed[0] + steps, *self.summed[1:])
        if self.k < self.stage_end:
            return
        self.stage += 1
        self.stage_end += FIRST_STAGE * 2**self.stage
        self.summed = (0, *self.summed[:-1])
        for trail in self.trails:
            trail.sums = np.vstack([np.zeros(trail.w.size), trail.sums[:-1]])

    def average(self, trail: Trail) -> np.ndarray:
        """Over the last stages; in the first, where the start still counts, the last iterate."""
        return trail.sums.sum(axis=0) / sum(self.summed) if self.stage else trail.w


@dataclass
class Stream:
    """All that is kept between calls."""

    ask: Ask
    frame: Frame
    L: float
    mu: float
    L_max: float
    named: Schedule | None  # of a method that is not "auto"
    place: Place
    first_rows: int
    calls: int = 0
    rows: int = 0
    doublings: int = 0
    history: list[tuple[float, ...]] = field(default_factory=list)

    def steps(self, b: int, most: int) -> Schedule:
        """The next steps, at most so many, up to the end of a stage."""
        k, scale = self.place.k, 2.0**self.doublings
        if self.named is not None:
            held = np.minimum(k + np.arange(most), self.named.T - 1)
            columns = (self.named.alpha / scale, self.named.beta, self.named.theta)
            return Schedule(*(column[held] for column in columns))
        stage = self.place.stage
        mu = min(self.L, max(self.mu, FIRST_SHARE * self.L / LOWER**stage))
        # b rows of endless data have noise 1/b
        alpha, beta, theta = design(scale * self.L, mu, scale * self.L_max, None, 1.0 / b)
        count = min(most, self.place.stage_end - k)
        return Schedule(*(np.full(count, x) for x in (alpha * CUT**stage, beta, theta)))

    def points(self) -> list[np.ndarray]:
        """What is reported, for each output."""
        if self.named is not None:
            return [trail.w for trail in self.place.trails]
        return [self.place.average(trail) for trail in self.place.trails]


def advance(
    estimator: Any,
    X: Any,
    targets: Iterable[np.ndarray],
    weights: np.ndarray | None,
) -> None:
    """Take the steps of one chunk, and set what a fit sets."""
    stream: Stream | None = getattr(estimator, "_stream", None)
    targets = list(targets)
    if stream is None:
        stream = _begin(estimator, X, targets, weights)
    if len(targets) != (outputs := len(stream.place.trails)):
        raise ValueError(
            f"partial_fit: y has {len(targets)} outputs, must have {outputs} as at the first call; "
            "start with a clone."
        )
    rows, kind = stream.frame.design(X), estimator.kind
    kind = SeenOnce if kind is LeastSquares else kind
    problems = [_problem(kind, estimator.l2, stream.frame, rows, y, weights) for y in targets]
    _run(stream, problems)
    estimator._stream = stream
    _publish(estimator, stream, problems, X.dtype)


def _problem(
    kind: Any, l2: float, frame: Frame, X: Any, y: np.ndarray, weights: np.ndarray | None
) -> LinearProblem:
    """The chunk's objective; its rows may well be of one class only."""
    problem = kind.of_checked(X, np.array(y, dtype=np.float64), l2)
    problem.penalty = frame.penalty
    problem.weight = None if weights is None else weights / weights.mean()
    return problem


def _begin(estimator: Any, X: Any, targets: list[np.ndarray], weights: np.ndarray | None) -> Stream:
    """Frame, constants, batch and schedule, from the first chunk."""
    kind, l2 = estimator.kind, estimator.l2
    frame = estimator._frame(X, weights)
    problem = _problem(kind, l2, frame, frame.design(X), targets[0], weights)
    c = problem.constants()
    L = c.L if c.L > 0 else 1.0
    ask = Ask(estimator.method, estimator.batch_size, estimator.max_iter, 0.0, estimator._seed())
    named = None
    if ask.method not in GUARDED:
        method, b = table(problem, ask)
        if not isinstance(method, Guarded):
            raise ValueError(
                f"partial_fit: method={ask.method!r} looks at each batch before it steps, must be "
                "a schedule; use 'auto'."
            )
        named, ask = method.method, ask._replace(batch_size=ask.batch_size or b)
    warm = hasattr(estimator, "coef_")
    coef, intercept = estimator._started(len(targets), X.shape[1], warm)
    if estimator.fit_intercept and not warm:
        rows = frame.design(X)
        intercept[:] = [constant(_problem(kind, l2, frame, rows, y, weights)) for y in targets]
    place = Place([Trail.at(frame.into(*start)) for start in zip(coef, intercept)])
    ask = ask._replace(batch_size=ask.batch_size or BATCH)
    return Stream(ask, frame, L, c.mu, max(c.L_max, L), named, place, problem.n)


def _run(stream: Stream, problems: list[LinearProblem]) -> None:
    """Go over the chunk; where its loss blows up, go back and take steps half as long."""
    p, size = problems[0], stream.ask.batch_size
    # a chunk may be shorter than a batch: then it is the batch
    b = sampling.batch_rows("partial_fit", size if isinstance(size, float) else min(size, p.n), p.n)
    row = p.curvature_bound * p.largest_row2 + float(np.max(p.ridge))
    stream.L_max = max(stream.L_max, row)
    seed = sampling.part_seed(stream.ask.seed, stream.calls)
    any_table = stream.steps(b, 1)
    movers = [engines.make("compiled", p, any_table, b, seed, "reshuffle") for p in problems]
    before = deepcopy(stream.place)
    for _ in range(MOST_RETREATS):
        if _steps(stream, movers, b, p.n // b) and _sane(stream, before, movers):
            break
        stream.place = deepcopy(before)
        for trail in stream.place.trails:
            trail.v[:] = 0.0
        stream.doublings += 1
    stream.calls += 1
    stream.rows += p.n


def _steps(stream: Stream, movers: list[Any], b: int, count: int) -> bool:
    """The steps of the chunk, numbered from 0 in it; False where one overflows."""
    nobody = engines.Recorder(np.zeros(0, dtype=np.int64), math.inf, -1.0)
    done = 0
    while done < count:
        piece = stream.steps(b, count - done)
        columns = (piece.alpha, piece.beta, piece.theta)
        placed = Schedule(*(np.pad(column, (done, 0), mode="edge") for column in columns))
        for trail, mover in zip(stream.place.trails, movers):
            state = engines.State(trail.w, trail.v, done, (), trail.sums[0])
            if mover.advance(state, placed, done + piece.T, nobody):
                return False
            trail.w, trail.v = state.w, state.v
        stream.place.count(piece.T)
        done += piece.T
    return True


def _sane(stream: Stream, before: Place, movers: list[Any]) -> bool:
    """Has the chunk's loss kept below four times what it was, or at zero if that is less?

    The named methods may rise on their way, but not above four times the loss at zero.
    """
    for old, new, mover in zip(before.trails, stream.place.trails, movers):
        zero, was, now = (mover.measure(w)[0] for w in (np.zeros(old.w.size), old.w, new.w))
        first = min(was, zero) if stream.named is None else zero
        if not now <= max(was, VALUE_FACTOR * first) + SLACK * zero:
            return False
    return True


def _publish(estimator: Any, stream: Stream, problems: list[LinearProblem], dtype: Any) -> None:
    """coef_, intercept_, history_, n_iter_ and plan_ after a call."""
    points, k, passes = stream.points(), stream.place.k, stream.rows / stream.first_rows
    for j, (u, problem) in enumerate(zip(points, problems)):
        norm = float(np.linalg.norm(problem.gradient(u)))
        stream.history.append((k, passes, problem.value(u), norm, j))
    names = ("iteration", "passes", "value", "gradient_norm", "output")
    estimator.history_ = dict(zip(names, np.array(stream.history).T))
    for name in ("iteration", "output"):
        estimator.history_[name] = estimator.history_[name].astype(np.int64)
    coef, intercept = zip(*(stream.frame.out(u) for u in points))
    fitted = estimator._fitted(np.array(coef), np.array(intercept), dtype)
    for name, value in fitted.items():
        setattr(estimator, name, value)
    estimator.n_iter_ = stream.calls
    estimator.plan_ = _plan(stream)


def _plan(stream: Stream) -> str:
    k, size, named = stream.place.k, stream.ask.batch_size, stream.named
    batches = f"{size:g} of a chunk" if isinstance(size, float) else f"{size} rows"
    said = (
        f"A stream: {stream.calls} chunks, {stream.rows} rows, {k} steps of batches of {batches}, "
        f"method {stream.ask.method!r}. Scaling and curvature (L = {stream.L:.3g}, mu = "
        f"{stream.mu:.3g}) are those of the first chunk, L_max = {stream.L_max:.3g} is the largest "
        "so far."
    )
    if named is None:
        said += (
            f" Stage {stream.place.stage + 1}: each is twice as long as the one before, with steps "
            f"{CUT:.2g} times as long; coef_ is the mean over the last {AVERAGED} stages."
        )
    elif k > named.T:
        said += f" The schedule's {named.T} steps are over; its last values are held."
    if (count := stream.doublings) > 0:
        said += (
            f" {count} time{'s' * (count > 1)} a chunk's loss blew up; it was taken back and done "
            f"again with shorter steps, now 1/{2**count} of what was planned."
        )
    return said
