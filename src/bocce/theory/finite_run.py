"""``certify`` for a problem: every number it asks for, taken from the rows."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from ..schedules import Schedule, table_of
from ..schedules.schedule import FloatArray
from .finite import GAP, certify
from .result import MEAN_SQUARE, Bound


def certify_run(
    p: Any,
    schedule: Schedule | str,
    batch_size: int | float,
    w0: npt.ArrayLike | None = None,
    of: str = "error",
    T: int | None = None,
) -> Bound:
    """``certify`` with every number taken from a least-squares problem.

    Spectrum, w*, the noise there and R2, R2~ (sharper than L_max, kappa~) come from the rows: the
    spectrum from the Gram matrix where the problem can afford one, else mu and an upper estimate
    of lambda_max alone. Weights, a penalty by column and an intercept (the last variable of w0) are
    part of the problem: row i has the Hessian A_i = c_i x_i x_i^T + l2 diag(r), whatever c and r.

    Guarantee: as ``certify``, up to rounding; ``why`` says what was estimated. It asks for w*, so
    it judges a schedule, on these data or on a sample of them; it is no way to save a run.

    Parameters
    ----------
    p, w0 : Problem, array-like
        A least-squares problem; the start, by default zeros.
    schedule, T : Schedule or str, int
        A schedule; or the name of a method, whose table of T steps is built as ``minimize`` builds
        it.
    batch_size : int or float
        Rows of a batch (int), or a share of n (float in (0, 1]).
    of : {"error", "gap"}, default "error"
        "error" bounds E||w_T - w*||^2, "gap" bounds E f(w_T) - f*.

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        The problem is not least squares, or an argument is out of its range.

    Examples
    --------
    >>> import bocce
    >>> X, y, _ = bocce.data.regression(2000, 5, 100.0, noise_var=0.01)
    >>> p = bocce.LeastSquares(X, y)
    >>> bound = certify_run(p, "auto", 200, T=1000)
    >>> truth = bocce.exact.expected(p, "auto", 200, T=1000).error2[-1]
    >>> bool(truth <= bound.total < 10 * truth)
    True
    """
    where = "certify_run"
    _require_least_squares(where, p)
    b = _batch(where, batch_size, p.n)
    start = np.zeros(p.width) if w0 is None else np.array(w0, dtype=np.float64)
    if start.shape != (p.width,) or not np.isfinite(start).all():
        raise ValueError(
            f"{where}: w0 of shape {start.shape} must be {p.width} finite numbers, one a variable; "
            "leave it out for 0."
        )
    schedule = table_of(
        where, schedule, T, lambda method, T: method.values(p.constants(), n=p.n, b=b, T=T)
    )
    best, c = p.minimiser(), p.constants()
    error, (L_max, tilde) = start - best, c.sharpest
    chi2 = p.row_gradient_mean2(best)
    known = {"n": p.n, "b": b, "kappa_tilde": tilde, "chi2": chi2, "of": of}
    if not c.exact:
        return _from_estimates(schedule, c, float(error @ error), known)
    lam, vectors = _spectrum(p)
    moves = lam > max(p.n, p.width) * np.finfo(float).eps * lam[-1]
    parts = (vectors.T @ error) ** 2
    if not moves.any():
        return Bound(MEAN_SQUARE, float(parts.sum()), 0.0, True, "every row is zero: nothing moves")
    root: FloatArray = vectors[:, moves] / np.sqrt(lam[moves])
    known["chi2"], whitened = _raised(chi2, _whitened_noise(p, root), lam[moves])
    bound = certify(
        schedule,
        L_max=max(L_max, float(lam[-1])),  # but for rounding
        spectrum=lam[moves],
        error0=parts[moves],
        chi_tilde2=whitened,
        **known,
    )
    resting = float(parts[~moves].sum()) if of == "error" else 0.0  # where f is flat
    return Bound(bound.quantity, bound.bias + resting, bound.noise, bound.valid, bound.why)


def _spectrum(p: Any) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of the Hessian; the least penalty is added last, exactly."""
    least = p.ridges.min()
    values, vectors = np.linalg.eigh(p.gram + np.diag(p.ridges - least))
    return np.maximum(values, 0.0) + least, vectors


def _require_least_squares(where: str, p: Any) -> None:
    if not p.loss.quadratic:
        raise TypeError(
            f"{where}: p={p.loss.problem_name} must be a LeastSquares problem, because weights are "
            "known for quadratics alone; for convex losses see theory.certify_convex."
        )


def _batch(where: str, batch_size: object, n: int) -> int:
    """Rows, or a share of n."""
    remedy = f"give rows (1 to n={n}), or a share of n above 0 and at most 1, such as 0.5"
    if isinstance(batch_size, numbers.Integral):
        return _checks.integer(where, "batch_size", batch_size, most=n, remedy=remedy)
    share = _checks.real(where, "batch_size", batch_size, above=0.0, most=1.0, remedy=remedy)
    return max(1, round(share * n))


def _whitened_noise(p: Any, root: FloatArray) -> float:
    """chi~^2 = mean ||grad f_i(w*)||^2 in the norm of A^-1 = root root^T, row by row."""
    w, total, first = p.minimiser(), 0.0, 0
    pull = root.T @ p.penalty_gradient(w)
    for block in p.rows.blocks():
        here = slice(first, first + block.shape[0])
        slopes = p.weighted(block @ w - p.y[here], here)
        whitened = np.asarray(block @ root)
        total += float((slopes**2) @ (whitened**2).sum(axis=1))
        first = here.stop
    return float(max(total / p.n - pull @ pull, 0.0))


def _raised(chi2: float, chi_tilde2: float, lam: FloatArray) -> tuple[float, float]:
    """Both noises, raised where rounding made them inconsistent.

    chi^2/lam_max <= chi~^2 <= chi^2/mu holds except for rounding. If all rows are equal, both are
    rounding errors; the larger of the two then stands for both, so that the bound stays valid.

    >>> _raised(1e-32, 1e-30, np.array([1.0, 4.0]))
    (1e-30, 1e-30)
    """
    chi2 = max(chi2, float(lam[0]) * chi_tilde2)
    return chi2, max(chi_tilde2, chi2 / float(lam[-1]))


def _from_estimates(schedule: Schedule, c: Any, error2: float, known: dict[str, Any]) -> Bound:
    """From mu and lam_max alone, for data without a Gram matrix."""
    if not c.mu > 0.0:
        why = "mu is not known without a Gram matrix; add l2, or keep fewer columns"
        quantity = MEAN_SQUARE if known["of"] == "error" else GAP
        return Bound(quantity, math.inf, math.inf, False, why)
    bound = certify(schedule, mu=c.mu, lam_max=c.L, L_max=c.sharpest[0], error0=error2, **known)
    if not bound.valid:
        return bound
    why = "all checked conditions hold; taken on trust: lam_max, estimated upwards"
    return Bound(bound.quantity, bound.bias, bound.noise, True, why)


def certify_words(bound: Bound, T: int, b: int) -> str:
    """What a certificate says, as a sentence for people.

    Parameters
    ----------
    bound, T, b : Bound, int, int
        The result of ``certify`` or ``certify_run``; number of steps; rows of a batch.

    Returns
    -------
    str

    Examples
    --------
    >>> certify_words(Bound(MEAN_SQUARE, 1.0e-4, 4.4e-5, True, "all conditions hold"), 2000, 300)
    'After 2,000 steps at b = 300 the error ||w - w*|| is at most 0.012 in root mean square.'
    """
    when = f"{T:,} steps at b = {b:,}"
    if not bound.valid:
        return f"Nothing is certified for {when}: {bound.why}."
    if bound.quantity == GAP:
        return f"After {when} f - f* is at most {bound.total:.2g} in mean."
    size = math.sqrt(bound.total)
    return f"After {when} the error ||w - w*|| is at most {size:.2g} in root mean square."
