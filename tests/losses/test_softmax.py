"""The softmax loss, and problems of several classes: by differences, by identities, by rivals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

import bocce
from bocce.losses import Logistic, Softmax
from tables_on_disk import parts_on_disk

STEP = 1e-6


def scores(n=40, K=4, seed=0, size=3.0):
    rng = np.random.default_rng(seed)
    return size * rng.standard_normal((n, K)), rng.integers(0, K, n)


def data(n=120, d=5, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.geomspace(0.3, 3.0, d) + 0.5
    z = X @ rng.standard_normal((d, K)) + rng.gumbel(size=(n, K))
    return X, np.array(["red", "green", "blue", "black", "white"])[z.argmax(axis=1)]


# -- the loss ---------------------------------------------------------------------------------


def test_value_and_slope_are_those_of_the_definition():
    z, y = scores()
    here = np.arange(y.size)
    np.testing.assert_allclose(Softmax().value(z, y), logsumexp(z, axis=1) - z[here, y], rtol=1e-13)
    np.testing.assert_allclose(Softmax().slope(z, y), softmax(z, axis=1) - np.eye(4)[y], atol=1e-15)


def test_slope_and_bend_are_derivatives():
    z, y = scores()
    u = np.random.default_rng(1).standard_normal((3, *z.shape))
    for v, bent in zip(u, Softmax().bend_times(z, y, u)):
        up, down = z + STEP * v, z - STEP * v
        by_value = (Softmax().value(up, y) - Softmax().value(down, y)) / (2 * STEP)
        np.testing.assert_allclose((Softmax().slope(z, y) * v).sum(axis=1), by_value, atol=1e-8)
        by_slope = (Softmax().slope(up, y) - Softmax().slope(down, y)) / (2 * STEP)
        np.testing.assert_allclose(bent, by_slope, atol=1e-8)
    for k, e in enumerate(np.eye(4)):
        along = Softmax().bend_times(z, y, np.broadcast_to(e, z.shape))
        np.testing.assert_allclose(Softmax().bend(z, y)[:, k], along[:, k], atol=1e-15)


def test_products_of_pairs_are_those_one_by_one():
    z, y = scores()
    rng = np.random.default_rng(1)
    U, V, c = rng.standard_normal((3, *z.shape)), rng.standard_normal((2, *z.shape)), rng.random(40)
    for weight in (None, c):
        bent = Softmax().bend_times(z, y, V)
        bent = bent if weight is None else bent * weight[:, None]
        found = Softmax().bend_products(z, y, weight, U, V)
        np.testing.assert_allclose(found, np.einsum("aik,bik->ab", U, bent), atol=1e-12)


@given(st.integers(2, 6), st.floats(0.1, 50.0), st.integers(0, 1000))
def test_the_second_derivative_is_between_zero_and_the_curvature(K, size, seed):
    z, y = scores(10, K, seed, size)
    for row in z:
        columns = Softmax().bend_times(row[None], y[:1], np.eye(K)[:, None, :])[:, 0, :]
        eigenvalues = np.linalg.eigvalsh(columns)
        assert eigenvalues[0] >= -1e-15
        assert eigenvalues[-1] <= Softmax.curvature + 1e-15


def test_the_bound_is_met_where_two_classes_are_even():
    columns = Softmax().bend_times(np.zeros((1, 2)), np.array([0]), np.eye(2)[:, None, :])[:, 0, :]
    assert np.linalg.eigvalsh(columns)[-1] == pytest.approx(0.5, abs=1e-15)


def test_scores_of_any_size_neither_overflow_nor_lose_digits():
    z = np.array([[1e4, -1e4, 0.0], [40.0, 0.0, 0.0], [-800.0, 0.0, 0.0]])
    y = np.array([0, 0, 0])
    with np.errstate(all="raise", under="ignore"):
        value, slope = Softmax().value(z, y), Softmax().slope(z, y)
    small = 2.0 * np.exp(-40.0)
    np.testing.assert_allclose(value, [0.0, small, 800.0 + np.log(2.0)], rtol=1e-14)
    np.testing.assert_allclose(slope[1], [-small, small / 2, small / 2], rtol=1e-14)
    np.testing.assert_allclose(slope[2], [-1.0, 0.5, 0.5], atol=1e-15)


def test_of_two_classes_it_is_the_logistic_loss_of_the_difference():
    z, y = scores(K=2)
    sign = 2.0 * y - 1.0
    np.testing.assert_allclose(
        Softmax().value(z, y), Logistic().value(z[:, 1] - z[:, 0], sign), atol=1e-14
    )


def test_the_constant_makes_the_mean_slope_vanish():
    y = np.array([0, 0, 1, 2, 2, 2])
    z = Softmax().best_constant(np.bincount(y) / y.size)
    assert np.abs(Softmax().slope(np.tile(z, (6, 1)), y).mean(axis=0)).max() < 1e-15
    assert abs(z.sum()) < 1e-15


# -- problems ---------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
@pytest.mark.parametrize("intercept", [False, True])
def test_gradients_are_differences(form, intercept):
    X, y = data()
    penalty = np.array([1.0, 0.0, 2.0, 1.0, 0.5])
    weights = np.random.default_rng(2).uniform(0.5, 2.0, y.size)
    p = bocce.Problem(
        form(X), y, "softmax", 0.1, sample_weight=weights, penalty=penalty, intercept=intercept
    )
    assert p.classes.tolist() == sorted(set(y))
    assert p.shape == (5 + intercept, p.classes.size)
    w = np.random.default_rng(3).standard_normal(p.shape)
    g = p.gradient(w)
    assert g.shape == p.shape
    for at in np.ndindex(p.shape):
        e = np.zeros(p.shape)
        e[at] = 1e-5
        assert (p.value(w + e) - p.value(w - e)) / 2e-5 == pytest.approx(g[at], abs=1e-7)
    some = np.array([3, 5, 70])
    each = np.mean([p.gradient(w, np.array([i])) for i in some], axis=0)
    np.testing.assert_allclose(p.gradient(w, some), each, atol=1e-14)
    rows = [p.gradient(w, np.array([i])) for i in range(p.n)]
    assert p.row_gradient_mean2(w) == pytest.approx(np.mean([np.sum(r * r) for r in rows]))


def test_L_bounds_the_curvature_of_every_direction():
    X, y = data()
    p = bocce.Problem(X, y, "softmax", 0.01)
    rng, L = np.random.default_rng(0), p.constants().L
    for _ in range(20):
        w, v = rng.standard_normal((2, *p.shape))
        change = np.vdot(v, p.gradient(w + STEP * v) - p.gradient(w - STEP * v)) / (2 * STEP)
        assert p.constants().mu * np.vdot(v, v) <= change <= L * np.vdot(v, v)


def test_points_of_the_wrong_shape_are_refused():
    p = bocce.Problem(*data(), "softmax")
    with pytest.raises(ValueError, match=r"must be \(5, \d\); X has 5 columns; y has \d classes"):
        p.value(np.zeros(5))
    with pytest.raises(ValueError, match="must have two or more"):
        bocce.Problem(np.eye(2), ["a", "a"], "softmax")


def test_the_noise_is_refused_in_words():
    with pytest.raises(ValueError, match="one class against the rest"):
        bocce.Problem(*data(), "softmax", 0.1).noise()


@pytest.mark.parametrize("intercept", [False, True])
def test_rows_in_a_file_have_the_minimum_of_memory(tmp_path, intercept):
    X, y = data()
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 13)
    p = bocce.Problem(file, loss="softmax", l2=0.1, intercept=intercept)
    whole = bocce.Problem(X, y, "softmax", 0.1, intercept=intercept)
    r = bocce.minimize(p, tol=1e-9)
    s = bocce.minimize(whole, "plane", tol=1e-10)
    assert r.status == "converged"
    np.testing.assert_allclose(r.w, s.w, atol=1e-8)
    np.testing.assert_allclose(r.intercept, s.intercept, atol=1e-8)
    w = np.random.default_rng(0).standard_normal(p.shape)
    assert p.value(w) == pytest.approx(whole.value(w), rel=1e-12)
    np.testing.assert_allclose(p.gradient(w), whole.gradient(w), rtol=1e-10, atol=1e-13)


# -- minimisers -------------------------------------------------------------------------------


def text_like(n=600, d=300, K=20):
    """Rows of few words, each class with words of its own."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % K
    X = sp.lil_matrix((n, d))
    for i in range(n):
        own = 15 * y[i] + rng.integers(0, 15, 6)
        words = np.concatenate([own, rng.integers(0, d, 10)])
        for j in words:
            X[i, j] += 1.0 / 16.0
    return X.tocsr(), y


SETS = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "text": text_like,
}


def rival(X, y, l2):
    """scikit-learn's minimiser, to rounding: by Newton's method (on dense rows)."""
    X = X.toarray() if sp.issparse(X) else X
    n = X.shape[0]
    return LogisticRegression(C=1 / (n * l2), solver="newton-cholesky", tol=1e-12).fit(X, y)


@pytest.mark.parametrize(("name", "l2"), [("iris", 1e-2), ("wine", 1e-2), ("digits", 1e-1)])
@pytest.mark.parametrize("method", ["auto", "plane"])
def test_the_minimiser_is_that_of_logistic_regression(name, l2, method):
    X, y = SETS[name]()
    _agree(X, y, l2, method)


def test_the_minimiser_of_twenty_classes_of_sparse_rows():
    X, y = text_like()
    _agree(X, y, 1e-3, "auto")


def _agree(X, y, l2, method):
    p = bocce.Problem(X, y, "softmax", l2, intercept=True)
    r = bocce.minimize(p, method, tol=1e-10)
    assert r.status == "converged"
    exact = rival(X, y, l2)
    np.testing.assert_allclose(r.w, exact.coef_.T, atol=1e-6)
    centred = exact.intercept_ - exact.intercept_.mean()  # a constant more for all changes nothing
    np.testing.assert_allclose(r.intercept, centred, atol=1e-6)
    assert abs(r.intercept.sum()) < 1e-9
    assert (np.diff(r.history["value"]) <= 1e-14).all()


def test_the_reference_minimiser_agrees():
    X, y = load_iris(return_X_y=True)
    p = bocce.Problem(X, y, "softmax", 1e-2, intercept=True)
    w = p.minimiser()
    assert np.linalg.norm(p.gradient(w)) < 1e-12
    r = bocce.minimize(p, tol=1e-11)
    np.testing.assert_allclose(p.join_intercept(r.w, r.intercept), w, atol=1e-8)


def test_two_classes_are_half_of_logistic_regression_each():
    X, y = data(K=2)
    two = bocce.minimize(bocce.Problem(X, y, "softmax", 0.02), tol=1e-11).w
    one = bocce.minimize(bocce.Logistic(X, y, 0.01), tol=1e-11).w
    np.testing.assert_allclose(two[:, 1], one / 2.0, atol=1e-9)
    np.testing.assert_allclose(two[:, 0], -one / 2.0, atol=1e-9)


# -- batches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "shb-exp", "sgd-sls-exp"])
def test_batches_come_near_the_minimiser(method):
    p = bocce.Problem(*data(), "softmax", 0.05)
    r = bocce.minimize(p, method, T=2000, batch_size=30, record_every=100)
    assert r.w.shape == p.shape
    assert r.status == "finished"
    least, first = p.value(p.minimiser()), p.value(np.zeros(p.shape))
    assert p.value(r.w) - least < 0.01 * (first - least)


def test_float32_rows_take_the_steps_of_float64_ones():
    X, y = data()
    X = X.astype(np.float32)
    runs = [
        bocce.minimize(bocce.Problem(rows, y, "softmax", 0.05), "shb-exp", T=200, batch_size=30)
        for rows in (X, X.astype(np.float64))
    ]
    np.testing.assert_allclose(runs[0].w, runs[1].w, rtol=1e-10)


def test_a_run_goes_on_bit_for_bit(tmp_path):
    p = bocce.Problem(*data(), "softmax", 0.01, intercept=True)
    whole = bocce.minimize(p, tol=1e-9)
    half = bocce.minimize(p, tol=1e-9, checkpoint=tmp_path / "run", callback=lambda now: now.k == 4)
    assert half.n_iter == 4
    rest = bocce.minimize(p, tol=1e-9, checkpoint=tmp_path / "run")
    assert np.array_equal(rest.w, whole.w)
    assert np.array_equal(rest.intercept, whole.intercept)
