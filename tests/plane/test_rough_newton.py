"""Newton's steps at full length end as near to the minimum as they were asked to."""

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.engines import Goal
from bocce.plane.metrics import NewtonPolicy
from bocce.plane.metrics.newton_cg import MOST_INNER_PRODUCTS
from bocce.plane.rough_newton import RoughNewton
from bocce.problems import PathCache


def problem(n=2000, d=20, K=5, l2=1e-3, rows=np.asarray):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) ** -0.5
    y = (3.0 * X @ rng.standard_normal((d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    return bocce.Problem(rows(X), y, "softmax", l2)


def rough_minimum(p, gap, start=None):
    """Steps until f is as near to its minimum as is asked for; None where no step is taken."""
    newton = RoughNewton(p)
    at = newton.look(np.zeros(p.shape) if start is None else start)
    fell = np.inf
    while not newton.gap_at(at, fell, gap) <= gap:
        there = newton.step(at, Goal(gap=gap, passes=MOST_INNER_PRODUCTS))
        if there is None:
            return None
        fell = at.value - there.value
        at = there
    return at.w


@pytest.mark.parametrize("n", [2000, 50_000])  # in float64, and in float32
@pytest.mark.parametrize("fall", [1e-3, 1e-5])
def test_f_is_as_near_to_its_minimum_as_was_asked_for(n, fall):
    p = problem(n)
    assert NewtonPolicy(p).products.rows.rough == (n > 2000)
    w = rough_minimum(p, fall)
    least = p.value(bocce.minimize(p, tol=1e-10).w)
    assert least <= p.value(w) <= least + 2.0 * fall


def test_what_is_still_to_fall_is_what_f_then_falls_by():
    p = problem().with_fields(handed_on=PathCache())
    rough_minimum(p, 1e-5)
    newton = RoughNewton(p)
    end = bocce.minimize(p, tol=1e-10).w
    near = end + 1e-3 * np.random.default_rng(1).standard_normal(p.shape)
    at = newton.look(near)
    assert at.value == pytest.approx(p.value(near), rel=1e-12)
    np.testing.assert_allclose(at.gradient, p.look(near).gradient, atol=1e-12)
    assert 0.3 <= newton.gap_at(at, np.inf, 0.0) / (at.value - p.value(end)) <= 3.0


def test_sparse_rows_give_the_same():
    sparse, dense = problem(rows=sp.csr_array), problem()
    found = [rough_minimum(p, 1e-5) for p in (sparse, dense)]
    np.testing.assert_allclose(*found, atol=1e-8)


def test_what_cannot_be_done_is_left_to_the_plane():
    p = problem()
    far = np.random.default_rng(1).standard_normal(p.shape) * 1e3  # Newton's step leads astray
    assert rough_minimum(p, 1e-9, far) is None
    large = problem(50_000)
    assert rough_minimum(large, 1e-12) is None
