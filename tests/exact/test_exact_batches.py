"""Steps by batch size, batches that change, and what is proved of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce.exact import (
    Gaussian,
    adjoint,
    batch_curve,
    batch_facts,
    best_schedule,
    expected,
    row_walk,
)
from bocce.exact.best import Case
from bocce.exact.budget import Budget
from bocce.schedules import Schedule
from bocce.theory import useful_batch
from exact_enumeration import enumerated_curve

MODEL = Gaussian(np.geomspace(0.02, 1.0, 15), noise=0.05)


def tiny(l2=0.0):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((4, 3))
    X[:, 2] = X[:, 1]  # a direction that no row touches
    return bocce.LeastSquares(X, rng.standard_normal(4), l2=l2)


def some_table(T, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.02, 0.15, T), rng.uniform(0.0, 0.9, T), rng.uniform(0.0, 1.5, T)


# -- a batch for each step ------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_a_batch_for_each_step_by_enumeration(l2):
    p, s = tiny(l2), Schedule(*some_table(4))
    batches = np.array([1, 4, 2, 3])
    curve = expected(p, s, batches, [1.0, 2.0, 3.0])
    counted = enumerated_curve(p, s, batches, [1.0, 2.0, 3.0])
    for name, truth in zip(("error2", "grad2", "gap", "bias2"), counted):
        np.testing.assert_allclose(getattr(curve, name), truth, rtol=1e-11)


def test_a_gaussian_model_with_a_batch_for_each_step_by_hand():
    """One eigenvalue: p becomes p ((1 - x)^2 + 2 x^2/b) + x^2 noise/(b lam)."""
    lam, noise = 2.0, 0.3
    alpha, batches = np.array([0.1, 0.3, 0.2]), np.array([1, 8, 2])
    curve = expected(
        Gaussian([lam], noise=noise), Schedule(alpha, np.zeros(3), np.zeros(3)), batches
    )
    p = 1.0
    for k in range(3):
        x = alpha[k] * lam
        p = p * ((1.0 - x) ** 2 + 2.0 * x**2 / batches[k]) + x**2 * noise / (batches[k] * lam)
        assert curve.error2[k + 1] == pytest.approx(p, rel=1e-12)


def test_a_long_curve_with_a_batch_for_each_step_is_the_plain_one():
    """One step fewer, and the curve is walked in Python."""
    p, T = tiny(0.1), row_walk.COMPILED_STEPS
    s = Schedule(np.full(T, 0.05), np.full(T, 0.5), np.zeros(T))
    batches = np.arange(T) % 4 + 1
    compiled = expected(p, s, batches)
    plain = expected(p, Schedule(*(column[:-1] for column in s.table)), batches[:-1])
    np.testing.assert_allclose(compiled.gap[:-1], plain.gap, rtol=1e-9)


def test_batches_that_do_not_fit_are_refused():
    s = Schedule(*some_table(4))
    with pytest.raises(ValueError, match=r"one number of rows for each of the T=4 steps"):
        expected(MODEL, s, np.array([1, 2]))
    with pytest.raises(TypeError, match="must be a Schedule where batch_size is an array"):
        expected(MODEL, "auto", np.array([1, 2]), T=2)
    with pytest.raises(ValueError, match="batch_size=5 must be an integer from 1 to 4"):
        expected(tiny(), s, [1, 2, 3, 5])


# -- the derivative in the batch ------------------------------------------------------------------

CASES = {
    "gaussian": (Gaussian([4.0, 1.0, 0.2], noise=0.3, start=[1.0, 0.5, 2.0], n=50), 7, None),
    "rows": (tiny(), 2, [1.0, 2.0, 3.0]),
    "rows, l2": (tiny(0.3), 3, [1.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("of", ["gap", "error"])
@pytest.mark.parametrize("name", CASES)
def test_the_adjoint_is_the_derivative_in_the_batch(name, of):
    dynamics = Case("test", *CASES[name], of).dynamics
    T = 5
    zeta2 = np.random.default_rng(1).uniform(0.05, 0.9, T)
    table = (*some_table(T), zeta2)
    gradient = adjoint.value_and_gradient(dynamics, table)[1]
    assert gradient.shape == (4, T)
    for column in range(4):
        for k in range(T):
            ends = []
            for h in (1e-5, -1e-5):
                moved = [part.copy() for part in table]
                moved[column][k] += h
                ends.append(adjoint.value_and_gradient(dynamics, tuple(moved))[0])
            slope = (ends[0] - ends[1]) / 2e-5
            assert gradient[column, k] == pytest.approx(slope, abs=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize("n", [None, 60])
def test_the_search_over_batches_has_the_right_gradient(n):
    model = Gaussian([1.0, 0.3, 0.1], noise=0.1, n=n)
    free = Budget(Case("test", model, 5, None, "gap").dynamics, 4, 20, n)
    rng = np.random.default_rng(2)
    u = np.concatenate([rng.uniform(-2.0, -0.5, 4), rng.uniform(-1.0, -0.1, 4)])
    u = np.concatenate([u, rng.uniform(0.1, 0.5, 4), rng.standard_normal(4)])
    gradient = free.at(u)[1]
    for i in range(u.size):
        ends = []
        for h in (1e-5, -1e-5):
            moved = u.copy()
            moved[i] += h
            ends.append(free.at(moved)[0])
        slope = (ends[0] - ends[1]) / 2e-5
        assert gradient[i] == pytest.approx(slope, rel=1e-6, abs=1e-8)


# -- best schedules at a budget of rows -----------------------------------------------------------


@pytest.mark.parametrize("n", [None, 60])
def test_a_budget_is_kept_and_worth_something(n):
    model = Gaussian(np.geomspace(0.05, 1.0, 10), noise=0.1, n=n)
    equal = best_schedule(model, 12, 10)
    free = best_schedule(model, 12, budget=120)
    assert free.batch_sizes.shape == (12,)
    assert free.batch_sizes.min() >= 1
    assert free.batch_sizes.sum() <= 120
    assert equal.batch_sizes.tolist() == [10] * 12
    assert free.value <= equal.value * (1.0 + 1e-9)
    assert free.curve.gap[-1] == pytest.approx(free.value, rel=1e-9)
    again = expected(model, free.schedule, free.batch_sizes).gap[-1]
    assert again == pytest.approx(free.value, rel=1e-9)


def test_no_way_to_share_few_rows_is_better():
    """Two steps and five rows: each division, with the best table for it."""
    model = Gaussian([1.0, 0.2], noise=0.3)
    free = best_schedule(model, 2, budget=5, tol=1e-5)
    dynamics = Case("test", model, 2, None, "gap").dynamics
    from bocce.exact.search import coordinates, search_from

    values = []
    for first in (1, 2, 3, 4):
        shared = Budget(dynamics, 2, 5, None)
        batches = np.array([first, 5 - first])
        start = coordinates((np.full(2, 0.3), np.full(2, 0.1), np.full(2, 0.1)))
        found = search_from(lambda u, b=batches, s=shared: s.at_batches(b, u), [start], 1e-6)
        values.append(math.exp(found[1]))
    assert free.value == pytest.approx(min(values), rel=1e-3)


def test_a_budget_of_all_rows_takes_all_rows():
    p = tiny(0.3)
    found = best_schedule(p, 3, budget=12, start=[1.0, 2.0, 3.0])
    assert found.batch_sizes.tolist() == [4, 4, 4]


def test_bad_budgets_are_refused():
    with pytest.raises(ValueError, match="budget=3 must be an integer >= 4"):
        best_schedule(MODEL, 4, budget=3)
    with pytest.raises(ValueError, match="budget=8 must be None where batch_size"):
        best_schedule(MODEL, 4, 2, budget=8)
    with pytest.raises(ValueError, match="batch_size=None must be the rows of a batch, or budget"):
        best_schedule(MODEL, 4)


# -- steps by batch size --------------------------------------------------------------------------


def test_one_eigenvalue_in_closed_form():
    """The best step is x = 1/(1 + 2/b), and each step multiplies the gap by 2/(b + 2)."""
    curve = batch_curve(Gaussian([3.0]), 1e-3, method="sgd", batches=[1, 2, 5, 20])
    truth = math.log(1e3) / np.log(1.0 + curve.batch_sizes / 2.0)
    np.testing.assert_allclose(curve.steps, truth, rtol=1e-4)
    x = [s.alpha[0] * 3.0 for s in curve.schedules]
    np.testing.assert_allclose(x, 1.0 / (1.0 + 2.0 / curve.batch_sizes), rtol=2e-2)


@pytest.mark.parametrize("method", ["sgd", "heavy-ball"])
@pytest.mark.parametrize(
    "model", [MODEL, Gaussian(np.arange(1, 31.0) ** -1.5, n=500)], ids=["noise", "power law"]
)
def test_no_grid_has_fewer_steps(model, method):
    batches = [2, 30, 400]
    curve = batch_curve(model, 0.05, method=method, batches=batches)
    for b, steps in zip(curve.batch_sizes, curve.steps):
        T = math.ceil(steps)
        fewest = math.inf
        for alpha in np.geomspace(0.01, 4.0, 40):
            for beta in (0.0,) if method == "sgd" else np.linspace(0.0, 0.95, 12):
                s = Schedule(np.full(T, alpha), np.full(T, beta), np.zeros(T))
                with np.errstate(all="ignore"):
                    gap = expected(model, s, int(b)).gap
                arrived = np.flatnonzero(gap <= 0.05 * gap[0])
                if arrived.size:
                    fewest = min(fewest, float(arrived[0]))
        assert fewest >= T


def test_a_value_that_rises_at_first_is_followed():
    """Two clusters far apart: near the edge of stability the gap grows before it falls."""
    lam = np.concatenate([np.linspace(0.5, 1.0, 2), np.full(40, 0.002)])
    model = Gaussian(lam, start=1.0 / lam)
    curve = batch_curve(model, 0.05, method="sgd", batches=[1, 3, 10, 40, 300])
    assert curve.fit_error < 0.06
    assert curve.schedules[0].alpha[0] > 0.4


def test_the_schedules_arrive_when_the_curve_says():
    p = bocce.LeastSquares(np.random.default_rng(0).standard_normal((40, 4)), np.arange(40.0))
    curve = batch_curve(p, 0.1, batches=[2, 5, 10, 40])
    for b, steps, s in zip(curve.batch_sizes, curve.steps, curve.schedules):
        gap = expected(p, s, int(b)).gap
        k = int(np.flatnonzero(gap <= 0.1 * gap[0])[0])
        assert k - 1 <= steps <= k
        share = math.log(gap[k - 1] / (0.1 * gap[0])) / math.log(gap[k - 1] / gap[k])
        assert steps == pytest.approx(k - 1 + share, rel=1e-6)


def test_tiny_data_by_enumeration():
    p = tiny()
    curve = batch_curve(p, 0.3, batches=[1, 2, 3, 4])
    for b, steps, s in zip(curve.batch_sizes, curve.steps, curve.schedules):
        if s.T > 4:
            continue
        gap = enumerated_curve(p, s, [b] * s.T, np.zeros(3))[2]
        assert gap[-1] <= 0.3 * gap[0] * (1.0 + 1e-9)
        assert math.ceil(steps) == s.T


def test_units_of_the_data_change_nothing():
    lam = np.geomspace(0.05, 1.0, 10)
    plain = batch_curve(Gaussian(lam, noise=0.1), 0.1, batches=[2, 10, 50, 200])
    scaled = batch_curve(
        Gaussian(100.0 * lam, noise=10.0, start=np.ones(10)), 0.1, batches=[2, 10, 50, 200]
    )
    np.testing.assert_allclose(scaled.steps, plain.steps, rtol=1e-2)


def test_a_method_of_the_registry_runs_with_its_own_constants():
    model = Gaussian(np.geomspace(0.05, 1.0, 10))
    curve = batch_curve(model, 0.1, method="sgd-safe", batches=[1, 4, 16, 64])
    best = batch_curve(model, 0.1, method="sgd", batches=[1, 4, 16, 64])
    assert (curve.steps >= best.steps * 0.999).all()
    for b, steps in zip(curve.batch_sizes, curve.steps):
        gap = expected(model, "sgd-safe", int(b), T=math.ceil(steps)).gap
        assert gap[-1] <= 0.1 * gap[0] < gap[-2]


def test_a_method_that_stalls_is_infinite_there():
    model = Gaussian(np.geomspace(0.05, 1.0, 10), noise=1.0)
    with pytest.raises(ValueError, match="0 of 3 batches arrive"):
        batch_curve(model, 1e-6, method="sgd-safe", batches=[1, 2, 4])


def test_errors_of_a_curve_say_what_to_do():
    with pytest.raises(ValueError, match=r"target=1\.0 must be"):
        batch_curve(MODEL, 1.0)
    with pytest.raises(ValueError, match="did you mean 'heavy-ball'"):
        batch_curve(MODEL, 0.1, method="heavyball")
    with pytest.raises(ValueError, match="at least three sizes"):
        batch_curve(MODEL, 0.1, batches=[3, 4])
    with pytest.raises(ValueError, match="must be one of 'gap', 'error'"):
        batch_curve(MODEL, 0.1, of="grad")


def test_facts_of_rows_are_means_over_the_rows():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    p = bocce.LeastSquares(X, y)
    facts = batch_facts(p)
    rows = -X * y[:, None]  # gradients at w = 0
    g = rows.mean(axis=0)
    assert facts.noise_scale == pytest.approx(((rows - g) ** 2).sum() / 30 / (g @ g), rel=1e-10)
    w = p.minimiser()
    rest = X * (X @ w - y)[:, None]
    assert facts.gradient_noise == pytest.approx((rest**2).sum() / 30, rel=1e-9)
    A = X.T @ X / 30
    fourth = (X * (X**2).sum(axis=1, keepdims=True)).T @ X / 30
    assert np.linalg.eigvalsh(facts.R2 * A - fourth).min() >= -1e-9
    assert facts.gap == pytest.approx(0.5 * w @ A @ w, rel=1e-9)


def test_a_curve_is_drawn():
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    curve = batch_curve(MODEL, 0.1)
    ax = curve.plot(batch_curve(MODEL, 0.1, method="sgd"), labels=["momentum", "none"])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    with pytest.raises(ValueError, match="labels has 1 names"):
        curve.plot(curve, labels=["one"])
    plt.close("all")


# -- what is proved: docs/theory/useful-batch.md --------------------------------------------------

momentum = st.floats(0.0, 0.9999)
spectra = st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=12).map(np.array)


@given(beta=momentum, step=st.floats(1e-6, 3.9))
@settings(deadline=None, max_examples=300)
def test_momentum_speeds_an_effective_step_by_two_at_most(beta, step):
    roots = np.roots([1.0, -(1.0 + beta - step), beta])
    rate = np.abs(roots).max()
    assert 1.0 - rate <= 2.0 * step / (1.0 - beta) + 1e-7


@given(lam=spectra, beta=momentum, share=st.floats(1e-4, 0.999))
@settings(deadline=None, max_examples=100)
def test_the_effective_step_is_limited_by_the_batch(lam, beta, share):
    alpha = share * 2.0 * (1.0 + beta) / lam.max()
    critical = bocce.exact.critical_batch_size(Gaussian(lam), alpha, beta)
    assert critical >= alpha / (1.0 - beta) * lam.sum() / 2.0 * (1.0 - 1e-9)


@given(
    lam=spectra, beta=st.floats(0.0, 0.99), share=st.floats(1e-3, 0.9), extra=st.floats(1.1, 9.0)
)
@settings(deadline=None, max_examples=100)
def test_the_noise_floor_is_that_of_the_effective_step(lam, beta, share, extra):
    alpha = share * 2.0 * (1.0 + beta) / lam.max()
    model = Gaussian(lam, noise=0.3)
    b = math.ceil(extra * bocce.exact.critical_batch_size(model, alpha, beta))
    floor = bocce.exact.stationary(model, alpha, beta, b).gap
    assert floor >= 0.25 * alpha / (1.0 - beta) * 0.3 * lam.sum() / b * (1.0 - 1e-9)


@given(seed=st.integers(0, 1000), beta=st.floats(0.0, 0.99), share=st.floats(1e-3, 0.99))
@settings(deadline=None, max_examples=40)
def test_the_effective_step_is_limited_on_any_rows(seed, beta, share):
    """eta < 2/(zeta0^2 (rho - L)), rho the largest with E[|x|^2 x x^T] >= rho A."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3)) * rng.chisquare(2.0, (30, 1))
    p = bocce.LeastSquares(X, np.zeros(30))
    A = X.T @ X / 30
    values, vectors = np.linalg.eigh(A)
    root = vectors / np.sqrt(values)
    fourth = (X * (X**2).sum(axis=1, keepdims=True)).T @ X / 30
    rho = np.linalg.eigvalsh(root.T @ fourth @ root).min()
    alpha = share * 2.0 * (1.0 + beta) / values.max()
    critical = bocce.exact.critical_batch_size(p, alpha, beta)
    zeta2 = (30.0 - critical) / (29.0 * critical)
    assert alpha / (1.0 - beta) * zeta2 * (rho - values.max()) <= 2.0 * (1.0 + 1e-9)


@given(lam=spectra, b=st.integers(1, 50))
@settings(deadline=None, max_examples=50)
def test_sgd_keeps_the_form_as_a_bound(lam, b):
    """With 1/alpha = L + R2/b the squared error falls by 1 - alpha mu a step at least."""
    alpha = 1.0 / (lam.max() + (lam.sum() + 2.0 * lam.max()) / b)
    s = Schedule(np.full(30, alpha), np.zeros(30), np.zeros(30))
    error2 = expected(Gaussian(lam), s, b).error2
    bound = error2[0] * (1.0 - alpha * lam.min()) ** np.arange(31)
    assert (error2 <= bound * (1.0 + 1e-9)).all()


@given(
    L=st.floats(0.1, 10.0),
    R2=st.floats(10.0, 1e3),
    noise=st.floats(0.0, 10.0),
    gap=st.floats(1e-3, 1.0),
    unit=st.floats(0.01, 100.0),
)
@settings(deadline=None, max_examples=100)
def test_the_formula_has_no_units(L, R2, noise, gap, unit):
    """X in other units: L, R2 grow by unit^2, tr Sigma too, the gap stays."""
    plain = useful_batch(L=L, R2=R2, gradient_noise=noise, gap=gap)
    u2 = unit**2
    scaled = useful_batch(L=u2 * L, R2=u2 * R2, gradient_noise=u2 * noise, gap=gap)
    assert scaled == pytest.approx(plain, rel=1e-9)
    assert plain >= useful_batch(L=L, R2=R2)


def test_the_formula_by_hand_and_its_errors():
    assert useful_batch(L=2.0, R2=10.0) == 10.0
    assert useful_batch(L=2.0, R2=10.0, gradient_noise=4.0, gap=0.5) == 14.0
    assert useful_batch(L=2.0, R2=10.0, momentum_gain=3.0) == 30.0
    with pytest.raises(ValueError, match="gap=None must be a number where gradient_noise=1"):
        useful_batch(L=1.0, R2=2.0, gradient_noise=1.0)
    with pytest.raises(ValueError, match=r"R2=0\.5 must be"):
        useful_batch(L=1.0, R2=0.5)
    with pytest.raises(ValueError, match=r"gap=0\.0 must be"):
        useful_batch(L=1.0, R2=2.0, gap=0.0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_momentum_saves_steps_not_rows(noise):
    """Measured, not proved: the rows S_min B agree, and the formula is near."""
    lam = np.geomspace(0.005, 1.0, 40)
    model = Gaussian(lam, noise=noise, start=1.0 / lam)
    sgd, momentum = (batch_curve(model, 0.03, method=m) for m in ("sgd", "heavy-ball"))
    assert momentum.S_min < 0.6 * sgd.S_min
    assert momentum.rows == pytest.approx(sgd.rows, rel=0.15)
    assert max(sgd.fit_error, momentum.fit_error) < 0.05
    facts = batch_facts(model)
    said = useful_batch(
        L=facts.L, R2=facts.R2, gradient_noise=facts.gradient_noise, gap=0.03 * facts.gap
    )
    assert 1.0 / 2.0 < said / sgd.B < 2.0


@pytest.mark.parametrize("method", ["sgd", "heavy-ball"])
def test_one_step_that_ends_at_the_minimiser_counts_as_one(method):
    """Equal eigenvalues: on all rows the step 1/L does it."""
    X, y, _ = bocce.data.regression(n=40, d=3, kappa=1.0, noise_var=0.0)
    curve = batch_curve(bocce.LeastSquares(X, y), 0.1, method=method, batches=[40, 20, 10])
    assert 0.0 < curve.steps[-1] <= 1.0
    assert np.all(np.diff(curve.steps) < 0.0)


def test_batches_may_be_shares_of_the_rows():
    X, y, _ = bocce.data.regression(n=200, d=3, kappa=10.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    shares = batch_curve(p, 0.1, method="sgd", batches=[0.05, 0.5, 1.0])
    rows = batch_curve(p, 0.1, method="sgd", batches=[10, 100, 200])
    assert shares.batch_sizes.tolist() == [10, 100, 200]
    np.testing.assert_array_equal(shares.steps, rows.steps)
    with pytest.raises(TypeError, match="batches=10 must be a list of at least three sizes"):
        batch_curve(p, 0.1, batches=10)


@pytest.mark.parametrize("method", ["auto", "mass-avg", "shb-exp"])
@pytest.mark.parametrize("kind", ["spectrum", "rows"])
def test_the_schedules_of_a_curve_are_the_tables_that_were_followed(kind, method):
    if kind == "spectrum":
        model = Gaussian(np.geomspace(0.01, 1.0, 20), noise=0.1, n=1000)
    else:
        X, y, _ = bocce.data.regression(n=500, d=8, kappa=100.0, noise_var=0.1)
        model = bocce.LeastSquares(X, y)
    found = batch_curve(model, 0.05, method=method, batches=[20, 100, 400])
    for b, steps, schedule in zip(found.batch_sizes.tolist(), found.steps, found.schedules):
        assert np.ceil(steps) == schedule.T
        own = expected(model, schedule, b).gap
        assert own[-1] <= 0.05 * own[0]
        named = expected(model, method, b, T=schedule.T)
        np.testing.assert_array_equal(own, named.gap)
