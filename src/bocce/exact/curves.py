"""Expected curves: what a schedule does on average, computed and not sampled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .. import _checks, _pictures
from .._pictures import Axes
from ..problems import Problem
from ..sampling import batch_rows
from ..schedules import Schedule
from ..schedules.moments import compiled, with_batches
from ..schedules.registry import table_of
from ..theory.batch import zeta2
from ..theory.finite import start_of
from . import _kernel, gaussian
from .gaussian import Gaussian
from .moments import FloatArray, RowNoise, Tabulated, frame_of, noise_of

# A curve of at least so many steps is walked by the kernel. Importing Numba and reading the kernel
# from disk takes a second, 7,000 steps at d = 20 take 0.34 s in Python and 0.04 s in the kernel.
COMPILED_STEPS = 500

Batches: TypeAlias = FloatArray | float  # zeta0^2 of each step, or of all
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
    p: Problem | Gaussian,
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
    if isinstance(p, Gaussian):
        return _gaussian(p, schedule, batch_size, w0, T)
    return curve_of("expected", p, schedule, batch_size, w0, _moments, T)


def _gaussian(
    model: Gaussian,
    schedule: Schedule | str,
    batch_size: BatchSize,
    w0: npt.ArrayLike | None,
    T: int | None,
) -> Curve:
    if w0 is not None:
        raise ValueError(
            "expected: w0 must be left out for a Gaussian model, which has no basis of its own; "
            "give Gaussian(spectrum, start=...) the squared error along each eigenvalue."
        )
    where = "expected"
    one = one_batch(where, schedule, batch_size)
    zeta0_2 = batch_noise(batch_size, lambda b: gaussian.sampling(where, model, b)[1])
    schedule = table_of(where, schedule, T, lambda method, T: model.known(one))
    return _curve(*gaussian.curves(model, schedule, zeta0_2))


def curve_of(
    where: str,
    p: Problem,
    schedule: Schedule | str,
    batch_size: BatchSize,
    w0: npt.ArrayLike | None,
    moments: Callable[..., tuple[FloatArray, FloatArray]],
    T: int | None = None,
) -> Curve:
    """The curve that ``moments`` makes of eigenvalues, noise, zeta0^2, schedule and start."""
    frame = frame_of(where, p)
    rows = partial(batch_rows, where, n=p.n)
    b = rows(one_batch(where, schedule, batch_size))
    zeta0_2 = batch_noise(batch_size, lambda b: zeta2(p.n, rows(b)))
    schedule = table_of(
        where,
        schedule,
        T,
        lambda method, T: method.values(
            p.constants(), n=p.n, b=b, T=T, pilot=lambda: p.pilot(start_of(where, w0, p.d))
        ),
    )
    lam, start = frame.along(start_of(where, w0, p.d))
    noisy = np.any(zeta0_2) and frame.rank > 0
    if noisy:
        noise = noise_of(where, frame, schedule.T)
    else:
        noise = None
    with np.errstate(over="ignore", invalid="ignore"):
        return _curve(*moments(lam, noise, zeta0_2, schedule, start))


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


def batch_noise(batch_size: BatchSize, zeta0_2_of: Callable[[int | float], float]) -> Batches:
    """zeta0^2 of a batch, or of each of an array."""
    if not isinstance(batch_size, np.ndarray):
        return zeta0_2_of(batch_size)
    return np.array([zeta0_2_of(b) for b in batch_size.tolist()])


@dataclass(frozen=True)
class CurveStep:
    """Means and covariances of (e, v) after a step, and the x, s of the covariances."""

    m: FloatArray
    C: FloatArray
    C_ev: FloatArray
    x: FloatArray
    s: FloatArray


def walk(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> Iterator[CurveStep]:
    """The moments, step by step; the r directions that have noise come first."""
    r = 0 if noise is None else noise.triangle.d
    m = start
    m_v = np.zeros(lam.size)
    C, C_ev, C_v = np.zeros((3, r, r))  # covariances of e, of e with v, of v
    for alpha, beta, theta, strength in zip(*with_batches(schedule.table, zeta0_2)):
        every_x = alpha * lam
        every_s = beta - theta * every_x
        x = every_x[:r]
        s = every_s[:r]
        if noise is not None:
            C_y = C + theta * (C_ev + C_ev.T) + theta**2 * C_v
            m_y = (m + theta * m_v)[:r]
            injected = noise.covariance(C_y + np.outer(m_y, m_y), m_y)
            e_next = C_ev * s - C * x  # E e v_next^T, centred
            v_next = C_v * s - C_ev.T * x
            C_v = s[:, None] * v_next - x[:, None] * e_next + (alpha**2 * strength) * injected
            C_v = 0.5 * (C_v + C_v.T)  # symmetric to the last bit, and so is C: an
            C = C + (e_next + e_next.T) + C_v  # antisymmetric rounding error would never die
            C_ev = e_next + C_v
            if not np.isfinite(C.diagonal()).all():
                noise = None  # it has overflown, and stays so
        m_v = every_s * m_v - every_x * m
        m = m + m_v
        yield CurveStep(m, C, C_ev, x, s)


def measures(lam: FloatArray) -> FloatArray:
    """What error2, grad2 and gap weigh the second moment along an eigenvalue with."""
    return np.column_stack([np.ones(lam.size), lam**2, lam / 2.0])


def _moments(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3)."""
    if isinstance(noise, Tabulated) and schedule.T >= COMPILED_STEPS:
        means, variances = compiled_walk(lam, noise, zeta0_2, schedule, start)
    else:
        means, variances = plain_walk(lam, noise, zeta0_2, schedule, start)
    squares = means * means
    bias2 = squares.sum(axis=1)
    squares[:, : variances.shape[1]] += variances
    return bias2, squares @ measures(lam)


def plain_walk(
    lam: FloatArray, noise: RowNoise | None, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Means along each eigenvalue after each step, and the variances of the r that have noise."""
    means = np.zeros((schedule.T + 1, lam.size))
    variances = np.zeros((schedule.T + 1, 0 if noise is None else noise.triangle.d))
    means[0] = start
    for k, now in enumerate(walk(lam, noise, zeta0_2, schedule, start), start=1):
        means[k] = now.m
        variances[k] = np.maximum(now.C.diagonal(), 0.0)  # rounding may leave -1e-17 of the largest
    return means, variances


def compiled_walk(
    lam: FloatArray, noise: Tabulated, zeta0_2: Batches, schedule: Schedule, start: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What `plain_walk` gives, by a kernel that knows the table."""
    table = with_batches(schedule.table, zeta0_2)
    moments = (lam, noise.quartic, noise.cubic, noise.constant)
    state = _kernel.rest(start, noise.triangle.d)
    kept = np.empty((0, 0))
    found: tuple[FloatArray, FloatArray]
    found = compiled(_kernel.walk)(table, *moments, state, kept)
    return found


def _curve(bias2: FloatArray, totals: FloatArray) -> Curve:
    """An overflow stays one: the curve is infinite from the first entry that is not finite."""
    for columns in (totals, bias2[:, None]):
        lost = np.flatnonzero(~np.isfinite(columns).all(axis=1))
        columns[lost[0] if lost.size else len(columns) :] = np.inf
    error2, grad2, gap = totals.T.copy()
    return Curve(error2, grad2, gap, bias2)
