"""Rates on convex losses: proved in exact arithmetic, and true where the truth is known."""

import importlib
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import exact, theory
from bocce.theory import _lmi

KAPPA = 100.0


def nesterov(kappa):
    root = math.sqrt(kappa)
    return 1 / kappa, (root - 1) / (root + 1), (root - 1) / (root + 1)


def certified(three, R=1.0, zeta2=0.0, kappa=KAPPA):
    pytest.importorskip("cvxpy")
    return theory.certify_convex(*three, 1.0, kappa, R * kappa, zeta2)


@pytest.mark.parametrize(
    ("three", "rate"),
    [((1 / KAPPA, 0.0, 0.0), 1 - 1 / KAPPA), ((2 / (KAPPA + 1), 0.0, 0.0), 99 / 101)],
)
def test_gradient_descent_has_its_known_rate(three, rate):
    found = certified(three).rate
    assert rate <= found
    assert 1 - found == pytest.approx(1 - rate, rel=0.02)


def test_nesterov_is_accelerated_and_a_smaller_batch_costs():
    rates = [certified(nesterov(KAPPA), 10.0, z).rate for z in (0.0, 1e-4, 1e-3, 1e-2, 0.1)]
    assert rates[0] == pytest.approx(0.928, abs=2e-3)
    assert rates == sorted(rates)
    assert math.isinf(rates[-1])


@pytest.mark.parametrize("three", [(0.01, 0.95**2, 0.0), (4 / 121, (9 / 11) ** 2, 0.0)])
def test_heavy_ball_of_the_paper_and_of_polyak_is_refused(three):
    """Polyak's is known not to converge on all such functions."""
    refused = certified(three)
    assert math.isinf(refused.rate)
    assert refused.proof is None
    assert "even with all rows" in refused.why
    assert "at zeta0^2=0.01: raise the batch" in certified(three, 1, 0.01).why


def test_heavy_ball_with_less_momentum_accelerates():
    assert certified((0.01, (9 / 11) ** 2, 0.0)).rate == pytest.approx(0.9676, abs=1e-3)


@settings(max_examples=12)
@given(st.floats(0.2, 1.0), st.floats(0.0, 0.5), st.floats(0.0, 1.0), st.integers(1, 60))
def test_never_faster_than_quadratics_allow(share, beta, look, b):
    """Least squares with a common minimiser is among the losses: the exact rate is not larger."""
    X, y, _ = bocce.data.extremal(20, 3.0)
    p = bocce.LeastSquares(X, y)
    three = share, beta, look * beta
    found = theory.certify_convex(*three, 1 / 20, 1.0, 3.0, theory.zeta2(p.n, b)).rate
    assert exact.mean_square_rate(p, *three[:2], b, theta=three[2]) <= found * (1 + 1e-9)


def convex_function(rng, m):
    """Slope, value and minimiser 0 of a piecewise quadratic, curvatures between m and 1."""
    knees, bends = rng.uniform(0.1, 3.0, 4), rng.dirichlet(np.ones(4)) * (1 - m) * rng.random()

    def slope(x):
        return m * x + (bends * np.clip(x, -knees, knees)).sum()

    def value(x):
        inside = np.minimum(abs(x), knees)
        return 0.5 * m * x * x + (bends * (0.5 * inside**2 + knees * (abs(x) - inside))).sum()

    return slope, value


def test_the_lyapunov_function_falls_on_functions_that_are_not_quadratic():
    found = certified(nesterov(20.0), kappa=20.0)
    proof, r2 = found.proof, found.rate**2
    P, p = proof.P.astype(float), float(proof.p)
    _, beta, theta = nesterov(20.0)
    rng = np.random.default_rng(0)
    for _ in range(30):
        slope, value = convex_function(rng, 1 / 20.0)
        w, w1, w2 = 5 * rng.standard_normal(3)
        previous = math.inf
        for _ in range(25):
            y1 = w1 + theta * (w1 - w2)
            state = np.array([w, w1, w2, slope(y1)])
            V = state @ P @ state + p * value(y1)
            assert previous * r2 * (1 + 1e-9) + 1e-14 >= V
            assert V >= 0.0
            previous = V
            w, w1, w2 = w + beta * (w - w1) - slope(w + theta * (w - w1)), w, w1


def test_the_proof_is_exact_and_a_wrong_one_is_seen():
    three = nesterov(KAPPA)
    found = certified(three, 10.0, 1e-3)
    method = _lmi.MethodNumbers(*(Fraction(x) for x in (three[0] * KAPPA, *three[1:], 1, 10, 1e-3)))
    method = method._replace(a=Fraction(three[0]) * 100, m=Fraction(1, 100))
    r2, least = Fraction(found.rate) ** 2, Fraction(1, 10**12)
    assert all(isinstance(x, Fraction) for x in found.proof.pairs.values())
    decrease, noisy = _lmi.Decrease(method), _lmi.Decrease(method._replace(z=Fraction(1, 10)))
    assert decrease.proved(found.proof, r2, least)
    assert not decrease.proved(found.proof, r2 * Fraction(9, 10), least)
    assert not noisy.proved(found.proof, r2, least)
    pair = ("y", "*")
    for change in (Fraction(1, 2**60), -2 * found.proof.pairs[pair]):
        pairs = {**found.proof.pairs, pair: found.proof.pairs[pair] + change}
        assert not decrease.proved(replace(found.proof, pairs=pairs), r2, least)


@settings(max_examples=50)
@given(st.integers(0, 10**6))
def test_positive_definite_is_exact(seed):
    rng = np.random.default_rng(seed)
    root = rng.integers(-3, 4, (4, 4))
    matrix = np.array([[Fraction(int(x)) for x in row] for row in root @ root.T], dtype=object)
    regular = round(np.linalg.det(root)) != 0
    assert _lmi.positive_definite(matrix) == regular
    # a singular matrix plus or minus the smallest change
    assert _lmi.positive_definite(matrix + np.eye(4, dtype=int) * Fraction(1, 10**30))


@settings(max_examples=60)
@given(st.floats(0.01, 0.9), st.integers(0, 10**6))
def test_the_interpolation_inequalities_hold_on_such_functions(m, seed):
    rng = np.random.default_rng(seed)
    slope, value = convex_function(rng, m)
    decrease = _lmi.Decrease(_lmi.MethodNumbers(1.0, 0.3, 0.2, m, 2.0, 0.1))
    w, w1, w2 = 3 * rng.standard_normal(3)
    y, y1 = w + 0.2 * (w - w1), w1 + 0.2 * (w1 - w2)
    x = np.array([w, w1, w2, slope(y1), slope(y)])
    heights = {"y": value(y), "y-": value(y1), "*": 0.0}
    for (i, j), Q in decrease.interpolation.items():
        assert x @ Q @ x + heights[i] - heights[j] >= -1e-9


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r'pip install "\.\[certify\]"'):
        theory.certify_convex(0.01, 0.0, 0.0, 1.0, 100.0, 100.0, 0.0)


def test_a_quadratic_has_its_own_function():
    with pytest.raises(ValueError, match=r"mu=2\.0 must be < L=2\.0"):
        theory.certify_convex(0.01, 0.0, 0.0, 2.0, 2.0, 2.0, 0.0)


def test_the_words():
    none = theory.ConvexCertificate(math.inf, "no rate below 1 was found")
    assert theory.convex_words(none, 7) == (
        "Nothing is proved for convex losses at b = 7: no rate below 1 was found."
    )
