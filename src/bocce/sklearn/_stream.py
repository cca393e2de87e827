"""``partial_fit`` of the squared loss: sums over all rows seen, and ridge regression by them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..problems._input import CONSTANT_DEVIATION, check_penalty
from ..rows import Array, FactoredMoments

MOST_COLUMNS = 1024  # of X: the sums have a number for each pair of them


class Stream(NamedTuple):
    """How many rows were seen, and their sums."""

    rows: int
    sums: FactoredMoments


def fitted(model: Any, sums: FactoredMoments, d: int) -> tuple[Array, Array, Array]:
    """Coefficients (q, d), intercepts and objectives (q,) with the estimator's penalty."""
    ridge = model.l2 * _factors(model, sums, d)
    if model.fit_intercept:
        seen = sums.about(sums.mean)
        free = np.append(ridge, 0.0)
    else:
        seen = sums.about(np.zeros_like(sums.mean)).without_unit()
        free = ridge
    w = seen.solve(free)
    values = seen.value(w) + 0.5 * free @ np.square(w)
    coef = w[:d].T
    if model.fit_intercept:
        middle = sums.mean[d:] - coef @ sums.mean[:d] + w[d]
    else:
        middle = np.zeros(len(coef))
    return coef, middle, values


def _factors(model: Any, sums: FactoredMoments, d: int) -> Array:
    """What l2 is multiplied by, column by column."""
    factors = check_penalty(type(model).__name__, model.penalty, d)
    factors = np.ones(d) if factors is None else factors
    if not model.standardize:
        return factors
    variance = sums.variances
    varies = variance > np.square(CONSTANT_DEVIATION * sums.mean[:d])
    return factors * np.where(varies, variance, 1.0)


def take_in(model: Any, X: Any, y: Array, weights: Array | None) -> None:
    """Take in a chunk, and set what a fit sets; nothing changes where sums overflow."""
    d = X.shape[1]
    if d > MOST_COLUMNS:
        raise ValueError(
            f"partial_fit: X has {d} columns, must have at most {MOST_COLUMNS}, because a number "
            "is kept for each pair; use fit on all rows, or SGDRegressor for streams."
        )
    Y = y.reshape(len(y), -1)
    dense = X.toarray() if sp.issparse(X) else X
    sums = FactoredMoments.of(np.asarray(dense, dtype=np.float64), Y, weights)
    before: Stream | None = getattr(model, "_stream", None)
    if before is not None and before.sums.targets != sums.targets:
        raise ValueError(
            f"partial_fit: y has {Y.shape[1]} outputs, must have "
            f"{before.sums.targets[0]} as at the first call; start with a clone."
        )
    rows = len(Y)
    if before is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = before.sums + sums
        rows += before.rows
    if not sums.sound:
        raise ValueError(
            "partial_fit: sums over X and y overflow, must be finite; divide X and y by a constant."
        )
    coef, intercept, values = fitted(model, sums, d)
    for name, value in model._fitted(coef, intercept, X).items():
        setattr(model, name, value)
    _publish(model, values, rows, first=before is None)
    model._stream = Stream(rows, sums)
    model._seen = None


def _publish(model: Any, values: Array, rows: int, first: bool) -> None:
    """Set ``history_``, ``n_iter_`` and ``plan_``: they go on from call to call."""
    calls = 1 if first else model.n_iter_ + 1
    count = values.size
    now = {
        "iteration": np.full(count, calls),
        "passes": np.full(count, float(calls)),
        "value": values,
        "gradient_norm": np.zeros(count),
        "output": np.arange(count),
    }
    if not first:
        now = {name: np.append(model.history_[name], value) for name, value in now.items()}
    model.history_ = now
    model.n_iter_ = calls
    model.plan_ = (
        f"A stream of {calls} chunks and {rows:,} rows: their sums are kept, and coef_ "
        "is the exact ridge regression on all of them."
    )
