"""Expected curves: what a schedule does on average, computed and not sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _checks, _pictures
from .._pictures import Axes
from ..schedules import Schedule
from ..schedules.registry import table_of
from .model import ExactModel, Model, exact_model
from .moments import FloatArray
from .row_walk import Batches

BatchSize: TypeAlias = int | float | npt.NDArray[np.int64]  # of all steps, or rows of each


@dataclass(frozen=True)
class Curve:
    """Expectations over the batches at k = 0 .. T; infinite from the first k that overflows.

    Attributes
    ----------
    error2, grad2, gap, bias2 : ndarray of float
        E||w_k - w*||^2; E||grad f(w_k)||^2; E f(w_k) - f*; ||E w_k - w*||^2, the part of error2
        that no averaging removes.
    """

    error2: FloatArray
    grad2: FloatArray
    gap: FloatArray
    bias2: FloatArray

    @property
    def T(self) -> int:
        return int(self.error2.size - 1)

    def plot(
        self, *others: Curve, ax: Axes | None = None, labels: Sequence[str] | None = None
    ) -> Axes:
        """Draw E||w_k - w*||^2 of this curve and of others; dotted, the bias that is part of it.

        Parameters
        ----------
        *others : Curve
            Curves to draw beside this one.
        ax, labels : matplotlib Axes, sequence of str
            Where to draw, None makes a figure; a name for each curve, this one first.

        Returns
        -------
        matplotlib Axes

        Examples
        --------
        >>> from bocce.exact import Gaussian
        >>> model = Gaussian([0.1, 1.0], n=100)
        >>> slow, fast = (expected(model, name, batch_size=50, T=50) for name in ("sgd", "shb"))
        >>> slow.plot(fast, labels=["sgd", "shb"]).get_yscale()
        'log'
        """
        return _pictures.curves([self, *others], labels, ax)

    @property
    def k(self) -> npt.NDArray[np.int64]:
        """The steps that the entries belong to: 0 .. T."""
        return np.arange(self.T + 1)


def expected(
    p: Model,
    schedule: Schedule | str,
    batch_size: BatchSize,
    w0: npt.ArrayLike | None = None,
    T: int | None = None,
) -> Curve:
    """Exact E||w_k - w*||^2, E||grad f(w_k)||^2 and E f(w_k) - f* under any schedule.

    The update, with independent batches of b rows without replacement::

        y_k     = w_k + theta_k (w_k - w_{k-1})
        w_{k+1} = w_k + beta_k (w_k - w_{k-1}) - alpha_k g_k(y_k),      w_{-1} = w_0

    Take the eigenbasis of A, x = alpha lambda and s = beta - theta x. The velocity
    ``v = e_k - e_{k-1}`` becomes ``s v - x e - alpha (noise)``, and ``e`` becomes ``e + v``. So the
    covariances of (e, v) obey a linear recurrence driven by ``alpha^2 zeta0^2 N(P_y, m_y)`` (see
    `bocce.exact.moments`), which loses no digits when successive iterates are close.

    Exact for least squares with any l2, up to rounding; reshuffled epochs are not covered. Where
    the Hessian is singular, w* is ``p.minimiser()``. A ``Gaussian`` takes O(d) a step. Source: the
    recursion behind ``thm:SHB_quad``, closed exactly; docs/theory/exact-dynamics.md.

    Parameters
    ----------
    p, w0 : Problem or exact.Gaussian, array-like
        A least-squares problem, or a model that is known by its spectrum; the start, by default
        zeros (a Gaussian has its own).
    schedule, T : Schedule or str, int
        The schedule; or the name of a method, whose table of T steps is built as ``minimize``
        builds it.
    batch_size : int, float or array of int
        The batch: rows (int), or a share of n (float in (0, 1]); or the rows of each step, an array
        of length T, which goes with a Schedule and not with a name.

    Returns
    -------
    Curve

    Examples
    --------
    >>> import numpy as np, bocce
    >>> from bocce.exact import expected
    >>> p = bocce.LeastSquares(np.array([[1.0], [3.0]]), np.array([1.0, 3.0]))
    >>> curve = expected(p, "sgd", batch_size=1, T=2)
    >>> curve.error2.round(12).tolist()  # each step multiplies by 4/5 or by -4/5
    [1.0, 0.64, 0.4096]
    """
    if np.ndim(batch_size) > 0:
        batch_size = np.asarray(batch_size)
    where = "expected"
    model = exact_model(where, p)
    model.start_at(w0)
    b = one_batch(where, schedule, batch_size)
    zeta0_2 = batch_noise(model, batch_size)
    table = table_of(where, schedule, T, partial(model.values, b))
    return curve_of(model, table, zeta0_2)


def one_batch(where: str, schedule: Schedule | str, batch_size: BatchSize) -> int | float:
    """The batch that a method is built for; an array needs a Schedule."""
    if not isinstance(batch_size, np.ndarray):
        return batch_size
    if not isinstance(schedule, Schedule):
        rule = "a Schedule where batch_size is an array"
        remedy = "a method is built for one batch: bocce.schedules has the factories"
        raise _checks.refused(TypeError, where, "schedule", schedule, rule, remedy)
    if batch_size.shape != (schedule.T,):
        rule = f"one number of rows for each of the T={schedule.T} steps"
        found = f"shape {batch_size.shape}"
        raise _checks.refused(ValueError, where, "batch_size", batch_size, rule, "", found)
    first: int | float = batch_size[0].item()
    return first


def batch_noise(model: ExactModel, batch_size: BatchSize) -> Batches:
    """zeta0^2 of a batch, or of each of an array."""
    if not isinstance(batch_size, np.ndarray):
        return model.sampling(batch_size)[1]
    return np.array([model.sampling(b)[1] for b in batch_size.tolist()])


def curve_of(model: ExactModel, schedule: Schedule, zeta0_2: Batches) -> Curve:
    """An overflow stays one: the curve is infinite from the first entry that is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        bias2, totals = model.totals(schedule, zeta0_2)
    for columns in (totals, bias2[:, None]):
        lost = np.flatnonzero(~np.isfinite(columns).all(axis=1))
        columns[lost[0] if lost.size else len(columns) :] = np.inf
    error2, grad2, gap = totals.T.copy()
    return Curve(error2, grad2, gap, bias2)
