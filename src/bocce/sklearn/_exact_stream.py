"""``partial_fit`` of the squared loss: the sums of all rows seen, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..rows import Array
from ..run import Request
from ._ridge import Model, Sums, model_of

MOST_COLUMNS = 1024


def serves(model: Any, d: int) -> bool:
    """Is the stream one of sums? A method or a batch that is asked for takes steps instead."""
    own = model.loss == "squared" and model.method == Request.method and model.batch_size is None
    return bool(own and d <= MOST_COLUMNS)


class SumStream:
    """All that ridge regression needs to know of the rows seen so far, about the first mean."""

    def __init__(self, X: Array, Y: Array, c: Array, intercept: bool) -> None:
        total = float(c.sum())
        self.x = c @ X / total if intercept else np.zeros(X.shape[1])
        self.y = c @ Y / total if intercept else np.zeros(Y.shape[1])
        self.intercept, self.calls, self.rows = intercept, 0, 0
        self.sums: Any = None  # of the rows seen
        self.y2 = np.zeros(Y.shape[1])
        self.add(X, Y, c)

    def add(self, X: Array, Y: Array, c: Array) -> None:
        """Add a chunk; nothing changes where its squares overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            sums = Sums.of(X - self.x, Y - self.y, c)
            sums = sums if self.sums is None else self.sums.plus(sums)
            y2 = self.y2 + c @ np.square(Y - self.y)
        if not (
            np.isfinite(sums.xx).all() and np.isfinite(sums.xy).all() and np.isfinite(y2).all()
        ):
            raise ValueError(
                "partial_fit: the squares of X and y overflow, must be finite for sums over a "
                "stream; divide X and y by a constant."
            )
        self.sums, self.y2 = sums, y2
        self.calls, self.rows = self.calls + 1, self.rows + len(X)

    def model(self) -> Model:
        return model_of(self.sums, self.x, self.y, self.intercept)


def advance(model: Any, X: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets."""
    X = X.toarray() if sp.issparse(X) else X
    given, X = X, np.asarray(X, dtype=np.float64)
    Y, c = y.reshape(len(y), -1), np.ones(len(y)) if weights is None else weights
    stream: SumStream | None = vars(model).get("_sums")
    if stream is None:
        stream = SumStream(X, Y, c, bool(model.fit_intercept))
    elif Y.shape[1] != stream.y.size:
        raise ValueError(
            f"partial_fit: y has {Y.shape[1]} outputs, must have {stream.y.size} as at the first "
            "call; start with a clone."
        )
    else:
        stream.add(X, Y, c)
    coef, intercept = stream.model().at(float(model.l2))
    for name, value in model._fitted(coef, intercept, given).items():
        setattr(model, name, value)
    model._sums, model._seen, model.n_iter_ = stream, None, stream.calls
    model.history_ = _history(model, stream, coef, intercept)
    model.plan_ = (
        f"A stream of {stream.calls} chunks and {stream.rows:,} rows: the sums of all rows are "
        "kept, and coef_ is the exact ridge regression on them."
    )


def _history(model: Any, stream: SumStream, coef: Array, intercept: Array) -> dict[str, Array]:
    """A row for each call and output: the objective on all rows seen."""
    W, s = stream.sums.weight, stream.sums
    shift = intercept + coef @ stream.x - stream.y
    quadratic = np.einsum("qd,de,qe->q", coef, s.xx, coef)
    cross = np.einsum("qd,dq->q", coef, s.xy)
    left = quadratic - 2.0 * cross + stream.y2 + 2.0 * shift * (coef @ s.x - s.y) + W * shift**2
    value = 0.5 * left.clip(0.0) / W + 0.5 * model.l2 * np.square(coef).sum(axis=1)
    q = len(coef)
    now = {
        "iteration": np.full(q, stream.calls),
        "passes": np.full(q, float(stream.calls)),
        "value": value,
        "gradient_norm": np.zeros(q),
        "output": np.arange(q),
    }
    before = vars(model).get("history_") if stream.calls > 1 else None
    return now if before is None else {k: np.concatenate([before[k], v]) for k, v in now.items()}
