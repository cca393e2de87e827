"""The line search accepts what it should, and the policies follow their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import bocce
from bocce import sampling
from bocce.policies import armijo, sgd_sls_exponential, shb_sls_exponential
from bocce.problems import Line
from helpers import design, problem


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", ["dense", "csr", "float32"])
def test_line_is_the_batch_objective(kind, loss, l2):
    p = problem(loss, design(kind), l2)
    rows = np.array([0, 2, 5, 7])
    w = np.linspace(-1, 1, p.d)
    line = Line(p, w, rows)
    np.testing.assert_allclose(line.gradient, p.gradient(w, rows), rtol=1e-12)
    for s in (0.0, 0.01, 0.5, 3.0):
        direct = p.value(w, rows) - p.value(w - s * line.gradient, rows)
        assert line.decrease(s) == pytest.approx(direct, abs=1e-12 * (1 + abs(direct)))


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(["squared", "logistic"]),
    c=st.floats(0.05, 0.95),
    shrink=st.floats(0.1, 0.85),  # 100 backtracks reach far enough
    start=st.floats(1e-3, 1e3),
    seed=st.integers(0, 1000),
)
def test_armijo_takes_the_first_step_that_decreases_enough(loss, c, shrink, start, seed):
    p = problem(loss, design("dense", seed=seed), l2=0.01)
    w = np.random.default_rng(seed).standard_normal(p.d)
    line = Line(p, w, np.arange(0, p.n, 3))
    assume(line.slope2 > 1e-8)
    s = armijo(line, start, c, shrink)
    enough = c * s * line.slope2
    assert line.decrease(s) >= enough - 1e-12 * (enough + line.value)
    if s < start:
        longer = s / shrink
        assert line.decrease(longer) < c * longer * line.slope2 + 1e-12 * line.value


def test_half_accepts_exactly_one_over_the_curvature():
    """On a quadratic with c = 1/2: s is accepted iff s <= 1/(curvature along g)."""
    p = problem("squared", design("dense"), l2=0.1)
    rows = np.arange(10)
    w = np.ones(p.d)
    line = Line(p, w, rows)
    A = p.X[rows].T @ p.X[rows] / 10 + 0.1 * np.eye(p.d)
    curvature = line.gradient @ A @ line.gradient / line.slope2
    assert armijo(line, 0.999 / curvature) == 0.999 / curvature
    assert armijo(line, 1.001 / curvature) == pytest.approx(0.7 * 1.001 / curvature)


def test_a_vanished_gradient_does_not_shrink_the_step():
    X, y, w = bocce.data.regression(50, 3, 5.0)
    line = Line(bocce.LeastSquares(X, y), w, np.arange(10))
    assert armijo(line, 0.01) == 0.01


def literal_shb_sls(p, T, b, mu, seed):
    """spec: the averaging recursion with Z, as printed."""
    gamma = (1.0 / T) ** (1.0 / T)
    s, w = 1.0, np.zeros(p.d)
    Z = w
    for k in range(T):
        line = Line(p, w, sampling.batch(seed, k, p.n, b))
        g = line.gradient
        s = armijo(line, s)
        eta = s / 4 * gamma ** (k + 1)
        Z = (1 - eta * mu) * Z + eta * mu * w - eta * g
        eta = s / 4 * gamma ** (k + 2)
        lam = (1 - gamma / 2) / (eta * mu) * (1 - (1 - eta * mu) ** (k + 1))
        w = (lam * w + Z) / (1 + lam)
    return w


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_shb_sls_equals_its_averaging_form(loss):
    p = problem(loss, design("dense"), l2=0.1)
    r = bocce.minimize(p, shb_sls_exponential(80, mu=0.1), batch_size=12, seed=3)
    np.testing.assert_allclose(r.w, literal_shb_sls(p, 80, 12, 0.1, 3), rtol=1e-9)


@pytest.mark.parametrize("search", ["same", "independent"])
def test_sgd_sls_equals_a_plain_loop(search):
    p = problem("logistic", design("dense"), l2=0.1)
    T, b, seed = 60, 10, 2
    gamma = (1.0 / T) ** (1.0 / T)
    s, w = 1.0, np.zeros(p.d)
    for k in range(T):
        rows = sampling.batch(seed, k, p.n, b)
        looked = rows if search == "same" else sampling.search_batch(seed, k, p.n, b)
        assert search == "same" or not np.array_equal(rows, looked)
        s = armijo(Line(p, w, looked), s)
        w = w - s * gamma ** (k + 1) * p.gradient(w, rows)
    r = bocce.minimize(p, sgd_sls_exponential(T, search=search), batch_size=b, seed=seed)
    np.testing.assert_allclose(r.w, w, rtol=1e-12)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sgd_sls_exponential(0), "T=0 must be an integer >= 1"),
        (lambda: sgd_sls_exponential(10, tau=10.0), r"tau=10.0 must be .* < 10"),
        (lambda: sgd_sls_exponential(10, c=1.0), r"c=1.0 must be .*; 1/2 is the paper's"),
        (lambda: sgd_sls_exponential(10, shrink=0.0), r"shrink=0.0 must be"),
        (lambda: sgd_sls_exponential(10, start=-1.0), r"start=-1.0 must be"),
        (lambda: sgd_sls_exponential(10, search="sane"), "did you mean 'same'"),
        (lambda: shb_sls_exponential(10, mu=0.0), "mu=0.0 must be .*; add l2, or use sgd-sls-exp"),
    ],
)
def test_bad_arguments(build, message):
    with pytest.raises(ValueError, match=message):
        build()
