"""A bound for any schedule after T steps, nearly true: means exactly, noise by weights."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

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
FRESH_ROWS = 2**53  # So many rows are as good as rows that are never drawn twice.
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
    backwards from the quantity to bound, W_k = H_k^T W_{k+1} H_k + q_k v v^T, with

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
    lam = _eigenvalues(where, spectrum, mu, lam_max)
    low = float(lam.min())
    high = float(lam.max())
    sampling = _sampling(where, n, b, L_max, kappa_tilde, high)
    noises = _noises(where, chi2, chi_tilde2, low, high)
    parts = _starts(where, error0, 1 if spectrum is None else lam.size)
    inside = None
    if spectrum is None:
        known = sampling.values(low, high)
        table = table_of(where, schedule, T, lambda method, T: known).table
        lam, inside = _nodes(low, high, table[0].size, of)
    else:
        known = {**sampling.values(low, high), **_values(lam, parts, chi2)}
        table = table_of(where, schedule, T, lambda method, T: known).table
    start = Start.of(lam, parts, inside)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _swept(table, start, sampling, noises, of)
    return _bound(of, b, *found)


class Sampling(NamedTuple):
    """How rows are drawn, and how curved the most curved of them is."""

    n: int
    b: int
    zeta2: float
    L_max: float
    kappa_tilde: float | None
    excess: float  # see `leverage_excess`; infinite where kappa~ is not known

    def values(self, mu: float, L: float) -> dict[str, Any]:
        """The numbers that a method is built from."""
        return {
            "L": L,
            "mu": mu,
            "L_max": self.L_max,
            "kappa_tilde": self.kappa_tilde,
            "n": self.n,
            "b": self.b,
        }


def _sampling(
    where: str, n: int | None, b: int, L_max: float, kappa_tilde: float | None, lam_max: float
) -> Sampling:
    if n is None:
        zeta2 = 1.0 / _checks.integer(where, "b", b, remedy="the number of fresh rows a step")
        n = FRESH_ROWS
    else:
        zeta2 = sampling_noise(where, n, b)
    excess = math.inf
    if kappa_tilde is not None:
        excess = leverage_excess(*_rules.given(where, kappa_tilde=kappa_tilde))
    L_max, _ = _rules.given(where, L_max=L_max, lam_max=lam_max)
    L_max = max(L_max, lam_max)  # but for rounding
    return Sampling(n, b, zeta2, L_max, kappa_tilde, excess)


def _values(lam: FloatArray, parts: FloatArray, chi2: float) -> dict[str, Any]:
    """What a known spectrum adds to the numbers that a method is built from."""
    gap = float(lam @ parts) if parts.size == lam.size else 0.0  # twice f(w_0) - f*
    if gap > 0.0:
        return {"spectrum": lam, "noise": 2.0 * chi2 / float(lam.sum()) / gap}
    return {"spectrum": lam}


class Start(NamedTuple):
    """Decreasing eigenvalues, and the squared error along each of them at the start.

    Where the parts are not known (``apart`` is false), each may be all of the squared error.
    ``inside`` is None, or the factors of `_nodes`, where the eigenvalues are nodes of an interval.
    """

    lam: FloatArray
    error: FloatArray
    apart: bool
    inside: list[FloatArray] | None

    @classmethod
    def of(cls, lam: FloatArray, parts: FloatArray, inside: list[FloatArray] | None) -> Start:
        order = np.argsort(-lam, kind="stable")
        apart = inside is None and parts.size == lam.size
        error = parts[order] if apart else np.full(lam.size, parts[0])
        return cls(lam[order], error, apart, inside)


def _bound(of: str, b: int, bias: float, start_only: float, total: float) -> Bound:
    """The bound from the bias, and what sampling adds without and with noise at the minimiser."""
    if not math.isfinite(bias + total):
        why = (
            f"the weights grow without limit at b={b}: raise the batch, or lower the steps or the "
            "momentum"
        )
        return Bound(QUANTITIES[of], math.inf, math.inf, False, why)
    noise = max(float(total - start_only), 0.0)
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
        rule = "one number >= 0" if size == 1 else f"one number >= 0, or {size} of them"
        raise ValueError(
            f"{where}: error0 of shape {parts.shape} must be {rule}: ||w_0 - w*||^2, or its parts "
            "along the eigenvectors of the given spectrum."
        )
    return parts


def _noises(where: str, chi2: float, chi_tilde2: float, mu: float, lam_max: float) -> FloatArray:
    """chi^2 and chi~^2; one that was not given is bounded by the other."""
    (chi2,) = _rules.given(where, chi2=chi2)
    remedy = "the mean of grad f_i(w*)^T A^-1 grad f_i(w*)"
    chi_tilde2 = _checks.real(where, "chi_tilde2", chi_tilde2, least=0.0, remedy=remedy)
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
    table: Table, start: Start, sampling: Sampling, noises: FloatArray, of: str
) -> tuple[float, float, float]:
    """The bias, and what sampling adds without and with noise at the minimiser.

    The lines c1 + c2/lam are chosen in a few ways, each of which is a bound; the best one counts.
    """
    lam, error, apart, inside = start
    L_max = sampling.L_max
    known = sampling.excess < math.inf
    excess = sampling.excess if known else 0.0  # times c2 = 0
    m, fed = _sweep.compiled(_sweep.means)(table, lam, error, apart, L_max, excess)
    final = np.ones(lam.size) if of == "error" else 0.5 * lam
    bias = float((final * m * m).sum() if apart else (final * m * m).max())
    T = fed.shape[0]
    reach = np.empty((0, 2))
    aims = [np.full(T, math.inf)]
    if inside is not None:
        bias = bias * inside[0][T]
        fed = fed * inside[0][:T, None]
        reach = inside[1]
        if known:
            aims += [np.zeros(T), _aim(fed + noises)]
    elif known:
        aims = [np.full(T, excess / L_max), _aim(fed + noises)]
    constants = (reach, L_max, excess, sampling.zeta2, *noises.tolist())
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
    _check_least_squares(where, p)
    _checks.choice(where, "of", of, QUANTITIES)
    b = _rules.batch_rows(where, batch_size, p.n)
    start = _checks.start(where, w0, p.width)
    best = p.minimiser()
    c = p.constants()
    schedule = _checked_table(where, p, schedule, b, T, start)
    error = start - best
    known = {"n": p.n, "b": b, "kappa_tilde": c.sharpest[1], "of": of}
    if c.exact:
        return _from_spectrum(p, schedule, best, error, known)
    known["chi2"] = p.row_gradient_mean2(best)
    return _from_estimates(schedule, c, float(error @ error), known)


def _from_spectrum(
    p: Any, schedule: Schedule, best: FloatArray, error: FloatArray, known: dict[str, Any]
) -> Bound:
    """From the spectrum of the Hessian; along directions where f is flat the error stays."""
    lam, vectors = _eigenpairs(p)
    parts = (vectors.T @ error) ** 2
    moves = lam > max(p.n, p.width) * np.finfo(float).eps * lam[-1]
    resting = float(parts[~moves].sum()) if known["of"] == "error" else 0.0
    if not moves.any():
        quantity = QUANTITIES[known["of"]]
        return Bound(quantity, resting, 0.0, True, "every row is zero: nothing moves")
    lam = lam[moves]
    whitened = _whitened_noise(p, best, vectors[:, moves] / np.sqrt(lam))
    chi2, chi_tilde2 = _raised(p.row_gradient_mean2(best), whitened, lam)
    bound = certify(
        schedule,
        L_max=max(p.constants().sharpest[0], float(lam[-1])),  # but for rounding
        spectrum=lam,
        error0=parts[moves],
        chi2=chi2,
        chi_tilde2=chi_tilde2,
        **known,
    )
    return replace(bound, bias=bound.bias + resting)


def _check_least_squares(where: str, p: Any) -> None:
    try:
        other = "" if p.loss.quadratic else p.loss.problem_name
    except AttributeError:  # p is no problem
        other = type(p).__name__
    if other:
        raise TypeError(
            f"{where}: p={other} must be a LeastSquares problem, because weights are known for "
            "quadratics alone; for convex losses see theory.certify_convex."
        )


def _eigenpairs(p: Any) -> tuple[FloatArray, FloatArray]:
    """The eigenvalues of the Hessian, increasing, and their eigenvectors."""
    least = p.ridges.min()  # added last, exactly
    lam, vectors = np.linalg.eigh(p.gram + np.diag(p.ridges - least))
    return np.maximum(lam, 0.0) + least, vectors


def _checked_table(
    where: str, p: Any, schedule: Schedule | str, b: int, T: int | None, start: FloatArray
) -> Schedule:
    """The schedule, or the table of the method of that name, as ``minimize`` builds it."""
    c = p.constants()
    return table_of(
        where,
        schedule,
        T,
        lambda method, T: method.values(c, n=p.n, b=b, T=T, pilot=lambda: p.pilot(start)),
    )


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
