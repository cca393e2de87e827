"""``path``: one problem with many penalties, each run begun where the last one ended."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np

from .. import _checks
from ..control import GUARDED
from ..problems import Frame, Problem
from ..rows import Array
from .asked import Asked, go
from .result import Result
from .stop import Stop

MOVES = 0.1  # of the gradient where a run begins: it goes on at least to this,
LEAST = 1e-3  # but not beyond so much of what ``tol`` asks for


def path(p: Problem, l2s: Iterable[float], tol: float = 1e-6, method: str = "auto") -> list[Result]:
    """Minimise ``p`` for each of the penalties ``l2s``; ``p.l2`` is not used.

    The runs go from the strongest penalty to the weakest, each from the minimiser of the one
    before, on all rows (``plane``). What does not depend on the penalty is computed once: the
    coordinates of the columns, and the curvature: a run begins with the Hessian that the last one
    used and adds its own penalty, for the price of one Cholesky factor. (On the squared loss that
    is X^T X/n, so each further penalty takes a step or two.) Data in parts are not kept in memory,
    so runs on them only start warm.

    Parameters
    ----------
    p : a problem.
    l2s : penalties >= 0, in any order.
    tol : each run stops when the norm of its gradient is tol times that at w = 0, as ``minimize``
        from there would, and a tenth of that where it began: a small change of the penalty is not
        ignored because the last minimiser is near enough.
    method : "auto", "auto-shb" or "plane".

    Returns
    -------
    A list of ``Result``, in the order of ``l2s``.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X, y, _ = bocce.data.regression(n=100, d=5, kappa=10.0, noise_var=0.1)
    >>> p = bocce.LeastSquares(X, y)
    >>> weak, strong = bocce.path(p, [0.1, 10.0], tol=1e-9)
    >>> bool(np.allclose(weak.w, p.with_l2(0.1).minimiser()))
    True
    """
    penalties = check_penalties("path", l2s)
    method = _checks.choice("path", "method", method, (*GUARDED, "plane"))
    frame = Frame.of(p.with_l2(float(penalties.min())))
    inner = frame.problem(p)
    if inner is p:
        inner = copy(p)  # what is handed on is nobody else's
    inner.handed_on = {}
    start, results = np.zeros(p.shape), {}
    for place in np.argsort(-penalties, kind="stable").tolist():
        results[place] = run = one(p, inner, frame, float(penalties[place]), start, tol, method)
        end = p.joined(run.w, run.intercept)
        if start.any():  # where the minimiser moves: a direction for the next run's first plane
            inner.handed_on["d"] = frame.into(end) - frame.into(start)
        start = end
    return [results[place] for place in range(penalties.size)]


def check_penalties(where: str, l2s: Any) -> Array:
    """Penalties as an array: at least one, finite, none negative."""
    remedy = "give penalties such as [1.0, 1e-2, 1e-4]"
    penalties = [_checks.real(where, "l2s", l2, least=0.0, remedy=remedy) for l2 in l2s]
    if not penalties:
        raise ValueError(f"{where}: l2s is empty, must have one penalty or more; {remedy}.")
    return np.array(penalties)


def one(
    p: Problem, inner: Problem, frame: Frame, l2: float, start: Array, tol: float, method: str
) -> Result:
    """The run for one penalty; ``inner`` is p, whatever its l2, in the variables of ``frame``."""
    p, inner = p.with_l2(l2), inner.with_l2(l2)
    asked = Asked.checked(
        p,
        method if p.in_parts else "plane",
        T=None,
        batch_size=None,
        seed=0,
        w0=start,
        tol=tol,
        mode="independent",
        record_every=1,
        engine="compiled",
        callback=None,
        checkpoint=None,
        passes=None,
        memory=2 if p.loss.outputs else 5,  # more is of no use to a shared metric
    )
    stop = Stop(asked.tol, frame)
    stop.begin(inner.look(np.zeros(inner.shape)).gradient)
    if start.any() and stop.goal > 0.0:
        begins = stop.outer(inner.look(frame.into(start)).gradient)
        stop.first *= min(1.0, max(LEAST, MOVES * begins / stop.goal))
    return go(p, asked, stop, frame, inner)
