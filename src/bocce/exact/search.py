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
MOST_STEPS = 3000  # of L-BFGS in all
MEMORY = 20  # pairs that L-BFGS keeps
SLACK = 25.0  # 1 - beta is at least exp(-SLACK)
WIDTH = 25.0  # alpha stays within a factor exp(WIDTH) of the start's largest, 1 + theta of 1


def conjugate_gradients(means: Means, T: int) -> Table:
    """The table with which heavy ball makes the steps of conjugate gradients, on all rows.

    No table ends with a smaller gap (if every beta is below 1, as a table must have it). Once the
    error is gone, the steps are 1/lambda_max.
    """
    lam, e = means.lam, means.start[0]
    alpha, beta = np.full(T, 1.0 / lam.max()), np.zeros(T)
    direction, before = np.zeros(lam.size), 0.0
    for k in range(T):
        g = lam * e
        size = float(g @ g)
        share = size / before if k else 0.0
        direction = g + share * direction
        curvature = float(direction @ (lam * direction))
        if not curvature > 0.0:
            break
        alpha[k], before = size / curvature, size
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


def pulled_back(table: Table, gradient: FloatArray) -> FloatArray:
    """Derivatives in the coordinates of `coordinates`, from those in the table."""
    alpha, beta, theta = table
    return np.concatenate(
        [gradient[0] * alpha, gradient[1] * (beta - 1.0), gradient[2] * (1.0 + theta)]
    )


def _bounds(u: FloatArray) -> list[tuple[float, float]]:
    steps = u.reshape(3, -1)[0]
    near = (float(steps.max()) - WIDTH, float(steps.max()) + WIDTH)
    return [near] * steps.size + [(-SLACK, 0.0)] * steps.size + [(0.0, WIDTH)] * steps.size


def _held(u: FloatArray, gradient: FloatArray) -> float:
    """T times the largest derivative that no bound holds.

    A long table shares the value among its 3 T numbers, so each derivative falls as 1/T.
    """
    T = u.size // 3
    _, slack, look = u.reshape(3, -1)
    free = gradient.copy()
    free[T : 2 * T][(slack >= 0.0) & (gradient[T : 2 * T] < 0.0)] = 0.0
    free[2 * T :][(look <= 0.0) & (gradient[2 * T :] > 0.0)] = 0.0
    return T * float(np.abs(free).max())


def descend(
    objective: Objective, u: FloatArray, steps: int, tol: float
) -> tuple[FloatArray, float, float, list[float]]:
    """L-BFGS-B from u: the point, its objective, the derivative left, and the path of values."""
    path: list[float] = []
    lowest, best = math.inf, u

    def watched(u: FloatArray) -> tuple[float, FloatArray]:
        nonlocal lowest, best
        value, gradient = objective(u)
        if value < lowest:
            lowest, best = value, u.copy()
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
            bounds=_bounds(u),
            callback=note,
            options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": MEMORY,
                     "gtol": 3.0 * tol / u.size, "ftol": 0.0},
        )  # fmt: skip
        taken = len(path) - taken
        steps -= max(taken, 1)
        stuck = taken < 2 or not path or found.status == 0
        if stuck:
            break
    value, gradient = objective(best)
    return best, value, _held(best, gradient), path


def search(
    objective: Objective, starts: list[Table], tol: float
) -> tuple[FloatArray, float, float, list[float]]:
    """The best of short descents from each start, followed to the end; as ``descend``."""
    first = [descend(objective, coordinates(table), FIRST_STEPS, tol) for table in starts]
    u, value, left, path = min(first, key=lambda found: found[1])
    if left > tol:
        steps = MOST_STEPS - FIRST_STEPS * len(first)
        u, value, left, more = descend(objective, u, steps, tol)
        path = path + more
    return u, value, left, path
