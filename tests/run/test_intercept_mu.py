"""Methods that need mu on problems whose intercept has no penalty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.control import registry
from bocce.problems.curvature import mu_with_intercept

NEED_MU = [m.name for m in registry().values() if "mu" in m.needs and not m.guarded]


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(3, 40),
    d=st.integers(1, 6),
    l2=st.floats(1e-6, 10.0),
    mean=st.floats(-20.0, 20.0),
    seed=st.integers(0, 999),
)
def test_for_least_squares_it_is_a_lower_bound_that_needs_no_gram_matrix(n, d, l2, mean, seed):
    X = mean + np.random.default_rng(seed).standard_normal((n, d))
    p = bocce.LeastSquares(X, X[:, 0], l2=l2, intercept=True)
    wide = np.column_stack([X, np.ones(n)])
    H = wide.T @ wide / n + np.diag([l2] * d + [0.0])
    truth = np.linalg.eigvalsh(H)[0]
    bound = mu_with_intercept(p)
    assert 0.0 < bound <= truth * (1.0 + 1e-6) + 1e-12
    r2 = float(np.sum(X.mean(axis=0) ** 2))  # l2 s/(l2 + s (1 + r^2)) is attained to a factor 2
    assert bound >= 0.5 * l2 / (l2 + 1.0 + r2)


def test_the_bound_is_attained_where_columns_vary_along_no_other_direction():
    """One column that is constant: H = [[x^2 + l2, x], [x, 1]]."""
    p = bocce.LeastSquares(np.full((5, 1), 3.0), np.zeros(5), l2=0.1, intercept=True)
    truth = np.linalg.eigvalsh([[9.1, 3.0], [3.0, 1.0]])[0]
    assert 0.9 * truth <= mu_with_intercept(p) <= truth


@pytest.mark.parametrize("loss", ["logistic", "huber", "squared_hinge", "softmax"])
def test_for_other_losses_it_bounds_the_curvature_at_the_best_constant(loss):
    rng = np.random.default_rng(3)
    X = 1.0 + rng.standard_normal((80, 3))
    y = X[:, 0] + rng.standard_normal(80)
    if loss == "softmax":
        y = np.digitize(y, [0.0, 1.5])
    elif loss != "huber":
        y = y > 0.8
    l2 = 0.05
    p = bocce.Problem(X, y, loss, l2=l2, intercept=True)
    at = np.zeros(p.shape)
    at[-1] = p.loss.best_constant(p.mean_target) if loss != "huber" else 0.0

    def column(j):
        step = np.zeros(at.size)
        step[j] = 1e-5
        step = step.reshape(at.shape)
        return ((p.gradient(at + step) - p.gradient(at - step)) / 2e-5).ravel()

    H = np.array([column(j) for j in range(at.size)])
    values = np.linalg.eigvalsh(0.5 * (H + H.T))
    least = values[values > 1e-6][0]  # of several classes f is flat along the sum of intercepts
    assert 0.0 < mu_with_intercept(p) <= least * (1.0 + 1e-3)


@pytest.mark.filterwarnings("ignore:multistage")
@pytest.mark.parametrize("name", [n for n in NEED_MU if "kappa_tilde" not in registry()[n].needs])
def test_an_intercept_forbids_no_method(name):
    X, y, _ = bocce.data.regression(n=300, d=3, kappa=10.0, noise_var=0.5)
    p = bocce.Logistic(X, y > 0.3, l2=0.05, intercept=True)
    best = bocce.minimize(p, tol=1e-10)
    r = bocce.minimize(p, name, T=1500, batch_size=300)
    start, least = r.history["value"][0], best.history["value"][-1]
    assert r.status == "finished"
    assert r.history["value"][-1] - least < 0.02 * (start - least)


@pytest.mark.parametrize("name", NEED_MU)
def test_without_l2_the_refusal_comes_before_any_work(name, monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 3))
    for intercept in (False, True):
        p = bocce.Logistic(X, X[:, 0] > 0, intercept=intercept)
        monkeypatch.setattr(type(p), "constants", lambda self: pytest.fail("work was done"))
        with pytest.raises(ValueError, match=rf"l2=0\.0 must be > 0 .*{name!r}.*logistic") as said:
            bocce.minimize(p, name, T=5, batch_size=10)
        assert "auto" in str(said.value)
        monkeypatch.undo()
