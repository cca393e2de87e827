"""Groups without events, and classes that a plane separates: f has no minimiser."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import bocce
from bocce.inference import infer
from bocce.run import certain
from bocce.run.certain import certainty
from bocce.run.coefficients import coefficients
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from tables_on_disk import parts_on_disk

LOSSES = ["poisson", "logistic", "softmax"]
NO_MINIMISER = "no finite minimiser exists"


def grouped(loss, seed=0, n=240, groups=4):
    """Rows of four groups, of which the last has no event: its column is the last but one."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    X = np.column_stack([rng.standard_normal(n), *(group == g for g in range(1, groups))])
    eta = 0.5 * X[:, 0] + 0.4 * X[:, 1] + 0.3
    X = np.column_stack([X, 1e3 * rng.standard_normal(n) + 500.0])
    last = group == groups - 1
    if loss == "poisson":
        y = rng.poisson(np.exp(eta)) * ~last
    elif loss == "logistic":
        y = (eta + rng.logistic(size=n) > 0.0) & ~last
    else:
        y = np.argmax(np.outer(eta, [1, 0, -1]) + rng.gumbel(size=(n, 3)), axis=1)
        y = np.where(last & (y == 2), 0, y)
    return X, y.astype(float), last


def variables(p, result):
    return p.join_intercept(result.w, result.intercept)


def fit_of_the_rest(loss, X, y, last):
    """The fit, and its standard errors, without the group and its column."""
    columns = [0, 1, 2, 4]
    p = bocce.Problem(X[~last][:, columns], y[~last], loss, intercept=True)
    w = variables(p, bocce.minimize(p, tol=1e-12))
    return w, infer(p, w).standard_errors


@settings(max_examples=30, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    seed=st.integers(0, 10_000),
    tol=st.sampled_from(["auto", 1e-4, 1e-8, 1e-12]),
    units=st.lists(st.integers(-6, 6), min_size=5, max_size=5),
)
def test_a_group_without_events_is_named_and_does_no_harm(loss, seed, tol, units):
    X, y, last = grouped(loss, seed)
    X = X * 10.0 ** np.array(units)
    p = bocce.Problem(X, y, loss, intercept=True)
    r = bocce.minimize(p, tol=tol)
    w = variables(p, r)
    assert NO_MINIMISER in r.message
    assert "x3 goes to minus infinity" in r.message
    assert "Every coefficient is within" not in r.message
    found = infer(p, w)
    for numbers in (found.standard_errors, found.spread):
        assert np.isnan(numbers[3]).all()
        assert np.isfinite(np.delete(numbers, 3, axis=0)).all()
    if loss != "softmax":  # where the group still says how its other classes differ
        best, errors = fit_of_the_rest(loss, X, y, last)
        assert (np.abs(np.delete(w, 3) - best) <= 0.1 * errors).all()
        np.testing.assert_allclose(np.delete(found.standard_errors, 3), errors, rtol=1e-2)


@pytest.mark.parametrize("loss", ["poisson", "logistic"])
def test_a_short_run_on_many_rows_does_not_hide_a_group(loss):
    X, y, _ = grouped(loss, n=20_000, groups=30)
    kind = HeavyBallRegressor(0.0, loss=loss) if loss == "poisson" else HeavyBallClassifier(0.0)
    with pytest.warns(ConvergenceWarning, match="x29 goes to minus infinity"):
        kind.fit(X, y)


def test_a_coefficient_that_ran_so_far_that_others_are_rounded_proves_nothing():
    X, y, _ = grouped("poisson")
    p = bocce.Problem(X, y, "poisson", intercept=True)
    w = variables(p, bocce.minimize(p, tol="auto"))
    assert certainty(p, w).error <= 0.01
    w[3] = -1e16  # the rows of the group are at 0 already, but X w + intercept is a sum with 1e16
    assert certainty(p, w).error > 1.0


@pytest.mark.parametrize("what", ["minimize", "estimator"])
def test_of_two_runs_to_a_certain_fit_the_one_with_the_smaller_gradient_counts(what, monkeypatch):
    """Near infinity, rounding may lead the second run away from where the first one ended."""
    X, y, last = grouped("poisson")
    best, errors = fit_of_the_rest("poisson", X, y, last)
    X = X[~last][:, [0, 1, 2, 4]]
    y = y[~last]
    p = bocce.Problem(X, y, "poisson", intercept=True)
    tols = []
    monkeypatch.setattr(certain, "certainty", lambda *given: certain.Certainty(1.0, 4, None))
    descend = certain.descend

    def astray(run):
        tols.append(run.request.tol)
        done = descend(run)
        w = done.result.w + 1.0
        history = dict(done.result.history, grad_norm=np.full(2, 1e3))
        result = replace(done.result, w=w, history=history, status="finished")
        return replace(done, result=result)

    monkeypatch.setattr(certain, "descend", astray)
    if what == "minimize":
        w = variables(p, bocce.minimize(p, tol="auto"))
    else:
        with pytest.warns(ConvergenceWarning):
            model = HeavyBallRegressor(0.0, loss="poisson", tol="auto").fit(X, y)
        w = np.append(model.coef_, model.intercept_)
    assert len(tols) == 1
    assert (np.abs(w - best) <= 0.1 * errors).all()


@pytest.mark.parametrize("seed", [147, 148])
def test_a_run_does_not_lose_its_digits_on_the_way_to_infinity(seed):
    """Small data are fitted as far as rounding allows: a step of 1e16 was rounding alone."""
    rng = np.random.default_rng([2, seed])
    group = np.r_[np.zeros(82, dtype=int), np.repeat([1, 2, 3, 4], [4, 4, 3, 3])]
    x = 1e-2 + 1e-4 * rng.standard_normal(96)
    X = np.column_stack([x, *(group == g for g in range(1, 5))])
    y = rng.poisson(np.exp(0.9 + 1e4 * (x - 1e-2))) * (group != 4)
    with pytest.warns(ConvergenceWarning, match=NO_MINIMISER):
        model = HeavyBallRegressor(0.0, loss="poisson", tol="auto").fit(X, y)
    assert -1e4 < model.coef_[4] < -10.0
    rest = HeavyBallRegressor(0.0, loss="poisson").fit(X[group != 4, :4], y[group != 4])
    off = np.append(model.coef_[:4] - rest.coef_, model.intercept_ - rest.intercept_)
    assert (np.abs(off) <= 0.1 * rest.standard_errors_).all()


@pytest.mark.parametrize("tol", ["auto", 1e-4])
@pytest.mark.parametrize("loss", LOSSES)
def test_estimators_warn_and_their_summary_says_why(loss, tol):
    X, y, _ = grouped(loss)
    if loss == "poisson":
        model = HeavyBallRegressor(0.0, loss=loss, tol=tol)
    else:
        model = HeavyBallClassifier(0.0, tol=tol)
    with pytest.warns(ConvergenceWarning, match=rf"x3 goes to minus infinity, so {NO_MINIMISER}"):
        model.fit(X, y)
    table = model.summary()
    away = np.array([name.endswith("x3") for name in table.names])
    for column in ("std_error", "lower", "upper", "p_value"):
        np.testing.assert_array_equal(np.isnan(table[column]), away)
    assert NO_MINIMISER in str(table)
    assert ("2.0: x3 goes" if loss == "softmax" else "as x3 goes") in str(table)
    assert np.isnan(model.standard_errors_[..., 3]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_column_without_a_penalty_runs_away_likewise(loss):
    X, y, _ = grouped(loss)
    p = bocce.Problem(X, y, loss, 1e-3, penalty=[1.0, 1.0, 1.0, 0.0, 1.0], intercept=True)
    r = bocce.minimize(p, tol="auto")
    assert "x3 goes to minus infinity" in r.message
    found = infer(p, variables(p, r))
    assert np.isnan(found.standard_errors[3]).all()
    assert np.isfinite(np.delete(found.standard_errors, 3, axis=0)).all()
    held = bocce.minimize(p.replace(l2=0.0), tol=1e-6)
    assert NO_MINIMISER in held.message
    penalised = bocce.Problem(X, y, loss, 1e-3, intercept=True)
    r = bocce.minimize(penalised, tol="auto")
    assert "(proved)" in r.message
    assert np.isfinite(infer(penalised, variables(penalised, r)).standard_errors).all()


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_separated_classes_determine_nothing(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) + 6.0 * (np.arange(60) % 2)[:, None]
    p = bocce.Problem(X, np.arange(60) % 2, loss, intercept=True)
    r = bocce.minimize(p, tol="auto")
    assert NO_MINIMISER in r.message
    assert r.status == "finished"
    assert np.isnan(infer(p, variables(p, r)).standard_errors).all()


def test_counts_that_are_all_zero_have_no_intercept():
    p = bocce.Problem(np.arange(10.0)[:, None] - 4.5, np.zeros(10), "poisson", 0.1, intercept=True)
    r = bocce.minimize(p, tol="auto")
    assert "intercept goes to minus infinity" in r.message
    assert np.isnan(infer(p, variables(p, r)).standard_errors[1])


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(LOSSES), st.integers(0, 10_000), st.floats(0.5, 6.0))
def test_data_with_a_minimiser_are_not_accused(loss, seed, strength):
    """Even where nearly all rows are on their side: one row on the other side holds everything."""
    rng = np.random.default_rng(seed)
    n = 60
    X = rng.standard_normal((n, 2)) * [1.0, 1e3]
    z = strength * (X[:, 0] + 1e-3 * X[:, 1])
    if loss == "poisson":
        y = rng.poisson(np.exp(np.clip(z - 1.0, -5.0, 3.0)))
        assume(np.count_nonzero(y) >= 5)
    elif loss == "logistic":
        y = z > 0.0
        y[[np.argmax(z), np.argmin(z)]] ^= True
    else:
        y = np.digitize(z, [-1.0, 1.0])
        for label in range(3):  # some row of each class deep in each other class
            deep = np.argsort(np.abs(z - 3.0 * (label - 1)))[:3]
            y[deep] = np.arange(3)
    p = bocce.Problem(X, y, loss, intercept=True)
    r = bocce.minimize(p, tol="auto")
    assert "(proved)" in r.message
    assert NO_MINIMISER not in r.message
    assert np.isfinite(infer(p, variables(p, r)).standard_errors).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_files_in_parts_say_the_same(loss, tmp_path):
    X, y, _ = grouped(loss)
    file = parts_on_disk(tmp_path / "rows.arrow", X, y, 37)
    here = bocce.Problem(X, y, loss, intercept=True)
    there = bocce.Problem(file, None, loss, intercept=True)
    r = bocce.minimize(there, tol="auto")
    assert "x3 goes to minus infinity" in r.message
    w = variables(here, r)
    one, other = infer(here, w), infer(there, w)
    for name in ("standard_errors", "spread"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-6)
    assert NO_MINIMISER in str(coefficients(there, r))
