"""L, mu, L_max and kappa~: exact by eigenvalues, never under-estimated by Lanczos."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import LeastSquares, Logistic
from bocce.problems import ProblemLimits, curvature
from helpers import without_gram

FEW = settings(max_examples=60, deadline=None)
ROUNDING = 1e-12


def labels(n):
    return np.arange(n) % 2


def problem(kind, X, l2=0.0):
    n = X.shape[0]
    return kind(X, np.zeros(n) if kind is LeastSquares else labels(n), l2=l2)


@st.composite
def designs(draw, most=14, least=1):
    n, d = draw(st.integers(max(2, least), most)), draw(st.integers(least, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scales = 10.0 ** rng.uniform(-draw(st.integers(0, 3)), 0, size=d)
    X = rng.standard_normal((n, d)) * scales
    X[rng.random(n) < draw(st.sampled_from([0, 0.3]))] = 0
    return X, sp.csr_array(X) if draw(st.booleans()) else X


# -- exact ----------------------------------------------------------------------------------


@FEW
@given(designs(), st.sampled_from([0.0, 1e-2, 2.0]))
def test_least_squares_constants_are_eigenvalues(design, l2):
    dense, X = design
    n, d = dense.shape
    c = problem(LeastSquares, X, l2).constants()
    eigenvalues = np.linalg.svd(dense, compute_uv=False) ** 2 / n + l2
    moves = eigenvalues - l2 > d * np.finfo(float).eps * eigenvalues[0]  # the others are rounding
    smallest = eigenvalues[moves][-1] if moves.any() else l2
    assert c.exact
    assert pytest.approx(eigenvalues[0], rel=1e-10) == c.L
    assert c.mu == pytest.approx(smallest, rel=1e-6, abs=1e-13 * c.L)
    assert c.L_max == pytest.approx((dense**2).sum(axis=1).max() + l2, rel=1e-12)
    assert l2 <= c.mu <= c.L <= c.L_max
    assert c.kappa == (c.L / c.mu if c.mu > 0 else math.inf)


@FEW
@given(designs(), st.sampled_from([1e-2, 2.0]))
def test_kappa_tilde_is_the_largest_leverage(design, l2):
    dense, X = design
    n, d = dense.shape
    for kind, h in ((LeastSquares, 1.0), (Logistic, 0.25)):
        A = h * dense.T @ dense / n + l2 * np.eye(d)
        direct = h * np.einsum("ij,ij->i", dense, np.linalg.solve(A, dense.T).T).max()
        assert problem(kind, X, l2).constants().kappa_tilde == pytest.approx(direct, rel=1e-8)


def test_kappa_tilde_without_l2():
    """At full rank h cancels: n times the largest leverage, at least d."""
    X = np.random.default_rng(0).standard_normal((30, 4))
    Q, _ = np.linalg.qr(X)
    largest = 30 * (Q**2).sum(axis=1).max()
    for kind in (LeastSquares, Logistic):
        assert problem(kind, X).constants().kappa_tilde == pytest.approx(largest)
    assert largest >= 4


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [5, 300, 5000])
def test_rank_deficient(seed, n):
    """mu is the least curvature of the row space; leverages are those of the column space."""
    rng = np.random.default_rng(seed)
    thin = rng.standard_normal((n, 2))
    X = thin @ rng.standard_normal((2, 4))
    c = problem(LeastSquares, X).constants()
    least = np.linalg.svd(X, compute_uv=False)[1] ** 2 / n
    assert c.mu == pytest.approx(least, rel=1e-6)
    assert sum(c.spectrum[1]) == 2
    Q, _ = np.linalg.qr(thin)
    assert c.kappa_tilde == pytest.approx(n * (Q**2).sum(axis=1).max(), rel=1e-6)
    assert problem(LeastSquares, X, 0.25).constants().mu == pytest.approx(least + 0.25, rel=1e-6)


def test_duplicated_rows_change_nothing_but_n():
    X = np.random.default_rng(1).standard_normal((9, 3))
    once, twice = (problem(LeastSquares, np.repeat(X, r, axis=0)).constants() for r in (1, 2))
    for name in ("L", "mu", "L_max", "kappa_tilde"):
        assert getattr(twice, name) == pytest.approx(getattr(once, name))


def test_float32_data_have_float64_constants():
    X = np.random.default_rng(2).standard_normal((50, 3)).astype(np.float32)
    exact = problem(LeastSquares, X.astype(np.float64)).constants()
    for stored in (X, sp.csr_array(X)):
        c = problem(LeastSquares, stored).constants()
        assert (c.L, c.mu, c.L_max) == pytest.approx((exact.L, exact.mu, exact.L_max), rel=1e-12)


# -- the logistic bound ---------------------------------------------------------------------


@FEW
@given(designs(), st.sampled_from([0.0, 0.1]), st.integers(0, 2**32))
def test_logistic_constants_bound_the_hessian(design, l2, seed):
    dense, X = design
    n, d = dense.shape
    p = problem(Logistic, X, l2)
    c = p.constants()
    for scale in (0.0, 0.1, 3.0):
        w = scale * np.random.default_rng(seed).standard_normal(d)
        q = 1 / (1 + np.exp(-dense @ w))
        H = (dense.T * (q * (1 - q))) @ dense / n + l2 * np.eye(d)
        eigenvalues = np.linalg.eigvalsh(H)
        assert eigenvalues[-1] <= c.L * (1 + ROUNDING)
        assert eigenvalues[0] >= c.mu - ROUNDING * c.L
    assert c.mu == l2
    # attained at w = 0, where q(1 - q) = 1/4
    assert pytest.approx(np.linalg.norm(dense, 2) ** 2 / 4 / n + l2, rel=1e-10) == c.L
    assert c.L_max == pytest.approx((dense**2).sum(axis=1).max() / 4 + l2, rel=1e-12)


# -- Lanczos --------------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(designs(most=60), st.sampled_from([0.0, 0.1]), st.sampled_from([LeastSquares, Logistic]))
def test_lanczos_never_under_estimates(design, l2, kind):
    dense, X = design
    p = without_gram(problem(kind, X, l2))
    c = p.constants()
    true = p.loss.curvature * np.linalg.norm(dense, 2) ** 2 / dense.shape[0] + l2
    assert not c.exact
    assert c.kappa_tilde is None
    assert c.mu == l2
    assert true * (1 - ROUNDING) <= c.L <= c.L_max * (1 + ROUNDING)


SPECTRA = {
    "linear": lambda d: np.linspace(1, 0, d),
    "flat": lambda d: np.ones(d),
    "cluster at the top": lambda d: np.where(np.arange(d) < d // 10, np.linspace(1, 0.9, d), 0.1),
    "one alone": lambda d: np.where(np.arange(d) == 0, 1.0, 0.85 * np.linspace(1, 0, d)),
    "power law": lambda d: 1 / np.arange(1, d + 1),
}


@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("d", [20, 300, 3000])
def test_lanczos_is_within_its_margin(spectrum, d):
    """X is diagonal, X^T X/n has the spectrum itself: L exceeds 1 by margin and residual."""
    eigenvalues = SPECTRA[spectrum](d)
    X = sp.diags_array(np.sqrt(d * np.random.default_rng(3).permutation(eigenvalues)))
    p = without_gram(problem(LeastSquares, X.tocsr()))
    c = p.constants()
    values, _, residual = curvature.lanczos(p)
    ritz = values[-1]
    assert ritz <= 1 + ROUNDING
    assert 1 - ROUNDING <= c.L <= curvature.LANCZOS_MARGIN * (1 + residual) + ROUNDING
    assert c.L <= 1.25


def test_lanczos_of_one_row_is_capped_by_the_trace():
    X = np.full((1, 7), 2.0)
    c = without_gram(problem(LeastSquares, X)).constants()
    assert pytest.approx(28.0, rel=1e-12) == c.L


def test_lanczos_of_nothing():
    c = without_gram(problem(LeastSquares, np.zeros((3, 2)), 0.5)).constants()
    assert (c.L, c.mu, c.L_max) == (0.5, 0.5, 0.5)


def test_which_problems_form_a_gram_matrix():
    dense = problem(LeastSquares, np.ones((10, 4)))
    empty = problem(LeastSquares, sp.csr_array((10, 4)))
    assert dense.gram_fits
    assert not dense.with_fields(limits=ProblemLimits(gram_flops=100)).gram_fits
    assert empty.with_fields(limits=ProblemLimits(gram_flops=100)).gram_fits, "no entry, no work"
    assert empty.with_fields(limits=ProblemLimits(gram_columns=4)).gram_fits
    assert not empty.with_fields(limits=ProblemLimits(gram_columns=3)).gram_fits
