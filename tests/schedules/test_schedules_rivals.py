"""Rivals against their own defining equations, step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce import sampling, schedules
from bocce.control.sps import momsps
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
