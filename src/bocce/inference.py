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
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lapack

from . import _checks
from .problems import Frame, Problem
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


def infer(p: Problem, w: Any, kind: str = "model", count: float | None = None) -> Inference:
    """The covariance of the fit ``w`` of a problem, and a bound on its optimisation error.

    Parameters
    ----------
    p : Problem
        Problem In memory, with at most 3,000 variables.
    w : object
        Array The fit: ``p.join_intercept(result.w, result.intercept)``.
    kind : {"model", "sandwich"}, default "model"
        The covariance of the model, or the robust one that trusts the residuals alone.
    count : float, optional
        Float, optional How many observations the weights stand for; the number of rows unless
        given.

    Returns
    -------
    Inference
        Covariance, standard errors and a bound on the optimisation error.

    Raises
    ------
    ValueError
        If there are too many variables, the data are in parts, or the loss has no model.

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
    if p.in_parts:
        raise ValueError(f"{where}: the data are in parts, must be in memory; open them in memory.")
    frame = Frame.of(p)
    inner = frame.problem(p)
    return _Fit(inner, frame, frame.into(w), float(count or p.n)).inference(kind)


class _Fit:
    """A fit in the frame's variables, in which matrices are well scaled."""

    def __init__(self, p: Problem, frame: Frame, u: Array, count: float) -> None:
        self.p, self.frame, self.u, self.N = p, frame, u, count
        self.z = p.predict(u)
        self.outputs = u[:1].size
        ridge = np.asarray(p.ridge, dtype=np.float64)
        self.P = count * np.repeat(np.broadcast_to(ridge.reshape(-1), (len(u),)), self.outputs)
        self.slope = p.loss.slope(self.z, p.y)
        self.observed = self._matrix(self._bends())

    def inference(self, kind: str) -> Inference:
        H, S, dispersion = self._sandwich() if kind == "sandwich" else self._model()
        K = _inverse(H + np.diag(self.P))
        covariance = self._out(K @ S @ K)
        plain = _inverse(H) if self.P.any() else K
        centre = self.u.reshape(-1) + plain @ (self.P * self.u.reshape(-1))
        spread = np.sqrt(self._out(plain @ S @ plain).diagonal().clip(0.0))
        spread[~self._determined(H)] = np.nan
        shape = self.frame.out(self.u).shape
        return Inference(
            covariance,
            np.sqrt(covariance.diagonal().clip(0.0)).reshape(shape),
            self.frame.out(self._centred(centre.reshape(self.u.shape))),
            spread.reshape(shape),
            self.error().reshape(shape),
            dispersion,
        )

    # -- matrices --------------------------------------------------------------------------------

    def _matrix(self, weights: Array) -> Array:
        """N E[c_i W_i (x) x_i x_i^T], with W_i a number or a matrix of the outputs."""
        p, c = self.p, 1.0 if self.p.weight is None else self.p.weight
        if weights.ndim == 1:
            return np.asarray(self.N * p.rows.gram(c * weights))
        m, q = len(self.u), self.outputs
        found = np.zeros((m, q, m, q))
        for k in range(q):
            for l in range(k + 1):
                found[:, k, :, l] = self.N * p.rows.gram(c * weights[:, k, l])
                found[:, l, :, k] = found[:, k, :, l]
        return found.reshape(m * q, m * q)

    def _bends(self) -> Array:
        """Second derivatives: a number for each row, or a matrix of the classes."""
        if not self.p.loss.multi_output:
            return np.asarray(self.p.loss.bend(self.z, self.p.y), dtype=np.float64)
        shares = self.slope.copy()
        shares[np.arange(len(shares)), self.p.y] += 1.0
        alone: Array = shares[:, :, None] * np.eye(self.outputs)
        return np.asarray(alone - shares[:, :, None] * shares[:, None, :])

    def _sandwich(self) -> tuple[Array, Array, float]:
        squares = (
            np.einsum("ik,il->ikl", self.slope, self.slope)
            if self.p.loss.multi_output
            else np.square(self.slope)
        )
        return self.observed, self._matrix(squares), 1.0

    def _model(self) -> tuple[Array, Array, float]:
        """The Hessian that the model expects, and the variance of the gradient."""
        model = self.p.loss.model
        if model == "none":
            raise ValueError(
                f"infer: kind='model' needs a loss with a probability model, {self.p.loss.name} "
                "has none; use kind='sandwich'."
            )
        if model == "likelihood":
            return self.observed, self.observed, 1.0
        # residuals of one variance: slopes have the variance v, and bends the mean m, at every x
        mean = 1.0 if model == "scaled" else self._mean(self.p.loss.bend(self.z, self.p.y))
        moments = self._matrix(np.ones(self.p.n))
        H = mean * moments
        used = float(np.sum(_inverse(H + np.diag(self.P)) * H))
        left = self.N - used
        v = self.N / left * self._mean(np.square(self.slope)) if left > 0.0 else math.nan
        return H, v * moments, v

    def _mean(self, values: Array) -> float:
        return float(self.p.weighted(values).mean())

    # -- how far the minimiser is ------------------------------------------------------------------

    def error(self) -> Array:
        """|w_j - w*_j| <= sqrt(K^-1_jj) t, flattened.

        With delta = sqrt(g^T K^-1 g) at w, R = max_i sqrt(x_i^T K^-1 x_i) and a third derivative of
        at most s times the second, t = -log(1 - s R delta)/(s R): the proof is in
        docs/theory/optimisation-error.md.
        """
        with np.errstate(all="ignore"):
            K = _inverse(self.observed + np.diag(self.P))
            gradient = self.N * self.p.gradient(self.u).reshape(-1)
            delta = math.sqrt(max(0.0, float(gradient @ K @ gradient)))
            reach = self._reach(K)
            t = self._distance(delta, reach)
            return np.asarray(t * np.sqrt(self._out(K).diagonal().clip(0.0)))

    def _reach(self, K: Array) -> Array:
        """sqrt(x_i^T K^-1 x_i): what a step of length 1 in the metric K moves a score by."""
        m, q = len(self.u), self.outputs
        blocks = np.einsum("jkmk->jm", K.reshape(m, q, m, q))
        values, vectors = np.linalg.eigh(blocks)
        root = vectors * np.sqrt(values.clip(0.0))
        return np.sqrt(self.p.rows.projections2(root))

    def _distance(self, delta: float, reach: Array) -> float:
        s = self.p.loss.self_concordance
        if s is not None:
            growth = s * float(reach.max(initial=0.0)) * delta
            if growth >= 1.0:
                return math.inf
            return delta if growth < 1e-12 else -math.log1p(-growth) / growth * delta
        # piecewise quadratic: the step of Newton's method is exact where no row can reach a kink
        loss, y, move = self.p.loss, self.p.y, delta * reach
        bend = loss.bend(self.z, y)
        pieces = bool(np.isin(bend, (0.0, loss.curvature or 0.0)).all())
        slack = 1e-9 * float(np.abs(self.slope).max(initial=0.0))
        for sign in (1.0, -1.0):
            ahead = loss.slope(self.z + sign * move, y) - self.slope - sign * bend * move
            pieces &= float(np.abs(ahead).max(initial=0.0)) <= slack
        return delta if pieces else math.inf

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

    def _determined(self, H: Array) -> Array:
        """Which of the caller's variables do the data alone determine?"""
        flat = _null_vectors(H)
        if not flat.size:
            return np.ones(self.frame.out(self.u).size, dtype=bool)
        moved = self.frame.out(flat.reshape(len(self.u), -1))
        longest = np.abs(moved.reshape(-1, flat.shape[1])).max(axis=0)
        apart = self._centred(moved.reshape(len(moved), self.outputs, -1))
        return np.asarray((np.abs(apart.reshape(-1, flat.shape[1])) <= 1e-6 * longest).all(axis=1))


def _scaled(A: Array) -> tuple[Array, Array]:
    size = np.sqrt(A.diagonal().clip(0.0))
    size[size == 0.0] = 1.0
    return A / size / size[:, None], size


def _inverse(A: Array) -> Array:
    """Of a symmetric matrix that is not negative; its pseudo-inverse where it is singular."""
    unit, size = _scaled(A)
    factor, failed = lapack.dpotrf(unit, lower=1)
    if not failed and factor.diagonal().min(initial=1.0) ** 2 > SINGULAR:
        half, _ = lapack.dpotri(factor, lower=1)
        inverse = np.tril(half) + np.tril(half, -1).T
    else:
        values, vectors = np.linalg.eigh(unit)
        used = values > SINGULAR * max(values[-1], 0.0)
        inverse = (vectors[:, used] / values[used]) @ vectors[:, used].T
    return np.asarray(inverse / size / size[:, None])


def _null_vectors(A: Array) -> Array:
    """Directions along which a symmetric matrix is zero, as columns."""
    unit, size = _scaled(A)
    values, vectors = np.linalg.eigh(unit)
    return np.asarray(vectors[:, values <= SINGULAR * max(values[-1], 0.0)] / size[:, None])
