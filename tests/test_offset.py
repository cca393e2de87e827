"""Offsets: known numbers that are added to the scores."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import d2_tweedie_score

import bocce
from bocce.inference import infer
from bocce.losses import REGISTRY
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor
from helpers import accepted
from refusal import refused
from tables_on_disk import parts_on_disk

N, D = 60, 3
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, D))
OFFSET = RNG.uniform(-1.0, 1.0, N)
SINGLE = [name for name, kind in REGISTRY.items() if not kind.multi_output]
each = pytest.mark.parametrize("name", SINGLE)
# losses of z - y alone, for which an offset is a change of the targets
RESIDUAL = ["squared", "huber", "quantile"]
FAMILIES = {
    "squared": sm.families.Gaussian(),
    "logistic": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
}


def targets(name):
    return accepted(REGISTRY[name](), N)


def counts():
    """Counts over exposures: y has the mean exposure exp(x . w)."""
    exposure = RNG.uniform(0.2, 20.0, N)
    return np.random.default_rng(1).poisson(exposure * np.exp(0.3 * X[:, 0] - 0.5)), exposure


# -- identities ------------------------------------------------------------------------------------


@each
@settings(max_examples=20)
@given(shift=st.lists(st.floats(-3.0, 3.0), min_size=D, max_size=D))
def test_an_offset_of_x_v_moves_the_objective_by_v(name, shift):
    """f with the offset X v, at w, is f without one at w + v: its value, gradient and Hessian."""
    plain = bocce.Problem(X, targets(name), name)
    moved = bocce.Problem(X, targets(name), name, offset=X @ shift)
    w = np.array([0.3, -0.2, 0.1])
    there, here = plain.look(w + shift), moved.look(w)
    assert here.value == pytest.approx(there.value, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(here.gradient, there.gradient, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(moved.hessian(w), plain.hessian(w + shift), rtol=1e-9, atol=1e-11)


@each
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_constant_offset_is_taken_from_the_intercept(name, stored):
    """And nothing else changes: neither coefficients, nor their standard errors."""
    weights = np.linspace(0.5, 2.0, N)
    found = []
    for offset in (None, np.full(N, 0.7)):
        p = bocce.Problem(stored(X), targets(name), name, 0.1, sample_weight=weights,
                          intercept=True, offset=offset)  # fmt: skip
        r = bocce.minimize(p, tol=1e-11)
        assert r.loss == REGISTRY[name]()
        assert type(r.loss) is REGISTRY[name]
        errors = infer(p, p.join_intercept(r.w, r.intercept), "sandwich").standard_errors
        found.append((r.w, r.intercept - (0.0 if offset is None else -0.7), errors))
    for one, other in zip(*found):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", RESIDUAL)
def test_losses_of_residuals_have_other_targets(name):
    y = targets(name)
    p = bocce.Problem(X, y, name, 0.1, offset=OFFSET)
    np.testing.assert_allclose(
        p.minimiser(), bocce.Problem(X, y - OFFSET, name, 0.1).minimiser(), atol=1e-10
    )


def test_rates_by_exposure_in_closed_form():
    """One group a column and no penalty: exp(w) is the count over the exposure of the group."""
    y, exposure = counts()
    groups = np.arange(N) % 3
    one = (groups[:, None] == np.arange(3)).astype(float)
    w = bocce.minimize(bocce.Problem(one, y, "poisson", offset=np.log(exposure)), tol=1e-12).w
    expected = [y[groups == k].sum() / exposure[groups == k].sum() for k in range(3)]
    np.testing.assert_allclose(np.exp(w), expected, rtol=1e-10)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("kind", ["model", "sandwich"])
def test_statsmodels_agrees(name, kind):
    y = targets(name)
    p = bocce.Problem(X, y, name, intercept=True, offset=OFFSET)
    r = bocce.minimize(p, tol=1e-12)
    w = p.join_intercept(r.w, r.intercept)
    numbers = p.y > 0 if name == "logistic" else np.asarray(y)
    theirs = sm.GLM(
        numbers, np.column_stack([X, np.ones(N)]), family=FAMILIES[name], offset=OFFSET
    ).fit(tol=1e-14, maxiter=200, cov_type="nonrobust" if kind == "model" else "HC0")
    np.testing.assert_allclose(w, theirs.params, rtol=1e-8, atol=1e-9)
    found = infer(p, w, kind)
    np.testing.assert_allclose(found.standard_errors, theirs.bse, rtol=1e-6)


# -- every way to run ------------------------------------------------------------------------------


@each
def test_line_searches_compiled_and_readable_take_the_same_steps(name):
    p = bocce.Problem(X, targets(name), name, 0.1, intercept=True, offset=OFFSET)
    ends = [
        bocce.minimize(p, "shb-sls-exp", T=12, batch_size=20, engine=engine).w
        for engine in ("compiled", "reference")
    ]
    np.testing.assert_allclose(*ends, rtol=1e-9, atol=1e-12)


@each
def test_a_path_and_a_plan_count_the_offset(name):
    p = bocce.Problem(X, targets(name), name, 0.1, offset=OFFSET)
    for l2, result in zip((1.0, 0.1), bocce.path(p, [1.0, 0.1], tol=1e-10)):
        np.testing.assert_allclose(result.w, p.replace(l2=l2).minimiser(), atol=1e-7)
    assert bocce.plan(p).words


@each
def test_replacing_targets_keeps_the_offset(name):
    other = targets(name)[::-1]
    p = bocce.Problem(X, targets(name), name, offset=OFFSET)
    again = bocce.Problem(X, other, name, offset=OFFSET)
    w = np.full(D, 0.2)
    assert p.replace(y=other).value(w) == again.value(w) != p.value(w)
    assert p.fingerprint() != bocce.Problem(X, targets(name), name).fingerprint()
    assert "offset" in repr(p)


@each
def test_other_libraries_count_the_offset(name):
    torch = pytest.importorskip("torch")
    how = {"offset": OFFSET, "intercept": True, "sample_weight": np.linspace(0.5, 2.0, N)}
    here = bocce.Problem(X, targets(name), name, 0.1, **how)
    there = bocce.Problem(torch.asarray(X), targets(name), name, 0.1, **how)
    w = np.linspace(-0.5, 0.5, D + 1)
    np.testing.assert_allclose(there.gradient(w), here.gradient(w), rtol=1e-10)
    r = bocce.minimize(there, tol=1e-10)
    np.testing.assert_allclose(there.join_intercept(r.w, r.intercept), here.minimiser(), atol=1e-7)


# -- estimators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "huber", "poisson", "gamma", "quantile"])
@pytest.mark.parametrize("tol", [1e-10, "auto"])
def test_regressors(loss, tol):
    y = targets(loss)
    weights = np.where(np.arange(N) % 7 == 0, 0.0, np.linspace(0.5, 2.0, N))
    model = HeavyBallRegressor(0.01, loss=loss, delta=1.0, smoothing=0.1, tol=tol)
    model.fit(X, y, weights, offset=OFFSET)
    kept = weights > 0.0
    p = bocce.Problem(X[kept], y[kept], loss, 0.01, sample_weight=weights[kept],
                      intercept=True, offset=OFFSET[kept])  # fmt: skip
    r = bocce.minimize(p, tol=1e-12)
    np.testing.assert_allclose(model.coef_, r.w, atol=1e-5)
    np.testing.assert_allclose(model.predict(X, OFFSET), r.predict(X, OFFSET), rtol=1e-4)
    log = loss in ("poisson", "gamma")
    plain = np.log(model.predict(X)) if log else model.predict(X)
    scores = np.log(model.predict(X, OFFSET)) if log else model.predict(X, OFFSET)
    np.testing.assert_allclose(scores - plain, OFFSET, atol=1e-12)
    power = {"poisson": 1, "gamma": 2}.get(loss, 0)  # R^2 is D^2 of power 0
    expected = d2_tweedie_score(y, model.predict(X, OFFSET), power=power)
    assert model.score(X, y, offset=OFFSET) == pytest.approx(expected)
    assert np.isfinite(model.standard_errors_).all()


def test_a_rate_by_exposure_is_a_weighted_rate():
    """Counts with the log of the exposure, or rates with the exposure as weight: the same fit."""
    y, exposure = counts()
    by_offset = HeavyBallRegressor(0.0, loss="poisson", tol=1e-10)
    by_offset.fit(X, y, offset=np.log(exposure))
    by_weight = HeavyBallRegressor(0.0, loss="poisson", tol=1e-10)
    by_weight.fit(X, y / exposure, sample_weight=exposure)
    np.testing.assert_allclose(by_offset.coef_, by_weight.coef_, rtol=1e-6)
    assert by_offset.intercept_ == pytest.approx(by_weight.intercept_, rel=1e-6)


@pytest.mark.parametrize("loss", ["log_loss", "squared_hinge"])
def test_classifiers(loss):
    y = np.where(X[:, 0] + OFFSET + 0.3 * X[:, 1] > 0.0, "yes", "no")
    y[::9] = "no"
    model = HeavyBallClassifier(0.01, loss=loss, tol=1e-10, class_weight="balanced")
    model.fit(X, y, offset=OFFSET)
    p = bocce.Problem(X, y, "logistic" if loss == "log_loss" else loss, 0.01, intercept=True,
                      sample_weight=np.where(y == "yes", N / 2 / (y == "yes").sum(),
                                             N / 2 / (y == "no").sum()), offset=OFFSET)  # fmt: skip
    np.testing.assert_allclose(model.coef_[0], p.minimiser()[:-1], atol=1e-6)
    both = model.decision_function(X, OFFSET) - model.decision_function(X)
    np.testing.assert_allclose(both, OFFSET, atol=1e-12)
    assert model.score(X, y, offset=OFFSET) >= model.score(X, y)
    if loss == "log_loss":
        p = 1.0 / (1.0 + np.exp(-model.decision_function(X, OFFSET)))
        np.testing.assert_allclose(model.predict_proba(X, OFFSET)[:, 1], p, rtol=1e-12)


def test_several_outputs_have_an_offset_each():
    Y, O = RNG.standard_normal((2, N, 2))
    both = HeavyBallRegressor(0.1, tol=1e-12).fit(X, Y, offset=O)
    for k in range(2):
        one = HeavyBallRegressor(0.1, tol=1e-12).fit(X, Y[:, k] - O[:, k])
        np.testing.assert_allclose(both.coef_[k], one.coef_, atol=1e-10)
    np.testing.assert_allclose(both.predict(X, O), both.predict(X) + O, atol=1e-12)


def test_separable_classes_are_seen_with_their_offset():
    rows = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    with pytest.warns(Warning, match="separa|no finite minimiser exists"):
        HeavyBallClassifier(0.0).fit(rows, [0, 0, 1, 1], offset=[0.1, 0.2, 0.3, -0.1])


# -- bad input -------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize(
    ("bad", "kind", "rule"),
    [
        (OFFSET[:-1], ValueError, r"offset has shape \(59,\), must be \(60,\); .*\."),
        (0.5, ValueError, r"offset has shape \(\), must be \(60,\); .*\."),
        (["a"] * N, TypeError, r"offset has dtype <U1, must be numeric; .*\."),
        (np.where(np.arange(N) == 4, np.nan, 0.0), ValueError, r"offset has NaN .*row 4.*\."),
        (np.ma.masked_less(OFFSET, 0.0), ValueError, r"offset is a masked array .*\."),
    ],
    ids=["short", "a number", "words", "NaN", "masked"],
)
def test_bad_offsets_are_refused(name, bad, kind, rule):
    title = REGISTRY[name]().problem_name
    refused(lambda: bocce.Problem(X, targets(name), name, offset=bad), kind, f"{title}: {rule}")


def test_offsets_that_cancel_or_have_no_place_are_refused(tmp_path):
    y = np.arange(N) % 3
    rule = (
        r"Problem: offset must be left out with the softmax loss, because a number .* cancels; .*\."
    )
    refused(lambda: bocce.Problem(X, y, "softmax", offset=OFFSET), ValueError, rule)
    for loss in ("log_loss", "squared_hinge"):
        model = HeavyBallClassifier(loss=loss)
        refused(lambda model=model: model.fit(X, y, offset=OFFSET), ValueError, rule)
    model = HeavyBallRegressor().fit(X, targets("squared"))
    refused(lambda: model.predict(X, OFFSET[:5]), ValueError, r"predict: offset has shape \(5,\).*")
    parts = parts_on_disk(tmp_path / "rows.arrow", X, targets("squared"), 20)
    refused(
        lambda: bocce.LeastSquares(parts, offset=OFFSET),
        TypeError,
        r"LeastSquares: offset must be the name of a column where X is a file.*; .*\.",
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
def test_a_column_of_a_file_is_an_offset(loss, tmp_path):
    """In batches, on all rows, and for standard errors: as an array beside X."""
    rng = np.random.default_rng(0)
    X, o = rng.standard_normal((400, 3)), rng.standard_normal(400)
    z = X @ [0.5, -0.5, 0.2] + o
    kinds = {"logistic": z + rng.logistic(size=400) > 0, "poisson": rng.poisson(np.exp(z))}
    y = kinds.get(loss, z + rng.standard_normal(400)).astype(float)
    frame = pd.DataFrame({"a": X[:, 0], "o": o, "b": X[:, 1], "c": X[:, 2], "y": y})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    file, _ = bocce.data.open(tmp_path / "rows.parquet", memory=8000)
    there = bocce.Problem(file, None, loss, 0.01, intercept=True, offset="o", standardize=True)
    here = bocce.Problem(X, y, loss, 0.01, intercept=True, offset=o, standardize=True)
    w = rng.standard_normal(4)
    assert there.value(w) == pytest.approx(here.value(w), rel=1e-12)
    np.testing.assert_allclose(there.gradient(w), here.gradient(w), rtol=1e-10, atol=1e-12)
    one, other = bocce.minimize(there, tol=1e-9), bocce.minimize(here, tol=1e-9)
    np.testing.assert_allclose(one.w, other.w, rtol=1e-6)
    point = here.join_intercept(other.w, other.intercept)
    np.testing.assert_allclose(
        infer(there, point).standard_errors, infer(here, point).standard_errors, rtol=1e-9
    )
    if loss != "poisson":  # whose curvature has no bound
        steps = bocce.minimize(there, "sgd", T=50, batch_size=100)
        assert there.value(np.append(steps.w, steps.intercept)) < there.value(np.zeros(4))
    assert there.fingerprint() != bocce.Problem(file, None, loss, 0.01).fingerprint()
