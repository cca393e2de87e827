"""Products of float32 rows with float64 vectors are those of the same rows in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce.rows import Dense, Scaled, mixed

ORDERS = {"by rows": np.ascontiguousarray, "by columns": np.asfortranarray}


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 40),
    d=st.integers(0, 40),
    order=st.sampled_from(list(ORDERS)),
    spread=st.integers(0, 30),
    seed=st.integers(0, 10**6),
)
def test_products_are_those_of_the_rows_in_float64(n, d, order, spread, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 2.0 ** rng.integers(-spread, spread + 1, (n, d))
    X = ORDERS[order](X.astype(np.float32))
    w, c = rng.standard_normal(d), rng.standard_normal(n)
    wide = X.astype(np.float64)
    for found, factor, rows in ((mixed.times(X, w), w, wide), (mixed.combine(X, c), c, wide.T)):
        error = (rows.shape[1] + 1) * 2.0**-52 * (np.abs(rows) @ np.abs(factor))
        assert found.dtype == np.float64
        assert (np.abs(found - rows @ factor) <= error).all()


@pytest.mark.parametrize("order", ORDERS)
def test_long_rows_and_many_rows(order):
    """More numbers than the sum has places in the cache, and rows that no block has."""
    rng = np.random.default_rng(0)
    for shape in ((3, 3 * mixed.SUM_NUMBERS + 5), (4 * mixed.SUM_NUMBERS + 3, 3)):
        X = ORDERS[order](rng.standard_normal(shape).astype(np.float32))
        w, c = rng.standard_normal(shape[1]), rng.standard_normal(shape[0])
        np.testing.assert_allclose(mixed.times(X, w), X.astype(np.float64) @ w, atol=1e-10)
        np.testing.assert_allclose(mixed.combine(X, c), X.astype(np.float64).T @ c, atol=1e-10)


def test_infinite_numbers_stay_so():
    X = np.array([[1.0, np.inf], [np.nan, 1.0]], dtype=np.float32)
    assert np.array_equal(mixed.times(X, np.ones(2)), [np.inf, np.nan], equal_nan=True)


def test_who_is_served():
    X = np.ones((6, 4), dtype=np.float32)
    assert mixed.suits(X, np.ones(4))
    assert mixed.suits(X.T, np.ones((6, 1)))
    assert not mixed.suits(X[::2], np.ones(4))  # not in one piece
    assert not mixed.suits(X, np.ones((4, 2)))
    assert not mixed.suits(X, np.ones(4, dtype=np.float32))  # as rough as the rows
    assert not mixed.suits(X.astype(np.float64), np.ones(4))


def test_rows_use_them_without_a_copy(monkeypatch):
    def no_block(*args):
        raise AssertionError("rows were converted")

    X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
    monkeypatch.setattr(Dense, "blocks", no_block)
    rows = Scaled(X, X.mean(axis=0, dtype=np.float64), np.full(4, 2.0), 0.5)
    wide = np.c_[2.0 * (X - rows.centre), np.full(50, 0.5)]
    w, c = np.arange(5.0), np.linspace(-1.0, 1.0, 50)
    np.testing.assert_allclose(rows.times(w), wide @ w, atol=1e-12)
    np.testing.assert_allclose(rows.combine(c), wide.T @ c, atol=1e-12)
