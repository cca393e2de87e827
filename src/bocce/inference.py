"""Standard errors and intervals of a fit, and bounds on its distance from the minimiser.

Let F(w) = sum_i c_i loss(x_i . w, y_i) + w^T P w / 2 with P = N diag(ridge), H the Hessian of the
sum, K = H + P, and S the variance of the sum's gradient. The minimiser of F has the covariance

    K^-1 S K^-1

to first order. ``kind="model"``: S is what the loss's own model says (with the squared loss,
sigma^2 sum_i c_i x_i x_i^T). ``kind="sandwich"``: S = sum_i c_i slope_i^2 x_i x_i^T, whatever the
model.

The penalty moves the minimiser by about -H^-1 P w. Intervals are for the coefficients without a
penalty, so they are centred at w + H^-1 P w, one Newton step of the likelihood alone, whose
covariance is H^-1 S H^-1. Without a penalty the two are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from . import _checks
from .problems import Frame, PartedProblem, Problem
from .rows import Array

__all__ = ["Inference", "infer"]

MOST_VARIABLES = 3000
SINGULAR = 1e-11  # of the largest eigenvalue of a matrix with unit diagonal: smaller ones are zero
KINDS = ("model", "sandwich")


@dataclass(frozen=True)
class Inference:
    """Covariance, standard errors, intervals and error bounds of a fit.

    Arrays have the shape of the variables: d numbers, one more for an intercept, a column for each
    class of a softmax.

    Attributes
    ----------
    covariance : ndarray
        The covariance of all variables (flattened) of the penalised fit.
    standard_errors : ndarray
        The square roots of the diagonal of ``covariance``.
    centre, spread : ndarray
        The centre of the confidence intervals (the estimate without the penalty), and its standard
        error. NaN where the data alone do not determine a coefficient.
    error : ndarray
        A bound on how far each variable is from the minimiser; infinite where there is no proof.
    dispersion : float
        The variance that the model estimates from residuals; 1 where the model fixes it.
    """

    covariance: Array
    standard_errors: Array
    centre: Array
    spread: Array
    error: Array
    dispersion: float


Join = Callable[[Any, Any], Any]
Ask = Callable[..., tuple[Any, ...]]


def infer(p: Problem, w: Any, kind: str = "model", count: float | None = None) -> Inference:
    """The covariance of the fit ``w`` of a problem, and a bound on its optimisation error.

    Parameters
    ----------
    p : Problem
        The problem, in memory or in parts, with at most 3,000 variables.
    w : array-like
        The fit: ``p.join_intercept(result.w, result.intercept)``.
    kind : {"model", "sandwich"}, default "model"
        The covariance of the model, or the robust one that trusts the residuals alone.
    count : float, optional
        The number of observations that the weights stand for; by default the number of rows.

    Returns
    -------
    Inference
        Covariance, standard errors and a bound on the optimisation error.

    Raises
    ------
    ValueError
        If there are too many variables, or the loss has no model.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> p = bocce.LeastSquares(np.array([[1.0], [1.0], [1.0], [1.0]]), [1.0, 2.0, 3.0, 6.0])
    >>> float(infer(p, p.minimiser()).standard_errors[0].round(6))  # s / sqrt(n)
    1.080123
    """
    where = "infer"
    kind = _checks.choice(where, "kind", kind, KINDS)
    w = p.point(w)
    if w.size > MOST_VARIABLES:
        raise ValueError(
            f"{where}: the fit has {w.size} variables, must have at most {MOST_VARIABLES} for "
            "standard errors, which need a matrix of their pairs; leave columns out."
        )
    if kind == "model" and p.loss.model == "none":
        raise ValueError(
            f"{where}: kind='model' needs a loss with a probability model, {p.loss.name} has none; "
            "use kind='sandwich'."
        )
    return _Fit(p, w, kind, float(count or p.n)).inference()


# -- sums over rows, of one part of the data at a time ---------------------------------------------


def _over(p: Problem, join: Join, ask: Ask, *args: Any) -> tuple[Any, ...]:
    """What ``ask(part, *args)`` gives, joined over the parts of the data; parts may have parts."""
    if not p.in_parts:
        return ask(p, *args)
    assert isinstance(p, PartedProblem)
    found: tuple[Any, ...] = ()
    for _, answer in p.over(_over, join, ask, *args):
        found = tuple(map(join, found, answer)) if found else answer
    return found


def _column_sums(part: Problem) -> tuple[Array]:
    return (part.given.combine(np.ones(part.n)),)


def _sums(part: Problem, frame: Frame | None, u: Array, second: str) -> tuple[Any, ...]:
    """Sums over rows, with their weights: the Hessian, the gradient, squared slopes, bends, and a
    ``second`` matrix: "rows" sums x x^T, "slopes" sums slope^2 x x^T, "" nothing."""
    p = part if frame is None else frame.problem(part)
    z, c = p.predict(u), np.ones(p.n) if p.weight is None else p.weight
    slope = p.loss.slope(z, p.y)
    if p.loss.multi_output:
        shares = slope.copy()
        shares[np.arange(p.n), p.y] += 1.0
        hessian = _matrix(p, u, lambda k, l: c * shares[:, k] * (float(k == l) - shares[:, l]))
        bends, columns = math.nan, slope
    else:
        bend = c * np.asarray(p.loss.bend(z, p.y), dtype=np.float64)
        hessian, bends = _matrix(p, u, lambda k, l: bend), float(bend.sum())
        columns = slope[:, None]
    other = np.zeros(())
    if second:
        rows = second == "rows"
        other = _matrix(p, u, lambda k, l: c if rows else c * columns[:, k] * columns[:, l])
    slope2 = float(c @ np.square(columns).sum(axis=1))
    return hessian, p.combine(p.weighted(slope)), slope2, bends, other


def _matrix(p: Problem, u: Array, weights: Callable[[int, int], Array]) -> Array:
    """sum_i W_i (x) x_i x_i^T, where ``weights(k, l)`` are the entries of all W_i."""
    m, q = len(u), u[:1].size
    found = np.zeros((m, q, m, q))
    for k in range(q):
        for l in range(k + 1):
            found[:, k, :, l] = _gram(p, weights(k, l))
            found[:, l, :, k] = found[:, k, :, l]
    return found.reshape(m * q, m * q)


def _gram(p: Problem, weights: Array) -> Array:
    """sum_i s_i x_i x_i^T with weights of any sign: rows take roots of positive ones."""
    total = np.zeros((p.rows.d, p.rows.d))
    for sign in (1.0, -1.0):
        if (some := (sign * weights).clip(0.0)).any():
            total += sign * p.n * p.rows.gram(some)
    return total


def _reaches(
    part: Problem, frame: Frame | None, u: Array, root: Array, delta: float
) -> tuple[Any, ...]:
    """The largest sqrt(x_i^T K^-1 x_i), which is what a step of length 1 in the metric K moves a
    score by; and whether a row may reach a kink of its loss by a step of length delta (1.0)."""
    p = part if frame is None else frame.problem(part)
    reach = np.sqrt(p.rows.projections2(root))
    if p.loss.self_concordance is not None:
        return float(reach.max()), 0.0
    z, loss, move = p.predict(u), p.loss, delta * reach
    slope, bend = loss.slope(z, p.y), loss.bend(z, p.y)
    kinks = not np.isin(bend, (0.0, loss.curvature or 0.0)).all()
    slack = 1e-9 * float(np.abs(slope).max(initial=0.0))
    for sign in (1.0, -1.0):
        ahead = loss.slope(z + sign * move, p.y) - slope - sign * bend * move
        kinks |= float(np.abs(ahead).max(initial=0.0)) > slack
    return float(reach.max()), float(kinks)


# -- the fit ---------------------------------------------------------------------------------------


class _Fit:
    """A fit in the frame's variables, in which matrices are well scaled."""

    def __init__(self, p: Problem, w: Array, kind: str, count: float) -> None:
        self.p, self.kind, self.N = p, kind, count
        self.rows, self.inside = p, None  # the rows, and the frame that is still to be applied
        if p.in_parts:
            centre = np.zeros(p.d)
            if p.intercept:
                centre = _over(p, np.add, _column_sums)[0] / p.n
            self.frame = self.inside = Frame(centre, np.ones(p.d), float(p.intercept))
        else:
            self.frame = Frame.of(p)
            self.rows = self.frame.problem(p)
        self.u = u = self.frame.into(w)
        self.outputs = u[:1].size
        ridges = p.ridges
        ridges[: p.d] *= np.square(self.frame.scale)
        self.P = count * np.repeat(ridges, self.outputs)
        second = "slopes" if kind == "sandwich" else "rows" * (p.loss.model != "likelihood")
        sums = _over(self.rows, np.add, _sums, self.inside, u, second)
        self.observed, self.slopes, slope2, bends, self.second = (count / p.n * x for x in sums)
        self.slope2, self.bend = slope2 / count, bends / count

    def inference(self) -> Inference:
        H, S, dispersion = self._variances()
        K, kernel = inverse_and_kernel(H + np.diag(self.P))
        covariance = self._out(K @ S @ K)
        plain, kernel = inverse_and_kernel(H) if self.P.any() else (K, kernel)
        centre = self.u.reshape(-1) + plain @ (self.P * self.u.reshape(-1))
        spread = np.sqrt(self._out(plain @ S @ plain).diagonal().clip(0.0))
        spread[~self._determined(kernel)] = np.nan
        shape = self.frame.out(self.u).shape
        return Inference(
            covariance,
            np.sqrt(covariance.diagonal().clip(0.0)).reshape(shape),
            self.frame.out(self._centred(centre.reshape(self.u.shape))),
            spread.reshape(shape),
            self.error().reshape(shape),
            dispersion,
        )

    def _variances(self) -> tuple[Array, Array, float]:
        """The Hessian, the variance of the gradient, and the dispersion."""
        model = self.p.loss.model
        if self.kind == "sandwich":
            return self.observed, self.second, 1.0
        if model == "likelihood":
            return self.observed, self.observed, 1.0
        # residuals of one variance: slopes have the variance v, and bends the mean m, at every x
        H = (1.0 if model == "scaled" else self.bend) * self.second
        used = float(np.sum(pseudo_inverse(H + np.diag(self.P)) * H))
        left = self.N - used
        v = self.N / left * self.slope2 if left > 0.0 else math.nan
        return H, v * self.second, v

    # -- how far the minimiser is ------------------------------------------------------------------

    def error(self) -> Array:
        """|w_j - w*_j| <= sqrt(K^-1_jj) t, flattened; infinite where K does not determine w_j.

        With delta = sqrt(g^T K^-1 g) at w, R = max_i sqrt(x_i^T K^-1 x_i) and a third derivative of
        at most s times the second, t = -log(1 - s R delta)/(s R): the proof is in
        docs/theory/optimisation-error.md.
        """
        with np.errstate(all="ignore"):
            K, kernel = inverse_and_kernel(self.observed + np.diag(self.P))
            known = self._determined(kernel)
            gradient = self.slopes.reshape(-1) + self.P * self.u.reshape(-1)
            delta = math.sqrt(max(0.0, float(gradient @ K @ gradient)))
            t = self._distance(delta, K, bool(known.all()))
            error = t * np.sqrt(self._out(K).diagonal().clip(0.0))
            return np.where(known, error, math.inf)

    def _distance(self, delta: float, K: Array, regular: bool) -> float:
        m, q = len(self.u), self.outputs
        values, vectors = np.linalg.eigh(np.einsum("jkmk->jm", K.reshape(m, q, m, q)))
        root = vectors * np.sqrt(values.clip(0.0))
        found = _over(self.rows, np.maximum, _reaches, self.inside, self.u, root, delta)
        reach, kinks = map(float, found)
        s = self.p.loss.self_concordance
        if s is None:  # Newton's step is exact where no row can reach a kink
            return delta if regular and not kinks else math.inf
        growth = s * reach * delta
        if growth >= 1.0:
            return math.inf
        return delta if growth < 1e-12 else -math.log1p(-growth) / growth * delta

    # -- the caller's variables --------------------------------------------------------------------

    def _out(self, C: Array) -> Array:
        """A covariance of the frame's variables as one of the caller's."""
        for _ in range(2):
            C = self.frame.out(C.reshape(len(self.u), -1))
            C = self._centred(C.reshape(C.shape[0], self.outputs, -1))
            C = C.reshape(C.shape[0] * self.outputs, -1).T
        return C

    def _centred(self, u: Array) -> Array:
        """Of a softmax only differences of classes count: their mean is taken for zero."""
        return u - u.mean(axis=1, keepdims=True) if self.p.loss.shift_invariant else u

    def _determined(self, kernel: Array) -> Array:
        """Which of the caller's variables does a matrix with this kernel determine?"""
        count = kernel.shape[1]
        if count == 0:
            return np.ones(self.frame.out(self.u).size, dtype=bool)
        moved = self.frame.out(kernel.reshape(len(self.u), -1))
        longest = np.abs(moved.reshape(-1, count)).max(axis=0)
        apart = self._centred(moved.reshape(len(moved), self.outputs, -1))
        return np.asarray((np.abs(apart.reshape(-1, count)) <= 1e-6 * longest).all(axis=1))


def pseudo_inverse(A: Array) -> Array:
    """Of a symmetric matrix that is not negative; its inverse where there is one."""
    return inverse_and_kernel(A)[0]


def inverse_and_kernel(A: Array) -> tuple[Array, Array]:
    """The pseudo-inverse, and the directions along which the matrix is zero, as columns."""
    size = np.sqrt(A.diagonal().clip(0.0))
    size[size == 0.0] = 1.0
    unit = A / size / size[:, None]
    factor, failed = lapack.dpotrf(unit, lower=1)
    if not failed and factor.diagonal().min(initial=1.0) ** 2 > SINGULAR:
        half, _ = lapack.dpotri(factor, lower=1)
        inverse, kernel = np.tril(half) + np.tril(half, -1).T, unit[:, :0]
    else:
        values, vectors = np.linalg.eigh(unit)
        used = values > SINGULAR * max(values[-1], 0.0)
        inverse = (vectors[:, used] / values[used]) @ vectors[:, used].T
        kernel = vectors[:, ~used]
    return inverse / size / size[:, None], kernel / size[:, None]
