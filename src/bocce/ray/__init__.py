"""Data beyond one machine: rows in Ray actors, w and the decisions in the driver.

Every step is on all rows. Scores and directions stay with the rows: d numbers travel to the workers
and back at each step, added in a fixed tree, and a handful more for the best step on the plane.

An actor holds its rows, and what can be computed from them and what the driver knows. One that dies
is started again from its source and computes its scores again. A new actor computes the scores from
w, where the old one had added up steps, so later iterates of the plane differ by rounding; those of
a schedule are the same bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import _checks, _extras, inference, sampling
from ..control import PLANE, check_method, open_ended_names
from ..inference import Inference
from ..losses import loss_of
from ..run import Progress, Request, Result
from ..run.minimize import finish
from ..run.request import check_tol

with _extras.extra("ray"):
    from .cluster import WHERE, connected
    from .problem import placed
    from .sources import split, survey, survey_pairs


def minimize(
    parts: Any,
    method: Any = "auto",
    *,
    loss: Any = "squared",
    l2: float = 0.0,
    intercept: bool = False,
    T: int | None = None,
    batch_size: float | None = None,
    seed: int = 0,
    w0: Any = None,
    tol: float | str = 0.0,
    record_every: int | str = 1,
    callback: Callable[[Progress], Any] | None = None,
    checkpoint: Any = None,
    passes: float | None = None,
    memory: int = 5,
    workers: int | None = None,
    address: str | None = None,
) -> Result:
    """``bocce.minimize`` on all rows, which are spread over the machines of a Ray cluster.

    The result is that of one machine from the same start (by default zeros), to rounding. "auto"
    without T is ``plane``. There are no
    batches: a step on a batch costs as many messages as one on all rows. An actor that is killed is
    started again and reloads its part from its source. Iterates of a schedule are then the same bit
    for bit; those of ``plane`` are the same to rounding, because the new actor computes its scores
    from w, where the old one had added up steps. A driver that is killed goes on from its
    checkpoint.

    Parameters
    ----------
    parts : list or ray.data.Dataset
        A list with one entry a worker, of pairs (X, y), which may be empty, or of paths of files
        that every machine can read (Parquet, Arrow, CSV, NPY or LIBSVM text; the last column is y);
        or a ``ray.data.Dataset`` whose last column is y.
    method : str, Schedule or Policy, default "auto"
        As in ``bocce.minimize``.
    loss, l2, intercept : Loss or str, float and bool
        As in ``bocce.Problem``: a loss such as ``bocce.losses.Huber(2.0)`` or its name, the factor
        of the penalty, and whether to add an unpenalised constant (``Result.intercept``).
    T, seed, w0, tol, record_every, callback, checkpoint, passes, memory : various
        As in ``bocce.minimize``.
    batch_size : int or float, optional
        All rows, which is the default: n, or 1.0.
    workers : int, optional
        The number of workers that a Dataset is split over; by default one a CPU.
    address : str, optional
        The address of a running cluster. By default the cluster this process is connected to, or
        the one of RAY_ADDRESS; otherwise a cluster on this machine for the duration of the call.

    Returns
    -------
    Result
        The weights, the status and the history of the run.

    Raises
    ------
    TypeError, ValueError
        If an argument breaks a rule, or parts do not fit together.

    Examples
    --------
    >>> import numpy as np, bocce.ray
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, 1.0]])
    >>> y = X @ np.array([1.0, -1.0])
    >>> r = bocce.ray.minimize([(X[:2], y[:2]), (X[2:], y[2:])], tol=1e-9)
    >>> r.w.round(6)
    array([ 1., -1.])
    """
    request = Request(
        method=method,
        T=T,
        batch_size=batch_size,
        seed=seed,
        w0=w0,
        tol=tol,  # type: ignore[arg-type]
        record_every=record_every,
        callback=callback,
        checkpoint=checkpoint,
        passes=passes,
        memory=memory,
    )
    return solve(parts, request, loss, l2, bool(intercept), workers, address)


def solve(
    parts: Any,
    request: Request,
    loss: Any,
    l2: float = 0.0,
    intercept: bool = False,
    workers: int | None = None,
    address: str | None = None,
) -> Result:
    """``minimize`` with the arguments of the run in a ``Request``."""
    loss = loss_of(WHERE, loss)
    l2 = _checks.real(WHERE, "l2", l2, least=0.0, remedy="0 is no regularisation")
    sampling.check_seed(WHERE, request.seed)
    if workers is not None:
        workers = _checks.integer(WHERE, "workers", workers, remedy="None is one a CPU")
    check_method(WHERE, request.method, in_parts=True)
    if request.tol != "auto":
        check_tol(WHERE, request.tol)
    early = survey_pairs(parts, loss)
    with connected(address):
        found = early or survey(parts, loss, workers)
        request = on_all_rows(request, sum(found.rows))
        with placed(found, loss, l2, intercept) as problem:
            return finish(problem, request.checked(problem))


def on_all_rows(request: Request, n: int) -> Request:
    """The request for all n rows; a batch is refused. "auto" without T is the plane."""
    if request.batch_size is not None:
        b = sampling.batch_rows(WHERE, request.batch_size, n)
        if b < n:
            raise ValueError(
                f"{WHERE}: batch_size={b} must be all {n} rows, because a batch costs as many "
                "messages as all rows; leave batch_size out, or take batches on one machine "
                "(bocce.minimize)."
            )
    if request.method in open_ended_names() and request.T is None:
        return replace(request, method=PLANE.name, batch_size=None)
    if request.method == PLANE.name:
        return request
    return replace(request, batch_size=n)


def infer(
    parts: Any,
    result: Result,
    kind: str = "model",
    *,
    loss: Any = "squared",
    l2: float = 0.0,
    intercept: bool = False,
    workers: int | None = None,
    address: str | None = None,
) -> Inference:
    """``bocce.inference.infer`` on rows that are spread over the machines of a Ray cluster.

    Parameters
    ----------
    parts, loss, l2, intercept, workers, address : object
        As for ``minimize``, whose result is ``result``.
    result : Result
        The fit, of at most 3,000 variables.
    kind : {"model", "sandwich"}, default "model"
        The covariance of the model, or the robust one that trusts the residuals alone.

    Returns
    -------
    Inference
        Covariance, standard errors and a bound on the optimisation error.

    Examples
    --------
    >>> import numpy as np, bocce.ray
    >>> parts = [(np.ones((2, 1)), np.array([1.0, 2.0])), (np.ones((2, 1)), np.array([3.0, 6.0]))]
    >>> r = bocce.ray.minimize(parts, tol=1e-9)
    >>> float(bocce.ray.infer(parts, r).standard_errors[0].round(6))
    1.080123
    """
    loss = loss_of(WHERE, loss)
    early = survey_pairs(parts, loss)
    with connected(address):
        found = early or survey(parts, loss, workers)
        with placed(found, loss, l2, bool(intercept)) as problem:
            w = problem.join_intercept(result.w, result.intercept)
            return inference.infer(problem, w, kind)


__all__ = ["infer", "minimize", "split"]
