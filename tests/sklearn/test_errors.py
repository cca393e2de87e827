"""What estimators say about the certainty of their coefficients, and models for other tools."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import GammaRegressor, PoissonRegressor

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from refusal import refused


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + 0.2)).astype(float)


def test_a_summary_has_names_intervals_and_p_values_without_a_penalty():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    plain = HeavyBallRegressor(l2=0.0, tol="auto").fit(X, y)
    table = plain.summary()
    assert table.names == [*X.columns, "intercept"]
    np.testing.assert_allclose(table["coef"][:-1], plain.coef_)
    np.testing.assert_allclose(table["std_error"], plain.standard_errors_)
    middle = 0.5 * (table["lower"] + table["upper"])
    np.testing.assert_allclose(middle, table["coef"], rtol=1e-6)
    assert table["p_value"][2] < 1e-10
    assert table.to_pandas().loc["bmi", "coef"] == table["coef"][2]
    penalised = HeavyBallRegressor(l2=1e-3).fit(X, y).summary()
    assert "p_value" not in penalised.columns
    assert "without the penalty" in penalised.notes[0]
    # for the squared loss the intervals are those of the fit without a penalty, but for sigma
    np.testing.assert_allclose(
        0.5 * (penalised["lower"] + penalised["upper"]), table["coef"], rtol=1e-6
    )


def test_html_is_escaped():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.rename(columns={"bmi": "<b>&"})
    shown = HeavyBallRegressor().fit(X, y).summary()._repr_html_()
    assert "&lt;b&gt;&amp;" in shown
    assert "<b>&" not in shown


@pytest.mark.parametrize("l2", [1e-2, 1e-4])
@pytest.mark.parametrize("scale", [1.0, 1e5])
def test_tol_auto_brings_every_coefficient_within_a_hundredth_of_its_error(l2, scale):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((3000, 12)) * np.geomspace(1.0, scale, 12)
    y = X[:, 0] + X[:, -1] / scale + rng.logistic(size=3000) > 0
    auto = HeavyBallClassifier(l2=l2, tol="auto").fit(X, y)
    best = HeavyBallClassifier(l2=l2, tol=1e-13).fit(X, y)
    off = np.abs(np.append(auto.coef_ - best.coef_, auto.intercept_ - best.intercept_))
    assert (off <= 0.01 * auto.standard_errors_.ravel()).all()


def test_classes_and_outputs_have_a_row_each():
    X, y = load_iris(return_X_y=True)
    model = HeavyBallClassifier(l2=0.01).fit(X, y)
    assert model.standard_errors_.shape == (3, 5)
    assert model.covariance_.shape == (15, 15)
    assert model.summary().names[5] == "1: x0"
    rest = HeavyBallClassifier(l2=0.01, loss="squared_hinge").fit(X, y)
    assert rest.summary("sandwich").names == model.summary().names
    several = HeavyBallRegressor().fit(X[:, :2], X[:, 2:])
    assert several.covariance_.shape == (2, 3, 3)
    assert several.standard_errors_.shape == (2, 3)


def test_pickles_leave_the_data_out():
    X, y = np.random.default_rng(0).standard_normal((2, 20_000, 5))
    model = HeavyBallRegressor().fit(X, y[:, 0])
    assert len(pickle.dumps(model)) < 20_000
    refused(
        pickle.loads(pickle.dumps(model)).summary,
        ValueError,
        r"HeavyBallRegressor: standard errors need the data of the fit, which pickles and "
        r"partial_fit do not keep; call fit again\.",
    )


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("estimator", [HeavyBallRegressor, HeavyBallClassifier])
def test_standard_errors_are_of_the_data_of_the_fit(estimator, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 4))
    y = 1.0 * (X[:, 0] + rng.standard_normal(400) > 0.0)
    expected = estimator(0.01).fit(X, y).summary("sandwich")
    data = sp.csr_array(X) if kind == "csr" else X
    model = estimator(0.01).fit(data, y)
    if kind == "csr":
        data.data *= 10.0
    else:
        data *= 10.0
    y[:] = 1.0 - y
    np.testing.assert_allclose(model.summary("sandwich")["std_error"], expected["std_error"])
    assert model.standard_errors_.shape[-1] == 5


def test_large_data_that_were_changed_are_refused():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30_000, 10))
    y = X[:, 0] + rng.standard_normal(30_000)
    model = HeavyBallRegressor().fit(X, y)
    early = model.standard_errors_
    other = HeavyBallRegressor().fit(X, y)
    X[:, 3] *= 2.0
    np.testing.assert_array_equal(model.standard_errors_, early)
    refused(
        other.summary,
        ValueError,
        r"HeavyBallRegressor: X or y was changed after the fit, and must be as it was for standard "
        r"errors; ask for them before you change X, or call fit again\.",
    )


@pytest.mark.parametrize("power", [-300, -160, -40, -30, -24, -20, 160, 300])
@pytest.mark.parametrize("loss", ["squared", "poisson", "log_loss"])
def test_fits_do_not_depend_on_the_unit_of_a_column(loss, power):
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((200, 1))
    X = Z * 10.0**power
    if loss == "log_loss":
        y = Z[:, 0] + rng.logistic(size=200) > 0.0
        models = [HeavyBallClassifier(0.0).fit(data, y) for data in (Z, X)]
    else:
        y = rng.poisson(np.exp(0.5 * Z[:, 0]))
        models = [HeavyBallRegressor(0.0, loss=loss).fit(data, y) for data in (Z, X)]
    assert models[1].score(X, y) == pytest.approx(models[0].score(Z, y), rel=1e-6)
    coef = np.ravel(models[1].coef_)[0] * 10.0**power
    assert coef == pytest.approx(np.ravel(models[0].coef_)[0], rel=1e-6)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), power=st.integers(-300, 150))
def test_the_gradient_at_the_coefficients_is_the_last_of_the_history(seed, power):
    # Poisson's loss has no bound on its curvature, so the returned point is looked at
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((60, 2))
    y = rng.poisson(np.exp(0.5 * Z[:, 0]))
    model = HeavyBallRegressor(0.0, loss="poisson").fit(Z * [10.0**power, 1.0], y)
    norms = model.history_["gradient_norm"]
    assert norms[-1] <= 1e-4 * norms[0]


def test_a_stream_forgets_the_standard_errors_of_the_fit_before_it():
    X = np.random.default_rng(0).standard_normal((200, 3))
    y = X[:, 0] + X[:, 1]
    model = HeavyBallRegressor(l2=0.1).fit(X, y)
    assert model.standard_errors_.shape == (4,)
    with pytest.raises(ValueError, match="partial_fit do not keep; call fit again"):
        model.partial_fit(X, y).summary()


PEERS = {"poisson": PoissonRegressor, "gamma": GammaRegressor}


@pytest.mark.parametrize("loss", PEERS)
def test_counts_and_amounts_are_scored_by_their_deviance(loss, counts):
    X, y = counts
    y = y + (loss == "gamma")
    ours = HeavyBallRegressor(l2=0.01, loss=loss, tol=1e-10).fit(X, y)
    theirs = PEERS[loss](alpha=0.01, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-6)


def test_the_quantile_loss_splits_the_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 2))
    y = X[:, 0] + rng.standard_normal(2000)
    model = HeavyBallRegressor(l2=0.0, loss="quantile", quantile=0.8, smoothing=0.01).fit(X, y)
    assert np.mean(y < model.predict(X)) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "gamma", "quantile"])
def test_regressors_become_scikit_learns(loss, counts):
    X, y = counts
    model = HeavyBallRegressor(l2=0.01, loss=loss).fit(X, y + 1.0)
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize("loss", ["log_loss", "logistic", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_become_scikit_learns(loss, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    model = HeavyBallClassifier(l2=0.01, loss=loss).fit(X, y)
    theirs = model.to_sklearn()
    np.testing.assert_array_equal(theirs.predict(X), model.predict(X))
    if loss != "squared_hinge":
        np.testing.assert_allclose(theirs.predict_proba(X), model.predict_proba(X), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.* holds back the coefficient")
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("outputs", [None, 2])
def test_streams_of_the_squared_loss_are_exact_in_any_order(intercept, outputs):
    """As fit on all rows seen, weights included, where fit is exact."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 6)) * np.geomspace(1e-2, 1e2, 6) + 3.0
    y = rng.standard_normal((500, outputs or 1)) + X[:, :1]
    y = y if outputs else y[:, 0]
    c = rng.integers(1, 4, 500).astype(float)
    X[:100, 2] = 3.0  # constant in the first chunk
    for order in (np.arange(500), rng.permutation(500)):
        stream = HeavyBallRegressor(l2=1e-3, fit_intercept=intercept)
        for rows in np.array_split(order, 5):
            stream.partial_fit(X[rows], y[rows], sample_weight=c[rows])
        stream = pickle.loads(pickle.dumps(stream))
        whole = HeavyBallRegressor(l2=1e-3, fit_intercept=intercept, tol=1e-13)
        whole.fit(X, y, sample_weight=c)
        np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-8, atol=1e-10)
        value = stream.history_["value"][-1]
        assert value == pytest.approx(whole.history_["value"][-1], rel=1e-9)
