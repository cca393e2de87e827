"""The adjoint against finite differences, and best schedules against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import bocce
from bocce.exact import Gaussian, adjoint, best_schedule, expected, regret
from bocce.exact.best import Case
from bocce.exact.search import conjugate_gradients
from bocce.schedules import REGISTRY, Schedule
from exact_enumeration import enumerated_curve

T = 6


def tiny(l2=0.0):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((4, 3))
    X[:, 2] = X[:, 1]  # a direction that no row touches
    return bocce.LeastSquares(X, rng.standard_normal(4), l2=l2)


MODEL = Gaussian([4.0, 1.0, 0.2], noise=0.3, start=[1.0, 0.5, 2.0], n=50)
CASES = {
    "means": (Gaussian([4.0, 1.0, 0.2], n=50), 50, None),
    "gaussian": (MODEL, 7, None),
    "rows": (tiny(), 2, [1.0, 2.0, 3.0]),
    "rows, l2": (tiny(0.3), 3, [1.0, 2.0, 3.0]),
    "all rows, l2": (tiny(0.3), 4, [1.0, 2.0, 3.0]),
}


def some_table(seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.02, 0.15, T), rng.uniform(0.0, 0.9, T), rng.uniform(0.0, 1.5, T)


def dynamics(name, of="gap"):
    return Case("test", *CASES[name], of).dynamics


@pytest.mark.parametrize("of", ["gap", "error"])
@pytest.mark.parametrize("name", CASES)
def test_the_adjoint_is_the_derivative(name, of):
    dyn, table = dynamics(name, of), some_table()
    gradient = adjoint.value_and_gradient(dyn, table)[1]
    for column in range(3):
        for k in range(T):
            ends = []
            for h in (1e-5, -1e-5):
                moved = [part.copy() for part in table]
                moved[column][k] += h
                ends.append(adjoint.value_and_gradient(dyn, tuple(moved))[0])
            slope = (ends[0] - ends[1]) / 2e-5
            assert gradient[column, k] == pytest.approx(slope, abs=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize("of", ["gap", "error"])
@pytest.mark.parametrize("name", CASES)
def test_the_value_is_that_of_the_curve(name, of):
    model, b, start = CASES[name]
    curve = expected(model, Schedule(*some_table()), b, start)
    truth = (curve.gap if of == "gap" else curve.error2)[-1]
    assert adjoint.value_and_gradient(dynamics(name, of), some_table())[0] == pytest.approx(
        truth, rel=1e-10
    )


@pytest.mark.parametrize("name", CASES)
def test_steps_repeated_between_kept_moments_change_nothing(name):
    whole = adjoint.value_and_gradient(dynamics(name), some_table())
    parts = adjoint.value_and_gradient(dynamics(name), some_table(), most=1)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_the_plain_recursion(name, monkeypatch):
    fast = adjoint.value_and_gradient(dynamics(name), some_table())
    monkeypatch.setattr(adjoint, "compiled", lambda body: body)
    slow = adjoint.value_and_gradient(dynamics(name), some_table())
    assert slow[0] == pytest.approx(fast[0], rel=1e-12)
    np.testing.assert_allclose(slow[1], fast[1], rtol=1e-8, atol=1e-11)


def test_one_step_by_hand():
    """p (1 - 2 x + x^2 (1 + 2/b)) + x^2 noise/(b lam), x = alpha lam: least at one alpha."""
    lam, p, noise, b = 2.0, 3.0, 0.5, 4
    model = Gaussian([lam], noise=noise, start=[p])
    # values tell derivatives of the logarithm apart down to the root of the rounding, 1e-8
    found = best_schedule(model, 1, b, tol=1e-6)
    x = p / (p * (1.0 + 2.0 / b) + noise / (b * lam))
    assert found.schedule.alpha[0] * lam == pytest.approx(x, rel=1e-5)
    assert found.value == pytest.approx(0.5 * lam * p * (1.0 - x), rel=1e-9)
    assert found.converged


def test_on_all_rows_nothing_is_better_than_conjugate_gradients():
    lam = np.linspace(0.2, 1.0, 12)
    model = Gaussian(lam, n=100)
    steps = 5
    found = best_schedule(model, steps, 100)
    means = adjoint.Means(lam, np.ones(12), 0.5 * lam)
    table = conjugate_gradients(means, steps)
    # the least sum lam p(lam)^2/2 over polynomials of degree 5 with p(0) = 1, by least squares
    powers = lam[:, None] ** np.arange(1, steps + 1)
    root = np.sqrt(0.5 * lam)
    rest = np.linalg.lstsq(root[:, None] * powers, -root, rcond=None)[0]
    least = float((0.5 * lam) @ (1.0 + powers @ rest) ** 2)
    assert adjoint.value_and_gradient(means, table)[0] == pytest.approx(least, rel=1e-7)
    assert found.value == pytest.approx(least, rel=1e-7)


def test_tiny_data_by_enumeration():
    """No neighbour of the best table is better, all batches of all steps counted."""
    p = tiny(0.1)
    found = best_schedule(p, 2, 2, start=[1.0, 2.0, 3.0], tol=1e-6)
    s = found.schedule

    def counted(table):
        return enumerated_curve(p, Schedule(*table), 2, [1.0, 2.0, 3.0])[2, -1]

    here = counted((s.alpha, s.beta, s.theta))
    assert here == pytest.approx(found.value, rel=1e-9)
    rng = np.random.default_rng(0)
    for _ in range(20):
        factors = np.exp(0.03 * rng.standard_normal((3, 2)))
        beta = np.minimum(1.0 - (1.0 - s.beta) * factors[1], 1.0)
        theta = np.maximum((1.0 + s.theta) * factors[2] - 1.0, 0.0)
        assert counted((s.alpha * factors[0], np.maximum(beta, 0.0), theta)) >= here * (1 - 1e-9)


@pytest.mark.filterwarnings("ignore:multistage")
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_no_method_of_the_registry_is_better(noise):
    model = Gaussian(np.geomspace(0.01, 1.0, 30), noise=noise, n=1000)
    best = best_schedule(model, 40, 200)
    assert best.gradient <= 1e-3, "the default tol"
    assert best.curve.gap[-1] == pytest.approx(best.value, rel=1e-9)
    assert best.history[-1] <= best.history[0]
    for method in REGISTRY.values():
        s = method.build(40, model.schedule_arguments(200))
        assert expected(model, s, 200).gap[-1] >= best.value
    auto = REGISTRY["auto"].build(40, model.schedule_arguments(200))
    ratio = expected(model, auto, 200).gap[-1] / best.value
    assert regret(auto, model, 200) == pytest.approx(ratio, rel=1e-6)


def test_a_universal_schedule_is_good_everywhere():
    lam = np.geomspace(0.02, 1.0, 20)
    models = [Gaussian(lam, noise=noise) for noise in (0.0, 1e-2)]
    scenarios = [{"model": model} for model in models]
    found = best_schedule(models[0], 30, 100, scenarios=scenarios)
    own = [best_schedule(model, 30, 100) for model in models]

    def worst(schedule):
        return max(expected(m, schedule, 100).gap[-1] / o.value for m, o in zip(models, own))

    assert found.value == pytest.approx(worst(found.schedule), rel=1e-6)
    assert 1.0 <= found.value < min(worst(o.schedule) for o in own)
    np.testing.assert_allclose(found.bests, [o.value for o in own], rtol=1e-9)


def test_a_scenario_may_bring_the_value_to_compare_with():
    model = Gaussian(np.geomspace(0.02, 1.0, 20), noise=1e-2)
    own = best_schedule(model, 30, 100).value
    found = best_schedule(model, 30, 100, scenarios=[{"model": model, "value": 2.0 * own}])
    assert found.value == pytest.approx(0.5, rel=0.01)
    assert found.bests == pytest.approx([2.0 * own])


def test_a_long_table_is_searched_to_the_end():
    """Each derivative falls as 1/T: the largest alone would stop the search at once."""
    model = Gaussian(np.geomspace(0.01, 1.0, 30), noise=1.0, n=10_000)
    auto = REGISTRY["auto"].build(300, model.schedule_arguments(100))
    rough, fine = (best_schedule(model, 300, 100, tol=tol) for tol in (0.1, 1e-3))
    assert rough.value <= 1.03 * fine.value
    assert rough.gradient <= 0.1
    assert rough.converged
    assert expected(model, auto, 100).gap[-1] > 1.1 * rough.value


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="T=0 must be"):
        best_schedule(MODEL, 0, 5)
    with pytest.raises(ValueError, match="must be one of 'gap', 'error'"):
        best_schedule(MODEL, 2, 5, of="grad")
    with pytest.raises(ValueError, match="may hold"):
        best_schedule(MODEL, 2, 5, scenarios=[{"batch": 3}])
    with pytest.raises(ValueError, match="at least one dict"):
        best_schedule(MODEL, 2, 5, scenarios=[])
    with pytest.raises(ValueError, match="start away"):
        best_schedule(Gaussian([1.0], start=[0.0]), 2, 5)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e5, 1e9])
def test_conjugate_gradients_of_more_steps_than_eigenvalues(scale):
    """What is left after d steps is rounding, whose squares underflow at last."""
    for seed in range(20):
        lam = scale * np.random.default_rng(seed).uniform(0.1, 1.0, 1 + seed % 5)
        alpha, beta, _ = conjugate_gradients(adjoint.Means(lam, np.ones(lam.size), 0.5 * lam), 300)
        assert (alpha > 0.0).all()
        assert ((beta >= 0.0) & (beta < 1.0)).all()


@pytest.mark.parametrize("low", [1e-300, 1e-60, 1e-34, 1e-20, 1.0])
@pytest.mark.parametrize("high", [1.0, 1e60])
@pytest.mark.parametrize("n", [None, 100])
def test_a_spectrum_of_any_width_has_a_best_schedule(low, high, n):
    """Methods whose constants do not fit into float64 are left out of the search."""
    found = best_schedule(Gaussian(high * np.array([low, 1.0]), noise=0.1, n=n), 2, 5)
    assert np.isfinite(found.value)
    assert (found.schedule.alpha > 0.0).all()
