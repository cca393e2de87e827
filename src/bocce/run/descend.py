"""One prepared run from its start to its end, and what is known of it then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .. import separation
from ..rows import Array
from .prepare import Listener, PreparedRun
from .result import Progress, Result
from .solve import join_stages, solve
from .stop import Stop

if TYPE_CHECKING:
    from .certain import Certainty

COUNTED = ("k", "gradient_evaluations")  # what a history counts from the start of the run


@dataclass
class Watch:
    """The driver's callback: hands each record on, and knows whether the run was stopped."""

    listener: Listener
    stop: Stop
    stopped: bool = False

    def __call__(self, now: Progress) -> bool:
        self.stopped = bool(self.listener(now, self.stop))
        return self.stopped


@dataclass(frozen=True)
class Descent:
    """A prepared run that is over."""

    run: PreparedRun
    result: Result  # in the variables of ``run.p``
    first: float  # the norm that tol refers to
    stopped: bool = False  # by the callback
    certainty: Certainty | None = None  # of the coefficients, where it was asked for

    @property
    def w(self) -> Array:
        """The variables: the coefficients and then the intercept, where there is one."""
        return self.run.p.join_intercept(self.result.w, self.result.intercept)

    @property
    def met(self) -> bool:
        """Is the tolerance met?"""
        return self.result.status == "converged"

    @property
    def norm(self) -> float:
        """The gradient's norm at the end."""
        return float(self.result.history["grad_norm"][-1])

    @property
    def passes(self) -> float:
        """Over the data."""
        return float(self.result.history["gradient_evaluations"][-1]) / self.run.p.n

    @cached_property
    def escape(self) -> Array | None:
        """The direction along which f has no minimiser, if any is found."""
        if self.certainty is not None and self.certainty.escape is not None:
            return self.certainty.escape
        run = self.run
        return separation.after_run(run.p, run.frame, run.inner, self.w, self.passes)

    def then(self, more: Descent) -> Descent:
        """This run and another that went on from its end to a smaller tolerance, as one."""
        before = self.result
        after = more.result
        history = {}
        for name, values in after.history.items():
            old = before.history[name]
            offset = old[-1] if name in COUNTED else 0
            history[name] = np.concatenate([old, values[1:] + offset])
        result = replace(
            after,
            history=history,
            n_iter=before.n_iter + after.n_iter,
            stages=join_stages([*before.stages, *after.stages]),
        )
        return replace(self, result=result, stopped=more.stopped)


def descend(run: PreparedRun) -> Descent:
    """Run until the gradient, in the caller's variables, is tol times the first."""
    stop = run.stop()
    request = run.request
    watch = None
    if run.listener is not None:
        watch = Watch(run.listener, stop)
        request = replace(request, callback=watch)
    result = solve(run.p, request, stop, run.frame, run.inner)
    return Descent(run, result, stop.first, watch is not None and watch.stopped)
