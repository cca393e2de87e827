"""``partial_fit`` without steps: sums of all rows seen, and renewable estimation.

The squared loss needs the sums of all rows seen, which come in any order.

The curvature of losses with a log link has no bound, so no length of a step is safe for rows to
come. Each chunk is fitted by Newton's method, with a quadratic that stands for the rows before it:

    F(w) = sum_i c_i loss_i(w) + w^T J w/2 - q . w + N l2/2 sum_j r_j w_j^2.

J sums the Hessians of earlier chunks, and J w - q their gradients to first order, each chunk
expanded at the estimate after it (Luo and Song 2020, Renewable estimation and incremental inference
in generalized linear models with streaming data sets, JRSS B 82). The first chunk is fitted
exactly. For independent rows of one model the estimate has the limit distribution of the fit on all
rows seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import lstsq

from ..inference import pseudo_inverse
from ..problems import Problem
from ..problems._input import CONSTANT, check_penalty
from ..rows import Array
from ..run import Request
from ..run.constant import constant
from ._stream import check_outputs, publish

MOST_COLUMNS = 1024
MOST_STEPS = 100
FLAT = 1e-14  # of the largest eigenvalue: smaller ones are rounding
ENOUGH = 1e-10  # of log likelihood: Newton's next step ends within rounding


def serves(model: Any, d: int) -> bool:
    """Is the stream one of sums? A method or a batch that is asked for takes steps instead."""
    own = model.loss == "squared" and model.method == Request.method and model.batch_size is None
    return bool(own and d <= MOST_COLUMNS)


class SumStream:
    """All that ridge regression needs to know of the rows seen so far.

    With rows a_i = (x_i, 1) and targets y_i, both about the first mean where there is an intercept:
    J = sum_i c_i a_i a_i^T, q = sum_i c_i a_i y_i and y2 = sum_i c_i y_i^2.
    """

    def __init__(self, X: Array, Y: Array, c: Array, intercept: bool) -> None:
        self.x, self.y = (intercept * (c @ Z) / float(c.sum()) for Z in (X, Y))
        self.J = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
        self.q, self.y2 = np.zeros((X.shape[1] + 1, Y.shape[1])), np.zeros(Y.shape[1])
        self.calls, self.rows = 0, 0

    def add(self, X: Array, Y: Array, c: Array) -> None:
        """Add a chunk; nothing changes where its squares overflow."""
        A, Y = np.column_stack([X - self.x, np.ones(len(X))]), Y - self.y
        with np.errstate(over="ignore", invalid="ignore"):
            weighted = (A * c[:, None]).T
            J, q, y2 = self.J + weighted @ A, self.q + weighted @ Y, self.y2 + c @ np.square(Y)
        if not all(np.isfinite(found).all() for found in (J, q, y2)):
            raise ValueError(
                "partial_fit: the squares of X and y overflow, must be finite for sums over a "
                "stream; divide X and y by a constant."
            )
        self.J, self.q, self.y2 = J, q, y2
        self.calls, self.rows = self.calls + 1, self.rows + len(X)

    def solution(self, model: Any) -> tuple[Array, Array, Array]:
        """Coefficients (q, d), intercepts and objectives (q,) with the estimator's penalty."""
        d, W = self.x.size, self.J[-1, -1]
        factors = check_penalty(type(model).__name__, model.penalty, d)
        factors = np.ones(d) if factors is None else factors
        if model.standardize:
            mean = self.J[:d, d] / W
            variance = self.J.diagonal()[:d] / W - np.square(mean)
            varies = variance > np.square(CONSTANT * (self.x + mean))
            factors = factors * np.where(varies, variance, 1.0)
        used = d + bool(model.fit_intercept)
        J, q, ridge = self.J[:used, :used], self.q[:used], np.append(model.l2 * factors, 0.0)[:used]
        H = J + np.diag(W * ridge)
        size = np.sqrt(H.diagonal())[:, None]
        size[size == 0.0] = 1.0
        w = lstsq(H / size / size.T, q / size, cond=FLAT, lapack_driver="gelsy")[0] / size
        losses = (0.5 * w * (J @ w) - q * w).sum(axis=0) + 0.5 * self.y2
        values = losses.clip(0.0) / W + 0.5 * ridge @ np.square(w)
        coef = w[:d].T
        intercept = self.y + w[d] - coef @ self.x if model.fit_intercept else np.zeros(len(coef))
        return coef, intercept, values


def dense_chunk(X: Any, weights: Array | None) -> tuple[Array, Array]:
    """The rows of a chunk as a dense array of float64, and their weights."""
    X = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    return X, np.ones(len(X)) if weights is None else weights


def add_to_sums(model: Any, given: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets."""
    (X, c), Y = dense_chunk(given, weights), y.reshape(len(y), -1)
    stream: SumStream | None = getattr(model, "_stream", None)
    if stream is None:
        stream = SumStream(X, Y, c, bool(model.fit_intercept))
    check_outputs(Y.shape[1], stream.y.size)
    stream.add(X, Y, c)
    coef, intercept, values = stream.solution(model)
    said = (
        f"A stream of {stream.calls} chunks and {stream.rows:,} rows: the sums of all rows are "
        "kept, and coef_ is the exact ridge regression on them."
    )
    calls = stream.calls
    history = [(calls, float(calls), value, 0.0) for value in values]
    publish(model, stream, given, (coef, intercept), history, said)


@dataclass
class RenewableStream:
    """What is known of the rows seen so far, in variables of columns about ``centre``."""

    centre: Array
    factors: Array  # r_j, and 0 for an intercept
    w: Array
    J: Array
    q: Array
    past: float = 0.0  # the constant of the quadratic
    weight: float = 0.0
    calls: int = 0
    rows: int = 0

    def add(self, p: Problem, weight: float, l2: float) -> tuple[float, float]:
        """Fit a chunk of that weight with what is known; the objective and its gradient's norm."""
        total = self.weight + weight
        ridge = total * l2 * self.factors

        def value(w: Array) -> float:
            known = 0.5 * w @ self.J @ w - self.q @ w + self.past
            return float(weight * p.value(w) + known + 0.5 * ridge @ np.square(w))

        w = self.w
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(MOST_STEPS):
                own, bent = weight * p.gradient(w), weight * p.hessian(w)
                gradient = own + self.J @ w - self.q + ridge * w
                step = -pseudo_inverse(bent + self.J + np.diag(ridge)) @ gradient
                fall, start = -float(gradient @ step), value(w)
                if not np.isfinite(fall):
                    raise ValueError(
                        "partial_fit: the losses of this chunk overflow, must be finite; divide "
                        "X or y by a constant."
                    )
                if fall <= ENOUGH:
                    w = w + step
                    break
                length = 1.0
                while not value(w + length * step) <= start - 1e-4 * length * fall:
                    length *= 0.5
                w = w + length * step
            own, bent = weight * p.gradient(w), weight * p.hessian(w)
        found, norm = value(w) / total, float(np.linalg.norm(own + self.J @ w - self.q + ridge * w))
        self.past += weight * p.value(w) - float(own @ w) + 0.5 * float(w @ bent @ w)
        self.J, self.q, self.w = self.J + bent, self.q + bent @ w - own, w
        self.weight, self.calls, self.rows = total, self.calls + 1, self.rows + p.n
        return found, norm / total


def renew(model: Any, X: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets. ``y`` may carry offsets."""
    if X.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"partial_fit: loss={model.loss!r} keeps a matrix of all pairs of columns, and X has "
            f"{X.shape[1]}, must have at most {MOST_COLUMNS}; leave columns out, or use fit."
        )
    given, (X, c) = X, dense_chunk(X, weights)
    weight, intercept = float(c.sum()), bool(model.fit_intercept)
    stream: RenewableStream | None = getattr(model, "_stream", None)
    centre = c @ X / weight * intercept if stream is None else stream.centre
    p = model._problem(X - centre, y, c).replace(l2=0.0)  # the stream has its own penalty
    if stream is None:
        w, d = np.zeros(p.width), p.width
        if intercept:
            w[-1] = constant(p)
        factors = np.ones(d) if p.penalty is None else p.penalty
        stream = RenewableStream(centre, factors, w, np.zeros((d, d)), np.zeros(d))
    value, norm = stream.add(p, weight, float(model.l2))
    coef, last = p.split_intercept(stream.w)
    fitted = coef[None], np.array([last - centre @ coef if intercept else 0.0])
    said = (
        f"A stream of {stream.calls} chunks and {stream.rows:,} rows: each chunk was fitted by "
        "Newton's method with a quadratic for the rows before it (renewable estimation)."
    )
    history = [(stream.calls, float(stream.calls), value, norm)]
    publish(model, stream, given, fitted, history, said)
