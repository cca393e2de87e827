"""A bound for any schedule after T steps, nearly true: means exactly, noise by weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _checks
from .._types import Vector
from ..schedules import Schedule, _rules
from ..schedules.accelerated import sampling_noise
from ..schedules.registry import table_of
from ..schedules.schedule import FloatArray, Table
from . import _sweep
from .result import MEAN_SQUARE, Bound

QUANTITIES = {"error": MEAN_SQUARE, "gap": "E f(w_T) - f*"}
MOST_STEPS_WITHOUT_SPECTRUM = 10_000  # Without a spectrum the work grows as T^2, so T is limited.
NODES_A_DEGREE = 2  # Chebyshev nodes for each degree of the polynomials on the interval.


def leverage_excess(kappa_tilde: float) -> float:
    """The largest s (kappa~ - s), 0 <= s <= 1: kappa~ - 1, or kappa~^2/4 where kappa~ < 2.

    s = lam_0/lam is the share of an eigenvalue that is the data's, not l2's. Without l2 it is 1.

    >>> leverage_excess(5.0), leverage_excess(1.0)
    (4.0, 0.25)
    """
    if kappa_tilde >= 2.0:
        return kappa_tilde - 1.0
    return 0.25 * kappa_tilde * kappa_tilde


def certify(
    schedule: Schedule | str,
    *,
    n: int | None,
    b: int,
    L_max: float,
    kappa_tilde: float | None,
    spectrum: npt.ArrayLike | None = None,
    mu: float | None = None,
    lam_max: float | None = None,
    error0: npt.ArrayLike,
    chi2: float = 0.0,
    chi_tilde2: float = 0.0,
    of: str = "error",
    T: int | None = None,
) -> Bound:
    """An upper bound on E||w_T - w*||^2, or on E f(w_T) - f*, for any schedule on least squares.

    Along each eigenvalue lam of the Hessian the mean error m_k is known exactly. Weights W_k run
    backwards from what is asked for, W_k = H_k^T W_{k+1} H_k + q_k v v^T, with

        q_k(lam) = alpha_k^2 zeta0^2 lam [c1 (L_max - lam) + c2 (kappa~ - 1)],

    (c1, c2) any line with (W_{k+1})_11 <= c1 + c2/lam on the spectrum; then

        E||w_T - w*||^2 <= ||m_T||^2 + sum_k ( sqrt(sum_lam q_k m_{y,k}^2)
                                     + alpha_k zeta0 sqrt(c1 chi^2 + c2 chi~^2) )^2.

    Guarantee: least squares with any l2, independent batches without replacement; up to rounding.
    Infinite near the critical batch. ``bias`` is what is left where the minimiser has no noise.
    Costs O(d T) with a spectrum, O(T^2) without. Source: not in the paper; proof in
    docs/theory/finite-horizon.md.

    Parameters
    ----------
    schedule, T : Schedule or str, int
        A schedule; or the name of a method and its number of steps, built from L = lam_max, mu,
        L_max, kappa_tilde, n and b.
    n, b : int
        Rows of the data (None: every row is fresh, zeta0^2 = 1/b); rows of a batch.
    L_max, kappa_tilde : float
        Largest curvature of one row's loss, l2 included (or ``Constants.R2``, which is smaller);
        largest x_i^T A^-1 x_i (or ``Constants.R2_tilde``), None if unknown, which sets c2 = 0.
    spectrum, mu, lam_max : array-like, float, float
        Eigenvalues of the Hessian; or the extreme ones alone, for every spectrum between.
    error0 : array-like
        The squared distance ||w_0 - w*||^2, or its parts, one for each eigenvalue of the spectrum.
    chi2, chi_tilde2 : float, default 0.0
        Mean of ||grad f_i(w*)||^2, and the same in the norm of A^-1; one bounds the other.
    of : {"error", "gap"}, default "error"
        "error" bounds E||w_T - w*||^2, "gap" bounds E f(w_T) - f*.

    Returns
    -------
    Bound

    Examples
    --------
    >>> known = dict(n=5000, b=500, L_max=300.0, kappa_tilde=20.0, error0=1.0, chi2=0.01)
    >>> bound = certify("auto", T=1000, spectrum=[1.0, 10.0, 100.0], **known)
    >>> bound.valid and bound.total < 1e-7  # about 3e-8: the table is searched
    True
    """
    where = "certify"
    _checks.choice(where, "of", of, QUANTITIES)
    if n is None:
        zeta2 = 1.0 / _checks.integer(where, "b", b, remedy="the number of fresh rows a step")
    else:
        zeta2 = sampling_noise(where, n, b)
    (chi2,), remedy = _rules.given(where, chi2=chi2), "the mean of grad f_i(w*)^T A^-1 grad f_i(w*)"
    chi_tilde2 = _checks.real(where, "chi_tilde2", chi_tilde2, least=0.0, remedy=remedy)
    excess = math.inf
    if kappa_tilde is not None:
        excess = leverage_excess(*_rules.given(where, kappa_tilde=kappa_tilde))
    lam = _eigenvalues(where, spectrum, mu, lam_max)
    low = float(lam.min())
    high = float(lam.max())
    L_max, _ = _rules.given(where, L_max=L_max, lam_max=high)
    L_max = max(L_max, high)  # but for rounding
    known: dict[str, Any] = {
        "L": high,
        "mu": low,
        "L_max": L_max,
        "kappa_tilde": kappa_tilde,
        "b": b,
    }
    known["n"] = 2**53 if n is None else n  # so many rows are as good as fresh ones
    parts = _starts(where, error0, 1 if spectrum is None else lam.size)
    apart = parts.size == lam.size and spectrum is not None
    if spectrum is not None:
        known |= {"spectrum": lam}
    if apart and float(lam @ parts) > 0.0:
        known |= {"noise": 2.0 * chi2 / float(lam.sum()) / float(lam @ parts)}
    table = table_of(where, schedule, T, lambda method, T: known).table
    rest = _both(where, chi2, chi_tilde2, low, high)
    inside = None
    if spectrum is None:
        lam, inside = _nodes(low, high, table[0].size, of)
    order = np.argsort(-lam, kind="stable")
    lam, parts = lam[order], parts[order] if apart else np.full(lam.size, parts[0])
    with np.errstate(over="ignore", invalid="ignore"):
        bias, start_only, whole = _swept(
            table, lam, parts, apart, inside, (L_max, excess, zeta2), rest, of
        )
    if not math.isfinite(bias + whole):
        why = (
            f"the weights grow without limit at b={b}: raise the batch, or lower the steps or the "
            "momentum"
        )
        return Bound(QUANTITIES[of], math.inf, math.inf, False, why)
    noise = max(float(whole - start_only), 0.0)
    return Bound(QUANTITIES[of], float(bias + start_only), noise, True, "all conditions hold")


def _eigenvalues(
    where: str, spectrum: Vector | None, mu: float | None, lam_max: float | None
) -> FloatArray:
    if spectrum is None:
        if mu is None or lam_max is None:
            raise ValueError(
                f"{where}: spectrum=None needs mu={mu!r} and lam_max={lam_max!r} to be numbers; "
                "give the eigenvalues of the Hessian, or both ends."
            )
        return np.array(_rules.given(where, mu=mu, lam_max=lam_max))
    if mu is not None or lam_max is not None:
        raise ValueError(
            f"{where}: spectrum decides mu and lam_max, must come without them (mu={mu!r}, "
            f"lam_max={lam_max!r}); give it or them, not both."
        )
    remedy = "give the eigenvalues of the Hessian"
    lam = _checks.floats(where, "spectrum", spectrum, remedy).ravel()
    if lam.size == 0 or not np.isfinite(lam).all() or lam.min() <= 0.0:
        raise ValueError(
            f"{where}: spectrum of {lam.size} numbers must be finite and > 0, one for each "
            "eigenvalue of the Hessian; leave out directions that no row touches."
        )
    return lam


def _starts(where: str, error0: Vector, size: int) -> FloatArray:
    """error0 as one number for each eigenvalue, or as one number (size 1)."""
    parts = _checks.floats(where, "error0", error0, "give ||w_0 - w*||^2").ravel()
    if parts.size not in (1, size) or not np.isfinite(parts).all() or parts.min() < 0.0:
        if size == 1:
            rule = "one number >= 0"
        else:
            rule = f"one number >= 0, or {size} of them"
        raise ValueError(
            f"{where}: error0 of shape {parts.shape} must be {rule}: ||w_0 - w*||^2, or its parts "
            "along the eigenvectors of the given spectrum."
        )
    return parts


def _both(where: str, chi2: float, chi_tilde2: float, mu: float, lam_max: float) -> FloatArray:
    """chi^2 and chi~^2; one that was not given is bounded by the other."""
    if chi2 == 0.0 or chi_tilde2 == 0.0:
        return np.array([max(chi2, lam_max * chi_tilde2), max(chi_tilde2, chi2 / mu)])
    if not (1.0 - 1e-9) * chi2 / lam_max <= chi_tilde2 <= chi2 / mu * (1.0 + 1e-9):
        raise ValueError(
            f"{where}: chi_tilde2={chi_tilde2!r} must lie between chi2/lam_max={chi2 / lam_max!r} "
            f"and chi2/mu={chi2 / mu!r}; leave it out if it is not known."
        )
    return np.array([chi2, chi_tilde2])


def _nodes(mu: float, lam_max: float, T: int, of: str) -> tuple[FloatArray, list[FloatArray]]:
    """N Chebyshev nodes of [mu, lam_max], and how far polynomials rise between them.

    A polynomial of degree D < N is nowhere more than 1/cos(pi D/(2N)) times its largest value at
    the nodes (Ehlich and Zeller 1964). Means and weights are polynomials in lam. The factors: of
    the squared means after 1 .. T steps (and of the final one), of the weights u and lam u.
    """
    if T > MOST_STEPS_WITHOUT_SPECTRUM:
        raise ValueError(
            f"certify: T={T} must be <= {MOST_STEPS_WITHOUT_SPECTRUM} without a spectrum, because "
            "the work grows as T^2; give spectrum= (the eigenvalues of the Hessian)."
        )
    N = NODES_A_DEGREE * (2 * T + 3)
    degree = 0 if of == "error" else 1
    nodes = np.cos(np.pi * (np.arange(N) + 0.5) / N)
    forwards = np.append(2 * np.arange(1, T + 1), 2 * T + degree)
    backwards = (2 * np.arange(T - 1, -1, -1) + degree)[:, None] + np.array([0, 1])
    rise = [1.0 / np.cos(0.5 * np.pi * degrees / N) for degrees in (forwards, backwards)]
    return 0.5 * (lam_max + mu) + 0.5 * (lam_max - mu) * nodes, rise


def _swept(
    table: Table,
    lam: FloatArray,
    start: FloatArray,
    apart: bool,
    inside: list[FloatArray] | None,
    numbers: tuple[float, float, float],
    rest: FloatArray,
    of: str,
) -> tuple[float, float, float]:
    """The bias, and what sampling adds without and with noise at the minimiser; lam decreases.

    The lines c1 + c2/lam are chosen in a few ways, each of which is a bound; the best one counts.
    """
    L_max, excess, zeta2 = numbers
    known = excess < math.inf
    finite = excess if known else 0.0  # times c2 = 0
    m, fed = _sweep.compiled(_sweep.means)(table, lam, start, apart, L_max, finite)
    if of == "error":
        final = np.ones(lam.size)
    else:
        final = 0.5 * lam
    bias = float((final * m * m).sum() if apart else (final * m * m).max())
    T = fed.shape[0]
    reach = np.empty((0, 2))
    aims = [np.full(T, math.inf)]
    if inside is not None:
        bias = bias * inside[0][T]
        fed = fed * inside[0][:T, None]
        reach = inside[1]
        if known:
            aims += [np.zeros(T), _aim(fed + rest)]
        else:
            aims += []
    elif known:
        aims = [np.full(T, excess / L_max), _aim(fed + rest)]
    constants = (reach, L_max, finite, zeta2, *rest.tolist())
    sweep = _sweep.compiled(_sweep.weights)
    found = [sweep(table, lam, final, fed, aim, *constants) for aim in aims]
    return bias, *min(found, key=lambda sums: math.inf if math.isnan(sums[-1]) else sums[-1])


def _aim(sums: FloatArray) -> FloatArray:
    """t at which a line c1 + c2 t costs what it adds, c1 sums_1 + c2 sums_2, over sums_1."""
    ratio = np.divide(sums[:, 1], sums[:, 0], out=np.ones(len(sums)), where=sums[:, 0] > 0.0)
    return np.where(np.isfinite(ratio), ratio, 1.0)


def certify_run(
    p: Any,
    schedule: Schedule | str,
    batch_size: int | float,
    w0: npt.ArrayLike | None = None,
    of: str = "error",
    T: int | None = None,
) -> Bound:
    """``certify`` with every number taken from a least-squares problem.

    The spectrum comes from the Gram matrix where the problem can afford one, else mu and an upper
    estimate of lambda_max alone are used. R2 and R2~ stand for L_max and kappa~.

    Guarantee: as ``certify``, up to rounding; ``why`` says what was estimated. The function solves
    for w*, so it judges a schedule and does not save a run.

    Parameters
    ----------
    p, w0 : Problem, array-like
        A least-squares problem; the start, by default zeros.
    schedule, T : Schedule or str, int
        A schedule; or the name of a method and T, built as ``minimize`` builds it.
    batch_size : int or float
        Rows of a batch (int), or a share of n (float in (0, 1]).
    of : {"error", "gap"}, default "error"
        As for ``certify``.

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
    >>> truth = bocce.exact.expected(p, "auto", 200, T=1000).error2[-1]
    >>> bool(truth <= certify_run(p, "auto", 200, T=1000).total < 10 * truth)
    True
    """
    where = "certify_run"
    loss = getattr(p, "loss", None)
    if loss is None or not loss.quadratic:
        found = type(p).__name__ if loss is None else loss.problem_name
        raise TypeError(
            f"{where}: p={found} must be a LeastSquares problem, because weights are "
            "known for quadratics alone; for convex losses see theory.certify_convex."
        )
    _checks.choice(where, "of", of, QUANTITIES)
    b = _rules.batch_rows(where, batch_size, p.n)
    start = start_of(where, w0, p.width)
    best = p.minimiser()
    c = p.constants()
    schedule = table_of(
        where,
        schedule,
        T,
        lambda method, T: method.values(c, n=p.n, b=b, T=T, pilot=lambda: p.pilot(start)),
    )
    error, chi2, (L_max, tilde) = start - best, p.row_gradient_mean2(best), c.sharpest
    known = {"n": p.n, "b": b, "kappa_tilde": tilde, "of": of}
    if not c.exact:
        return _from_estimates(schedule, c, float(error @ error), {**known, "chi2": chi2})
    least = p.ridges.min()  # added last, exactly
    lam, vectors = np.linalg.eigh(p.gram + np.diag(p.ridges - least))
    lam = np.maximum(lam, 0.0) + least
    moves = lam > max(p.n, p.width) * np.finfo(float).eps * lam[-1]
    parts = (vectors.T @ error) ** 2
    # where f is flat
    if of == "error":
        resting = float(parts[~moves].sum())
    else:
        resting = 0.0
    if not moves.any():
        return Bound(QUANTITIES[of], resting, 0.0, True, "every row is zero: nothing moves")
    lam = lam[moves]
    vectors = vectors[:, moves]
    chi2, whitened = _raised(chi2, _whitened_noise(p, best, vectors / np.sqrt(lam)), lam)
    bound = certify(
        schedule,
        L_max=max(L_max, float(lam[-1])),  # but for rounding
        spectrum=lam,
        error0=parts[moves],
        chi2=chi2,
        chi_tilde2=whitened,
        **known,
    )
    return replace(bound, bias=bound.bias + resting)


def start_of(where: str, w0: Vector | None, width: int) -> FloatArray:
    """w0 as an array, 0 unless given."""
    if w0 is None:
        start = np.zeros(width)
    else:
        start = _checks.floats(where, "w0", w0, "leave it out for 0")
    if start.shape != (width,) or not np.isfinite(start).all():
        raise ValueError(
            f"{where}: w0 of shape {start.shape} must be {width} finite numbers, one a variable; "
            "leave it out for 0."
        )
    return start


def _whitened_noise(p: Any, w: FloatArray, root: FloatArray) -> float:
    """chi~^2 = mean ||grad f_i(w)||^2 in the norm of A^-1 = root root^T, row by row."""
    total = 0.0
    first = 0
    penalty = root.T @ p.penalty_gradient(w)
    for block in p.rows.blocks():
        here = slice(first, first + block.shape[0])
        slopes = p.weighted(block @ w - p.y[here], here)
        total += float((slopes**2) @ (np.asarray(block @ root) ** 2).sum(axis=1))
        first = here.stop
    return float(max(total / p.n - penalty @ penalty, 0.0))


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
        return Bound(QUANTITIES[known["of"]], math.inf, math.inf, False, why)
    bound = certify(schedule, mu=c.mu, lam_max=c.L, L_max=c.sharpest[0], error0=error2, **known)
    why = "all checked conditions hold; taken on trust: lam_max, estimated upwards"
    if bound.valid:
        return replace(bound, why=why)
    return bound


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
    if bound.quantity == QUANTITIES["gap"]:
        return f"After {when} f - f* is at most {bound.total:.2g} in mean."
    size = math.sqrt(bound.total)
    return f"After {when} the error ||w - w*|| is at most {size:.2g} in root mean square."
