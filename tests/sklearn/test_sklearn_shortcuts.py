"""Shortcuts for the usual input: the same as the long way, and errors are scikit-learn's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils._param_validation import InvalidParameterError

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor, _arrays, _plain

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = (X[:, 0] + RNG.standard_normal(40) > 0.0).astype(int)


def long_way(estimator, X, y, *, reset, **how):
    X, y = _arrays.checked(estimator, X, y, reset=reset, **how)
    return X, y


@pytest.mark.parametrize("stored", [np.array, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (HeavyBallClassifier, Y),
        (HeavyBallClassifier, Y.astype(bool)),
        (HeavyBallClassifier, Y * 2.0 - 1.0),
        (HeavyBallRegressor, X[:, 0] + 1.0),
        (HeavyBallRegressor, Y),
    ],
)
def test_usual_input_is_taken_as_it_is(kind, target, stored, monkeypatch):
    rows = stored(X)
    slow = kind(random_state=0)
    with monkeypatch.context() as now:
        now.setattr(_plain, "checked", long_way)
        slow.fit(rows, target)
    with monkeypatch.context() as now:
        now.setattr(_arrays, "checked", None)  # which is not called
        quick = kind(random_state=0).fit(rows, target)
    assert quick.n_features_in_ == slow.n_features_in_ == 3
    assert (quick.coef_ == slow.coef_).all()
    assert quick.plan_ == slow.plan_


BROKEN = np.where(np.arange(120).reshape(40, 3) == 7, np.nan, X)
ENDLESS = np.where(np.arange(120).reshape(40, 3) == 7, np.inf, X)


@pytest.mark.parametrize(
    ("rows", "target", "words"),
    [
        (BROKEN, Y, "Input X contains NaN"),
        (ENDLESS, Y, "Input X contains infinity"),
        (X, np.where(Y == 0, np.nan, 1.0), "Input y contains NaN"),
        (X[:39], Y, "inconsistent numbers of samples"),
        (X[:0], Y[:0], "0 sample"),
        (X[:, :0], Y, "0 feature"),
        (X[0], Y, "Expected 2D array"),
        (sp.csr_array(BROKEN), Y, "Input X contains NaN"),
        (sp.csr_array(X[:39]), Y, "inconsistent numbers of samples"),
    ],
)
def test_what_is_wrong_is_said_by_scikit_learn(rows, target, words):
    with pytest.raises(ValueError, match=words):
        HeavyBallClassifier().fit(rows, target)


def test_a_sum_that_overflows_is_no_infinity():
    huge = X.copy()
    huge[:2, 0] = 1.7e308
    assert not _plain._finite(huge)
    assert _plain.checked(HeavyBallClassifier(), huge, Y, reset=True)[0] is huge


def test_where_nobody_asks_rows_are_not_looked_through():
    model = HeavyBallRegressor()
    found, _ = _plain.checked(model, BROKEN, X[:, 0], reset=True, ensure_all_finite=False)
    assert found is BROKEN
    assert model.n_features_in_ == 3


@pytest.mark.parametrize(
    "rows",
    [
        X.astype(np.float32),
        np.asfortranarray(X),
        X.tolist(),
        X.astype(object),
        sp.csc_array(X),
        sp.csr_array(X.astype(np.float32)),
    ],
)
def test_other_arrays_take_the_long_way(rows):
    assert not _plain._fits(rows, Y)


def test_names_of_columns_are_forgotten_and_their_number_is_remembered():
    pandas = pytest.importorskip("pandas", reason="names of columns come with pandas")
    model = HeavyBallClassifier(random_state=0).fit(pandas.DataFrame(X, columns=list("abc")), Y)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    streamed = HeavyBallClassifier(random_state=0).partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match="2 features, but HeavyBallClassifier is expecting 3"):
        streamed.partial_fit(np.ascontiguousarray(X[:, :2]), Y)


@given(
    hnp.arrays(
        st.sampled_from([np.int8, np.int64, np.uint8, np.float32, np.float64, np.bool_]),
        st.integers(1, 30),
        elements=st.integers(0, 2).map(lambda j: j % 2 if j < 2 else 1),
    )
    | hnp.arrays(np.int64, st.integers(1, 30), elements=st.integers(-3, 3))
    | hnp.arrays("U3", st.integers(1, 9), elements=st.sampled_from(["a", "bc", ""]))
)
def test_classes_are_those_of_numpy(y):
    ours, theirs = _plain.classes_of(y), np.unique(y, return_inverse=True)
    for a, b in zip(ours, theirs):
        assert a.dtype == b.dtype
        assert (a == b).all()


def test_a_value_that_has_passed_says_nothing_of_another():
    for _ in range(2):
        HeavyBallClassifier(tol=0.5).fit(X, Y)
        with pytest.raises(InvalidParameterError, match="'tol' parameter"):
            HeavyBallClassifier(tol=1.5).fit(X, Y)
    HeavyBallClassifier(fit_intercept=True).fit(X, Y)
    with pytest.raises(InvalidParameterError, match="'fit_intercept' parameter"):
        HeavyBallClassifier(fit_intercept=1.0).fit(X, Y)  # though 1.0 == True
    HeavyBallRegressor(loss="huber").fit(X, X[:, 0])
    with pytest.raises(InvalidParameterError, match="'loss' parameter"):
        HeavyBallClassifier(loss="huber").fit(X, Y)
