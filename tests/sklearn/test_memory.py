"""What a fit takes beside the caller's data: at most X once more, and 20 vectors of length n."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.* holds back the coefficient")  # they do

N, D, VECTORS = 400_000, 10, 20


def rows(kind):
    rng = np.random.default_rng(0)
    if kind == "csr":
        return sp.random_array((N, 5 * D), density=0.1, format="csr", rng=rng)
    X = rng.standard_normal((N, D))
    if kind == "scaled":
        return X * 10.0 ** np.linspace(-3, 3, D) + 5.0
    return X.astype(kind)


def size(X):
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def peak(model, X, y, weights):
    model.fit(X[:2000], y[:2000])  # what is imported or made once is no part of it
    tracemalloc.start()
    try:
        model.fit(X, y, sample_weight=weights)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["float64", "float32", "scaled", "csr"])
@pytest.mark.parametrize("estimator", [HeavyBallClassifier, HeavyBallRegressor])
def test_a_fit_takes_at_most_the_rows_and_twenty_vectors(kind, estimator):
    X = rows(kind)
    rng = np.random.default_rng(1)
    z = X @ rng.standard_normal(X.shape[1])
    y = z + z.std() * rng.standard_normal(N)
    y = y > np.median(y) if estimator is HeavyBallClassifier else y
    taken = peak(estimator(), X, y, rng.random(N) + 0.5)
    assert taken <= size(X) + VECTORS * 8 * N


def test_rows_too_large_to_be_copied_are_not():
    """From 64 MB on nothing as large as X is made."""
    X = np.random.default_rng(0).standard_normal((N, 24)) * np.geomspace(1e-3, 1e3, 24)
    y = X @ (1.0 / np.geomspace(1e-3, 1e3, 24)) > 0.3
    assert peak(HeavyBallRegressor(), X, y.astype(float), None) <= VECTORS * 8 * N


@pytest.mark.parametrize("estimator", [HeavyBallClassifier, HeavyBallRegressor])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_lie_by_columns_are_not_copied(estimator, order):
    X = np.random.default_rng(0).standard_normal((100_000, 100))
    y = X @ np.linspace(-1.0, 1.0, 100) > 0.3
    model = estimator(tol=1e-7)
    assert peak(model, np.asarray(X, order=order), y.astype(float), None) <= 0.3 * X.nbytes
    np.testing.assert_allclose(model.coef_, estimator(tol=1e-7).fit(X, y).coef_, atol=1e-6)
