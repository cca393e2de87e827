"""What a caller asks of a run: the arguments of ``minimize`` with their defaults, and their checks.

Every entry point (``minimize``, ``path``, ``plan``, the estimators, Ray) fills in a ``Request``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .. import _checks, engines, sampling
from .._types import Vector
from ..control import Given, Limits, MetricChoice, PlaneSteps, check_method, facts_of
from ..plane import METRICS
from ..problems import Problem
from ..rows import Array
from ..schedules import Method
from .checkpoint import writable
from .result import Progress

EngineChoice: TypeAlias = str | Callable[..., engines.Engine]
Callback: TypeAlias = Callable[[Progress], object]
LIMITS = Limits()
# The tolerance of the first run with ``tol="auto"``, and the only one where no bound is computed.
FIRST_TOL = 1e-4


@dataclass(frozen=True)
class Request:
    """The arguments of a run as a caller gives them: those of ``minimize``, and how long a run may
    last."""

    method: Given = "auto"
    T: int | None = None
    batch_size: float | None = None
    seed: int = 0
    w0: Vector | None = None
    tol: float | str = 0.0
    sampling: str = "independent"
    record_every: int | str = 1
    engine: EngineChoice = "compiled"
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None
    passes: float | None = None
    memory: int = 5
    metric: MetricChoice = "auto"
    limits: Limits = LIMITS

    @property
    def facts(self) -> Method:
        """What is known of the method before it is run."""
        return facts_of(self.method)

    @property
    def open_ended(self) -> bool:
        """Is the number of steps left to the run?"""
        return isinstance(self.method, PlaneSteps) or (self.T is None and not self.facts.needs_T)

    @property
    def chooses_steps(self) -> bool:
        """Are the steps themselves left to the run, too? (``PlaneSteps`` of a caller's own are
        not.)"""
        return self.open_ended and not isinstance(self.method, PlaneSteps)

    def checked(self, p: Problem, where: str = "minimize") -> CheckedRequest:
        """The same request for the problem ``p``, with every value checked.

        ``where`` is the function that was called, for messages.
        """
        _check_objects(where, p, self)
        T, passes = _checked_length(where, self)
        check_method(where, self.method, p.in_parts)
        certain = str(self.tol) == "auto"
        _check_open_end(where, p, self, certain)
        checkpoint = None if self.checkpoint is None else writable(self.checkpoint)
        return CheckedRequest(
            method=self.method,
            T=T,
            batch_size=_checked_batch(where, p, self.batch_size),
            seed=sampling.check_seed(where, self.seed),
            w0=_checked_start(where, p, self.w0),
            tol=check_tol(where, FIRST_TOL if certain else self.tol),
            sampling=_checks.choice(where, "sampling", self.sampling, sampling.MODES),
            record_every=_checked_pace(where, self.record_every),
            engine=engines.check_engine(where, self.engine),
            callback=self.callback,
            checkpoint=checkpoint,
            passes=passes,
            memory=_checks.integer(where, "memory", self.memory, most=10, remedy="5 is usual"),
            metric=self.metric,
            limits=self.limits,
            certain=certain,
        )


@dataclass(frozen=True)
class CheckedRequest(Request):
    """A request whose values are checked: what a run is made of.

    ``batch_size`` is in rows, and ``w0`` an array; None where these are left to the run
    (``prepare`` fills in w0). ``certain`` says that ``tol`` is lowered until every coefficient is
    certain.
    """

    batch_size: int | None = None
    w0: Array | None = None
    tol: float = 0.0
    certain: bool = False


def check_problem(where: str, p: Problem) -> None:
    """Refuse what is no problem."""
    if not isinstance(p, Problem):
        raise TypeError(
            f"{where}: p={type(p).__name__} must be a problem; build one with "
            "bocce.LeastSquares(X, y) or bocce.Logistic(X, y)."
        )


def _check_objects(where: str, p: Problem, request: Request) -> None:
    """Refuse what is no problem, no callback or no metric."""
    check_problem(where, p)
    if request.callback is not None and not callable(request.callback):
        raise TypeError(
            f"{where}: callback={request.callback!r} must be a function of one Progress; or None."
        )
    if not callable(request.metric):
        _checks.choice(where, "metric", request.metric, ("auto", *METRICS))


def _checked_pace(where: str, every: int | str) -> int | str:
    if every == "auto":
        return every
    remedy = 'give a number of steps, or "auto"'
    return _checks.integer(where, "record_every", every, remedy=remedy)


def _checked_batch(where: str, p: Problem, batch: float | None) -> int | None:
    """The batch in rows."""
    if batch is None:
        return None
    return p.whole_batch(sampling.batch_rows(where, batch, p.n))


def _checked_start(where: str, p: Problem, w0: Vector | None) -> Array | None:
    if w0 is None:
        return None
    start = p.point(w0, "w0").copy()
    if not np.isfinite(start).all():
        raise ValueError(f"{where}: w0 has NaN or infinity, must be finite; start from zeros.")
    return start


def _checked_length(where: str, request: Request) -> tuple[int | None, float | None]:
    """The number of steps, and the most passes."""
    T = request.T
    passes = request.passes
    if T is not None:
        most = request.limits.most_steps
        T = _checks.integer(where, "T", T, most=most, remedy="give the number of steps")
    if passes is not None:
        passes = _checks.real(where, "passes", passes, above=0.0, remedy="give a number of passes")
        if T is not None:
            raise ValueError(f"{where}: passes={passes} must be left out where T={T} is given.")
    return T, passes


def check_tol(where: str, tol: float | str) -> float:
    """A tolerance as a number, 0 <= tol < 1."""
    remedy = '0 never stops early, "auto" when coefficients are certain'
    return _checks.real(where, "tol", tol, least=0.0, below=1.0, remedy=remedy)


def _check_open_end(where: str, p: Problem, request: Request, certain: bool) -> None:
    """Refuse what needs several runs where there can be only one."""
    if request.open_ended and request.checkpoint is None:
        return
    if certain:
        raise ValueError(
            f"{where}: tol='auto' must be a number where T, a method with a schedule or a "
            "checkpoint is given; leave them out, or set tol, for example 1e-6."
        )
    if p.adapts:
        raise ValueError(
            f"{where}: {p.loss.name} with a parameter that is None must have a number where T, "
            "a method with a schedule or a checkpoint is given; run minimize without them "
            "first, and take the loss of its result."
        )
