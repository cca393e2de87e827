"""L-BFGS over the tables of a schedule, in coordinates in which every table is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

from ..schedules.schedule import FloatArray, Table
from .adjoint import Means

Objective = Callable[[FloatArray], tuple[float, FloatArray]]  # log(value) and its gradient

FIRST_STEPS = 200  # of L-BFGS from each of them; the best is then followed
MOST_DESCENT = 3000  # of L-BFGS in all
MEMORY = 20  # pairs that L-BFGS keeps
SLACK = 25.0  # 1 - beta is at least exp(-SLACK)
# alpha stays within a factor exp(LOG_RANGE) of the start's largest, 1 + theta of 1.
LOG_RANGE = 25.0


def conjugate_gradients(means: Means, T: int) -> Table:
    """The table with which heavy ball makes the steps of conjugate gradients, on all rows.

    No table ends with a smaller gap (if every beta is below 1, as a table must have it). Once the
    error is gone, the steps are 1/lambda_max.
    """
    lam = means.lam
    e = means.start[0]
    alpha = np.full(T, 1.0 / lam.max())
    beta = np.zeros(T)
    direction = np.zeros(lam.size)
    before = 0.0
    for k in range(T):
        g = lam * e
        size = float(g @ g)
        if size == 0.0:  # squares of what is left underflow
            break
        share = size / before if k else 0.0
        direction = g + share * direction
        curvature = float(direction @ (lam * direction))
        if not curvature > 0.0:
            break
        alpha[k] = size / curvature
        before = size
        if k:  # the step is -alpha g + alpha share (the last direction), which moved w by v
            beta[k] = share * alpha[k] / alpha[k - 1]
        e = e - alpha[k] * direction
    return alpha, np.minimum(beta, -math.expm1(-SLACK)), np.zeros(T)


def coordinates(table: Table) -> FloatArray:
    alpha, beta, theta = table
    slack = np.log1p(-np.minimum(beta, -math.expm1(-SLACK)))
    return np.concatenate([np.log(alpha), slack, np.log1p(theta)])


def table_of(u: FloatArray) -> Table:
    log_alpha, slack, look = u.reshape(3, -1)
    return np.exp(log_alpha), -np.expm1(slack), np.expm1(look)


def gradient_of_coordinates(table: Table, gradient: FloatArray) -> FloatArray:
    """Derivatives in the coordinates of `coordinates`, from those in the table."""
    alpha, beta, theta = table
    return np.concatenate(
        [gradient[0] * alpha, gradient[1] * (beta - 1.0), gradient[2] * (1.0 + theta)]
    )


def _bounds(u: FloatArray, columns: int) -> list[tuple[float, float]]:
    steps = u.reshape(columns, -1)[0]
    near = (float(steps.max()) - LOG_RANGE, float(steps.max()) + LOG_RANGE)
    limits = [near, (-SLACK, 0.0), (0.0, LOG_RANGE), (-LOG_RANGE, LOG_RANGE)]
    return [limit for limit in limits[:columns] for _ in range(steps.size)]


def _held(u: FloatArray, gradient: FloatArray, columns: int) -> float:
    """T times the largest derivative that no bound holds.

    A long table shares the value among its numbers, so each derivative falls as 1/T.
    """
    slack, look = u.reshape(columns, -1)[1:3]
    free = gradient.reshape(columns, -1).copy()
    free[1][(slack >= 0.0) & (free[1] < 0.0)] = 0.0
    free[2][(look <= 0.0) & (free[2] > 0.0)] = 0.0
    return int(slack.size) * float(np.abs(free).max())


def descend(
    objective: Objective, u: FloatArray, steps: int, tol: float, columns: int = 3
) -> tuple[FloatArray, float, float, list[float]]:
    """L-BFGS-B from u: the point, its objective, the derivative left, and the path of values.

    A fourth column of u, where there is one, is the batches', without a limit.
    """
    path: list[float] = []
    lowest = math.inf
    best = u

    def watched(u: FloatArray) -> tuple[float, FloatArray]:
        nonlocal lowest, best
        value, gradient = objective(u)
        if value < lowest:
            lowest = value
            best = u.copy()
        return value, gradient

    def note(u: FloatArray) -> None:
        path.append(lowest)

    while steps > 0:
        taken = len(path)
        found = minimize(
            watched,
            best,
            jac=True,
            method="L-BFGS-B",
            bounds=_bounds(u, columns),
            callback=note,
            options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": MEMORY,
                     "gtol": columns * tol / u.size, "ftol": 0.0},
        )  # fmt: skip
        taken = len(path) - taken
        steps -= max(taken, 1)
        stuck = taken < 2 or not path or found.status == 0
        if stuck:
            break
    value, gradient = objective(best)
    return best, value, _held(best, gradient, columns), path


def search(
    objective: Objective, starts: list[Table], tol: float
) -> tuple[FloatArray, float, float, list[float]]:
    """The best of short descents from each start, followed to the end; as ``descend``."""
    return search_from(objective, [coordinates(table) for table in starts], tol)


def search_from(
    objective: Objective, starts: list[FloatArray], tol: float, columns: int = 3
) -> tuple[FloatArray, float, float, list[float]]:
    """The same from coordinates."""
    first = [descend(objective, u, FIRST_STEPS, tol, columns) for u in starts]
    u, value, left, path = min(first, key=lambda found: found[1])
    if left > tol:
        steps = MOST_DESCENT - FIRST_STEPS * len(first)
        u, value, left, more = descend(objective, u, steps, tol, columns)
        path = path + more
    return u, value, left, path
