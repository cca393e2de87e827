"""What a caller asks of a run: the arguments of ``minimize`` with their defaults, and their checks.

Every entry point (``minimize``, ``path``, ``plan``, the estimators, Ray) fills in a ``Request``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
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
    """The arguments of a run: those of ``minimize``, and how long a run may last.

    ``tol`` may be "auto" until the request is checked; then ``certain`` says that ``tol`` is
    lowered until every coefficient is certain.
    """

    method: Given = "auto"
    T: int | None = None
    batch_size: float | None = None
    seed: int = 0
    w0: Vector | None = None
    tol: float = 0.0
    sampling: str = "independent"
    record_every: int | str = 1
    engine: EngineChoice = "compiled"
    callback: Callback | None = None
    checkpoint: str | os.PathLike[str] | None = None
    passes: float | None = None
    memory: int = 5
    metric: MetricChoice = "auto"
    limits: Limits = LIMITS
    certain: bool = False

    @property
    def facts(self) -> Method:
        """What is known of the method before it is run."""
        return facts_of(self.method)

    @property
    def open_ended(self) -> bool:
        """Is the number of steps left to the run?"""
        return isinstance(self.method, PlaneSteps) or (self.T is None and not self.facts.needs_T)

    @property
    def start(self) -> Array:
        """Where a checked request starts."""
        assert isinstance(self.w0, np.ndarray)
        return self.w0

    @property
    def rows(self) -> int | None:
        """The batch in rows, of a checked request; None where the run chooses."""
        assert self.batch_size is None or isinstance(self.batch_size, int)
        return self.batch_size

    def checked(self, p: Problem, where: str = "minimize") -> Request:
        """The same request with every value checked, ``batch_size`` in rows and ``w0`` an array.

        ``where`` is the function that was called, for messages.
        """
        if not isinstance(p, Problem):
            raise TypeError(
                f"{where}: p={type(p).__name__} must be a problem; build one with "
                "bocce.LeastSquares(X, y) or bocce.Logistic(X, y)."
            )
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"{where}: callback={self.callback!r} must be a function of one Progress; or None."
            )
        integer = partial(_checks.integer, where)
        real = partial(_checks.real, where)
        every = self.record_every
        batch = self.batch_size
        T = self.T
        passes = self.passes
        if every != "auto":
            every = integer("record_every", every, remedy='give a number of steps, or "auto"')
        if not callable(self.metric):
            _checks.choice(where, "metric", self.metric, ("auto", *METRICS))
        if batch is not None:
            batch = p.whole_batch(sampling.batch_rows(where, batch, p.n))
        if self.w0 is None:
            start = np.zeros(p.shape)
        else:
            start = p.point(self.w0, "w0").copy()
        if not np.isfinite(start).all():
            raise ValueError(f"{where}: w0 has NaN or infinity, must be finite; start from zeros.")
        if T is not None:
            T = integer("T", T, most=self.limits.most_steps, remedy="give the number of steps")
        if passes is not None:
            passes = real("passes", passes, above=0.0, remedy="give a number of passes")
            if T is not None:
                raise ValueError(f"{where}: passes={passes} must be left out where T={T} is given.")
        certain = str(self.tol) == "auto"
        tol = FIRST_TOL if certain else self.tol
        remedy = '0 never stops early, "auto" when coefficients are certain'
        check_method(where, self.method, p.in_parts)
        if certain and (not self.open_ended or self.checkpoint is not None):
            raise ValueError(
                f"{where}: tol='auto' must be a number where T, a method with a schedule or a "
                "checkpoint is given; leave them out, or set tol, for example 1e-6."
            )
        if p.adapts and (not self.open_ended or self.checkpoint is not None):
            raise ValueError(
                f"{where}: {p.loss.name} with a parameter that is None must have a number where T, "
                "a method with a schedule or a checkpoint is given; run minimize without them "
                "first, and take the loss of its result."
            )
        return replace(
            self,
            T=T,
            batch_size=batch,
            seed=sampling.check_seed(where, self.seed),
            w0=start,
            tol=real("tol", tol, least=0.0, below=1.0, remedy=remedy),
            sampling=_checks.choice(where, "sampling", self.sampling, sampling.MODES),
            record_every=every,
            engine=engines.check_engine(where, self.engine),
            checkpoint=None if self.checkpoint is None else writable(self.checkpoint),
            passes=passes,
            memory=integer("memory", self.memory, most=10, remedy="5 is usual"),
            certain=certain,
        )
