"""``minimize``: from a problem and the name of a method to a result."""

from __future__ import annotations

import os
from dataclasses import replace

from .._types import Vector
from ..control import Given, MetricChoice
from ..problems import Problem
from .adapt import complete
from .certain import worded
from .columns import spread
from .prepare import prepare
from .request import Callback, CheckedRequest, EngineChoice, Request
from .result import Result


def minimize(
    p: Problem,
    method: Given = "auto",
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Vector | None = None,
    tol: float | str = 0.0,
    sampling: str = "independent",
    record_every: int | str = 1,
    engine: EngineChoice = "compiled",
    callback: Callback | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    passes: float | None = None,
    memory: int = 5,
    metric: MetricChoice = "auto",
) -> Result:
    """Minimise ``p`` by stochastic heavy ball (or a relative of it).

    "auto" has the divergence guard on (``policies.guard``). Without T it uses mini-batches while
    they help and ends on all rows with ``plane``. Columns are centred and scaled internally;
    ``tol`` and the history are in the variables of ``p``. The history holds the best point so far
    at each record, and every step on all rows.

    A run of "auto" or "plane" without T is prepared as the fit of an estimator is, and takes the
    same steps. Sparse columns without entries are left out, and tiny sparse rows become dense. The
    run starts at the best constant prediction. Where X has few entries (20,000) it goes on beyond
    ``tol``, as far as rounding allows. Steps of a schedule, of a policy or of a given T are taken
    from zeros, in the columns as they are. Data in parts start from zeros.

    Parameters
    ----------
    p : Problem
        A problem of ``Problem``, ``LeastSquares`` or ``Logistic``.
    method : str, Schedule or Policy, default "auto"
        The name of a method (``bocce methods`` lists them), a schedule or a policy.
    T : int, optional
        The number of steps. Without it "auto" and "plane" run until ``tol``, or for at most
        ``passes`` over the data; other methods take 100 passes, at least 1,000 steps.
    batch_size : int or float, optional
        Rows of a batch (int), or a share of n (float in (0, 1]). By default it is chosen: with a
        schedule, the smallest batch at which the accelerated rate is certified. With "auto" and no
        T a given batch is the first one; it grows when noise keeps the run from ``tol``.
    seed : int, default 0
        The seed; with the number of the step it decides every batch.
    w0 : array-like, optional
        The start, which is used as it is; by default zeros, or where the run chooses its steps,
        the best constant prediction. With an intercept it has d + 1 numbers (with softmax, d + 1
        rows).
    tol : float or "auto", default 0.0
        Stop when the norm of the full gradient is at most tol times the first one; 0 never stops.
        The first one is that where the run starts; where the run chooses its start, that at zero
        if this is smaller. There, columns of a size below 1e-15 count as columns of size 1.
        "auto" stops when it is proved that no coefficient is farther from the minimiser than a
        hundredth of its standard error (docs/theory/optimisation-error.md); with more than 3,000
        variables it is 1e-4, and ``message`` says so.
    sampling : {"independent", "reshuffle"}, default "independent"
        A fresh batch at each step, or one permutation of the rows an epoch.
    record_every : int or "auto", default 1
        Measure the full gradient every so many steps; "auto" measures about once an epoch.
    engine : {"compiled", "reference"} or engine, default "compiled"
        The engine that takes the steps, or your own (docs/extend/engine.md).
    callback : callable, optional
        Called with a ``Progress`` at each recorded step. The run stops when it returns True.
    checkpoint : path, optional
        A file for the state of the run. A run found there is resumed, bit for bit.
    passes : float, optional
        The most passes over the data where T is not given; by default 10,000 with a tolerance and
        100 without.
    memory : int, default 5
        The number of earlier displacements that "plane", and "auto" without T, remember, 1 to 10.
    metric : str or callable, default "auto"
        The metric in which "plane", and "auto" without T, find a direction: "auto", a name of
        ``bocce.plane.METRICS``, or a policy of your own (docs/extend/metric.md).

    Returns
    -------
    Result
        The weights, the status and the history of the run.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule. The message names the argument, the rule, the value and a
        remedy.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> p = bocce.LeastSquares(X, X @ np.array([1.0, -1.0]))
    >>> r = bocce.minimize(p, "shb", T=200, batch_size=3, tol=1e-9)
    >>> r.status, r.w.round(6)
    ('converged', array([ 1., -1.]))
    >>> bocce.minimize(p, tol=1e-9).w.round(6)
    array([ 1., -1.])
    """
    request = Request(
        method=method,
        T=T,
        batch_size=batch_size,
        seed=seed,
        w0=w0,
        tol=tol,
        sampling=sampling,
        record_every=record_every,
        engine=engine,
        callback=callback,
        checkpoint=checkpoint,
        passes=passes,
        memory=memory,
        metric=metric,
    )
    return finish(p, request.checked(p))


def finish(p: Problem, request: CheckedRequest) -> Result:
    """Prepare a request that was checked, and run it: the result in the variables of ``p``."""
    run = prepare(p, request)
    done = complete(run)
    result = worded(done)
    if run.columns is None:
        return result
    return replace(result, w=spread(result.w, run.columns, p.d, axis=0))
