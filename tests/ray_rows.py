"""Rows for tests on Ray, and what one machine makes of them."""

from __future__ import annotations

import numpy as np

import bocce
from bocce.plane.metrics import HessianPolicy
from bocce.plane.scores import MemoryScores
from bocce.plane.small import SmallNewton

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


def alone(loss, plan=None, l2=0.01, **options):
    """What one machine makes of the same steps on all rows."""
    problem = KINDS[loss](*data(loss), l2=l2)
    return bocce.minimize(problem, plan or schedule(), batch_size=N, **options)


def steps_of_workers(monkeypatch):
    """What workers do with the rows of a part, one machine then does with all of them."""
    monkeypatch.setattr(MemoryScores, "predicts_gradient", lambda self, trusted: trusted)
    monkeypatch.setattr(HessianPolicy, "every_step", False)  # a Hessian is a round of messages
    monkeypatch.setattr(SmallNewton, "suits", staticmethod(lambda *given, **more: False))
    monkeypatch.setattr("bocce.plane.newton_engine.sums_suffice", lambda *given: False)
    monkeypatch.setattr("bocce.plane.plane.sums_suffice", lambda *given: False)
    monkeypatch.setattr("bocce.plane.plane.sample_pays", lambda *given: False)
