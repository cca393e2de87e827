"""``partial_fit`` of losses with a log link: renewable estimation.

The curvature of these losses has no bound, so no length of a step is safe for rows to come. Each
chunk is fitted by Newton's method instead, with a quadratic that stands for the rows before it:

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

from ..inference import pseudo_inverse
from ..losses.offset import loss_for
from ..problems import Problem
from ..problems.penalties import penalty_factors
from ..rows import Array, Dense
from ..run.constant import constant
from ._exact_stream import MOST_COLUMNS, dense_chunk, published

MOST_STEPS = 100
ENOUGH = 1e-10  # of log likelihood: Newton's next step ends within rounding


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


def advance(model: Any, X: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets. ``y`` may carry offsets."""
    if X.shape[1] > MOST_COLUMNS:
        raise ValueError(
            f"partial_fit: loss={model.loss!r} keeps a matrix of all pairs of columns, and X has "
            f"{X.shape[1]}, must have at most {MOST_COLUMNS}; leave columns out, or use fit."
        )
    given, X = X, dense_chunk(X)
    c = np.ones(len(X)) if weights is None else weights
    weight, name = float(c.sum()), type(model).__name__
    stream: RenewableStream | None = getattr(model, "_stream", None)
    intercept = bool(model.fit_intercept)
    centre = c @ X / weight * intercept if stream is None else stream.centre
    rows, c = Dense(X - centre), c * (len(X) / weight)
    loss = loss_for(model._loss(), y)
    p = Problem.of(rows, y, loss, 0.0, weight=c, intercept=intercept, has_column=False)
    if stream is None:
        own = (model.penalty, model.standardize)
        factors = penalty_factors(name, rows, *own, c, intercept)
        w, d = np.zeros(p.width), p.width
        if intercept:
            w[-1] = constant(p)
        factors = np.ones(d) if factors is None else factors
        stream = RenewableStream(centre, factors, w, np.zeros((d, d)), np.zeros(d))
    value, norm = stream.add(p, weight, float(model.l2))
    coef, last = p.split_intercept(stream.w)
    intercepts = np.array([last - centre @ coef if intercept else 0.0])
    said = (
        f"A stream of {stream.calls} chunks and {stream.rows:,} rows: each chunk was fitted by "
        "Newton's method with a quadratic for the rows before it (renewable estimation)."
    )
    published(model, stream, given, coef[None], intercepts, np.array([value]), norm, said)
