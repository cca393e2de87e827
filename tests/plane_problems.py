"""Problems for the tests of the plane: rows, a loss and a penalty by column."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from bocce.losses import Huber, Logistic, Loss, Poisson, Squared, SquaredHinge
from bocce.plane import Identity, IdentityPolicy
from bocce.problems import Problem
from bocce.rows import Csr, Dense

__all__ = ["Csr", "Dense", "Huber", "Logistic", "Poisson", "Squared", "SquaredHinge"]


class Softmax(NamedTuple):
    quadratic = False
    multi_output = True
    shift_invariant = True
    attains_minimum = False
    curvature = 0.5
    value_slope_bend = Loss.value_slope_bend
    bend_products, bender = Loss.bend_products, Loss.bender

    def value(loss, z, y):
        top = z.max(axis=1)
        return top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - (z * y).sum(axis=1)

    def _shares(loss, z):
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def bend(loss, z, y):
        return loss._shares(z) * (1.0 - loss._shares(z))

    def slope(loss, z, y):
        return loss._shares(z) - y

    def infimum(loss, y):
        return np.zeros(len(y))

    def bend_times(loss, z, y, u):
        p = loss._shares(z)
        return p * (u - (p * u).sum(axis=-1, keepdims=True))


def second_derivatives_times(p, z, u):
    """c_i loss''(z_i) u_i for each row of a problem with several outputs."""
    return p.weighted(p.loss.bend_times(z, p.y, u))


def problem(X, y, loss, ridge, weight=None):
    rows = Csr(sp.csr_array(X)) if sp.issparse(X) else Dense(np.asarray(X))
    if weight is not None:
        weight = np.asarray(weight, dtype=float) / np.mean(weight)
    alike = np.ndim(ridge) == 0
    return Problem.of(
        rows,
        np.asarray(y, dtype=float),
        loss,
        float(ridge) if alike else 1.0,
        weight=weight,
        penalty=None if alike else np.asarray(ridge),
        classes=np.arange(np.shape(y)[1]) if np.ndim(y) == 2 else None,
    )


def value(p, w):
    losses = p.loss.value(p.rows.times(w), p.y)
    losses = losses if p.weight is None else losses * p.weight
    ridge = np.asarray(p.ridge)
    return losses.mean() + 0.5 * float(np.sum((ridge * w.T).T * w))


def gradient(p, w):
    slopes = p.loss.slope(p.rows.times(w), p.y)
    slopes = slopes if p.weight is None else (slopes.T * p.weight).T
    return p.rows.combine(slopes) / p.n + (np.asarray(p.ridge) * w.T).T


class FixedPolicy(IdentityPolicy):
    """One metric that is known beforehand, for all steps."""

    def __init__(self, problem, metric):
        super().__init__(problem)
        self.metric = metric

    def begin(self, ridge):
        return self.metric

    def load_state_dict(self, state, metric):
        return self.metric if metric else Identity()


def fixed(metric):
    """What makes the policy of one metric."""
    return lambda problem: FixedPolicy(problem, metric)
