"""Gaussian models against data sets with Gaussian moments, hand computation and each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.exact import (
    Gaussian,
    critical_batch_size,
    expected,
    gaussian,
    mean_square_rate,
    stationary,
)
from bocce.schedules import REGISTRY, Schedule
from bocce.theory import certify

SPECTRUM = np.array([4.0, 1.0, 0.3])
ERROR = np.array([1.5, -0.5, 2.0])
SIX = np.sqrt(3.0) * np.array([0.0, 0.0, 0.0, 0.0, 1.0, -1.0])  # Gauss-Hermite with three nodes


def twin(noise=0.0, spectrum=SPECTRUM, error=ERROR):
    """A data set whose moments up to the fourth are exactly those of N(0, diag(spectrum)).

    Each coordinate takes six equally likely values with the moments 0, 1, 0, 3 of a standard
    normal; targets are the truth plus or minus sqrt(noise), whatever the row.
    """
    X = np.array(list(itertools.product(*[SIX] * len(spectrum)))) * np.sqrt(spectrum)
    X = np.repeat(X, 2, axis=0)
    y = -X @ error + np.sqrt(noise) * np.tile([1.0, -1.0], len(X) // 2)  # w* = -error, w0 = 0
    return bocce.LeastSquares(X, y), Gaussian(spectrum, noise=noise, start=error**2, n=len(X))


def any_schedule(T, seed, step=0.2):
    rng = np.random.default_rng(seed)
    return Schedule(
        step * rng.uniform(0.1, 1.0, T), rng.uniform(0.0, 0.9, T), rng.uniform(0.0, 2.0, T)
    )


@pytest.mark.parametrize("noise", [0.0, 0.7])
@pytest.mark.parametrize("b", [1, 20, 431, 432])
def test_curve_is_that_of_rows_with_gaussian_moments(noise, b):
    p, model = twin(noise)
    s = any_schedule(40, seed=b)
    rows, spectrum = expected(p, s, b), expected(model, s, b)
    for name in ("error2", "grad2", "gap", "bias2"):
        np.testing.assert_allclose(getattr(spectrum, name), getattr(rows, name), rtol=1e-9)


@given(
    beta=st.floats(0.0, 0.95),
    theta=st.floats(0.0, 1.5),
    share=st.floats(0.05, 0.9),
    b=st.integers(1, 432),
)
@settings(deadline=None, max_examples=30)
def test_stability_is_that_of_rows_with_gaussian_moments(beta, theta, share, b):
    p, model = twin(noise=0.3)
    alpha = share * 2.0 * (1.0 + beta) / ((1.0 + 2.0 * theta) * 4.0)
    critical = critical_batch_size(p, alpha, beta, theta)
    assert critical_batch_size(model, alpha, beta, theta) == pytest.approx(critical, rel=1e-8)
    rate = mean_square_rate(p, alpha, beta, b, theta)
    assert mean_square_rate(model, alpha, beta, b, theta) == pytest.approx(rate, rel=1e-8)
    if b > critical * 1.01:
        rows = stationary(p, alpha, beta, b, theta)
        spectrum = stationary(model, alpha, beta, b, theta)
        for name in ("error2", "grad2", "gap"):
            assert getattr(spectrum, name) == pytest.approx(
                getattr(rows, name), rel=1e-6, abs=1e-14
            )
    else:
        with pytest.raises(ValueError, match="critical batch size"):
            stationary(model, alpha, beta, max(1, int(0.9 * critical)), theta)


def test_one_eigenvalue_by_hand():
    """b = 1 fresh row: e+ = (1 - a x^2) e + a x r, x^2 of mean 2 and mean square 12."""
    model = Gaussian([2.0], noise=0.5, start=[3.0])
    a = 0.1
    factor, added = 1.0 - 2.0 * a * 2.0 + a * a * 12.0, a * a * 2.0 * 0.5
    first = factor * 3.0 + added
    curve = expected(model, bocce.schedules.sgd(2, L=1.0 / a), 1)
    np.testing.assert_allclose(curve.error2, [3.0, first, factor * first + added], rtol=1e-14)
    np.testing.assert_allclose(curve.gap, curve.error2, rtol=1e-14)  # lam / 2 = 1
    assert mean_square_rate(model, a, 0.0, 1) == pytest.approx(np.sqrt(factor), rel=1e-12)
    assert stationary(model, a, 0.0, 1).error2 == pytest.approx(added / (1.0 - factor), rel=1e-12)
    # stable for 2 a lam > a^2 lam^2 (1 + 2/b), a lam = 1.5: 2/b < 1/3
    assert critical_batch_size(model, 0.75, 0.0) == pytest.approx(6.0, rel=1e-12)


def test_a_certificate_of_fresh_rows_takes_the_name_of_a_method():
    model = Gaussian(SPECTRUM, noise=0.1)
    table = REGISTRY["auto"].build(50, model.known(7))
    named, given = (
        certify(schedule, T=50, b=7, **model.certify_arguments()) for schedule in ("auto", table)
    )
    assert named.total == pytest.approx(given.total, rel=1e-3)
    assert named.total >= expected(model, "auto", 7, T=50).error2[-1]


def test_fresh_rows_are_the_limit_of_many():
    s = any_schedule(30, seed=3)
    fresh = expected(Gaussian(SPECTRUM, noise=0.1), s, 7)
    many = expected(Gaussian(SPECTRUM, noise=0.1, n=2**53), s, 7)
    np.testing.assert_allclose(fresh.error2, many.error2, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_is_the_plain_recursion(seed):
    s = any_schedule(25, seed)
    lam, start = np.geomspace(1e-3, 1.0, 50), np.linspace(0.0, 2.0, 50)
    table = (s.table, lam)
    plain, fast = gaussian.means, gaussian.compiled(gaussian.means)
    np.testing.assert_allclose(fast(*table, start), plain(*table, start), rtol=1e-12)
    found = []
    count = np.linspace(1.0, 3.0, 50)  # directions of each eigenvalue
    for walk in (gaussian.moments, gaussian.compiled(gaussian.moments)):
        state, kept = gaussian.at_rest(start), np.empty((s.T, 3, lam.size))
        batches = (*s.table, np.full(s.T, 0.02))
        found.append((walk(batches, lam, count, 0.3, state, kept), state, kept))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-14)


def test_a_curve_that_diverges_is_infinite_from_there():
    with np.errstate(all="ignore"):
        curve = expected(Gaussian([1.0, 2.0]), bocce.schedules.sgd(3000, L=0.1), 1)
    assert np.isinf(curve.error2[-1])
    assert np.isfinite(curve.error2[1])
    assert (np.diff(np.isinf(curve.gap).astype(int)) >= 0).all()


@pytest.mark.filterwarnings("ignore:multistage")  # T is short for its stages
@pytest.mark.parametrize("name", REGISTRY)
@pytest.mark.parametrize("n", [None, 5000])
def test_certified_error_is_above_the_exact_one(name, n):
    model = Gaussian(np.geomspace(0.01, 1.0, 12), noise=0.01, n=n)
    s = REGISTRY[name].build(200, model.schedule_arguments(500))
    for of in ("error", "gap"):
        bound = certify(s, b=500, of=of, **model.certify_arguments())
        curve = expected(model, s, 500)
        truth = (curve.error2 if of == "error" else curve.gap)[-1]
        assert bound.total >= truth * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"spectrum": []}, "at least one finite number"),
        ({"spectrum": [[1.0]]}, "in one dimension"),
        ({"spectrum": [1.0, 0.0]}, "leave out directions"),
        ({"spectrum": [1.0, np.nan]}, "finite"),
        ({"spectrum": [1.0], "start": [1.0, 2.0]}, "must be 1 finite numbers"),
        ({"spectrum": [1.0], "start": [-1.0]}, "squared errors"),
        ({"spectrum": [1.0], "noise": -1.0}, "noise=-1.0 must be"),
        ({"spectrum": [1.0], "n": 1}, "n=1 must be"),
    ],
)
def test_bad_models_are_refused(given, says):
    with pytest.raises(ValueError, match=says):
        Gaussian(given.pop("spectrum"), **given)


def test_bad_arguments_are_refused():
    model, s = Gaussian([1.0]), bocce.schedules.sgd(3, L=4.0)
    with pytest.raises(ValueError, match="w0 must be left out"):
        expected(model, s, 1, w0=[1.0])
    with pytest.raises(TypeError, match="not a share"):
        expected(model, s, 0.5)
    with pytest.raises(TypeError, match="must be a Schedule"):
        expected(model, None, 1)
    with pytest.raises(ValueError, match="unstable at every batch size"):
        critical_batch_size(model, 3.0, 0.0)
