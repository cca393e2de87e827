"""The estimators against exact solvers, and against what must not matter."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge

import bocce
from bocce.control import registry
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

pytestmark = pytest.mark.filterwarnings("ignore:.* holds back the coefficient")  # they do

N = 3000  # rows of 12 columns: too many numbers to be treated as tiny


def regression(n=N, seed=0, outputs=None):
    rng = np.random.default_rng(seed)
    X, _, _ = bocce.data.regression(n, 12, kappa=50.0, seed=seed)
    X = X * 10.0 ** rng.integers(-3, 4, 12) + rng.standard_normal(12)
    shape = (12,) if outputs is None else (12, outputs)
    signal = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.standard_normal(shape)
    return X, 40.0 + signal + rng.standard_normal(signal.shape)


def classes(n=N, seed=0, count=2):
    X, y = make_classification(
        n, 12, n_informative=8, n_classes=count, flip_y=0.1, random_state=seed
    )
    return X * np.geomspace(1e-2, 1e2, 12) + 1.0, y


def gradient(model, X, y, weights=None):
    """Of the objective in the docstrings, at (coef_, intercept_), by hand; y in columns."""
    c = np.ones(X.shape[0]) if weights is None else weights / weights.mean()
    coef = np.atleast_2d(model.coef_)
    z = X @ coef.T + np.atleast_1d(model.intercept_)
    if isinstance(model, HeavyBallRegressor):
        slopes = z - y
    else:
        s = np.where(y, 1.0, -1.0)
        slopes = -s / (1.0 + np.exp(s * z))
    slopes = slopes * c[:, None] / X.shape[0]
    by_coef = slopes.T @ X + model.l2 * coef
    by_intercept = slopes.sum(axis=0)[:, None] * model.fit_intercept
    return np.linalg.norm(np.hstack([by_coef, by_intercept]), axis=1)


def at_zero(model, X, y, weights=None):
    zero = type(model)(l2=model.l2, fit_intercept=model.fit_intercept)
    zero.coef_, zero.intercept_ = np.zeros((y.shape[1], X.shape[1])), np.zeros(y.shape[1])
    return gradient(zero, X, y, weights)


# -- the minimiser --------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [0.0, 1e-4, 1.0])
def test_ridge(l2, intercept):
    X, y = regression()
    exact = Ridge(alpha=N * l2, fit_intercept=intercept, solver="cholesky" if l2 else "svd")
    exact.fit(X, y)
    model = HeavyBallRegressor(l2, tol=1e-9, fit_intercept=intercept, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-5 * y.std())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("l2", [1e-4, 1e-2])
@pytest.mark.parametrize("balanced", [None, "balanced"])
def test_logistic(l2, intercept, balanced):
    X, y = classes()
    keywords = {"fit_intercept": intercept, "class_weight": balanced}
    exact = LogisticRegression(C=1 / (N * l2), solver="newton-cholesky", tol=1e-10, **keywords)
    model = HeavyBallClassifier(l2, tol=1e-8, random_state=0, **keywords).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), exact.fit(X, y).predict_proba(X), atol=1e-5)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_several_outputs_are_runs_of_their_own():
    X, Y = regression(outputs=3)
    model = HeavyBallRegressor(tol=1e-9, random_state=0).fit(X, Y)
    exact = Ridge(alpha=N * 1e-4, solver="cholesky").fit(X, Y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-5)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 12), (3,))
    assert set(model.history_["output"]) == {0, 1, 2}
    one = HeavyBallRegressor(random_state=0).fit(X, Y[:, :1])
    assert (one.coef_.shape, one.predict(X).shape) == ((1, 12), (N, 1))
    assert np.ndim(HeavyBallRegressor(random_state=0).fit(X, Y[:, 0]).intercept_) == 0


def test_more_classes_are_fitted_at_once():
    X, y = classes(count=4)
    labels = np.array(["d", "a", "c", "b"])[y]
    model = HeavyBallClassifier(l2=1e-3, tol=1e-8, random_state=0).fit(X, labels)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    exact = LogisticRegression(C=1 / (N * 1e-3), solver="newton-cholesky", tol=1e-10)
    exact.fit(X, labels)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-5)
    assert (model.predict(X) == model.classes_[model.predict_proba(X).argmax(axis=1)]).all()


# -- the certificate ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize("model", [HeavyBallRegressor(), HeavyBallClassifier()])
def test_the_gradient_is_tol_times_the_first_in_the_callers_variables(model, tol, kind):
    """Written out from the docstring, with weights; the scaling inside must not show."""
    if kind == "float32":
        tol = max(tol, 1e-6)  # below, the rounding of the coefficients decides
    X, y = regression() if isinstance(model, HeavyBallRegressor) else classes()
    if kind == "sparse":
        X = X * (np.random.default_rng(1).random(X.shape) < 0.2)
    weights = np.random.default_rng(0).exponential(size=N)
    given_X = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[kind]
    model.set_params(tol=tol, random_state=0).fit(given_X, y, sample_weight=weights)
    targets = (y if isinstance(model, HeavyBallRegressor) else y == 1)[:, None]
    assert model.optimality_ <= tol
    if kind != "float32":  # coefficients were rounded
        norm = gradient(model, X, targets, weights)
        assert norm <= tol * at_zero(model, X, targets, weights) * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_mean_of_y_does_not_hide_the_rest(seed):
    """The gradient at zero is nearly all of the intercept: tol is of the constant model's."""
    X, y = regression(seed=seed)
    model = HeavyBallRegressor(tol=1e-4, random_state=seed).fit(X, y + 1e6)
    assert model.score(X, y + 1e6) == pytest.approx(
        HeavyBallRegressor(tol=1e-8, random_state=0).fit(X, y).score(X, y), abs=1e-4
    )


@pytest.mark.parametrize("method", ["shb", "nesterov", "2p-shb", "mass", "sgd-exp", "sgd-sls-exp"])
@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_other_methods_follow_their_schedule(kind, method):
    X, y = regression() if kind is HeavyBallRegressor else classes()
    model = kind(method=method, max_iter=20, batch_size=0.5, tol=0.0, random_state=0).fit(X, y)
    assert model.history_["passes"][-1] == 20.0
    assert model.history_["iteration"][-1] == 40
    assert model.score(X, y) > kind(tol=1e-8, random_state=0).fit(X, y).score(X, y) - 0.1
    early = kind(method="nesterov", max_iter=500, batch_size=1.0, tol=1e-2).fit(X, y)
    assert early.n_iter_ < 500
    assert early.optimality_ <= 1e-2


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_method_runs_and_none_diverges(name):
    X, y = classes(n=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tol is not reached; multistage has one stage only
        model = HeavyBallClassifier(method=name, max_iter=10, batch_size=4, random_state=0)
        model.fit(X, y)
    assert model.history_["value"][-1] <= 4 * np.log(2.0)


# -- what must not matter -------------------------------------------------------------------------


@given(seed=st.integers(0, 1000), powers=st.lists(st.integers(-8, 8), min_size=12, max_size=12))
@settings(max_examples=15, deadline=None)
def test_the_size_of_columns_does_not_matter_without_a_penalty(seed, powers):
    X, y = regression(n=200, seed=seed % 7)
    scaled = X * 10.0 ** np.array(powers)
    plain = HeavyBallRegressor(l2=0.0, random_state=0).fit(X, y)
    model = HeavyBallRegressor(l2=0.0, random_state=0).fit(scaled, y)
    np.testing.assert_allclose(model.predict(scaled), plain.predict(X), atol=1e-6 * y.std())


@pytest.mark.parametrize("n", [200, N])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_tiny_and_huge_columns_reach_tol(kind, container, n):
    X, y = regression(n) if kind is HeavyBallRegressor else classes(n)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    X[:, 0] *= 1e-8
    X[:, 1] *= 1e8
    X[:, 2:] *= np.random.default_rng(0).random((n, 10)) < 0.1  # or sparse rows would be dense
    model = kind(random_state=0).fit(container(X), y)
    assert model.optimality_ <= 1e-4


@given(seed=st.integers(0, 10_000), n=st.integers(5, 40), sparse=st.booleans())
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_a_weight_is_a_repetition(kind, seed, n, sparse):
    rng = np.random.default_rng(seed)
    X, times = rng.standard_normal((n, 3)), rng.integers(0, 4, n)
    times[:2] = 1
    y = np.round(X @ [1.0, -1.0, 0.5] + rng.standard_normal(n), 1)
    if kind is HeavyBallClassifier:
        y = y > 0
        y[:2] = False, True
    container = sp.csr_array if sparse else np.asarray
    weighted = kind(l2=0.01, random_state=0).fit(container(X), y, sample_weight=times)
    repeated = kind(l2=0.01, random_state=1).fit(container(X.repeat(times, 0)), y.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-8)


def test_balanced_weights_count_weights():
    X, y = classes()
    times = np.where(y == 1, 3, 1)
    weighted = HeavyBallClassifier(class_weight="balanced", tol=1e-8, random_state=0)
    repeated = HeavyBallClassifier(class_weight="balanced", tol=1e-8, random_state=0)
    weighted.fit(X, y, sample_weight=times)
    repeated.fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-4, atol=1e-6)
    by_hand = {c: times.sum() / (2 * times[y == c].sum()) for c in (0, 1)}
    named = HeavyBallClassifier(class_weight=by_hand, tol=1e-8, random_state=0)
    named.fit(X, y, sample_weight=times)
    np.testing.assert_allclose(named.coef_, weighted.coef_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("make", [sp.csc_array, sp.coo_array, sp.csr_matrix, sp.lil_array])
def test_sparse_formats_and_memory_orders(make):
    X, y = classes()
    X = X * (np.random.default_rng(0).random(X.shape) < 0.2)
    expected = HeavyBallClassifier(tol=1e-8, random_state=0).fit(sp.csr_array(X), y)
    model = HeavyBallClassifier(tol=1e-8, random_state=0).fit(make(X), y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    fortran = HeavyBallClassifier(tol=1e-8, random_state=0).fit(np.asfortranarray(X), y)
    np.testing.assert_allclose(fortran.predict_proba(X), model.predict_proba(X), atol=1e-5)


def test_float32_stays_float32():
    X, y = regression()
    X32 = X.astype(np.float32)
    for container in (np.asarray, sp.csr_array):
        model = HeavyBallRegressor(random_state=0).fit(container(X32), y)
        assert model.coef_.dtype == model.predict(X32).dtype == np.float32
    double = HeavyBallRegressor(random_state=0).fit(X, y)
    assert double.coef_.dtype == np.float64
    np.testing.assert_allclose(model.predict(X32), double.predict(X), atol=1e-2 * y.std())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["outputs", "classes against the rest"])
def test_each_run_in_float32_is_judged_by_its_own_targets(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)).astype(np.float32)
    Y = X[:, :2] @ [[1.0, -2.0], [3.0, 0.5]] + rng.standard_normal((500, 2))
    if kind == "outputs":
        model = HeavyBallRegressor().fit(X, Y)
    else:
        model = HeavyBallClassifier(loss="squared_hinge").fit(X, np.digitize(Y[:, 0], [-1.0, 1.0]))
    assert model.optimality_ < 1e-6


# -- starting points and seeds --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [HeavyBallRegressor, HeavyBallClassifier])
def test_a_warm_start_at_the_solution_takes_no_pass(kind):
    X, y = regression() if kind is HeavyBallRegressor else classes(count=3)
    model = kind(tol=1e-6, warm_start=True, random_state=0).fit(X, y)
    cold, solution = model.n_iter_, model.coef_.copy()
    model.set_params(tol=2e-6).fit(X, y)
    assert model.history_["iteration"].max() == 0 < cold
    np.testing.assert_allclose(model.coef_, solution, rtol=1e-12)
    near = model.set_params(l2=1.1e-4, tol=1e-6).fit(X, y).history_["gradient_norm"][0]
    fresh = kind(l2=1.1e-4, tol=1e-6, random_state=0).fit(X, y).history_["gradient_norm"][0]
    assert near < 0.1 * fresh


def test_the_seed_decides_the_run():
    X, y = classes()
    batches = {"batch_size": 0.1, "tol": 1e-2}
    fits = [HeavyBallClassifier(random_state=s, **batches).fit(X, y).coef_ for s in (0, 0, 1)]
    assert (fits[0] == fits[1]).all()
    assert (fits[0] != fits[2]).any()
    state = np.random.RandomState(0)
    first = HeavyBallClassifier(random_state=state, **batches).fit(X, y).coef_
    assert (first != HeavyBallClassifier(random_state=state, **batches).fit(X, y).coef_).any()
