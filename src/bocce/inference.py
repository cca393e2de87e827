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

What the data do not determine has no standard error. A matrix has a kernel where columns depend on
one another. Where f has no minimiser (``separation``), all sums are taken in the limit: rows that
are carried off drop out, and the directions that carried them join the kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import _checks, _rowsums, separation
from ._rowsums import inverse_and_kernel, over, pseudo_inverse
from .problems import Frame, Problem
from .rows import Array
from .separation import MOST_VARIABLES as MOST_VARIABLES

__all__ = ["Inference", "infer"]

# The proof needs s R delta < 1, which is 1 exactly where a group of counts is all zero: less by a
# margin for rounding.
PROVED = 0.9
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
        The square roots of the diagonal of ``covariance``. NaN where the data alone do not
        determine a coefficient.
    centre, spread : ndarray
        The centre of the confidence intervals (the estimate without the penalty), and its standard
        error. NaN where the data alone do not determine a coefficient.
    error : ndarray
        A bound on how far each variable is from the minimiser; infinite where there is no proof.
    dispersion : float
        The variance that the model estimates from residuals; 1 where the model fixes it.
    dependent : ndarray
        Vectors, as columns, with X v = 0 for all rows: one number for each column of X, and one
        more for an intercept. Empty where no column depends on others.
    escape : ndarray or None
        A direction along which f falls and has no minimiser, of the shape of the variables.
    """

    covariance: Array
    standard_errors: Array
    centre: Array
    spread: Array
    error: Array
    dispersion: float
    dependent: Array = field(default_factory=lambda: np.zeros((0, 0)))
    escape: Array | None = None

    @property
    def determined(self) -> Array:
        """Which variables do the data alone determine?"""
        return np.isfinite(self.spread)


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
    TypeError, ValueError
        If there are too many variables, the loss has no model, or w is not finite.

    Examples
    --------
    >>> import numpy as np, bocce
    >>> p = bocce.LeastSquares(np.array([[1.0], [1.0], [1.0], [1.0]]), [1.0, 2.0, 3.0, 6.0])
    >>> float(infer(p, p.minimiser()).standard_errors[0].round(6))  # s / sqrt(n)
    1.080123
    """
    where = "infer"
    kind = _checks.choice(where, "kind", kind, KINDS)
    if not isinstance(p, Problem):
        rule = "a problem"
        raise _checks.refused(TypeError, where, "p", p, rule, "build one with bocce.Problem(X, y)")
    w = p.point(w)
    if not np.isfinite(w).all():
        remedy = "give the fit of a run that did not diverge"
        raise _checks.refused(ValueError, where, "w", None, "finite", remedy, "NaN or infinity")
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


def _column_sums(part: Problem) -> tuple[Array]:
    return (part.given.combine(np.ones(part.n)),)


def _rows_squared(part: Problem, frame: Frame | None) -> tuple[Array]:
    p = part if frame is None else frame.problem(part)
    return (_rowsums.gram(p, np.ones(p.n) if p.weight is None else p.weight),)


def _sums(
    part: Problem, frame: Frame | None, u: Array, escape: Array | None, second: str
) -> tuple[Any, ...]:
    """Sums over rows, with their weights: the Hessian, the gradient, squared slopes, bends, and a
    ``second`` matrix: "rows" sums x x^T, "slopes" sums slope^2 x x^T, "" nothing.

    ``escape``: the sums are those in the limit of an endless move along this direction."""
    p = part if frame is None else frame.problem(part)
    z = separation.limit_scores(p, p.predict(u), escape)
    c = np.ones(p.n) if p.weight is None else p.weight
    q = u[:1].size
    slope = p.loss.slope(z, p.y)
    columns = slope.reshape(-1, q)
    if p.loss.multi_output:
        hessian = _class_hessian(p, c, slope)
        bends = math.nan
    else:
        bend = c * np.asarray(p.loss.bend(z, p.y), dtype=np.float64)
        hessian = _rowsums.gram(p, bend)
        bends = float(bend.sum())
    other = np.zeros(())
    if second == "rows":
        other = _rowsums.matrix(p, q, lambda k, l: c)
    elif second == "slopes":
        other = _rowsums.matrix(p, q, lambda k, l: c * columns[:, k] * columns[:, l])
    slope2 = float(c @ np.square(columns).sum(axis=1))
    return hessian, p.combine(p.weighted(slope)), slope2, bends, other


def _class_hessian(p: Problem, c: Array, slope: Array) -> Array:
    """The Hessian of a softmax: sum_i c_i (diag(s_i) - s_i s_i^T) (x) x_i x_i^T, s_i the shares."""
    shares = slope.copy()
    shares[np.arange(p.n), p.y] += 1.0
    return _rowsums.matrix(
        p, slope.shape[1], lambda k, l: c * shares[:, k] * (float(k == l) - shares[:, l])
    )


def _reaches(
    part: Problem,
    frame: Frame | None,
    u: Array,
    escape: Array | None,
    roots: list[Array],
    delta: float,
) -> tuple[Any, ...]:
    """The largest sqrt(x_i^T K^-1 x_i), which is what a step of length 1 in the metric K moves a
    score by; and whether a row may reach a kink of its loss by a step of length delta (1.0).

    ``roots``: roots of the blocks of K^-1, one for each output."""
    p = part if frame is None else frame.problem(part)
    reach2 = np.stack([p.rows.projections2(root) for root in roots], axis=-1)
    counted = separation.stays(p, escape).reshape(-1, len(roots))
    reach = np.sqrt((reach2 * counted).sum(axis=1))
    if p.loss.self_concordance is not None:
        return float(reach.max()), 0.0
    z = p.predict(u)
    loss = p.loss
    move = delta * reach
    slope = loss.slope(z, p.y)
    bend = loss.bend(z, p.y)
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
        self.p = p
        self.kind = kind
        self.N = count
        # the rows, and the frame that is still to be applied
        self.rows = p
        self.inside = None
        if p.in_parts:
            centre = np.zeros(p.d)
            if p.intercept:
                centre = over(p, np.add, _column_sums)[0] / p.n
            self.frame = self.inside = Frame(centre, np.ones(p.d), float(p.intercept))
        else:
            self.frame = Frame.of(p)
            self.rows = self.frame.problem(p)
        self.u = self.frame.into(w)
        self.outputs = self.u[:1].size
        ridges = p.ridges
        for _ in range(2):  # a square could overflow
            ridges[: p.d] *= self.frame.scale
        self.P = count * np.repeat(ridges, self.outputs)
        self.escape: Array | None = None
        self._sum_up()
        self.error = self._errors()
        if separation.may_escape(p) and not np.isfinite(self.error).all():
            self.escape = separation.escape(self.rows, self.inside, self.u)
        if self.escape is not None:
            self._sum_up()
            self.error = self._errors()

    def _sum_up(self) -> None:
        """Set the sums over all rows: observed, slopes, slope2, bend, second."""
        if self.kind == "sandwich":
            second = "slopes"
        else:
            second = "rows" * (self.p.loss.model != "likelihood")
        sums = over(self.rows, np.add, _sums, self.inside, self.u, self.escape, second)
        share = self.N / self.p.n
        self.observed, self.slopes, slope2, bends, self.second = (share * x for x in sums)
        self.slope2 = slope2 / self.N
        self.bend = bends / self.N

    def inference(self) -> Inference:
        H, S, dispersion = self._variances()
        K, kernel = self._inverse(H + np.diag(self.P))
        covariance = K @ S @ K
        plain, kernel = self._inverse(H) if self.P.any() else (K, kernel)
        known = self._determined(kernel)
        centre = self.u.reshape(-1) + plain @ (self.P * self.u.reshape(-1))
        spread = self._deviations(plain @ S @ plain)
        errors = self._deviations(covariance)
        shape = self.frame.out(self.u).shape
        with np.errstate(over="ignore", under="ignore"):
            outer = self._out(covariance) * self.units * self.units[:, None]
        return Inference(
            outer,
            np.where(known, errors, np.nan).reshape(shape),
            self.frame.out(self._centred(centre.reshape(self.u.shape))),
            np.where(known, spread, np.nan).reshape(shape),
            self.error.reshape(shape),
            dispersion,
            self._dependent() if not known.all() else np.zeros((len(self.u), 0)),
            None if self.escape is None else separation.moves(self.frame, self.escape),
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
        if left > 0.0:
            v = self.N / left * self.slope2
        else:
            v = math.nan
        return H, v * self.second, v

    # -- how far the minimiser is ------------------------------------------------------------------

    def _errors(self) -> Array:
        """|w_j - w*_j| <= sqrt(K^-1_jj) t, flattened; infinite where K does not determine w_j.

        With delta = sqrt(g^T K^-1 g) at w, R = max_i sqrt(x_i^T K^-1 x_i) and a third derivative of
        at most s times the second, t = -log(1 - s R delta)/(s R): the proof is in
        docs/theory/optimisation-error.md.
        """
        with np.errstate(all="ignore"):
            K, kernel = self._inverse(self.observed + np.diag(self.P))
            known = self._determined(kernel)
            gradient = self.slopes.reshape(-1) + self.P * self.u.reshape(-1)
            delta = math.sqrt(max(0.0, float(gradient @ K @ gradient)))
            t = self._distance(delta, K, bool(known.all()))
            error = t * self._deviations(K)
            return np.where(known, error, math.inf)

    def _distance(self, delta: float, K: Array, regular: bool) -> float:
        m = len(self.u)
        q = self.outputs
        blocks = K.reshape(m, q, m, q)
        roots = [_root(blocks[:, k, :, k]) for k in range(q)]
        known = (self.inside, self.u, self.escape, roots, delta)
        reach, kinks = map(float, over(self.rows, np.maximum, _reaches, *known))
        s = self.p.loss.self_concordance
        if s is None:  # Newton's step is exact where no row can reach a kink
            if regular and not kinks:
                return delta
            return math.inf
        growth = s * reach * delta
        if growth >= PROVED:
            return math.inf
        if growth < 1e-12:
            return delta
        return -math.log1p(-growth) / growth * delta

    # -- what the data determine -------------------------------------------------------------------

    def _inverse(self, A: Array) -> tuple[Array, Array]:
        """The pseudo-inverse and the kernel; of a softmax, as far as differences of classes go."""
        if not self.p.loss.shift_invariant:
            return inverse_and_kernel(A)
        q = self.outputs
        inverse, kernel = inverse_and_kernel(_rowsums.with_shifts(A, q))
        apart = np.kron(np.eye(len(self.u)), np.eye(q) - 1.0 / q)
        return apart @ inverse @ apart, kernel

    def _determined(self, kernel: Array) -> Array:
        """Which of the caller's variables does a matrix with this kernel determine?"""
        if kernel.shape[1] == 0:
            return np.ones(self.frame.out(self.u).size, dtype=bool)
        moves = separation.moves(self.frame, kernel.reshape(len(self.u), -1))
        return np.asarray((moves.reshape(-1, kernel.shape[1]) == 0.0).all(axis=1))

    def _dependent(self) -> Array:
        """The vectors v with X v = 0."""
        squared = over(self.rows, np.add, _rows_squared, self.inside)[0]
        return separation.moves(self.frame, inverse_and_kernel(squared)[1])

    # -- the caller's variables --------------------------------------------------------------------

    def _out(self, C: Array) -> Array:
        """A covariance of the frame's variables as one of the caller's, in the frame's units: a
        variance in the caller's units may be beyond the largest number."""
        frame = Frame(self.frame.centre * self.frame.scale, np.ones(self.p.d), self.frame.unit)
        for _ in range(2):
            C = frame.out(C.reshape(len(self.u), -1))
            C = self._centred(C.reshape(C.shape[0], self.outputs, -1))
            C = C.reshape(C.shape[0] * self.outputs, -1).T
        return C

    def _deviations(self, C: Array) -> Array:
        """The standard deviations of the caller's variables."""
        return np.asarray(self.units * np.sqrt(self._out(C).diagonal().clip(0.0)))

    @property
    def units(self) -> Array:
        """What the frame's unit of each of the caller's variables is."""
        units = np.append(self.frame.scale, np.ones(int(self.p.intercept)))
        return np.repeat(units, self.outputs)

    def _centred(self, u: Array) -> Array:
        """Of a softmax only differences of classes count: their mean is taken for zero."""
        return u - u.mean(axis=1, keepdims=True) if self.p.loss.shift_invariant else u


def _root(A: Array) -> Array:
    """R with R R^T = A, of a symmetric matrix that is not negative."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray(vectors * np.sqrt(values.clip(0.0)))
