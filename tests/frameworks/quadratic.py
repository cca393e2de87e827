"""A noisy ridge regression, every schedule for it, and the reference engine's iterates."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from bocce import engines, sampling, schedules
from bocce.engines import Recorder, State
from bocce.problems import LeastSquares, Problem

N, D, B, SEED, T = 60, 5, 48, 3, 80


@cache
def problem() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D)) * np.linspace(0.5, 1.5, D)
    return LeastSquares(X, X @ rng.standard_normal(D) + 0.1 * rng.standard_normal(N), l2=0.01)


def start() -> np.ndarray:
    return np.linspace(-1.0, 1.0, D)


def batch(k: int, b: int = B) -> tuple[np.ndarray, np.ndarray]:
    rows = sampling.batch(SEED, k, N, b)
    return problem().X[rows], problem().y[rows]


@cache
def all_schedules() -> dict[str, schedules.Schedule]:
    """The registry, and more: real restarts, lookahead that starts again, random numbers."""
    c = problem().constants()
    known = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "n": N, "b": B, "kappa_tilde": c.kappa_tilde}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # multi-shb says that T is short of its theorem
        built = {name: method.build(T, known) for name, method in schedules.REGISTRY.items()}
        built["multi-shb authors"] = schedules.multistage(T, c.L, c.mu, stages="authors")
    found = {name: s for name, s in built.items() if isinstance(s, schedules.Schedule)}
    found["nesterov twice"] = schedules.nesterov(T // 2, c.L, c.mu).then(
        schedules.nesterov_exponential(T - T // 2, c.L, c.mu)
    )
    rng = np.random.default_rng(1)
    found["random"] = schedules.Schedule(
        rng.uniform(0.1, 1.0, T) / c.L_max, rng.uniform(0.0, 0.8, T), rng.uniform(0.0, 2.0, T)
    )
    return found


def reference(method: Any, b: int = B) -> np.ndarray:
    """w_0 .. w_T of the reference engine for a schedule or policy, one row an iterate."""
    engine = engines.REGISTRY["reference"](problem(), b, SEED, "independent")
    nothing = Recorder(np.empty(0, dtype=np.int64))
    state = State(start(), np.zeros(D))
    path = [start()]
    for k in range(method.T):
        assert engine.advance(state, method, k + 1, nothing).verdict == ""
        path.append(state.w.copy())
    return np.array(path)


def extended(schedule: schedules.Schedule, after: str) -> np.ndarray:
    """w_0 .. w_2T of the table that goes on beyond T; written without the adapters' own rule."""
    T_ = schedule.T
    if after == "stop":
        path = reference(schedule)
        return np.concatenate([path, np.repeat(path[-1:], T_, axis=0)])
    if after == "restart":
        return reference(schedule.then(schedule))
    columns = (schedule.alpha, schedule.beta, schedule.theta)
    alpha, beta, theta = (np.pad(c, (0, T_), mode="edge") for c in columns)
    theta[T_] = 0.0  # the parameters hold w_T: the next gradient is taken there
    return reference(schedules.Schedule(alpha, beta, theta))
