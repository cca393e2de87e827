"""Rows for tests on Ray, and what one machine makes of the same batches."""

from __future__ import annotations

import numpy as np

import bocce
from bocce import sampling

N, D, T = 90, 4, 25
KINDS = {"squared": bocce.LeastSquares, "logistic": bocce.Logistic}


def data(loss: str):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((N, D)) * np.linspace(0.5, 2.0, D)
    y = X @ np.ones(D) + rng.standard_normal(N)
    return X, y if loss == "squared" else np.where(y > 0, "yes", "no")


def parts_of(X, y, sizes):
    return list(zip(np.split(X, np.cumsum(sizes)[:-1]), np.split(y, np.cumsum(sizes)[:-1])))


def schedule():
    return bocce.schedules.nesterov(T=T, L=8.0, mu=0.1)


def replayed(p, plan, taken: int, sizes: list[int], seed: int, rows_of):
    """The same draws, put together and stepped on by NumPy; ``rows_of(part, units)`` are rows."""
    units, w, v = sum(sizes), np.zeros(p.d), np.zeros(p.d)
    leave_out = p.loss.quadratic and 2 * taken > units
    for k in range(plan.T):
        drawn = units - taken if leave_out else taken
        counts = sampling.split_counts(seed, k, sizes, drawn)
        lists = [
            rows_of(i, sampling.part_batch(seed, k, i, size, int(counts[i])))
            for i, size in enumerate(sizes)
        ]
        rows = np.concatenate(lists)
        if leave_out:
            rows = np.setdiff1d(np.arange(p.n), rows)
        at = w + plan.theta[k] * v
        total = rows.size * (p.gradient(at, rows) - p.l2 * at)
        g = total * units / (taken * p.n) + p.l2 * at
        v = plan.beta[k] * v - plan.alpha[k] * g
        w = w + v
    return w


def on_rows(loss, sizes, b, l2=0.01, seed=4):
    """What one machine makes of the same batches."""
    starts = np.cumsum([0, *sizes])
    problem = KINDS[loss](*data(loss), l2=l2)
    return replayed(problem, schedule(), b, sizes, seed, lambda part, rows: starts[part] + rows)
