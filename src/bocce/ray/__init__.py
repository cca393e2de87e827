"""Data beyond one machine: rows in Ray actors, w and the decisions in the driver.

On all rows (``plane``, and so ``auto`` without T) scores and directions stay with the rows: d
numbers travel to the workers and back at each step, added in a fixed tree, and a handful more for
the best step on the plane.

In batches, step k: the driver splits the batch over the parts by a multivariate hypergeometric draw
keyed by (seed, k); each actor draws its rows from a stream keyed by (seed, part, k) and returns one
sum of row gradients.

An actor holds its rows, and what can be computed from them and what the driver knows. One that dies
is started again from its source and answers as it would have: the iterates are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import _checks, _extras, inference, sampling
from ..control import PLANE, open_ended_names
from ..inference import Inference
from ..losses import loss_of
from ..run import Progress, Request, Result
from ..run.certain import solve_as_asked

with _extras.extra("ray"):
    from .cluster import WHERE, connected
    from .problem import placed
    from .sources import split, survey


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
    """``bocce.minimize`` on rows that are spread over the machines of a Ray cluster.

    A batch is a sample without replacement of the rows of all parts, fresh at each step (of the
    blocks, where the parts are block files). On all rows (``batch_size`` = n, or ``plane``) the
    result is that of one machine, to rounding. "auto" without T and batch_size is ``plane`` at
    once: a step in batches costs as many messages as one on all rows. An actor that is killed is
    started again and reloads its part from its source; a driver that is killed goes on from its
    checkpoint; the iterates are the same.

    Parameters
    ----------
    parts : list or ray.data.Dataset
        A list with one entry a worker, of pairs (X, y) or of paths of block files that every
        machine can read; or a ``ray.data.Dataset`` whose last column is y. Parts may be empty.
    method : str, Schedule or Policy, default "auto"
        As in ``bocce.minimize``.
    loss, l2, intercept : Loss or str, float and bool
        As in ``bocce.Problem``: a loss such as ``bocce.losses.Huber(2.0)`` or its name, the factor
        of the penalty, and whether to add an unpenalised constant (``Result.intercept``).
    T, batch_size, seed, w0, tol, callback, checkpoint, passes, memory : various
        As in ``bocce.minimize``.
    record_every : int or "auto", default 1
        Measure the full gradient every so many steps. In batches a record is a pass over all rows,
        unless the loss is squared and d <= 1024: take "auto".
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
    seed = sampling.check_seed(WHERE, request.seed)
    if workers is not None:
        workers = _checks.integer(WHERE, "workers", workers, remedy="None is one a CPU")
    if request.method in open_ended_names() and request.T is None and request.batch_size is None:
        request = replace(request, method=PLANE.name)
    found = survey(parts, loss, workers)
    with connected(address), placed(found, loss, l2, intercept, seed) as problem:
        return solve_as_asked(problem, request.checked(problem))


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
    found = survey(parts, loss, workers)
    with connected(address), placed(found, loss, l2, bool(intercept), 0) as problem:
        return inference.infer(problem, problem.join_intercept(result.w, result.intercept), kind)


__all__ = ["infer", "minimize", "split"]
