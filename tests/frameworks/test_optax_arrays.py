"""JAX's arrays as data: they cannot be written to, and are float32 unless asked otherwise."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bocce
from array_problems import pair

LOSSES = ("squared", "softmax")  # JAX compiles each operation for each shape: few will do


@pytest.mark.parametrize("loss", LOSSES)
def test_float64(loss):
    with jax.enable_x64(True):
        p, q = pair(loss, jnp.asarray)
        a, b = (bocce.minimize(r, tol=1e-10) for r in (p, q))
    assert "jax 120 x 5 float64" in repr(q)
    np.testing.assert_allclose(b.w, a.w, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_float32_only(loss):
    exact, p = pair(loss, jnp.asarray)
    assert p.given.dtype == np.float32
    run = bocce.minimize(p, tol=1e-5)
    assert run.status == "converged"
    first = np.linalg.norm(exact.gradient(np.zeros(exact.shape)))
    u = exact.join_intercept(run.w, run.intercept)
    assert np.linalg.norm(exact.gradient(u)) <= 1e-4 * first
