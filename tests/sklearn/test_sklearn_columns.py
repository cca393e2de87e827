"""Columns without entries are not carried along, and nobody can tell."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bocce.run import columns as own_columns
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

D = 5000


def hashed(n=300, used=40, dtype=np.float64, seed=0):
    """Few columns of many, their numbers far apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, used)) * (rng.random((n, used)) < 0.3)
    columns = np.sort(rng.choice(D, used, replace=False))
    small = sp.csr_array(X.astype(dtype))
    wide = sp.csr_array((small.data, columns[small.indices], small.indptr), shape=(n, D))
    return wide, columns, X @ rng.standard_normal(used) + 0.1 * rng.standard_normal(n)


@given(seed=st.integers(0, 99), n=st.integers(1, 30), used=st.integers(1, 50))
def test_rows_of_the_used_columns_hold_all_entries(seed, n, used):
    X, _, _ = hashed(n, used, seed=seed)
    columns = own_columns.used(X)
    if columns is None:
        assert X.nnz == 0
        return
    np.testing.assert_array_equal(own_columns.taken(X, columns).toarray(), X.toarray()[:, columns])
    assert (X @ np.ones(D) == own_columns.taken(X, columns) @ np.ones(columns.size)).all()
    coef = np.arange(2.0 * columns.size).reshape(2, -1)
    whole = own_columns.spread(coef, columns, D)
    np.testing.assert_array_equal(whole[:, columns], coef)
    assert np.count_nonzero(whole) == np.count_nonzero(coef)


def test_columns_are_kept_where_most_are_used_or_there_are_few():
    assert own_columns.used(np.zeros((3, D))) is None
    assert own_columns.used(sp.csr_array((3, D))) is None
    assert own_columns.used(sp.csr_array(np.ones((1, 2 * own_columns.FEW_COLUMNS)))) is None
    assert own_columns.used(sp.csr_array(([1.0], ([0], [0])), shape=(3, 50))) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_a_fit_is_that_of_the_used_columns(kind, dtype):
    X, columns, y = hashed(dtype=dtype)
    if kind is HeavyBallClassifier:
        y = np.digitize(y, [-1.0, 1.0])  # softmax
    wide = kind(l2=1e-3, tol=1e-6).fit(X, y)
    narrow = kind(l2=1e-3, tol=1e-6).fit(X[:, columns].toarray(), y)
    coef = np.atleast_2d(wide.coef_)
    assert coef.shape[1] == wide.n_features_in_ == D
    assert coef.dtype == dtype
    assert np.count_nonzero(np.delete(coef, columns, axis=1)) == 0
    np.testing.assert_allclose(coef[:, columns], np.atleast_2d(narrow.coef_), atol=1e-4)
    np.testing.assert_array_equal(wide.predict(X).shape, y.shape)
    assert f"{D} columns ({columns.size} with entries)" in wide.plan_


def test_a_warm_start_goes_on_with_all_columns():
    X, _, y = hashed()
    model = HeavyBallRegressor(l2=1e-3, tol=1e-6, warm_start=True).fit(X, y)
    first = model.coef_.copy()
    model.coef_ = model.coef_ + 1.0  # in columns that no row has, too
    model.fit(X, y)
    np.testing.assert_allclose(model.coef_, first, atol=1e-4)
