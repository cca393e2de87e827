"""Input that is bad, odd or has no answer: refused by name, or solved, or warned of."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from refusal import refused

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4))
Y = X @ [1.0, 2.0, 3.0, 4.0] + 1.0 + 0.1 * RNG.standard_normal(200)
LABELS = Y - RNG.logistic(size=200) > 1.0
WIDE = RNG.standard_normal((6000, 4))  # too many numbers to be treated as tiny
WIDE_LABELS = WIDE[:, 0] > RNG.logistic(size=6000)


# -- refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "y", "weights", "message"),
    [
        (
            HeavyBallClassifier(),
            np.ones(200),
            None,
            r"HeavyBallClassifier: y has 1 class \(\[1.0\]\) in the rows of positive weight, must "
            r"have two or more; check how the data were split\.",
        ),
        (
            HeavyBallClassifier(class_weight={False: 0.0}),
            LABELS,
            None,
            r"HeavyBallClassifier: y has 1 class \(\[True\]\) .*",
        ),
        (
            HeavyBallClassifier(class_weight={False: -1.0}),
            LABELS,
            None,
            r"HeavyBallClassifier: class_weight has -1, must be >= 0; 0 leaves a class out\.",
        ),
        (
            HeavyBallRegressor(),
            Y,
            -np.ones(200),
            r"HeavyBallRegressor: sample_weight from -1 to -1 must be >= 0 and not all zero; .*",
        ),
        (
            HeavyBallRegressor(batch_size=201),
            Y,
            None,
            r"HeavyBallRegressor: batch_size=201 must be an integer from 1 to 200; .*",
        ),
        (HeavyBallRegressor(), np.full(200, np.nan), None, r"Input y contains NaN\."),
        (
            HeavyBallRegressor(),
            1e200 * Y,
            None,
            r"fit: the objective or its .* overflows, .*scale y.*",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused(model, y, weights, message):
    refused(lambda: model.fit(X, y, sample_weight=weights), ValueError, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.where(X > 2, np.nan, X), "Input X contains NaN"),
        (np.where(X > 2, np.inf, X), "Input X contains infinity"),
        (1j * X, "Complex data not supported"),
        (X[:0], "0 sample"),
        (np.full(X.shape, "a"), "could not convert"),
        ((1e-38 * X).astype(np.float32), "a coefficient is too large for float32"),
    ],
)
def test_what_is_no_data_is_refused(data, message):
    with pytest.raises(ValueError, match=message):
        HeavyBallRegressor(l2=0.0).fit(data, 1e3 * Y[: len(data)])


@pytest.mark.parametrize(
    "setting",
    [
        {"l2": -1.0},
        {"method": "adam"},
        {"batch_size": 0},
        {"batch_size": 1.5},
        {"max_iter": 0},
        {"tol": 1.0},
        {"fit_intercept": "yes"},
        {"class_weight": "uneven"},
    ],
    ids=str,
)
def test_settings_are_checked_when_fitting(setting):
    name = next(iter(setting))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of HeavyBallClassifier must be"):
        HeavyBallClassifier(**setting).fit(X, LABELS)


def test_a_start_of_another_shape_is_refused():
    model = HeavyBallRegressor(warm_start=True).fit(X, Y)
    refused(
        lambda: model.fit(X[:, :2], Y),
        ValueError,
        r"HeavyBallRegressor: coef_ of the last fit has shape \(1, 4\), must be \(1, 2\) to go on "
        r"from it; set warm_start=False, or fit a clone\.",
    )


def test_an_unfitted_model_says_so():
    for call in (HeavyBallRegressor().predict, HeavyBallClassifier().predict_proba):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        HeavyBallRegressor().plot_history()


# -- solved ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_columns_that_say_nothing_get_nothing(container):
    odd = np.hstack([X, np.full((200, 1), 1e6), np.zeros((200, 1))])
    plain = HeavyBallRegressor().fit(X, Y)
    model = HeavyBallRegressor().fit(container(odd), Y)
    np.testing.assert_allclose(model.coef_[:4], plain.coef_, atol=1e-9)
    np.testing.assert_allclose(model.coef_[4:], 0.0, atol=1e-9)
    nothing = HeavyBallRegressor().fit(container(0.0 * X), Y)
    assert not nothing.coef_.any()
    assert nothing.intercept_ == pytest.approx(Y.mean())
    labels = HeavyBallClassifier().fit(container(0.0 * X), LABELS)
    assert labels.predict_proba(X)[0, 1] == pytest.approx(LABELS.mean())


def test_columns_of_any_size_are_scaled_first():
    huge = HeavyBallRegressor(l2=0.0).fit(1e200 * X, Y)
    np.testing.assert_allclose(1e200 * huge.coef_, HeavyBallRegressor(l2=0.0).fit(X, Y).coef_)


def test_nothing_depends_on_the_coefficients():
    model = HeavyBallRegressor(l2=0.0, fit_intercept=False).fit(0.0 * X, Y)
    assert not model.coef_.any()
    assert "does not depend on the coefficients" in model.plan_


@pytest.mark.parametrize("l2", [0.0, 1e-4])
def test_one_row(l2):
    model = HeavyBallRegressor(l2).fit(X[:1], Y[:1])
    assert model.predict(X[:1]) == pytest.approx(Y[:1])
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("value", [0.0, 7.0, -1e12])
def test_a_constant_target(value):
    model = HeavyBallRegressor().fit(WIDE, np.full(6000, value))
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-12 * max(abs(value), 1.0))
    assert model.intercept_ == pytest.approx(value)
    assert model.n_iter_ == 1


def test_without_curvature_the_value_converges():
    """Twice the same columns, and more columns than rows; l2 = 0."""
    twice = np.hstack([WIDE, WIDE])
    y = WIDE @ [1.0, -1.0, 2.0, 0.0] + RNG.standard_normal(6000)
    model = HeavyBallRegressor(l2=0.0, tol=1e-6, random_state=0).fit(twice, y)
    best = ((y - y.mean() - (WIDE - WIDE.mean(0)) @ _least_squares(WIDE, y)) ** 2).mean()
    assert ((model.predict(twice) - y) ** 2).mean() == pytest.approx(best, rel=1e-9)
    assert "LinearRegression()" in model.plan_
    few = HeavyBallRegressor(l2=0.0).fit(np.hstack([X, X**2, X**3])[:8], Y[:8])
    np.testing.assert_allclose(few.predict(np.hstack([X, X**2, X**3])[:8]), Y[:8], atol=1e-6)


def _least_squares(X, y):
    return np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]


# -- warned of ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [X, WIDE], ids=["tiny", "larger"])
def test_separable_classes_without_a_penalty_have_no_minimiser(data):
    model = HeavyBallClassifier(l2=0.0, max_iter=300, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"no finite minimiser exists: .* Set l2 > 0"):
        model.fit(data, data[:, 0] > 0)
    assert model.score(data, data[:, 0] > 0) == 1.0
    assert np.isfinite(model.coef_).all()
    HeavyBallClassifier(l2=1e-4, random_state=0).fit(data, data[:, 0] > 0)  # and with one, no word


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"max_iter": 3}, r"after (2|2\.\d+|3) passes, not tol=1e-10; raise max_iter \(now 3\)"),
        ({"max_iter": 1}, r"after 1 passes, not tol=1e-10; raise max_iter \(now 1\), tol or l2"),
        ({"method": "shb", "max_iter": 3}, r"method 'shb' has a fixed schedule: raise max_iter"),
    ],
)
def test_a_missed_tolerance_is_said_with_a_remedy(setting, said):
    model = HeavyBallClassifier(tol=1e-10, random_state=0, **setting)
    with pytest.warns(ConvergenceWarning, match=said) as caught:
        model.fit(WIDE, WIDE_LABELS)
    assert caught[0].filename == __file__
    assert model.n_iter_ <= setting["max_iter"]
    assert model.optimality_ > 1e-10


def test_without_a_tolerance_nothing_is_missed():
    model = HeavyBallClassifier(tol=0.0, max_iter=3, random_state=0).fit(WIDE, WIDE_LABELS)
    assert 2.0 < model.history_["passes"][-1] <= 3.0


def test_several_runs_warn_once():
    labels = np.digitize(WIDE[:, 0] + WIDE[:, 1] ** 3, [-1.0, 1.0])
    with pytest.warns(ConvergenceWarning, match=r"for \d of 3 runs after 1 passes") as caught:
        HeavyBallClassifier(loss="squared_hinge", tol=1e-10, max_iter=1, random_state=0).fit(
            WIDE, labels
        )
    assert len(caught) == 1


@pytest.mark.parametrize("seed", [0, 7, np.int64(7)])
def test_a_seed_that_is_remembered_is_the_generators_own(seed):
    expected = np.random.RandomState(seed).randint(2**31 - 1)
    assert HeavyBallRegressor(random_state=seed)._seed() == expected


def test_a_subclass_has_its_own_parameters():
    class More(HeavyBallRegressor):
        def __init__(self, extra=1, *, l2=1e-4):
            super().__init__(l2=l2)
            self.extra = extra

    assert set(More().get_params()) == {"extra", "l2"}
    assert "extra" not in HeavyBallRegressor().get_params()
