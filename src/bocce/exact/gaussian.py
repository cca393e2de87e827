"""Gaussian rows with a given spectrum: exact moments in O(d) a step, at any d.

The recursion is that of `bocce.schedules.moments`. Plain Python here; `compiled` compiles it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from .. import _checks
from ..sampling import batch_rows
from ..schedules import Schedule
from ..schedules.moments import at_rest, compiled, moments, with_batches
from ..schedules.schedule import FloatArray, Table
from ..theory.batch import fraction_for, zeta2

# The means of so many eigenvalues are followed through all steps at once: they fit in cache.
EIGENVALUES_TOGETHER = 1024


@dataclass(frozen=True, eq=False, init=False)
class Gaussian:
    """A least-squares problem with Gaussian rows, known by its spectrum alone.

    Parameters
    ----------
    spectrum : array-like
        The d eigenvalues of the Hessian A, > 0.
    noise : float, default 0.0
        The variance of the targets around the best prediction, >= 0.
    start : array-like, optional
        The squared error along each eigenvector at the start, >= 0; by default 1 each.
    n : int, optional
        None draws fresh rows at each step, so that zeta0^2 = 1/b. With a number, batches are drawn
        without replacement from n rows whose moments up to the fourth equal the distribution's.

    Examples
    --------
    >>> import bocce
    >>> s = bocce.schedules.sgd(T=1, L=4.0)  # E (1 - alpha x^2)^2 = 1 - 2/4 + 3/16
    >>> bocce.exact.expected(Gaussian([1.0]), s, batch_size=1).error2.tolist()
    [1.0, 0.6875]
    """

    spectrum: FloatArray
    noise: float
    start: FloatArray
    n: int | None

    def __init__(
        self,
        spectrum: npt.ArrayLike,
        *,
        noise: float = 0.0,
        start: npt.ArrayLike | None = None,
        n: int | None = None,
    ) -> None:
        lam = _numbers("spectrum", spectrum, None)
        if lam.min() <= 0.0:
            raise ValueError(
                f"Gaussian: spectrum has the eigenvalue {lam.min():.6g}, each must be > 0; leave "
                "out directions that no row touches."
            )
        if start is None:
            error = np.ones(lam.size)
        else:
            error = _numbers("start", start, lam.size)
        if error.min() < 0.0:
            raise ValueError(
                f"Gaussian: start has the entry {error.min():.6g}, each must be >= 0; start holds "
                "squared errors, one for each eigenvalue."
            )
        remedy = "the variance of targets around the best prediction"
        variance = _checks.real("Gaussian", "noise", noise, least=0.0, remedy=remedy)
        if n is not None:
            n = _checks.integer("Gaussian", "n", n, least=2, remedy="None draws fresh rows")
        for array in (lam, error):
            array.flags.writeable = False
        for name, value in zip(("spectrum", "noise", "start", "n"), (lam, variance, error, n)):
            object.__setattr__(self, name, value)

    @property
    def d(self) -> int:
        """The number of eigenvalues."""
        return int(self.spectrum.size)

    def certify_arguments(self) -> dict[str, Any]:
        """The arguments of ``theory.certify(schedule, b=b, **model.certify_arguments())``.

        E[A_i^2] = 2 A^2 + tr(A) A and E[A_i A^-1 A_i] = (d + 2) A. So R2 = 2 lambda_max + tr A and
        R2~ = d + 2 stand for L_max and kappa~; chi^2 = noise tr A and chi~^2 = noise d.

        Returns
        -------
        dict

        Examples
        --------
        >>> import bocce
        >>> model = Gaussian([1.0, 10.0, 100.0], noise=0.01)
        >>> bound = bocce.theory.certify("auto", T=500, b=100, **model.certify_arguments())
        >>> truth = bocce.exact.expected(model, "auto", 100, T=500).error2[-1]
        >>> bool(truth <= bound.total <= 3 * truth)
        True
        """
        total = float(self.spectrum.sum())
        return {
            "n": self.n,
            "L_max": 2.0 * float(self.spectrum.max()) + total,
            "kappa_tilde": self.d + 2.0,
            "spectrum": self.spectrum,
            "error0": self.start,
            "chi2": self.noise * total,
            "chi_tilde2": self.noise * self.d,
        }

    def schedule_arguments(self, batch_size: int | float) -> dict[str, Any]:
        """L, mu, L_max, kappa_tilde, n and b, as the factories of ``bocce.schedules`` take them.

        Fresh rows are given as n = 2^53 rows: there zeta0^2 is 1/b to rounding.

        Parameters
        ----------
        batch_size : int or float
            The batch: rows (int), or a share of n (float in (0, 1]).

        Returns
        -------
        dict
        """
        b, _ = sampling("schedule_arguments", self, batch_size)
        known = self.certify_arguments()
        return {
            "L": float(self.spectrum.max()),
            "mu": float(self.spectrum.min()),
            "L_max": known["L_max"],
            "kappa_tilde": known["kappa_tilde"],
            "n": 2**53 if self.n is None else self.n,
            "b": b,
        }

    def known(self, batch_size: int | float) -> dict[str, Any]:
        """``schedule_arguments``, and the spectrum and noise that ``schedules.auto`` takes.

        Parameters
        ----------
        batch_size : int or float
            Rows of a batch, or their share of n.

        Returns
        -------
        dict
            Arguments of a schedule by name.
        """
        gap = 0.5 * float(self.spectrum @ self.start)
        noise = self.noise / gap if gap > 0.0 else None
        return {**self.schedule_arguments(batch_size), "spectrum": self.spectrum, "noise": noise}


def sampling(where: str, model: Gaussian, batch_size: int | float) -> tuple[int, float]:
    """The batch in rows, and zeta0^2."""
    if model.n is not None:
        b = batch_rows(where, batch_size, model.n)
        return b, zeta2(model.n, b)
    remedy = "rows are fresh here (n=None), so give a number of rows, not a share"
    b = _checks.integer(where, "batch_size", batch_size, least=1, remedy=remedy)
    return b, 1.0 / b


def _numbers(name: str, values: npt.ArrayLike, size: int | None) -> FloatArray:
    remedy = "give one for each eigenvalue of the Hessian"
    found = _checks.floats("Gaussian", name, values, remedy)
    wrong = found.ndim != 1 or found.size == 0 or (size is not None and found.size != size)
    if wrong or not np.isfinite(found).all():
        if size is None:
            count = "at least one finite number"
        else:
            count = f"{size} finite numbers"
        raise ValueError(
            f"Gaussian: {name} of shape {found.shape} must be {count} in one dimension; {remedy}."
        )
    return found


# -- curves ---------------------------------------------------------------------------------------


def means(table: Table, lam: FloatArray, start: FloatArray) -> FloatArray:
    """[||E e_k||^2, ||A E e_k||^2, E e_k^T A E e_k / 2], k = 0 .. T, a block at a time."""
    alpha, beta, theta = table
    T = alpha.size
    d = lam.size
    totals = np.zeros((T + 1, 3))
    for first in range(0, d, EIGENVALUES_TOGETHER):
        here = lam[first : first + EIGENVALUES_TOGETHER]
        m = np.sqrt(start[first : first + EIGENVALUES_TOGETHER])
        v = np.zeros(here.size)
        for k in range(T + 1):
            error2 = 0.0
            grad2 = 0.0
            gap = 0.0
            for j in range(here.size):
                square = m[j] * m[j]
                error2 += square
                grad2 += here[j] * here[j] * square
                gap += here[j] * square
            totals[k, 0] += error2
            totals[k, 1] += grad2
            totals[k, 2] += 0.5 * gap
            if k < T:
                for j in range(here.size):
                    x = alpha[k] * here[j]
                    v[j] = (beta[k] - theta[k] * x) * v[j] - x * m[j]
                    m[j] += v[j]
    return totals


def curves(
    model: Gaussian, schedule: Schedule, zeta0_2: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """bias2 (T + 1,) and [error2, grad2, gap] (T + 1, 3); the full batch has no variance."""
    lam = model.spectrum
    mean = compiled(means)(schedule.table, lam, model.start)
    if not np.any(zeta0_2):
        return mean[:, 0].copy(), mean
    table = with_batches(schedule.table, zeta0_2)
    state = (at_rest(model.start), np.empty((0, 3, 0)))
    once = np.ones(model.d)
    return mean[:, 0].copy(), compiled(moments)(table, lam, once, model.noise, *state)


# -- stability ------------------------------------------------------------------------------------


def loop_gain(u: FloatArray) -> float:
    """sum u/(1 - u): what a unit of tr(A P_y) comes back as; stable in mean square below 1.

    ``u_j = alpha^2 zeta0^2 lam_j^2 G_jj`` is how much of the noise along eigenvalue j returns to
    itself (`bocce.exact.response.response`). The covariance q that is injected solves
    ``q_j = u_j q_j + alpha^2 zeta0^2 lam_j (S + noise)``, ``S = sum lam_i G_ii q_i``, so that
    ``S = loop_gain (S + noise)``. Infinite where some u is 1 or more.
    """
    largest = float(u.max(initial=0.0))
    if not largest < 1.0:
        return np.inf
    return float(np.sum(u / (1.0 - u)))


def critical_strength(u: FloatArray) -> float:
    """The factor on u at which the loop gain is 1: zeta_c^2 / zeta0^2."""
    high = 1.0 / float(u.max())  # the gain is infinite there, and at most 1 at half of 1/sum(u)
    low = min(0.5 / float(u.sum()), 0.5 * high)
    return float(brentq(lambda f: 1.0 / max(loop_gain(f * u), 0.5) - 1.0, low, high, rtol=1e-14))


def batch_at(model: Gaussian, zeta0_2: float) -> float:
    """The real batch size that has this zeta0^2."""
    if model.n is None:
        return 1.0 / zeta0_2
    return fraction_for(model.n, zeta0_2)
