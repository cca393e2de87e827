"""Estimators on arrays of other libraries, under ``array_api_dispatch``.

scikit-learn wants SCIPY_ARRAY_API=1 for that, which SciPy reads when it is imported; the estimators
use nothing of it, so that here it is set for scikit-learn's eyes only. PyTorch's tensors are in
tests/frameworks/test_torch_arrays.py.
"""

from __future__ import annotations

import re

import array_api_strict as strict
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from array_estimators import ESTIMATORS, SAID
from array_problems import D, N, design, on, targets
from bocce.rows import host
from bocce.sklearn import (
    HeavyBallClassifier,
    HeavyBallClassifierCV,
    HeavyBallRegressor,
    HeavyBallRegressorCV,
)
from bocce.sklearn._arrays import SUPPORTED
from refusal import refused
from sklearn import config_context

each = pytest.mark.parametrize("loss", ESTIMATORS)


@pytest.fixture(autouse=True)
def dispatch(monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with config_context(array_api_dispatch=True):
        yield


def both(loss, make, **more):
    """The estimator fitted to NumPy's arrays and to ``make``'s, and what they are asked about."""
    X = design()
    y = targets(loss, X)
    ours, theirs = (clone(ESTIMATORS[loss]).set_params(**more) for _ in range(2))
    return ours.fit(X, y), theirs.fit(make(X), make(y)), X


@pytest.mark.parametrize("device", ["CPU_DEVICE", "device1"])
@each
def test_a_fit_is_that_to_numpy_and_of_the_same_kind_as_X(loss, device):
    make = on(device)
    ours, theirs, X = both(loss, make)
    for name in ("coef_", "intercept_"):
        fitted = getattr(theirs, name)
        assert isinstance(fitted, type(strict.ones(1)))
        assert fitted.device == make(X).device
        assert fitted.dtype == strict.float64
        np.testing.assert_allclose(host(fitted), getattr(ours, name), atol=1e-8)
    assert theirs.optimality_ <= 1e-4
    for name in SAID:
        if not hasattr(ours, name):
            continue
        said = getattr(theirs, name)(make(X))
        assert said.device == make(X).device
        np.testing.assert_allclose(host(said), getattr(ours, name)(X), atol=1e-8)


@each
def test_float32_stays_float32(loss):
    make = on("no_float64", np.float32)
    ours, theirs, X = both(loss, make, tol=1e-3)
    assert theirs.coef_.dtype == theirs.intercept_.dtype == strict.float32
    np.testing.assert_allclose(host(theirs.coef_), ours.coef_, atol=2e-3)
    assert theirs.predict(make(X)).shape == (N,)


def test_weights_classes_and_outputs():
    X, make = design(), on("device1")
    y, weights = targets("softmax", X), np.linspace(0.0, 2.0, N)  # the first row is left out
    ours = HeavyBallClassifier(class_weight="balanced").fit(X, y, weights)
    theirs = HeavyBallClassifier(class_weight="balanced").fit(make(X), make(y), make(weights))
    np.testing.assert_allclose(host(theirs.coef_), ours.coef_, atol=1e-8)
    assert isinstance(theirs.classes_, np.ndarray)
    Y = np.stack([targets("squared", X), X[:, 0]], axis=1)
    ours, theirs = HeavyBallRegressor().fit(X, Y), HeavyBallRegressor().fit(make(X), make(Y))
    assert theirs.coef_.shape == (2, D)
    np.testing.assert_allclose(host(theirs.predict(make(X))), ours.predict(X), atol=1e-8)


def test_labels_that_are_no_numbers_are_numpys():
    X, make = design(), on("CPU_DEVICE")
    y = np.where(targets("logistic", X) > 0, "yes", "no")
    said = HeavyBallClassifier().fit(make(X), y).predict(make(X))
    assert isinstance(said, np.ndarray)
    assert set(said) <= {"yes", "no"}
    np.testing.assert_array_equal(said, HeavyBallClassifier().fit(X, y).predict(X))


def test_targets_may_be_elsewhere_than_X():
    X = design()
    y, there = targets("squared", X), on("device1")
    wanted = HeavyBallRegressor().fit(X, y).coef_
    np.testing.assert_allclose(HeavyBallRegressor().fit(X, there(y)).coef_, wanted, atol=1e-9)
    mixed = HeavyBallRegressor().fit(on("CPU_DEVICE")(X), there(y))
    np.testing.assert_allclose(host(mixed.coef_), wanted, atol=1e-9)


def test_a_warm_start_and_a_callback_see_the_same_kind(capsys):
    make = on("device1")
    X = design()
    model = HeavyBallClassifier(l2=1e-2, tol=1e-3, warm_start=True, verbose=1)
    y = targets("logistic", X)
    model.fit(make(X), make(y))
    first = capsys.readouterr().out.count("step")
    model.fit(make(X), make(y))
    again = capsys.readouterr().out.count("step")
    assert first > again
    assert model.coef_.device == make(X).device


def test_a_model_fitted_elsewhere_predicts_on_numpy_without_dispatch():
    make = on("device1")
    ours, theirs, X = both("logistic", make)
    with config_context(array_api_dispatch=False):
        np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), atol=1e-8)
        np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))


@pytest.mark.skipif(not SUPPORTED, reason="scores want scikit-learn 1.9")
@pytest.mark.parametrize(
    ("kind", "loss"), [(HeavyBallClassifierCV, "softmax"), (HeavyBallRegressorCV, "squared")]
)
def test_penalties_by_cross_validation(kind, loss):
    X, make = design(), on("CPU_DEVICE")
    y = targets(loss, X)
    ours = kind(l2s=[1.0, 1e-2], cv=3).fit(X, y)
    theirs = kind(l2s=[1.0, 1e-2], cv=3).fit(make(X), make(y))
    np.testing.assert_allclose(theirs.scores_, ours.scores_, atol=1e-6)
    assert theirs.l2_ == ours.l2_
    np.testing.assert_allclose(host(theirs.coef_), ours.coef_, atol=1e-6)


def test_a_stream_is_refused():
    X, make = design(), on("CPU_DEVICE")
    model = clone(ESTIMATORS["squared"])
    refused(
        lambda: model.partial_fit(make(X), targets("squared", X)),
        TypeError,
        r"HeavyBallRegressor: X is an array of array_api_strict, must be a NumPy array for "
        r"partial_fit, which goes through the host; give X\.cpu\(\)\.numpy\(\) or the like, or "
        r"use fit\.",
    )


def checks():
    """Those of scikit-learn that are about such arrays, where this version has some."""
    for loss, estimator in ESTIMATORS.items():
        for model, check in estimator_checks_generator(estimator):
            words = check.keywords
            ours = not re.search("torch|cupy|dpnp", str(words))
            if "array_api" in check.func.__name__ and ours:
                name = f"{loss}-{check.func.__name__}-{words.get('array_namespace', '')}"
                yield pytest.param(model, check, id=f"{name}-{words.get('device_name', '')}")


@pytest.mark.parametrize(("model", "check"), list(checks()))
def test_scikit_learns_own_checks(model, check):
    with config_context(array_api_dispatch=False):
        check(model)
