"""Rivals against their own defining equations, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce import sampling, schedules
from bocce.policies import momsps, ngn_m
from bocce.problems import Line
from helpers import design, problem
from refusal import refused


def one_update(schedule, w, gradient):
    """Every w_k of the one update."""
    v, path = np.zeros_like(w), [w]
    for k in range(schedule.T):
        g = gradient(k, w + schedule.theta[k] * v)
        v = schedule.beta[k] * v - schedule.alpha[k] * g
        w = w + v
        path.append(w)
    return np.array(path)


@given(
    momentum=st.floats(0.0, 1.0),
    b=st.integers(1, 20),
    T=st.integers(1, 60),
    seed=st.integers(0, 100),
)
def test_schedule_free_is_its_three_sequences(momentum, b, T, seed):
    p = problem("squared", design("dense", seed=seed), 0.1)
    c = p.constants()
    b = min(b, p.n)
    s = schedules.schedule_free(T, c.L, c.L_max, p.n, b, momentum)
    gamma = float(s.alpha[0])

    def gradient(k, w):
        return p.gradient(w, rows=sampling.batch(seed, k, p.n, b))

    x = z = np.ones(p.d)
    path = [x]
    for k in range(T):
        y = (1.0 - momentum) * z + momentum * x
        z = z - gamma * gradient(k, y)
        x = (1.0 - 1.0 / (k + 1.0)) * x + z / (k + 1.0)
        path.append(x)
    np.testing.assert_allclose(one_update(s, np.ones(p.d), gradient), path, rtol=1e-8, atol=1e-10)


def test_schedule_free_without_lookahead_is_the_mean_of_sgd():
    """momentum = 0: y is z, so that x is the running mean of plain SGD."""
    p = problem("squared", design("dense"), 0.1)
    c = p.constants()
    s = schedules.schedule_free(50, c.L, c.L_max, p.n, p.n, 0.0)
    mean = one_update(s, np.zeros(p.d), lambda k, w: p.gradient(w))
    sgd = one_update(schedules.sgd(50, c.L), np.zeros(p.d), lambda k, w: p.gradient(w))
    np.testing.assert_allclose(mean[-1], sgd[1:].mean(axis=0), rtol=1e-9)


def test_schedule_free_refuses_what_it_cannot_use():
    refused(
        lambda: schedules.schedule_free(5, 1.0, 2.0, 10, 3, momentum=1.5),
        ValueError,
        r"schedule_free: momentum=1\.5 must be .*; 0\.9 is usual\.",
    )


@given(beta=st.floats(0.0, 0.95), c=st.floats(0.3, 3.0), seed=st.integers(0, 50))
def test_momsps_is_its_defining_equation(beta, c, seed):
    p = problem("logistic" if seed % 2 else "squared", design("dense", seed=seed), 0.01)
    policy = momsps(10, beta, c, most=2.0)
    w = np.random.default_rng(seed).standard_normal(p.d)
    rows = np.arange(0, p.n, 2)
    (alpha, momentum, theta), memory = policy.decide(0, (), lambda kind: Line(p, w, rows))
    g = p.gradient(w, rows=rows)
    wanted = (1.0 - beta) * min(p.value(w, rows) / (c * float(g @ g)), 2.0)
    assert alpha == pytest.approx(wanted, rel=1e-9)
    assert (momentum, theta, memory) == (beta, 0.0, ())


def test_momsps_solves_a_feasible_system_without_constants():
    X, y, _ = bocce.data.regression(400, 5, 20.0, design="haar")
    run = bocce.minimize(bocce.LeastSquares(X, y), momsps(3000), batch_size=40, record_every=100)
    norms = run.history["grad_norm"]
    assert norms[-1] < 1e-6 * norms[0]


@given(beta=st.floats(0.0, 0.95), c=st.floats(0.1, 30.0), seed=st.integers(0, 50))
def test_ngn_m_is_its_defining_equation(beta, c, seed):
    """The step minimises the squared model of sqrt(f) plus |d|^2/(2 c), along the gradient."""
    p = problem("logistic" if seed % 2 else "squared", design("dense", seed=seed), 0.01)
    w = np.random.default_rng(seed).standard_normal(p.d)
    rows = np.arange(0, p.n, 2)
    decided = ngn_m(10, beta, c).decide(0, (), lambda kind: Line(p, w, rows))
    (alpha, momentum, theta), memory = decided
    g = p.gradient(w, rows=rows)
    f = p.value(w, rows)
    slope = float(g @ g) / (2.0 * np.sqrt(f))  # of sqrt(f) along -g
    root = np.sqrt(f)
    # the minimum over s of (root - slope s)^2 + s^2 |g|^2/(2 c)
    step = root * slope / (slope**2 + float(g @ g) / (2.0 * c))
    assert alpha == pytest.approx((1.0 - beta) * step, rel=1e-9)
    assert alpha <= (1.0 - beta) * c
    assert (momentum, theta, memory) == (beta, 0.0, ())


def test_ngn_m_does_not_diverge_with_far_too_large_a_step():
    X, y, _ = bocce.data.regression(400, 5, 20.0, design="haar")
    p = bocce.LeastSquares(X, y)
    run = bocce.minimize(p, ngn_m(3000, c=1e3), batch_size=40, record_every=100)
    norms = run.history["grad_norm"]
    assert run.status != "diverged"
    assert norms[-1] < norms[0]


def test_aor_hb_is_a_table_with_lookahead_one():
    """x+ = x - gamma (2 g(x) - g(x_prev)) + beta (x - x_prev) moves the points y of that table."""
    gamma, beta, A = 0.3, 0.6, np.diag([1.0, 0.1])
    w_prev = w = np.array([1.0, -2.0])
    y = []
    for _ in range(6):
        y.append(w + (w - w_prev))
        w, w_prev = w + beta * (w - w_prev) - gamma * A @ y[-1], w
    for k in range(1, 5):
        gradient = 2.0 * A @ y[k] - A @ y[k - 1]
        np.testing.assert_allclose(y[k + 1], y[k] - gamma * gradient + beta * (y[k] - y[k - 1]))


def noise_free_rate(alpha, beta, theta, lam):
    """The largest root of z^2 - (1 + beta - (1 + theta) alpha lam) z + beta - theta alpha lam."""
    roots = [
        np.abs(np.roots([1.0, -(1 + beta - (1 + theta) * alpha * x), beta - theta * alpha * x]))
        for x in lam
    ]
    return float(np.max(roots))


@given(st.floats(0.0, 4.0), st.floats(0.0, 1.0))
def test_robust_heavy_ball_has_the_rate_it_is_given(log_kappa, share):
    kappa = 10.0**log_kappa
    fastest = (np.sqrt(kappa) - 1.0) / (np.sqrt(kappa) + 1.0)
    rate = fastest + share * (0.999 - fastest)
    s = schedules.robust_heavy_ball(1, 3.0 * kappa, 3.0, rate)
    lam = np.geomspace(3.0, 3.0 * kappa, 50)
    found = noise_free_rate(s.alpha[0], s.beta[0], s.theta[0], lam)
    assert found == pytest.approx(rate, abs=1e-6)  # a double root: half of the digits
    fast = schedules.robust_heavy_ball(1, 3.0 * kappa, 3.0, fastest)
    polyak = schedules.polyak(1, 3.0 * kappa, 3.0)
    np.testing.assert_allclose([fast.alpha, fast.beta], [polyak.alpha, polyak.beta], atol=1e-9)


def test_robust_heavy_ball_has_the_least_noise_for_its_rate():
    """Among 20,000 random (alpha, beta) that are as fast, none leaves less error at mu = 1."""
    L, mu, rate = 20.0, 1.0, 0.9
    rng = np.random.default_rng(0)

    def left(alpha, beta, lam):
        """E e^2 under unit gradient noise."""
        return alpha * (1 + beta) / ((1 - beta) * lam * (2 * (1 + beta) - alpha * lam))

    s = schedules.robust_heavy_ball(1, L, mu, rate)
    least = left(s.alpha[0], s.beta[0], mu)
    fast_enough = 0
    for alpha, beta in rng.uniform([0.0, 0.0], [2.0 / L, rate**2], (20_000, 2)):
        if noise_free_rate(alpha, beta, 0.0, (mu, L)) <= rate:
            fast_enough += 1
            assert left(alpha, beta, mu) >= least * (1 - 1e-9)
    assert fast_enough > 1000


@given(st.floats(0.01, 4.0), st.floats(0.0, 1.0))
def test_robust_accelerated_is_its_printed_formula(log_kappa, share):
    L, mu = 2.0 * 10.0**log_kappa, 2.0
    fastest = 1.0 - np.sqrt(mu / L)
    over = L / mu - 1.0
    slowest = (np.sqrt(1.0 + over**2) - 1.0) / over
    r = fastest + share * (slowest - fastest) * (1 - 1e-9)
    s = schedules.robust_accelerated(1, L, mu, r)
    d = (L - mu) * (3 - r)
    beta = r * (L * (1 - r + 2 * r**2) - mu * (1 + r)) / d
    theta = r * (L * (1 - r**2) - mu * (1 + 2 * r - r**2)) / (d * (1 - r**2))
    assert s.alpha[0] == pytest.approx((1 + r) * (1 - r) ** 2 / mu)
    assert s.beta[0] == pytest.approx(beta, rel=1e-8, abs=1e-9)
    assert s.theta[0] == pytest.approx(theta, rel=1e-6, abs=1e-6)
    fast, triple = (
        schedules.robust_accelerated(1, L, mu, fastest),
        schedules.triple_momentum(1, L, mu),
    )
    assert fast.alpha[0] == pytest.approx(triple.alpha[0], rel=1e-9)
    assert fast.theta[0] == pytest.approx(triple.theta[0], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kappa", [1e20, 1e33, 1e100, 1e300])
def test_constants_that_are_far_apart_leave_positive_steps_or_are_refused(kappa):
    assert schedules.asgd(1, 1.0, 1.0 / kappa, 2.0, 3.0, n=100, b=1).alpha[0] > 0.0
    if kappa < 1e30:
        assert schedules.robust_accelerated(1, 1.0, 1.0 / kappa).alpha[0] > 0.0
    else:
        with pytest.raises(ValueError, match="L/mu is too large for float64: raise mu"):
            schedules.robust_accelerated(1, 1.0, 1.0 / kappa)


def test_robust_accelerated_refuses_a_negative_lookahead():
    """The paper's own example, (0.019, 0.66, -3.63) at r = 0.9 and kappa = 2."""
    with pytest.raises(ValueError, match=r"robust_accelerated: rate=0.9 must be .*<= 0.414"):
        schedules.robust_accelerated(1, 2.0, 1.0, rate=0.9)
    with pytest.raises(ValueError, match=r"robust_heavy_ball: rate=0.1 .* Polyak's rate"):
        schedules.robust_heavy_ball(1, 9.0, 1.0, rate=0.1)


def test_robust_accelerated_is_certified_at_its_rate_on_convex_losses():
    pytest.importorskip("cvxpy")
    s = schedules.robust_accelerated(1, 10.0, 1.0)
    r = 1.0 - 0.5 * np.sqrt(0.1)
    three = float(s.alpha[0]), float(s.beta[0]), float(s.theta[0])
    found = bocce.theory.certify_convex(*three, mu=1.0, L=10.0, L_max=10.0, zeta2=0.0)
    assert r - 1e-6 <= found.rate <= r + 1e-3
