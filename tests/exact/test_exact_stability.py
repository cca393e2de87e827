"""Rates, critical batch sizes and floors against enumeration, closed forms and each other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

import bocce
from bocce.exact import (
    critical_batch_size,
    expected,
    mean_square_rate,
    moments,
    stationary,
)
from bocce.exact.response import IterationLimits, injected, perron, response
from bocce.exact.stability import step_limit
from bocce.schedules import Schedule
from bocce.theory import bound_stationary, certified_batch_size, certified_rate, zeta2
from bocce.theory.certificate import noise_free_rate
from exact_enumeration import enumerated_rate


def problem(n, d, l2=0.0, seed=0):
    rng = np.random.default_rng(seed)
    return bocce.LeastSquares(rng.standard_normal((n, d)), rng.standard_normal(n), l2=l2)


def heavy_ball(p, a=1.0):
    c = p.constants()
    alpha = a / c.L
    return alpha, (1.0 - 0.5 * np.sqrt(alpha * c.mu)) ** 2


ITERATED = IterationLimits(dense=0)  # Lanczos and conjugate gradients, at any size
OPERATORS = {"table": moments.Tabulated, "rows": moments.Streamed}


@pytest.fixture(params=OPERATORS)
def operator(request, monkeypatch):
    """Both ways to apply the noise operator, whatever they cost."""
    cost = 0.0 if request.param == "table" else np.inf
    monkeypatch.setattr(moments, "table_cost", lambda *sizes: cost)


# -- the response ----------------------------------------------------------------------------


def summed_response(lam, alpha, beta, theta, rate, terms):
    """G and R as the sums that define them."""
    w, old, G, R = np.ones_like(lam), np.zeros_like(lam), 0.0, 0.0
    for _ in range(terms):
        y = w + theta * (w - old)
        G, R = G + np.outer(y, y) / rate**2, R + np.outer(w, w) / rate**2
        w, old = (w + beta * (w - old) - alpha * lam * y) / rate, w / rate
        if max(np.abs(w).max(), np.abs(old).max()) < 1e-12:  # the rest is below rounding
            break
    return G, R


@given(
    beta=st.floats(0.0, 0.9),
    theta=st.floats(0.0, 2.0),
    step=st.floats(0.01, 0.95),
    margin=st.floats(0.01, 0.5),
)
@settings(deadline=None, max_examples=60)
def test_response_is_its_sum(beta, theta, step, margin):
    lam = np.array([0.05, 0.4, 1.0])
    alpha = step * 2.0 * (1.0 + beta) / (1.0 + 2.0 * theta)
    rate = noise_free_rate(alpha, beta, theta, lam) + margin
    G, R = response(lam, alpha, beta, theta, rate)
    G_sum, R_sum = summed_response(lam, alpha, beta, theta, rate, 3000)
    np.testing.assert_allclose(G, G_sum, rtol=1e-9)
    np.testing.assert_allclose(R, R_sum, rtol=1e-9)
    assert (G > 0).all()


def test_response_has_the_known_forms():
    lam, alpha, beta = np.array([0.1, 0.7, 2.0, 9.0]), 0.1, 0.83
    t = 1 + beta - alpha * lam
    t_i, t_j = t[:, None], t
    pairs = (t_i**2 + t_j**2 - 2 * beta * t_i * t_j) / (1 - beta**2)
    heavy = 1 / (1 - beta**2 - t_i * t_j + beta * pairs)
    G, R = response(lam, alpha, beta, 0.0)
    np.testing.assert_allclose(G, heavy, rtol=1e-11)
    np.testing.assert_array_equal(G, R)
    x = alpha * lam
    np.testing.assert_allclose(
        G.diagonal(), (1 + beta) / ((1 - beta) * x * (2 * (1 + beta) - x)), rtol=1e-13
    )
    t_i, t_j, b = 1 - x[:, None], 1 - x, beta
    inner = t_i * (1 - t_j * b) + t_j * (1 - t_i * b)
    c = (1 + b) ** 2 + b**2 - b * (1 + b) ** 2 * inner / (1 - t_i * t_j * b**2)
    np.testing.assert_allclose(response(lam, alpha, b, b)[0], c / (1 - t_i * t_j * c), rtol=1e-10)


def test_noise_free_limit_of_the_step():
    lam = np.array([0.3, 1.0, 4.0])
    for beta, theta in [(0.0, 0.0), (0.9, 0.0), (0.8, 0.8), (0.5, 2.0)]:
        limit = step_limit(beta, theta, 4.0)
        assert noise_free_rate(0.999 * limit, beta, theta, lam) < 1.0
        assert noise_free_rate(1.001 * limit, beta, theta, lam) > 1.0


# -- the rate --------------------------------------------------------------------------------


@given(
    n=st.integers(2, 5),
    d=st.integers(1, 3),
    data=st.data(),
    l2=st.sampled_from([0.0, 0.3]),
    beta=st.floats(0.0, 0.95),
    theta=st.floats(0.0, 2.0),
    step=st.floats(0.02, 2.0),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=80)
def test_rate_is_the_radius_of_the_enumerated_operator(n, d, data, l2, beta, theta, step, seed):
    assume(d <= n or l2 > 0)  # else directions that never move, radius 1, which the rate leaves out
    p = problem(n, d, l2, seed)
    assume(p.constants().kappa < 1e6)
    b = data.draw(st.integers(1, n))
    alpha = step / p.constants().L
    rate = mean_square_rate(p, alpha, beta, b, theta)
    assert rate == pytest.approx(enumerated_rate(p, alpha, beta, b, theta), rel=1e-6)


@pytest.mark.parametrize("theta", [0.0, 0.6])
def test_rate_by_every_operator(operator, theta):
    p = problem(5, 3, 0.1)
    alpha = 0.6 / p.constants().L
    rate = mean_square_rate(p, alpha, 0.6, 2, theta)
    assert rate == pytest.approx(enumerated_rate(p, alpha, 0.6, 2, theta), rel=1e-9)


def test_rate_is_what_a_curve_shows():
    X, y, _ = bocce.data.regression(n=400, d=5, kappa=30.0)  # interpolation: no floor
    p = bocce.LeastSquares(X, y)
    alpha, beta = heavy_ball(p)
    T = 400
    curve = expected(p, Schedule(np.full(T, alpha), np.full(T, beta), np.zeros(T)), 40)
    observed = (curve.error2[T] / curve.error2[T - 100]) ** (1 / 200)
    assert mean_square_rate(p, alpha, beta, 40) == pytest.approx(observed, rel=1e-3)


def test_rate_without_noise_and_in_untouched_directions():
    p = problem(5, 3, 0.2)
    alpha, beta = heavy_ball(p)
    roots = [
        np.roots([1, -(1 + beta - alpha * lam), beta]) for lam in np.linalg.eigvalsh(p.gram) + 0.2
    ]
    assert mean_square_rate(p, alpha, beta, 5) == pytest.approx(np.abs(roots).max(), rel=1e-12)
    wide = problem(3, 6, 0.01)  # along directions that no row touches the error is (1 - alpha l2)^k
    slow = mean_square_rate(wide, 0.01, 0.0, 2)
    assert slow == pytest.approx(1 - 0.01 * 0.01, rel=1e-9)
    singular = bocce.LeastSquares(wide.X, wide.y)  # without l2 they do not move: left out
    assert mean_square_rate(singular, 0.01, 0.0, 2) < 1 - 0.01 * 0.01


# -- the critical batch size -----------------------------------------------------------------


@pytest.mark.parametrize("theta_share", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("l2", [0.0, 0.4])
def test_radius_is_one_at_the_critical_batch_size(operator, theta_share, l2):
    """A step for which b_c is a whole number: there the radius is 1."""
    p, beta, b = problem(12, 3, l2, seed=2), 0.7, 4
    theta = theta_share * beta
    limit = step_limit(beta, theta, p.constants().L)
    steps = 0.02 * limit, 0.98 * limit
    alpha = brentq(lambda a: critical_batch_size(p, a, beta, theta) - b, *steps, xtol=1e-15)
    assert mean_square_rate(p, alpha, beta, b, theta) == pytest.approx(1.0, abs=1e-9)
    assert mean_square_rate(p, alpha, beta, b - 1, theta) > 1.0 + 1e-4
    assert mean_square_rate(p, alpha, beta, b + 1, theta) < 1.0 - 1e-4


@pytest.mark.parametrize(
    ("kappa", "printed"),
    [(1, 52.6), (10, 70.8), (100, 87.4), (1000, 95.5), (1e4, 98.53), (2e4, 98.95)],
)
def test_diagonal_problem_has_a_closed_form(kappa, printed):
    X, y, _ = bocce.data.diagonal(100, kappa)
    p = bocce.LeastSquares(X, y)
    beta = (1 - 0.5 / np.sqrt(kappa)) ** 2
    critical = critical_batch_size(p, 1.0 / kappa, beta)
    closed = 100 / (1 + (1 - beta) * (1 + 2 * beta) / (1 + beta))
    assert critical == pytest.approx(closed, rel=1e-10)
    assert critical == pytest.approx(printed, abs=0.051 if kappa < 1e4 else 0.0051)
    certified = certified_batch_size(100, 1.0 / kappa, beta, 100 * kappa, 1.0, kappa)
    assert certified == pytest.approx(critical, rel=1e-10)  # Theorem S is sharp here


@given(
    n=st.integers(3, 30),
    d=st.integers(1, 4),
    l2=st.sampled_from([0.0, 0.2]),
    a=st.floats(0.05, 1.0),
    tail=st.floats(0.0, 3.0),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=60)
def test_certificates_never_promise_too_much(n, d, l2, a, tail, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.exp(tail * rng.random((n, 1)))  # from even to heavy rows
    p = bocce.LeastSquares(X, rng.standard_normal(n), l2=l2)
    c = p.constants()
    assume(c.mu > 1e-8 * c.L)
    alpha, beta = heavy_ball(p, a)
    critical = critical_batch_size(p, alpha, beta)
    certified = certified_batch_size(n, alpha, beta, c.L_max, c.mu, c.L)
    assert 0.0 <= critical <= certified * (1 + 1e-9)
    b = int(certified) + 1
    if b < n:
        zeta0_2 = zeta2(n, b)
        bound = certified_rate(alpha, beta, zeta0_2, c.L_max, c.mu, c.L)
        assert mean_square_rate(p, alpha, beta, b) <= bound * (1 + 1e-9)
        floor = bound_stationary(alpha, beta, zeta0_2, c.L_max, c.mu, c.L, p.noise().chi2)
        assert stationary(p, alpha, beta, b).error2 <= floor.total * (1 + 1e-9)


def test_rows_of_equal_curvature_are_stable_at_every_batch():
    one = bocce.LeastSquares(np.array([[2.0]]), np.array([1.0]))
    assert critical_batch_size(one, 0.1, 0.5) == 0.0
    assert mean_square_rate(one, 0.25, 0.0, 1) == 0.0
    signs = bocce.LeastSquares(np.array([[1.0], [-1.0], [1.0]]), np.ones(3))
    assert critical_batch_size(signs, 0.1, 0.5) == pytest.approx(0.0, abs=1e-12)
    only_l2 = bocce.LeastSquares(np.zeros((4, 2)), np.ones(4), l2=1.0)
    assert critical_batch_size(only_l2, 0.1, 0.5) == 0.0
    assert mean_square_rate(only_l2, 0.1, 0.0, 2) == pytest.approx(0.9)
    assert stationary(only_l2, 0.1, 0.0, 2).error2 == 0.0
    assert expected(only_l2, bocce.schedules.sgd(1, 10.0), 2, [1.0, 0.0]).error2[
        1
    ] == pytest.approx(0.81)


# -- what is left ----------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("theta", [0.0, 0.7, 0.2])
def test_stationary_is_the_limit_of_the_curve(operator, theta, l2):
    p, beta, T = problem(30, 4, l2), 0.7, 600
    alpha = 0.5 / p.constants().L
    curve = expected(p, Schedule(np.full(T, alpha), np.full(T, beta), np.full(T, theta)), 12)
    left = stationary(p, alpha, beta, 12, theta)
    for name in ("error2", "grad2", "gap"):
        assert getattr(left, name) == pytest.approx(getattr(curve, name)[-1], rel=1e-9)


def test_stationary_is_zero_without_noise():
    p = problem(30, 4)
    assert stationary(p, *heavy_ball(p), 30).error2 == 0.0
    interpolated = bocce.LeastSquares(p.X, p.X @ np.ones(4))
    assert stationary(interpolated, *heavy_ball(p), 28).error2 < 1e-28


def test_errors_name_the_remedy():
    p = problem(30, 4)
    alpha, beta = heavy_ball(p)
    critical = critical_batch_size(p, alpha, beta)
    with pytest.raises(
        ValueError, match=rf"critical batch size {critical:.6g}.*at least"
    ) as caught:
        stationary(p, alpha, beta, int(critical))
    assert f"{int(critical) + 1} rows" in str(caught.value)
    too_long = 2.01 * (1 + beta) / p.constants().L
    for function in (
        lambda: critical_batch_size(p, too_long, beta),
        lambda: stationary(p, too_long, beta, 30),
    ):
        with pytest.raises(ValueError, match=r"unstable at every batch size.*take alpha <"):
            function()
    with pytest.raises(ValueError, match=r"mean_square_rate: beta=1.0 must be .* < 1"):
        mean_square_rate(p, alpha, 1.0, 3)
    with pytest.raises(ValueError, match=r"critical_batch_size: alpha=0.0"):
        critical_batch_size(p, 0.0, 0.5)
    with pytest.raises(ValueError, match=r"stationary: theta=-1.0"):
        stationary(p, alpha, beta, 30, theta=-1.0)
    with pytest.raises(ValueError, match=r"would overflow; take alpha near"):
        mean_square_rate(p, 1e70, 0.5, 3)
    assert mean_square_rate(p, 1e50, 0.5, 3) > 1e49
    with pytest.raises(ValueError, match=r"nothing moves"):
        mean_square_rate(bocce.LeastSquares(np.zeros((3, 2)), np.ones(3)), 0.1, 0.0, 1)


def test_iteration_that_does_not_settle_says_so():
    frame = moments.frame_of("test", problem(30, 4))
    G, _ = response(frame.lam, 0.1 / frame.lam[-1], 0.5, 0.0)
    with pytest.raises(ArithmeticError, match=r"in 1 products.*take more rows"):
        injected(moments.Tabulated(frame), G, 1e-3, IterationLimits(dense=0, products=1))


# -- LAPACK, and iterations for more columns ---------------------------------------------------


@pytest.mark.parametrize("kind", OPERATORS)
@given(
    n=st.integers(2, 30),
    d=st.integers(2, 5),
    l2=st.sampled_from([0.0, 0.3]),
    beta=st.floats(0.0, 0.9),
    theta=st.floats(0.0, 1.0),
    step=st.floats(0.05, 0.9),
    share=st.floats(0.05, 0.9),
    seed=st.integers(0, 10_000),
)
@settings(deadline=None, max_examples=30)
def test_an_iteration_answers_as_lapack_does(kind, n, d, l2, beta, theta, step, share, seed):
    """The radius, and the injected covariance at a share of the largest strength that is stable."""
    frame = moments.frame_of("test", problem(n, d, l2, seed))
    assume(frame.lam[-1] < 1e4 * frame.lam[0])
    noise = OPERATORS[kind](frame)
    G, _ = response(frame.lam, step * step_limit(beta, theta, frame.lam[-1]), beta, theta)
    radius = perron(noise, G)
    assert perron(noise, G, ITERATED) == pytest.approx(radius, rel=1e-9, abs=1e-12 * G.max())
    strength = share / max(radius, 1e-6)
    q, iterated = injected(noise, G, strength), injected(noise, G, strength, ITERATED)
    np.testing.assert_allclose(iterated, q, rtol=1e-7, atol=1e-9 * np.abs(q).max())


def test_the_public_answers_iterate_above_the_limit():
    """29 columns have D = 435 pairs."""
    p = problem(60, 29, 0.4, seed=2)
    beta, b = 0.7, 30
    steps = (
        0.02 * step_limit(beta, 0.0, p.constants().L),
        0.98 * step_limit(beta, 0.0, p.constants().L),
    )
    alpha = brentq(lambda a: critical_batch_size(p, a, beta) - b, *steps, xtol=1e-15)
    assert mean_square_rate(p, alpha, beta, b) == pytest.approx(1.0, abs=1e-9)
    assert mean_square_rate(p, alpha, beta, b + 1) < 1.0 - 1e-4
    T = 600
    short = 0.3 / p.constants().L
    curve = expected(p, Schedule(np.full(T, short), np.full(T, beta), np.zeros(T)), 45)
    assert stationary(p, short, beta, 45).gap == pytest.approx(curve.gap[-1], rel=1e-6)
