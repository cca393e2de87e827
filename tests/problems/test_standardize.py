"""``standardize=True``: the penalty in units of each column's standard deviation."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.rows import rows_of
from refusal import refused
from tables_on_disk import parts_on_disk

LOSSES = ["squared", "logistic", "softmax", "poisson"]


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [1.0, 1e-4, 1e3, 1.0] + [0.0, 1e-3, 5e3, 2.0]
    X[:, 3] = rng.random(n) < 0.2
    return X, rng


def targets(loss, X, rng):
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -1.0, 0.5, 0.2]
    kinds = {
        "logistic": score + rng.logistic(size=len(X)) > 0,
        "poisson": rng.poisson(np.exp(score)),
    }
    kinds["softmax"] = np.digitize(score + rng.standard_normal(len(X)), [-1.0, 1.0])
    return kinds.get(loss, score)


def solved(p):
    fit = bocce.minimize(p, tol=1e-12)
    return fit.w, fit.intercept


def spread(X, c):
    return np.sqrt(np.average(np.square(X - np.average(X, axis=0, weights=c)), axis=0, weights=c))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_it_is_the_fit_of_divided_columns_in_the_callers_units(loss, intercept, weighted, storage):
    X, rng = table()
    y, c = targets(loss, X, rng), rng.integers(1, 4, len(X)).astype(float)
    how = {"sample_weight": c if weighted else None, "intercept": intercept}
    sizes = spread(X, c if weighted else np.ones(len(X)))
    w, b = solved(bocce.Problem(storage(X), y, loss, 0.1, standardize=True, **how))
    there, b_there = solved(bocce.Problem(X / sizes, y, loss, 0.1, **how))
    np.testing.assert_allclose((w.T * sizes).T, there, rtol=1e-5, atol=1e-7)
    centre = X.mean(axis=0) / sizes  # intercepts lie far away: compare them in the middle
    np.testing.assert_allclose(
        b + (centre * sizes) @ w, b_there + centre @ there, rtol=1e-5, atol=1e-6
    )


@settings(max_examples=20, deadline=None)
@given(powers=st.lists(st.integers(-8, 8), min_size=4, max_size=4))
def test_predictions_do_not_depend_on_the_units(powers):
    X, rng = table()
    y, factors = targets("logistic", X, rng), 10.0 ** np.array(powers)
    one, other = (
        bocce.minimize(bocce.Logistic(Z, y, 0.1, standardize=True, intercept=True), tol=1e-10)
        for Z in (X, X * factors)
    )
    np.testing.assert_allclose(
        one.predict_proba(X), other.predict_proba(X * factors), rtol=1e-5, atol=1e-7
    )


def test_factors_by_column_multiply():
    X, rng = table()
    y, penalty = targets("squared", X, rng), [1.0, 0.0, 3.0, 0.5]
    p = bocce.LeastSquares(X, y, 0.1, standardize=True, penalty=penalty)
    np.testing.assert_allclose(p.ridges, 0.1 * np.array(penalty) * X.var(axis=0), rtol=1e-12)


def test_a_constant_column_counts_as_one_of_deviation_one():
    X, rng = table()
    X[:, 0] = 0.1  # whose mean is rounded
    p = bocce.LeastSquares(X, targets("squared", X[:, [1] * 4], rng), 0.1, standardize=True)
    assert p.ridges[0] == 0.1


def test_blocks_of_a_file_are_the_same_problem(tmp_path):
    X, rng = table()
    y = targets("logistic", X, rng).astype(float)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 17)
    there = bocce.Logistic(file, l2=0.1, standardize=True, penalty=[1, 2, 3, 4], intercept=True)
    here = bocce.Logistic(X, y, l2=0.1, standardize=True, penalty=[1, 2, 3, 4], intercept=True)
    np.testing.assert_allclose(there.ridges, here.ridges, rtol=1e-12)
    np.testing.assert_allclose(solved(there)[0], solved(here)[0], rtol=1e-6)
    plain = bocce.Logistic(file, l2=0.1, intercept=True)
    assert plain.fingerprint() != there.fingerprint()


def test_squares_that_overflow_are_refused():
    X, _ = table()
    X[:, 2] *= 1e200
    refused(
        lambda: bocce.LeastSquares(X, np.zeros(len(X)), 0.1, standardize=True),
        ValueError,
        r"LeastSquares: standardize=True needs variances, and the squares of column 2 overflow; "
        r"divide it by a constant\.",
    )


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_columns_far_from_zero(storage, weighted):
    """One plus a million: the mean of squares minus the squared mean would lose twelve digits."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((5000, 3)) + np.array([0.0, 1e6, 0.0])
    X[:, 2] *= rng.random(5000) < 0.1
    c = rng.random(5000) + 0.1 if weighted else np.ones(5000)
    c /= c.mean()
    mean, variance = rows_of(storage(X)).column_moments(c if weighted else None)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=c), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(variance, spread(X, c) ** 2, rtol=1e-9)
