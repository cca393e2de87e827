"""Many penalties: each result is the minimiser for its own, whatever the order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce

L2S = [1e-3, 1.0, 1e-1, 1e-2]


def rows(n=300, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.standard_normal((n, d)) * np.geomspace(0.1, 10.0, d) + 1.0


def problem(loss, form=np.asarray, **keywords):
    rng, X = rows()
    z = (X - 1.0) / np.geomspace(0.1, 10.0, 8) @ rng.standard_normal((8, 3))
    y = {
        "squared": z[:, 0] + rng.standard_normal(300),
        "logistic": z[:, 0] + rng.logistic(size=300) > 0,
        "poisson": rng.poisson(np.exp(0.3 * z[:, 0])).astype(float),
        "softmax": (z + rng.gumbel(size=z.shape)).argmax(axis=1),
    }[loss]
    return bocce.Problem(form(X), y, loss, **keywords)


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "softmax"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_every_result_is_the_minimiser_for_its_penalty(loss, form):
    p = problem(loss, form, intercept=True)
    results = bocce.path(p, L2S, tol=1e-10)
    assert len(results) == len(L2S)
    for l2, r in zip(L2S, results):
        own = p.replace(l2=l2)
        assert r.status == "converged"
        first = np.linalg.norm(own.gradient(np.zeros(p.shape)))
        assert np.linalg.norm(own.gradient(p.join_intercept(r.w, r.intercept))) <= 1e-10 * first
        cold = bocce.minimize(own, tol=1e-10)
        assert own.value(p.join_intercept(r.w, r.intercept)) == pytest.approx(
            r.history["value"][-1]
        )
        np.testing.assert_allclose(r.w, cold.w, atol=1e-6 * np.abs(cold.w).max())


def test_warm_starts_save_steps():
    p = problem("softmax", intercept=True)
    l2s = np.geomspace(1.0, 1e-5, 12)
    warm = sum(r.n_iter for r in bocce.path(p, l2s))
    cold = sum(bocce.minimize(p.replace(l2=l2), tol=1e-6).n_iter for l2 in l2s)
    assert warm < cold


def test_least_squares_take_a_step_or_two_each():
    p = problem("squared", intercept=True)
    runs = bocce.path(p, np.geomspace(10.0, 1e-6, 15), tol=1e-8)
    assert max(r.n_iter for r in runs[1:]) <= 2


@settings(max_examples=10)
@given(st.permutations(L2S))
def test_the_order_is_the_callers_alone(order):
    p = problem("logistic")
    by_l2 = dict(zip(L2S, bocce.path(p, L2S)))
    for l2, r in zip(order, bocce.path(p, order)):
        assert np.array_equal(r.w, by_l2[l2].w)


def test_the_problem_is_left_as_it_was():
    p = problem("squared", l2=0.5)
    before = bocce.minimize(p, "plane", tol=1e-9)
    bocce.path(p, L2S)
    after = bocce.minimize(p, "plane", tol=1e-9)
    assert p.l2 == 0.5
    assert p.handed_on is None
    assert np.array_equal(before.w, after.w)


@pytest.mark.parametrize(
    ("l2s", "method", "match"),
    [
        ([], "auto", "l2s is empty, must have one penalty or more"),
        ([1.0, -1.0], "auto", r"l2s=-1.0 must be"),
        ([1.0, np.nan], "auto", "l2s=nan must be"),
        ([1.0], "shb", "method='shb' must be"),
    ],
)
def test_bad_input_is_named(l2s, method, match):
    with pytest.raises(ValueError, match=match):
        bocce.path(problem("squared"), l2s, method=method)
