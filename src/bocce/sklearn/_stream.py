"""``partial_fit``: a schedule that goes on from call to call, over chunks that are seen once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import sampling
from ..control.stream import AVERAGED, BATCH, CUT, Stream, StreamPlace, Trail
from ..problems import Frame, Problem
from ..rows import Array
from ..run import Request
from ..run.controllers import check_curvature, recipe_of
from ..run.stream import over_chunk
from ._run import asked, constant, with_batch


@dataclass
class StreamState:
    """What an estimator keeps between calls: the stream, its frame, and what it has told."""

    request: Request
    frame: Frame
    stream: Stream
    first_rows: int
    flat: Array  # which columns have had one value in all rows so far
    penalty: Array | None  # its factors, one a variable
    calls: int = 0
    rows: int = 0


def classes_of(named: Any, known: Array | None) -> Array:
    """The classes of a stream; ``known`` since its first call."""
    if named is None and known is None:
        raise ValueError("partial_fit: classes must be passed on the first call.")
    classes = np.unique(known if named is None else named)
    if classes.size < 2:
        raise ValueError(
            f"partial_fit: classes={classes.tolist()!r} must be two or more different classes; "
            "name all that the stream will have."
        )
    if known is not None and not np.array_equal(classes, known):
        raise ValueError(
            f"partial_fit: classes={classes.tolist()!r} must be those of the first call, "
            f"{known.tolist()!r}; leave them out, or start with a clone."
        )
    return classes


def advance(estimator: Any, X: Any, targets: Iterable[Array], weights: Array | None) -> None:
    """Take the steps of one chunk, and set what a fit sets."""
    told: StreamState | None = getattr(estimator, "_stream", None)
    outputs = list(targets)
    first = estimator._problem(X, outputs[0], weights)
    if told is None:
        told = _begin(estimator, first, outputs)
    first = first.with_fields(penalty=told.penalty)  # in the units of the first chunk
    check_outputs(len(outputs), len(told.stream.place.trails))
    varies = told.flat & ~_flat_columns(first)
    if varies.any():
        _reframe(told, first, varies)
        told.flat &= ~varies
    inner = told.frame.problem(first).with_fields(avoid_gram=True)
    problems = [inner.with_encoded(y) for y in outputs]
    seed = sampling.part_seed(told.request.seed, told.calls)
    over_chunk(told.stream, problems, told.request.batch_size, seed)
    told.calls += 1
    told.rows += inner.n
    points, passes = told.stream.points(), told.rows / told.first_rows
    history = []
    for u, problem in zip(points, problems):
        look = problem.look(u)
        norm = float(np.linalg.norm(told.frame.gradient_out(look.gradient)))
        history.append((told.stream.place.k, passes, look.value, norm))
    rows = estimator._outputs(len(points))
    fitted = np.zeros((rows, X.shape[1])), np.zeros(rows)
    for j, u in enumerate(points):
        estimator._put(*fitted, estimator._place(j), told.frame.out(u))
    publish(estimator, told, X, fitted, history, _plan(told))


def _begin(estimator: Any, p: Problem, outputs: list[Array]) -> StreamState:
    """Frame, constants, batch and schedule, from the first chunk."""
    frame = Frame.of(p)
    inner = frame.problem(p)
    c = inner.constants()
    check_curvature(inner, c.L, "partial_fit")
    L = c.L if c.L > 0 else 1.0
    request = asked(
        estimator.method, estimator.batch_size, estimator.max_iter, 0.0, estimator._seed()
    )
    facts, named = request.facts, None
    if facts.looks_at_batch or facts.all_rows:
        raise ValueError(
            f"partial_fit: method={facts.name!r} looks at rows before it steps, must be a "
            "schedule; use 'auto'."
        )
    if facts.needs_T:
        request = with_batch(request, inner)
        recipe, T, _ = recipe_of(inner, request.checked(inner, "partial_fit"))
        named = recipe.build(T)
    warm = hasattr(estimator, "coef_")
    coef, intercept = estimator._started(estimator._outputs(len(outputs)), p.d, warm)
    starts = []
    for j, y in enumerate(outputs):
        where = estimator._place(j)
        if p.intercept and not warm:
            intercept[where] = constant(p.with_encoded(y))
        starts.append(p.join_intercept(coef[where].T, intercept[where]))
    place = StreamPlace([Trail.at(frame.into(start)) for start in starts])
    request = replace(request, batch_size=request.batch_size or BATCH)
    stream = Stream(L, c.mu, max(c.L_max, L), place, named)
    return StreamState(request, frame, stream, inner.n, _flat_columns(p), p.penalty)


def _flat_columns(p: Problem) -> Array:
    """Columns of which the frame says nothing: constant beside an intercept, or zero."""
    X = p.given.X
    most, least = X.max(axis=0), X.min(axis=0)
    if p.given.sparse:
        most, least = most.toarray().ravel(), least.toarray().ravel()
    centred = p.intercept and not p.given.sparse
    return np.asarray(most == least if centred else (most == 0.0) & (least == 0.0))


def _reframe(told: StreamState, p: Problem, varies: Array) -> None:
    """Columns that vary for the first time are centred and scaled as this chunk says; the iterates
    stay where they are. (A scale that was chosen for a constant would make their rows so long that
    no column learns.)"""
    fresh, old = Frame.of(p), told.frame
    centre = np.where(varies, fresh.centre, old.centre)
    told.frame = frame = Frame(centre, np.where(varies, fresh.scale, old.scale), old.unit)
    for trail in told.stream.place.trails:
        trail.w, trail.v = (frame.into(old.out(u)) for u in (trail.w, trail.v))
        trail.sums = np.array([frame.into(old.out(u)) for u in trail.sums])
    c = frame.problem(p).constants()
    told.stream.L, told.stream.mu = max(told.stream.L, c.L), min(told.stream.mu, c.mu)


def check_outputs(found: int, known: int) -> None:
    """Every chunk has the outputs of the first."""
    if found != known:
        raise ValueError(
            f"partial_fit: y has {found} outputs, must have {known} as at the first call; "
            "start with a clone."
        )


def publish(
    estimator: Any,
    stream: Any,
    X: Any,
    fitted: tuple[Array, Array],
    history: list[tuple[int, float, float, float]],
    said: str,
) -> None:
    """Set what a fit sets; ``history`` has a row for each output, and goes on from call to call."""
    for name, value in estimator._fitted(*fitted, X).items():
        setattr(estimator, name, value)
    names = ("iteration", "passes", "value", "gradient_norm", "output")
    now = dict(zip(names, map(np.array, (*zip(*history), range(len(history))))))
    if stream.calls > 1:
        now = {name: np.append(estimator.history_[name], now[name]) for name in names}
    estimator.history_, estimator.n_iter_, estimator.plan_ = now, stream.calls, said
    estimator._stream, estimator._seen = stream, None


def _plan(told: StreamState) -> str:
    stream = told.stream
    k, size, named = stream.place.k, told.request.batch_size, stream.named
    batches = f"{size:g} of a chunk" if isinstance(size, float) else f"{size} rows"
    said = (
        f"A stream: {told.calls} chunks, {told.rows} rows, {k} steps of batches of {batches}, "
        f"method {told.request.facts.name!r}. Scaling and curvature (L = {stream.L:.3g}, mu = "
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
