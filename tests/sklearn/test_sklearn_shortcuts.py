"""Input: errors are scikit-learn's, and classes are NumPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.utils._param_validation import InvalidParameterError

from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from bocce.sklearn._classifier import _classes_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = (X[:, 0] + RNG.standard_normal(40) > 0.0).astype(int)


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


def test_names_of_columns_are_forgotten_and_their_number_is_remembered():
    pandas = pytest.importorskip("pandas", reason="names of columns come with pandas")
    model = HeavyBallClassifier(random_state=0).fit(pandas.DataFrame(X, columns=list("abc")), Y)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")
    streamed = HeavyBallRegressor().partial_fit(X, Y)
    with pytest.raises(ValueError, match="2 features, but HeavyBallRegressor is expecting 3"):
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
    ours, theirs = _classes_of(y), np.unique(y, return_inverse=True)
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
