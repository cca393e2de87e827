"""Problems for arrays of other libraries, and what they must have in common with NumPy's."""

from __future__ import annotations

import array_api_strict as strict
import numpy as np
import pytest

import bocce
from bocce.losses import REGISTRY
from helpers import limited

N, D = 120, 5
LOSSES = list(REGISTRY)
DEVICES = ("CPU_DEVICE", "device1")
SINGLE = ("no_float64", "no_x64")  # devices that have float32 only


def design(dtype=np.float64):
    """Columns of different sizes, away from zero."""
    rng = np.random.default_rng(0)
    return (rng.standard_normal((N, D)) * np.geomspace(0.5, 20.0, D) + 3.0).astype(dtype)


def targets(loss, X):
    """What the loss takes, with some noise in it."""
    rng = np.random.default_rng(1)
    z = (X - X.mean(axis=0)) @ (rng.standard_normal(D) / X.std(axis=0)) / 2
    z = z + 0.5 * rng.standard_normal(N)
    if loss == "softmax":
        return np.digitize(z, [-0.7, 0.0, 0.7]) * 10
    if loss == "poisson":
        return rng.poisson(np.exp(z))
    if loss == "gamma":
        return np.exp(z)
    return (z > 0.0).astype(np.int64) if REGISTRY[loss].margin else z


def on(device, dtype=None):
    """What makes a strict array of NumPy's, on a device; floats become of the type given."""
    where = next((d for d in strict.__array_namespace_info__().devices() if device in str(d)), None)
    if where is None:
        pytest.skip(f"this array-api-strict has no {device}")

    def make(values):
        values = np.asarray(values)
        if dtype is not None and values.dtype.kind == "f":
            values = values.astype(dtype)
        if device == "no_x64" and values.dtype.kind == "i":
            values = values.astype(np.int32)
        return strict.asarray(values.copy(), device=where)

    return make


def pair(loss, make, l2=1e-2, dtype=np.float64, weighted=True, intercept=True, numbers=None):
    """The same problem of NumPy's arrays and of ``make``'s, in blocks of so many numbers."""
    X = design(dtype)
    y = targets(loss, X)
    weight = np.linspace(0.5, 2.0, N) if weighted else None
    theirs = None if weight is None else make(weight)
    p = bocce.Problem(X, y, loss, l2, sample_weight=weight, intercept=intercept)
    q = bocce.Problem(make(X), make(y), loss, l2, sample_weight=theirs, intercept=intercept)
    return p, q if numbers is None else limited(q, on_device=numbers)


def somewhere(p):
    return np.random.default_rng(2).standard_normal(p.shape) * 0.05
