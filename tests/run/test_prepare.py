"""What is done before a run is done for everybody: ``minimize`` and ``fit`` are one run."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.run import Request
from bocce.run.columns import FEW_COLUMNS
from bocce.run.prepare import FLAT_TOL, TINY, TINY_TOL, prepare, trimmed
from bocce.sklearn import HeavyBallClassifier, HeavyBallRegressor

WIDE = 2 * FEW_COLUMNS


def dense(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2.0, 2.0, d) + 3.0


def hashed(n=400, seed=0):
    """Rows with entries in few of many columns."""
    rng = np.random.default_rng(seed)
    columns = rng.choice(WIDE, 60, replace=False)
    some = columns[rng.integers(0, 60, (n, 4))].reshape(-1)
    return sp.csr_array((np.ones(4 * n), (np.repeat(np.arange(n), 4), some)), shape=(n, WIDE))


def targets(X, loss, seed=1):
    rng = np.random.default_rng(seed)
    z = X @ rng.standard_normal(X.shape[1])
    z = (z - z.mean()) / z.std() + rng.standard_normal(X.shape[0])
    kinds = {"logistic": z > 0.5, "softmax": np.digitize(z, [-1.0, 0.5])}
    return kinds.get(loss, 1e3 + 5.0 * z)


def model_of(loss, l2, tol):
    if loss in ("logistic", "softmax"):
        return HeavyBallClassifier(l2=l2, tol=tol)
    return HeavyBallRegressor(l2=l2, tol=tol, loss=loss)


ROWS = {
    "tiny": dense(150, 4),
    "dense": dense(3000, 12),
    "sparse": sp.random_array((3000, 12), density=0.1, rng=0, format="csr"),
    "full sparse": sp.csr_array(dense(2500, 12)),
    "hashed": hashed(),
}


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax", "huber"])
@pytest.mark.parametrize("rows", ROWS)
def test_minimize_and_fit_are_one_run(rows, loss):
    """The same coefficients to rounding, and the same steps, passes and norms."""
    X = ROWS[rows]
    y = targets(X, loss)
    model = model_of(loss, 1e-3, 1e-5).fit(X, y)
    delta = bocce.losses.Huber(None) if loss == "huber" else loss
    result = bocce.minimize(bocce.Problem(X, y, delta, 1e-3, intercept=True), tol=1e-5)
    coef = model.coef_.T if loss == "softmax" else model.coef_.reshape(-1)
    size = np.abs(coef).max()
    np.testing.assert_allclose(result.w, coef, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(result.intercept, model.intercept_, rtol=1e-12)
    assert result.status == "converged"
    history = result.history
    np.testing.assert_array_equal(history["k"], model.history_["iteration"])
    passes = history["gradient_evaluations"] / X.shape[0]
    np.testing.assert_array_equal(passes, model.history_["passes"])
    np.testing.assert_array_equal(history["grad_norm"], model.history_["gradient_norm"])


def test_a_certain_run_is_a_certain_fit():
    X = ROWS["dense"]
    y = targets(X, "logistic")
    model = HeavyBallClassifier(l2=0.0, tol="auto").fit(X, y)
    result = bocce.minimize(bocce.Logistic(X, y, intercept=True), tol="auto")
    assert "(proved)" in result.message
    np.testing.assert_allclose(result.w, model.coef_[0], rtol=1e-12)
    np.testing.assert_array_equal(result.history["k"], model.history_["iteration"])


@pytest.mark.parametrize("rows", ROWS)
def test_a_run_starts_at_the_best_constant(rows):
    """The history begins with f and its gradient there."""
    X = ROWS[rows]
    p = bocce.Problem(X, targets(X, "squared"), "squared", 1e-2, intercept=True)
    result = bocce.minimize(p, tol=1e-6)
    start = p.join_intercept(np.zeros(p.d), p.y.mean())
    assert result.history["value"][0] == pytest.approx(p.value(start), rel=1e-10)
    first = np.linalg.norm(p.gradient(start))
    assert result.history["grad_norm"][0] == pytest.approx(first, rel=1e-8)
    end = p.join_intercept(result.w, result.intercept)
    assert np.linalg.norm(p.gradient(end)) <= 1.01e-6 * first


def test_tol_refers_to_the_smaller_of_two_gradients():
    """At zero and at the best constant prediction: here the former vanishes in the coefficients."""
    X = np.array([[1.0], [2.0], [4.0]])
    y = np.array([4.0, 2.0, -2.0])  # X^T y = 0, and y has a mean
    p = bocce.LeastSquares(X, y, intercept=True)
    run = prepare(p, Request(tol=1e-3).checked(p))
    stop = run.stop()
    stop.begin(run.inner.gradient(run.start))
    at_zero = np.linalg.norm(p.gradient(np.zeros(2)))
    at_constant = np.linalg.norm(p.gradient(np.array([0.0, y.mean()])))
    assert at_zero < at_constant
    assert stop.first == pytest.approx(at_zero)


@pytest.mark.parametrize(
    ("settings", "start"),
    [
        ({"T": 5}, "zero"),
        ({"method": "shb", "T": 5, "batch_size": 3000}, "zero"),
        ({"method": "plane", "T": 3}, "zero"),
        ({"w0": np.full(13, 0.5), "tol": 1e-3}, "given"),
    ],
)
def test_steps_of_a_table_and_a_given_start_are_taken_as_they_are(settings, start):
    p = bocce.Problem(
        ROWS["dense"], targets(ROWS["dense"], "squared"), "squared", 0.1, intercept=True
    )
    seen = []
    result = bocce.minimize(
        p, callback=lambda now: seen.append(np.append(now.w, now.intercept)), **settings
    )
    w0 = settings.get("w0", np.zeros(13))
    assert np.allclose(seen[0], w0, rtol=1e-12)
    first = np.linalg.norm(p.gradient(w0))
    assert result.history["grad_norm"][0] == pytest.approx(first, rel=1e-9)
    if start == "given":
        assert result.status == "converged"
        assert result.history["grad_norm"][-1] <= 1e-3 * first


def test_columns_without_entries_are_left_out_and_come_back():
    X = hashed()
    p = bocce.Problem(X, targets(X, "logistic"), "logistic", 1e-3, intercept=True)
    narrow, columns = trimmed(p)
    assert narrow.d == columns.size < 100
    seen = []
    result = bocce.minimize(p, tol=1e-8, callback=seen.append)
    assert result.w.shape == (WIDE,)
    assert np.count_nonzero(result.w) <= columns.size
    w = p.join_intercept(result.w, result.intercept)
    first = np.linalg.norm(seen[0].gradient)
    assert np.linalg.norm(p.gradient(w)) <= 1.01e-8 * first
    for now in seen:  # a callback sees all columns
        at = p.join_intercept(now.w, now.intercept)
        np.testing.assert_allclose(now.gradient, p.gradient(at), atol=1e-12)
        assert now.grad_norm == pytest.approx(np.linalg.norm(now.gradient), rel=1e-9)


def test_a_penalty_of_ones_own_keeps_its_columns():
    X = hashed()
    factors = np.random.default_rng(0).uniform(0.5, 2.0, WIDE)
    p = bocce.Problem(X, targets(X, "squared"), "squared", 1e-2, penalty=factors)
    result = bocce.minimize(p, tol=1e-10)
    assert np.linalg.norm(p.gradient(result.w)) <= 1e-9 * np.linalg.norm(p.gradient(np.zeros(WIDE)))


def test_a_path_leaves_out_the_same_columns():
    X = hashed()
    p = bocce.Problem(X, targets(X, "logistic"), "logistic", intercept=True)
    for l2, result in zip([1.0, 1e-2], bocce.path(p, [1.0, 1e-2], tol=1e-8)):
        assert result.w.shape == (WIDE,)
        own = p.replace(l2=l2)
        alone = bocce.minimize(own, tol=1e-10)
        np.testing.assert_allclose(result.w, alone.w, atol=1e-6)


def goes_on_to(p):
    return prepare(p, Request(tol=1e-3).checked(p)).stop().tol


def test_tiny_data_are_minimised_to_rounding():
    """Unless nothing keeps w from running away: then a flat direction would be walked along."""
    X = ROWS["tiny"]
    y = targets(X, "logistic")
    assert goes_on_to(bocce.Logistic(X, y, 1e-3)) == TINY_TOL
    assert goes_on_to(bocce.LeastSquares(X, y)) == TINY_TOL
    assert goes_on_to(bocce.Logistic(X, y)) == FLAT_TOL
    large = dense(TINY // 4 + 1, 4)
    assert goes_on_to(bocce.LeastSquares(large, targets(large, "squared"), 1e-3)) == 1e-3
    result = bocce.minimize(bocce.Logistic(X, y, 1e-3), tol=1e-3)
    assert result.history["grad_norm"][-1] <= 1e-12 * result.history["grad_norm"][0]


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared", "poisson"])
def test_columns_that_depend_on_others_do_not_run_away(loss, copies):
    """f has many minimisers without a penalty: a run that met the tolerance stays at one."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 3))
    X = np.hstack([X, X @ rng.standard_normal((3, copies))])
    z = X[:, 0] + rng.logistic(size=150)
    kinds = {
        "logistic": z > 0.0,
        "softmax": np.digitize(z, [-1.0, 1.0]),
        "poisson": rng.poisson(3.0, 150),
    }
    p = bocce.Problem(X, kinds.get(loss, z), loss, intercept=True)
    result = bocce.minimize(p, tol=1e-5)
    assert result.status == "converged", result.message
    assert np.abs(result.w).max() < 100.0


@pytest.mark.parametrize("end", ["callback", "passes"])
def test_a_run_that_met_the_tolerance_has_converged_whatever_ended_it(end):
    """Tiny data: the run would have gone on to rounding."""
    X = ROWS["tiny"]
    p = bocce.Logistic(X, targets(X, "logistic"), 1e-3, intercept=True)
    whole = bocce.minimize(p, tol=1e-3)
    norms = whole.history["grad_norm"]
    met = int(np.argmax(norms <= 1e-3 * norms[0]))
    assert met < whole.n_iter
    if end == "passes":
        cut = bocce.minimize(p, tol=1e-3, passes=met)
    else:
        cut = bocce.minimize(p, tol=1e-3, callback=lambda now: now.k >= met)
    assert cut.n_iter == met
    assert cut.status == "converged"
    assert "at most 0.001 times the first" in cut.message
    before = bocce.minimize(p, tol=1e-3, passes=met - 1)
    assert before.status == "finished"


def test_a_plan_names_the_steps_of_the_run():
    for rows in ("tiny", "dense", "hashed"):
        X = ROWS[rows]
        p = bocce.Problem(X, targets(X, "logistic"), "logistic", 1e-3, intercept=True)
        stages = [(s.method, s.steps, s.batch) for s in bocce.plan(p, tol=1e-6).stages]
        assert stages == [tuple(s) for s in bocce.minimize(p, tol=1e-6).stages]
