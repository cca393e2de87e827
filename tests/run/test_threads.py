"""Runs use one BLAS thread but for large products, and leave the caller's setting as it was."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import bocce
from bocce import _threads
from bocce.rows import Dense
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two():
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}, "there is a BLAS to look at"
        yield
        assert blas_threads() == {2}, "what was set before is set after"


def test_small_products_have_one_thread_and_large_ones_all():
    with _threads.one_thread():
        assert blas_threads() == {1}
        with _threads.one_thread(), _threads.threads_for(1e12):
            assert blas_threads() == {2}
        assert blas_threads() == {1}
        with _threads.threads_for(1e6):
            assert blas_threads() == {1}
    with _threads.threads_for(1e12):
        assert blas_threads() == {2}


SEEN = []  # the numbers of threads of products with watched rows


class Watched(np.ndarray):
    """Rows that note how many threads a product with them has."""

    def __matmul__(self, other):
        SEEN.append(blas_threads())
        return np.asarray(self) @ other


def test_products_with_a_vector_have_all_threads_where_rows_are_many(monkeypatch):
    monkeypatch.setattr(_threads, "LARGE_FOR_ONE_CORE", 1e7)
    few, many = Dense(np.ones((2_000, 10))), Dense(np.ones((300_000, 10)))
    for rows, threads in ((few, {1}), (many, {2})):
        rows.X = rows.X.view(Watched)
        SEEN.clear()
        with _threads.one_thread():
            rows.times(np.ones(10))
            rows.combine(np.ones(rows.n))
            batch = rows._threads(np.ones(10), np.arange(5))
        assert batch is _threads._as_they_are, "a batch is small, whatever it is taken from"
        assert [threads, threads] == SEEN


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_results_depend_on_threads_by_rounding_alone(loss, monkeypatch):
    monkeypatch.setattr(_threads, "LARGE_FOR_ONE_CORE", 1e7)
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40_000, 100))
    z = X[:, 0] + rng.logistic(size=40_000)
    p = bocce.Problem(X, z > 0 if loss == "logistic" else z, loss, 1e-3)
    assert X.size * _threads.MULTIPLICATIONS_PER_READ >= _threads.LARGE_FOR_ONE_CORE
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(bocce.minimize(p, tol=1e-8).w)
    np.testing.assert_allclose(found[1], found[0], rtol=0, atol=1e-9 * np.abs(found[0]).max())


def test_an_error_leaves_the_setting_as_it_was():
    with pytest.raises(ZeroDivisionError), _threads.one_thread(), _threads.threads_for(1e12):
        raise ZeroDivisionError


@pytest.mark.parametrize("fit", ["minimize", "path", "estimator"])
def test_runs_use_one_thread(fit, monkeypatch):
    seen = []
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal(50)
    first = bocce.losses.Huber.value

    def watching(self, z, target):
        seen.append(blas_threads())
        return first(self, z, target)

    monkeypatch.setattr(bocce.losses.Huber, "value", watching)
    p = bocce.Problem(X, y, "huber", 0.1)
    if fit == "minimize":
        bocce.minimize(p, tol=1e-6)
    elif fit == "path":
        bocce.path(p, [1.0, 0.1])
    else:
        HeavyBallRegressor(loss="huber").fit(X, y)
    assert seen
    assert all(now == {1} for now in seen[1:])


def test_two_fits_of_the_same_data_are_equal_without_a_random_state():
    """600,000 rows: a sample of them gives the metric, and the sample is always the same."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600_000, 15))
    y = X[:, 0] + rng.logistic(size=600_000) > 0
    a, b = (HeavyBallClassifier().fit(X, y).coef_ for _ in range(2))
    np.testing.assert_array_equal(a, b)
