"""The edge of stability: on the line the exact moment matrix has radius 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import bocce
from bocce.theory import certificate, edge, lookahead_certificate, zeta2


def radius(alpha, beta, theta, lam, noise, L_max):
    """Of the 3 x 3 matrix of E e^2, E e v, E v^2, where rows have curvature L_max or 0."""
    x = alpha * lam
    s = beta - theta * x
    H = np.array([[1.0 - x, s], [-x, s]])  # (e, v)
    look, push = np.array([1.0, theta]), alpha**2 * noise * lam * (L_max - lam)
    columns = []
    for P in ([[1, 0], [0, 0]], [[0, 1], [1, 0]], [[0, 0], [0, 1]]):
        moved = H @ np.array(P, float) @ H.T + push * (look @ P @ look)
        columns.append([moved[0, 0], moved[0, 1], moved[1, 1]])
    return float(np.abs(np.linalg.eigvals(np.array(columns).T)).max())


settings = {
    "beta": st.floats(0.0, 0.98),
    "theta": st.one_of(st.just(0.0), st.floats(0.01, 3.0)),
    "noise": st.floats(0.0, 1.0),
    "R": st.floats(1.0, 1000.0),
}


@given(lam=st.floats(1e-3, 1e3), **settings)
def test_the_largest_step_is_on_the_edge(lam, beta, theta, noise, R):
    alpha = edge(beta=beta, theta=theta, lam=lam, zeta2=noise, L_max=R * lam)
    at = [radius(f * alpha, beta, theta, lam, noise, R * lam) for f in (0.99, 1.0, 1.01)]
    assert at[0] < 1.0 < at[2]
    assert at[1] == pytest.approx(1.0, abs=1e-6)


@given(share=st.floats(0.01, 0.99), lam=st.floats(1e-3, 1e3), **settings)
def test_the_largest_noise_is_on_the_edge(share, lam, beta, theta, noise, R):
    assume(R > 1.001)
    alpha = share * edge(beta=beta, theta=theta, lam=lam, zeta2=0.0)
    most = edge(alpha=alpha, beta=beta, theta=theta, lam=lam, L_max=R * lam)
    assert radius(alpha, beta, theta, lam, most, R * lam) == pytest.approx(1.0, abs=1e-6)
    again = edge(beta=beta, theta=theta, lam=lam, zeta2=most, L_max=R * lam)
    assert again == pytest.approx(alpha, rel=1e-9)


@given(alpha=st.floats(1e-3, 1e3), L_max=st.floats(1e-2, 1e2), **settings)
def test_the_largest_curvature_is_on_the_edge(alpha, L_max, beta, theta, noise, R):
    lam = edge(alpha=alpha, beta=beta, theta=theta, zeta2=noise, L_max=L_max)
    assert 0.0 <= lam <= L_max
    stable = lambda lam: radius(alpha, beta, theta, lam, noise, L_max) <= 1.0 + 1e-9  # noqa: E731
    if 1e-6 * L_max < lam < L_max * (1 - 1e-6):
        assert radius(alpha, beta, theta, lam, noise, L_max) == pytest.approx(1.0, abs=1e-5)
    above = np.linspace(lam, L_max, 9)[1:]
    assert lam >= L_max * (1 - 1e-6) or not any(
        stable(1.0001 * x) for x in above if x < L_max / 1.001
    )


@given(share=st.floats(0.01, 0.99), lam=st.floats(1e-3, 1e3), **settings)
def test_it_is_the_certificate_at_rate_one(share, lam, beta, theta, noise, R):
    assume(R > 1.01)
    alpha = share * edge(beta=beta, theta=theta, lam=lam, zeta2=0.0)
    most = edge(alpha=alpha, beta=beta, theta=theta, lam=lam, L_max=R * lam)
    known = (R * lam, None, lam, lam)
    assert lookahead_certificate(alpha, beta, theta, *known) == pytest.approx(most, rel=1e-6)
    if theta == 0.0:
        assert certificate(alpha, beta, R * lam, lam, lam) == pytest.approx(most, rel=1e-9)


def test_known_ends():
    beta, lam, L_max = 0.9, 2.0, 50.0
    assert edge(beta=beta, lam=lam, zeta2=0.0) == pytest.approx(2 * (1 + beta) / lam)
    assert edge(lam=lam, zeta2=1.0, L_max=L_max) == pytest.approx(2 / L_max)
    assert edge(beta=beta, lam=lam, zeta2=0.0, theta=beta) == pytest.approx(
        2 * (1 + beta) / (1 + 2 * beta) / lam
    )
    assert edge(alpha=1.0, beta=0.0, lam=1.0, L_max=1.0) == math.inf
    assert edge(alpha=3.0, beta=0.0, lam=1.0, L_max=2.0) == 0.0
    assert edge(alpha=1.0, beta=0.5, zeta2=0.0) == pytest.approx(3.0)
    assert edge(alpha=1.0, beta=0.5, zeta2=0.0, L_max=2.0) == 2.0
    assert edge(alpha=1.0, beta=0.9, zeta2=0.5, L_max=100.0) == 0.0


def test_rows_that_touch_one_coordinate_are_stable_up_to_the_edge():
    """Data: n rows, m of them of curvature L_max: lam = L_max m/n."""
    n, m, L_max, beta, b = 40, 8, 10.0, 0.6, 3
    X = np.zeros((n, 1))
    X[:m] = np.sqrt(L_max)
    p = bocce.LeastSquares(X, np.zeros(n))
    alpha = edge(beta=beta, lam=L_max * m / n, zeta2=zeta2(n, b), L_max=L_max)
    assert bocce.exact.mean_square_rate(p, alpha, beta, b) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"alpha": 1.0, "lam": 1.0, "zeta2": 0.1, "L_max": 2.0}, "one None"),
        ({"alpha": 1.0, "L_max": 2.0}, "one None"),
        ({"alpha": 1.0, "lam": 1.0}, "L_max=None must be a number"),
        ({"alpha": 1.0, "lam": 3.0, "L_max": 2.0}, "must be >= lam"),
        ({"lam": 1.0, "zeta2": 0.0, "beta": 1.0}, "beta=1.0 must be"),
    ],
)
def test_bad_arguments_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        edge(**given)
