"""The lower bound: Psi, its derivative, the table of the appendix, and the exact threshold."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import theory

momenta = st.floats(0, 1)
angles = st.floats(0, 2 * math.pi)

# table:der_beta, as printed
PRINTED = """
0.120 0.299 0.667 1.364 2.608 4.719 8.168 13.643 22.137 35.083
0.203 0.387 0.701 1.216 2.037 3.311 5.238 8.102 12.283 18.281
0.490 0.891 1.532 2.515 3.970 6.055 8.962 12.911 18.151 24.968
0.584 1.114 2.012 3.466 5.734 9.160 14.193 21.423 31.632 45.902
0.354 0.748 1.477 2.754 4.892 8.333 13.703 21.875 34.094 52.153
0.120 0.299 0.667 1.364 2.608 4.719 8.168 13.643 22.137 35.082
0.203 0.387 0.701 1.216 2.037 3.311 5.238 8.102 12.283 18.281
0.490 0.891 1.532 2.515 3.970 6.055 8.962 12.911 18.151 24.968
0.584 1.114 2.012 3.466 5.734 9.160 14.193 21.423 31.632 45.902
0.354 0.748 1.477 2.754 4.892 8.333 13.703 21.875 34.094 52.153
0.120 0.299 0.667 1.364 2.608 4.719 8.168 13.643 22.137 35.083
"""


def by_enumeration(n, b, beta, theta, steps):
    """The paper's definition: all 2^steps sequences of H, each with its probability."""
    phi = np.array([math.sin(theta), math.cos(theta)])
    pair = [
        (np.array([[t, -beta], [1.0, 0.0]]), p)
        for t, p in ((1 + beta, 1 - b / n), (1 + beta - n / b, b / n))
    ]
    total = 0.0
    for sequence in itertools.product(pair, repeat=steps):
        state, probability = phi, 1.0
        for H, p in sequence:
            state, probability = H @ state, probability * p
        total += probability * (state @ state)
    return total


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 99), momenta, angles, st.integers(0, 6))
def test_psi_is_the_mean_over_all_sequences(b, beta, theta, steps):
    expected = by_enumeration(100, b, beta, theta, steps)
    scale = max(1.0, (100 / b) ** steps)
    assert theory.psi(100, b, beta, theta, steps) == pytest.approx(
        expected, rel=1e-9, abs=1e-12 * scale
    )


@settings(max_examples=50, deadline=None)
@given(momenta, angles)
def test_the_two_sample_polynomial_is_psi(beta, theta):
    assert theory.psi_two_samples(beta, theta) == pytest.approx(
        theory.psi(2, 1, beta, theta, steps=3), rel=1e-10, abs=1e-12
    )


def test_the_two_sample_minima():
    assert round(theory.psi_minimum(2, 1, 0.63, steps=3), 4) == 1.0843
    at_six = (1 - 0.5 / math.sqrt(6)) ** 2
    assert round(theory.psi_minimum(2, 1, at_six, steps=3), 4) == 1.0986
    grid = [theory.psi_two_samples(0.63, theta) for theta in np.linspace(0, np.pi, 20_001)]
    assert min(grid) == pytest.approx(1.0843, abs=5e-5)


@pytest.mark.parametrize("kappa", [1.0, 1.5, 6.0, 100.0, 1e8])
def test_two_samples_diverge_for_every_momentum(kappa):
    assert theory.lower_bound_threshold(2, kappa) > 1  # so b = 1 is below it


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 99), st.floats(0.01, 0.99), angles)
def test_the_derivative_is_the_derivative(b, beta, theta):
    h = 1e-6
    numeric = (theory.psi(100, b, beta + h, theta) - theory.psi(100, b, beta - h, theta)) / (2 * h)
    scale = theory.psi(100, b, beta, theta)
    assert theory.psi_derivative(100, b, beta, theta) == pytest.approx(
        numeric, rel=1e-6, abs=1e-6 * (1 + scale)
    )


def test_the_table_of_the_appendix_entry_by_entry():
    printed = np.array(PRINTED.split(), dtype=float).reshape(11, 10)
    computed = theory.psi_derivative_table()
    assert computed.shape == (11, 10)
    assert np.abs(computed - printed).max() < 1e-3
    rounded = np.round(computed, 3) == printed
    truncated = np.floor(computed * 1000) / 1000 == printed
    wrong = np.argwhere(~(rounded | truncated))
    assert wrong.tolist() == [[0, 9], [10, 9]]  # the two 35.083
    assert computed[0, 9].round(3) == computed[10, 9].round(3) == 35.082
    assert not rounded.all()  # neither convention alone explains the print
    assert not truncated.all()


def test_psi_grows_with_momentum_for_every_batch():
    grid = np.linspace(0.25, 0.999, 12)
    angles = np.linspace(0, np.pi, 13)
    least = min(
        theory.psi_derivative(100, b, float(beta), float(theta))
        for b in range(1, 100)
        for beta in grid
        for theta in angles
    )
    assert least > 0


@pytest.mark.parametrize(
    ("most", "slope", "intercept"), [(None, -0.565, -3.42), (95, -0.602, -3.37)]
)
def test_the_best_fit_line(most, slope, intercept):
    fitted = theory.best_fit_line(100, most)
    assert round(fitted[0], 3) == slope
    assert round(fitted[1], 2) == intercept


def test_kappa_star_is_where_six_steps_begin_to_show_divergence():
    for b in (40, 70, 95, 99):
        kappa = theory.kappa_star(b)
        for factor, grows in ((1 + 1e-6, True), (1 - 1e-6, False)):
            beta = (1 - 0.5 / math.sqrt(kappa * factor)) ** 2
            assert (theory.psi_minimum(100, b, beta) > 1) == grows
        assert math.floor(theory.lower_bound_threshold(100, kappa * 1.001, "six-step")) == b
    assert theory.kappa_star(1) == 1.0


@pytest.mark.parametrize(
    ("kappa", "printed", "six", "exact"),
    [
        (1.0, 21.5, 39, 52.6),
        (10.0, 52.2, 64, 70.8),
        (100.0, 81.3, 82, 87.4),
        (1000.0, 94.5, 92, 95.5),
        (1e4, 98.57, 97, 98.53),
        (2e4, 99.05, 97, 98.95),
    ],
)
def test_the_three_thresholds(kappa, printed, six, exact):
    digits = 2 if kappa >= 1e4 else 1
    assert round(theory.lower_bound_threshold(100, kappa, "printed"), digits) == printed
    assert math.floor(theory.lower_bound_threshold(100, kappa, "six-step")) == six
    assert round(theory.lower_bound_threshold(100, kappa), digits) == exact


def test_six_steps_do_not_support_the_printed_line_from_84_on():
    """The printed line at b asks for kappa = ((n-1) b/((n-b) e^3.3))^(1/0.6)."""
    unsupported = []
    for b in range(1, 100):
        kappa = (99 * b / ((100 - b) * math.exp(3.3))) ** (1 / 0.6)
        if kappa >= 1 and kappa < theory.kappa_star(b):
            unsupported.append(b)
    assert unsupported == list(range(84, 100))


def spectral_radius(spread, beta):
    """Of (p, q, s) -> E[H^T M H] itself, on symmetric 2x2 matrices; spread = (n - b)/b."""
    operator = np.array(
        [[spread + beta**2, 2 * beta, 1.0], [-(beta**2), -beta, 0.0], [beta**2, 0.0, 0.0]]
    )
    return np.abs(np.linalg.eigvals(operator)).max()


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 10**5), st.floats(1, 1e6))
def test_the_exact_threshold_is_where_the_mean_square_radius_is_one(n, kappa):
    beta = (1 - 0.5 / math.sqrt(kappa)) ** 2
    critical = theory.lower_bound_threshold(n, kappa)
    spread = (n - critical) / critical
    assert spectral_radius(spread, beta) == pytest.approx(1.0, abs=1e-9)
    assert spectral_radius(1.01 * spread, beta) > 1 > spectral_radius(0.99 * spread, beta)
    assert theory.lower_bound_threshold(n, kappa, "six-step") <= critical * (1 + 1e-9)


def test_the_printed_theorem_is_true_up_to_98_and_false_at_99():
    def printed_says_diverges(b, kappa):
        return b < theory.lower_bound_threshold(100, kappa, "printed")

    def diverges(b, kappa):
        return b < theory.lower_bound_threshold(100, kappa)

    for kappa in np.geomspace(1, 1e6, 2001):
        for b in range(1, 99):
            assert not printed_says_diverges(b, kappa) or diverges(b, kappa)
    false = [
        k for k in range(18_000, 23_000) if printed_says_diverges(99, k) and not diverges(99, k)
    ]
    assert (false[0], false[-1]) == (18_345, 21_928)


def test_the_exponent_is_one_half():
    shares = [1 - theory.lower_bound_threshold(10**9, kappa) / 10**9 for kappa in (1e6, 1e8)]
    assert math.log(shares[0] / shares[1]) / math.log(100) == pytest.approx(0.5, abs=1e-3)
    assert shares[0] == pytest.approx(1.5e-3, rel=0.01)


def test_the_symbolic_expression():
    sympy = pytest.importorskip("sympy", reason="the extra 'symbolic' is not installed")
    beta, theta = sympy.symbols("beta theta")
    printed = (
        (-(beta**6) + 3 * beta**5 - 5 * beta**4 + 2 * beta**3 - 2 * beta**2) * sympy.sin(2 * theta)
        + (beta**5 - 2 * beta**4 + 3 * beta**3 - 3 * beta**2 - 1) * sympy.cos(2 * theta)
        + (beta**6 - 3 * beta**5 + 6 * beta**4 - 3 * beta**3 + 5 * beta**2 + 1)
    )
    two = theory.psi_expression(steps=3, n=2, b=1)
    assert sympy.simplify(sympy.expand_trig(two - printed)) == 0
    full = theory.psi_expression()
    assert {str(symbol) for symbol in full.free_symbols} == {"n", "b", "beta", "theta"}
    point = {"n": 100, "b": 70, "beta": 0.8, "theta": 0.5}
    assert float(full.subs(point)) == pytest.approx(theory.psi(100, 70, 0.8, 0.5), rel=1e-9)
    slope = sympy.diff(full, beta).subs(point)
    assert float(slope) == pytest.approx(theory.psi_derivative(100, 70, 0.8, 0.5), rel=1e-9)


def test_without_sympy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sympy", None)
    with pytest.raises(ImportError, match=r'pip install "\.\[symbolic\]"'):
        theory.psi_expression()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.psi(100, 0, 0.5, 0.0), "psi: b=0"),
        (lambda: theory.psi(100, 70, 1.5, 0.0), "beta is the momentum"),
        (lambda: theory.psi(100, 70, 0.5, math.nan), "theta=nan"),
        (lambda: theory.psi(100, 70, 0.5, 0.0, steps=-1), "steps=-1"),
        (lambda: theory.kappa_star(100), "the full batch never diverges"),
        (lambda: theory.lower_bound_threshold(100, 0.5), "kappa=0.5"),
        (lambda: theory.lower_bound_threshold(100, 2.0, "6-step"), "mean 'six-step'"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
