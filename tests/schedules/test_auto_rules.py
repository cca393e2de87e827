"""MaSS and its rivals: certified for every batch, and where they should be in the limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import schedules, theory
from bocce.exact import mean_square_rate
from bocce.schedules.accelerated import (
    AVERAGING,
    batch_constants,
    design,
    lookahead_rule,
    lookahead_table,
)
from helpers import design as rows_of
from mean_square import mean_square_radius, random_rows

logs = st.floats(0.0, 1.0)


@st.composite
def worlds(draw):
    """L, mu, L_max, kappa~ and zeta0^2 of some batch, ends included."""
    kappa = 10 ** (5 * draw(logs))
    L_max = kappa * 10 ** (3 * draw(logs))
    n = draw(st.integers(2, 10**6))
    b = draw(st.sampled_from([1, 2, n - 1]) | st.integers(1, n - 1))
    tilde = max(1.0, L_max ** draw(logs))
    return kappa, 1.0, L_max, min(tilde, 1e4), theory.zeta2(n, max(1, b))


@settings(max_examples=150, deadline=None)
@given(worlds())
def test_heavy_ball_rule_is_certified(world):
    L, mu, L_max, _, zeta2 = world
    alpha, beta, theta = design(L, mu, L_max, None, zeta2)
    assert theta == 0.0
    assert theory.certificate(alpha, beta, L_max, mu, L) >= zeta2


@settings(max_examples=60, deadline=None)
@given(worlds(), st.floats(0.0, 1.0))
def test_lookahead_rule_is_certified_also_for_a_mu_that_is_too_large(world, share):
    """Anytime designs for mu_eff >= mu: the certificate holds on the whole true spectrum."""
    L, mu, L_max, tilde, zeta2 = world
    used = mu * (L / mu) ** share
    alpha, beta, theta = design(L, used, L_max, tilde, zeta2)
    certified = theory.lookahead_certificate(alpha, beta, theta, L_max, tilde, mu, L)
    assert certified >= zeta2


@settings(max_examples=60, deadline=None)
@given(worlds(), logs, logs)
def test_every_step_of_the_average_is_certified(world, long, place):
    """From step K on, also where T is too short for the memory to have grown to c."""
    L, mu, L_max, tilde, zeta2 = world
    _, _, c = batch_constants(L, mu, L_max, tilde, zeta2)
    T = min(20_000, math.ceil(3 * (100 * c) ** long))
    alpha, beta, theta = lookahead_table(T, L, mu, L_max, tilde, zeta2)
    K = min(math.floor(AVERAGING.start(2 * c, T)) + 1, T - 1)
    for k in (K, K + round(place * (T - 1 - K)), T - 1):
        three = alpha[k], beta[k], theta[k]
        assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


def test_rule_two_as_published_is_not_certified_at_one_row():
    """Why the rule of design differs at b = 1."""
    L, mu, L_max, tilde = 2000.0, 1.0, 2000.0, 1.25
    plain = lookahead_rule(L, mu, L_max, tilde, 1.0)
    assert theory.lookahead_certificate(*plain, L_max, tilde, mu, L) < 0.9
    ours = design(L, mu, L_max, tilde, 1.0)
    assert theory.lookahead_certificate(*ours, L_max, tilde, mu, L) >= 1.0
    assert lookahead_rule(L, mu, L_max, tilde, 0.4) == design(L, mu, L_max, tilde, 0.4)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 12),
    d=st.integers(1, 3),
    share=logs,
    spread=st.floats(0.0, 2.0),
    l2=st.sampled_from([0.0, 0.1]),
)
def test_auto_is_stable_on_real_rows(seed, n, d, share, spread, l2):
    """The exact mean-square rate is below 1 at every batch, with R2 and kappa~ from the rows."""
    X = random_rows(seed, n, d, spread)
    p = bocce.LeastSquares(X, np.zeros(n), l2=l2)
    c = p.constants()
    if c.mu <= 1e-9 * c.L:
        return
    b = max(1, round(share * n))
    R2, tilde = c.sharpest
    for known in (None, tilde):
        alpha, beta, theta = design(c.L, c.mu, R2, known, theory.zeta2(n, b))
        assert mean_square_radius(X, l2, alpha, beta, theta, theory.zeta2(n, b)) < 1.0
        assert mean_square_rate(p, alpha, beta, b, theta) < 1.0


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_matrix_constants_are_the_least(loss, kind, l2):
    """R2 and R2_tilde as generalised eigenvalues, from the rows' Hessians."""
    from helpers import problem

    p = problem(loss, rows_of(kind), l2)
    X = p.X.toarray() if p.sparse else p.X
    hessians = [p.loss.curvature * np.outer(x, x) + l2 * np.eye(p.d) for x in X]
    A = sum(hessians) / p.n
    whiten = np.linalg.inv(np.linalg.cholesky(A))

    def least(middle):
        second = sum(H @ middle @ H for H in hessians) / p.n
        return np.linalg.eigvalsh(whiten @ second @ whiten.T)[-1]

    c = p.constants()
    assert pytest.approx(least(np.eye(p.d)), rel=1e-9) == c.R2
    assert c.R2_tilde == pytest.approx(least(np.linalg.inv(A)), rel=1e-9)
    assert c.L <= c.R2 * (1 + 1e-12)
    assert c.L_max >= c.R2


def test_matrix_constants_where_no_row_reaches():
    p = bocce.LeastSquares(np.array([[1.0, 0.0], [2.0, 0.0]]), np.zeros(2), l2=0.5)
    c = p.constants()
    A, H = np.diag([3.0, 0.5]), [np.diag([1.5, 0.5]), np.diag([4.5, 0.5])]
    second = sum(h @ h for h in H) / 2
    assert pytest.approx(max(np.diag(second) / np.diag(A))) == c.R2
    assert bocce.LeastSquares(np.zeros((3, 2)), np.ones(3)).constants().R2 is None


# -- the limits of the rule ----------------------------------------------------------------


def test_monotone_in_the_batch():
    """A larger batch takes no more steps an e-fold (3 % more at most, where rule 1 overshoots)."""
    n, L, mu, L_max, tilde = 1000, 100.0, 1.0, 2000.0, 30.0
    for known in (None, tilde):
        steps = []
        for b in (1, 3, 10, 50, 200, 700, 999):
            zeta2 = theory.zeta2(n, b)
            three = design(L, mu, L_max, known, zeta2)
            steps.append(-1 / math.log(theory.lookahead_rate(*three, zeta2, L_max, known, mu, L)))
        assert all(b <= 1.03 * a for a, b in itertools.pairwise(steps))
        assert steps[0] > 30 * steps[-1]


def test_no_spread_and_no_curvature_to_tell_apart():
    """kappa = 1, L_max = L: one step of 1/L at b = n, whatever the family."""
    for known in (None, 1.0):
        alpha, beta, theta = design(3.0, 3.0, 3.0, known, 0.0)
        assert (alpha, theta) == (pytest.approx(1 / 3), 0.0)
        assert beta == pytest.approx(0.0, abs=1e-12)


# -- rivals --------------------------------------------------------------------------------


def test_asgd_is_jains_recursion():
    """The same y_k as the three-sequence form, on a deterministic quadratic."""
    L, mu, L_max, tilde, n, b, T = 8.0, 0.5, 20.0, 6.0, 50, 4, 30
    A = np.diag([8.0, 2.0, 0.5])
    zeta2 = theory.zeta2(n, b)
    R2 = (1 - zeta2) * L + zeta2 * L_max
    q = math.sqrt(((1 - zeta2) + zeta2 * tilde) * R2 / mu)
    p, a = 1 / (1 + 1 / (3 * math.sqrt(5) * q)), 1 / (9 * q)
    delta, xi = 1 / (5 * R2), 1 / (3 * math.sqrt(5) * mu * q)
    w = v = np.ones(3)
    theirs = []
    for _ in range(T):
        y = p * w + (1 - p) * v
        theirs.append(y)
        w, v = y - delta * A @ y, a * y + (1 - a) * v - xi * A @ y
    s = schedules.asgd(T, L, mu, L_max, tilde, n, b)
    alpha, beta, theta = s.alpha[0], s.beta[0], s.theta[0]
    ours = [theirs[0], theirs[1]]
    for _ in range(T - 2):  # y obeys the two-step recursion of the one update
        y, past = ours[-1], ours[-2]
        g, g_past = A @ y, A @ past
        ours.append(y + beta * (y - past) - alpha * (1 + theta) * g + alpha * theta * g_past)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_triple_momentum_contracts_at_its_rate():
    L, mu = 50.0, 1.0
    s = schedules.triple_momentum(1, L, mu)
    rho = 1 - math.sqrt(mu / L)
    for lam in np.linspace(mu, L, 9):
        x = s.alpha[0] * lam
        step = [[1 + s.beta[0] - x * (1 + s.theta[0]), x * s.theta[0] - s.beta[0]], [1, 0]]
        # the slow end is a double root, where eigenvalues lose half their digits
        assert np.abs(np.linalg.eigvals(step)).max() <= rho + 1e-7


def test_published_mass_sees_no_end_of_the_data():
    """At b = n it still assumes noise 1/n; ours is Nesterov's scheme there."""
    given_ = {"L": 4.0, "mu": 1.0, "L_max": 8.0, "kappa_tilde": 5.0, "n": 10, "b": 10}
    ours, theirs = schedules.mass(1, **given_), schedules.mass_published(1, **given_)
    assert ours.alpha[0] == pytest.approx(1 / 4)
    assert theirs.alpha[0] < ours.alpha[0]
    assert schedules.sgd_safe(1, 4.0, 8.0, 10, 10).alpha[0] == 1 / 4
    assert schedules.sgd_safe(1, 4.0, 8.0, 10, 1).alpha[0] == 1 / 8


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: schedules.sgd_safe(1, 4.0, 3.0, 9, 1), "sgd_safe: L_max=3.0 must be >= L=4.0"),
        (lambda: schedules.asgd(1, 4.0, 1.0, 8.0, 0.0, 9, 1), "asgd: kappa_tilde=0.0 must be"),
        (lambda: schedules.mass_published(1, 4.0, 1.0, 8.0, 2.0, 9, 10), "b=10 must be"),
        (lambda: schedules.triple_momentum(1, 4.0, 5.0), "triple_momentum: mu=5.0 must be <= L"),
    ],
)
def test_bad_arguments(build, message):
    with pytest.raises(ValueError, match=message):
        build()
