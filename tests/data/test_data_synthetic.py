"""Synthetic designs: the spectrum asked for is the spectrum made."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce.data import diagonal, regression


def eigenvalues(X):
    return np.linalg.eigvalsh(X.T @ X / X.shape[0])


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(2, 12),
    more=st.integers(0, 40),
    kappa=st.floats(1.0, 1e5),
    mu=st.floats(1e-3, 1e3),
    spectrum=st.sampled_from(["linear", "sqrt"]),
    seed=st.integers(0, 2**63),
)
def test_haar_has_the_spectrum_to_rounding(d, more, kappa, mu, spectrum, seed):
    X, y, w_true = regression(d + more, d, kappa, mu=mu, spectrum=spectrum, seed=seed)
    span = (
        np.linspace(1.0, kappa, d) if spectrum == "linear" else np.linspace(1, kappa**0.5, d) ** 2
    )
    assert np.abs(eigenvalues(X) - mu * span).max() <= 1e-13 * mu * kappa * d
    assert np.array_equal(y, X @ w_true)


def test_haar_rows_are_isotropic_in_distribution():
    """Leverages x_i^T A^-1 x_i / n of Haar rows are Beta(d/2, (n-d)/2) variables."""
    n, d = 4000, 6
    X, _, _ = regression(n, d, kappa=30.0, seed=3)
    leverage = np.einsum("ij,ij->i", X, np.linalg.solve(X.T @ X, X.T).T)
    a, b = d / 2, (n - d) / 2
    variance = a * b / ((a + b) ** 2 * (a + b + 1))
    assert leverage.mean() == pytest.approx(d / n, rel=1e-12)
    assert leverage.var() == pytest.approx(variance, rel=0.15)


def test_haar_rows_have_mean_zero():
    """Without the signs of R, QR would give factors whose first entry is always negative."""
    entries = np.array([regression(5, 2, 4.0, seed=seed)[0] for seed in range(400)])
    error = entries.mean(axis=0) / (entries.std(axis=0) / np.sqrt(400))
    assert np.abs(error).max() < 4.5


def test_gaussian_has_the_spectrum_in_expectation():
    X, _, _ = regression(200_000, 4, kappa=9.0, design="gaussian", mu=2.0, seed=1)
    assert eigenvalues(X) == pytest.approx(2.0 * np.linspace(1, 9, 4), rel=0.02)


def test_gaussian_may_have_fewer_rows_than_columns():
    X, y, _ = regression(3, 7, kappa=5.0, design="gaussian")
    assert X.shape == (3, 7)
    assert y.shape == (3,)


def test_heavy_is_the_authors_construction():
    """d rows are sqrt(n) times a symmetric root with the spectrum; the others lie in [0, 1)."""
    n, d, kappa = 10_000, 20, 200.0
    X, _, w_true = regression(n, d, kappa, design="heavy", mu=10.0, spectrum="sqrt", seed=0)
    head, tail = X[:d], X[d:]
    assert head == pytest.approx(head.T, abs=1e-9)
    wanted = np.sqrt(n * 10.0) * np.linspace(1.0, np.sqrt(kappa), d)
    assert np.linalg.eigvalsh(head) == pytest.approx(wanted, rel=1e-12)
    assert tail.min() >= 0.0
    assert tail.max() < 1.0
    assert w_true.min() >= 0.0
    ends = eigenvalues(X)[[0, -1]]
    assert 140.0 < ends[1] / ends[0] < 156.0  # about 146 where 200 was asked for
    assert 4500.0 < (X**2).sum(axis=1).max() / ends[1] < 5800.0  # R of about 5300


def test_noise_has_the_variance_and_leaves_the_rows_alone():
    X, y, w_true = regression(50_000, 3, kappa=4.0, noise_var=0.09, seed=5)
    quiet, _, same = regression(50_000, 3, kappa=4.0, seed=5)
    residual = y - X @ w_true
    assert np.array_equal(X, quiet)
    assert np.array_equal(w_true, same)
    assert residual.var() == pytest.approx(0.09, rel=0.03)
    assert abs(residual.mean()) < 4 * 0.3 / np.sqrt(50_000)


@pytest.mark.parametrize("design", ["haar", "gaussian", "heavy"])
def test_the_seed_decides(design):
    first, again, other = (regression(30, 3, 7.0, 0.1, design, seed=s) for s in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again))
    assert not np.array_equal(first[0], other[0])


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 300), kappa=st.floats(1.0, 1e6))
def test_diagonal_touches_one_coordinate_a_sample(n, kappa):
    X, y, w_true = diagonal(n, kappa)
    dense = X.toarray()
    assert X.nnz == n
    assert np.count_nonzero(dense - np.diag(np.diagonal(dense))) == 0
    assert np.diagonal(dense) ** 2 / n == pytest.approx(np.linspace(1.0, kappa, n), rel=1e-14)
    assert not y.any()
    assert not w_true.any()


BAD = [
    ({"n": 0}, ValueError, "n=0 must be an integer >= 1"),
    ({"n": 10.0}, TypeError, "n=10.0 must be an integer >= 1"),
    ({"d": 0}, ValueError, "d=0 must be an integer >= 1"),
    ({"n": 3}, ValueError, "n=3 must be >= d=4 for design='haar'"),
    ({"n": 3, "design": "heavy"}, ValueError, "raise n, or use design='gaussian'"),
    ({"d": 1}, ValueError, "kappa=10 must be 1 when d=1"),
    ({"kappa": 0.5}, ValueError, "kappa=0.5 must be a finite number >= 1"),
    ({"kappa": float("nan")}, ValueError, "kappa=nan"),
    ({"mu": 0.0}, ValueError, "mu=0.0 must be a finite number > 0"),
    ({"noise_var": -1.0}, ValueError, "noise_var=-1.0 must be a finite number >= 0"),
    ({"design": "har"}, ValueError, "did you mean 'haar'"),
    ({"spectrum": "log"}, ValueError, "spectrum='log' must be one of 'linear', 'sqrt'"),
    ({"seed": -1}, ValueError, "seed=-1 must be an integer >= 0"),
]


@pytest.mark.parametrize(("change", "kind", "message"), BAD)
def test_bad_arguments_of_regression(change, kind, message):
    with pytest.raises(kind) as caught:
        regression(**{"n": 10, "d": 4, "kappa": 10.0, **change})
    assert str(caught.value).startswith("regression: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("n", "kappa", "message"),
    [(0, 2.0, "n=0"), (1, 2.0, "kappa=2 must be 1 when n=1"), (5, 0.9, "kappa=0.9 must be")],
)
def test_bad_arguments_of_diagonal(n, kappa, message):
    with pytest.raises(ValueError, match="diagonal: ") as caught:
        diagonal(n, kappa)
    assert message in str(caught.value)
