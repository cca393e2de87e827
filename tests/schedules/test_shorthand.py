"""Short ways to a schedule: scalars, constants of a problem, names where a table is asked for."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bocce
from bocce import exact, theory
from bocce.schedules import REGISTRY, Schedule

T = 40


@pytest.fixture(scope="module")
def p():
    X, y, _ = bocce.data.regression(200, 4, 20.0, noise_var=0.1)
    return bocce.LeastSquares(X, y, l2=0.01)


@given(
    alpha=st.floats(1e-6, 10.0),
    beta=st.floats(0.0, 0.99),
    theta=st.floats(0.0, 5.0),
    steps=st.integers(1, 30),
)
def test_scalars_with_T_are_constant_columns(alpha, beta, theta, steps):
    full = Schedule(*(np.full(steps, x) for x in (alpha, beta, theta)), "mine")
    assert Schedule(alpha, beta, theta, "mine", T=steps) == full
    assert Schedule(full.alpha, beta, theta, "mine") == full
    assert Schedule(alpha, full.beta, full.theta, "mine", T=steps) == full


def test_theta_is_zero_unless_given():
    s = Schedule([0.1, 0.2], [0.0, 0.9])
    assert s == Schedule([0.1, 0.2], [0.0, 0.9], [0.0, 0.0])
    assert dataclasses.replace(s, name="other").name == "other"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"alpha": 0.1, "beta": 0.9}, r"alpha, beta and theta are all numbers.*T"),
        ({"alpha": [0.1, 0.1], "beta": 0.9, "T": 3}, r"T=3 must equal the length.* 2; leave T out"),
        ({"alpha": [0.1, 0.1], "beta": [0.9]}, "lengths"),
        ({"alpha": 0.1, "beta": 0.9, "T": 0}, "T=0 must be an integer >= 1"),
        ({"alpha": [[0.1]], "beta": 0.9}, "shape"),
    ],
)
def test_what_does_not_fit_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**arguments)


@pytest.mark.parametrize("name", REGISTRY)
def test_build_takes_constants(p, name):
    c = p.constants()
    values = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde}
    values |= {"spectrum": c.spectrum}
    more = {"n": p.n, "b": 50}
    assert REGISTRY[name].build(2500, c, **more) == REGISTRY[name].build(2500, {**values, **more})


def test_build_says_which_constants_are_missing(p):
    with pytest.raises(TypeError, match=r"mass: n, b must be given; build.*n=.*b="):
        REGISTRY["mass"].build(T, p.constants())


@pytest.mark.parametrize("name", ["sgd", "shb", "2p-shb", "nesterov", "mass", "auto", "auto-shb"])
def test_names_mean_the_table_that_minimize_runs(p, name):
    b = 50
    table = bocce.minimize(p, name, T=T, batch_size=b).schedule
    curve = exact.expected(p, name, b, T=T)
    np.testing.assert_array_equal(curve.gap, exact.expected(p, table, b).gap)
    np.testing.assert_array_equal(curve.k, np.arange(T + 1))
    assert theory.certify_run(p, name, b, T=T) == theory.certify_run(p, table, b)


def test_a_gaussian_model_takes_a_name():
    model = exact.Gaussian([0.1, 0.5, 1.0], noise=0.1, n=100)
    table = bocce.schedules.shb(T, 1.0, 0.1)
    named = exact.expected(model, "shb", 20, T=T)
    np.testing.assert_array_equal(named.gap, exact.expected(model, table, 20).gap)


def test_certify_takes_a_name():
    known = {"n": 1000, "b": 400, "L_max": 3.0, "kappa_tilde": 30.0, "mu": 0.1, "lam_max": 1.0}
    s = bocce.schedules.shb(T, 1.0, 0.1)
    named = theory.certify("shb", T=T, error0=1.0, **known)
    assert named == theory.certify(s, error0=1.0, **known)
    spectrum = {**known, "spectrum": [0.1, 0.5, 1.0]}
    del spectrum["mu"], spectrum["lam_max"]
    named = theory.certify("shb", T=T, error0=1.0, **spectrum)
    assert named == theory.certify(s, error0=1.0, **spectrum)


@pytest.mark.parametrize(
    ("schedule", "steps", "kind", "message"),
    [
        ("shb", None, ValueError, "T=None must be the number of steps.*schedule='shb'"),
        ("shbb", 5, ValueError, "schedule='shbb' must be one of.*did you mean 'shb'"),
        (bocce.schedules.sgd(7, 1.0), 5, ValueError, "T=5 must equal the schedule's T=7"),
        (3, 5, TypeError, "schedule=3 must be a Schedule or a name"),
    ],
)
def test_a_name_that_is_no_table_is_refused(p, schedule, steps, kind, message):
    calls = (
        ("expected", lambda: exact.expected(p, schedule, 50, T=steps)),
        ("certify_run", lambda: theory.certify_run(p, schedule, 50, T=steps)),
        (
            "certify",
            lambda: theory.certify(
                schedule, T=steps, n=9, b=3, L_max=1.0, kappa_tilde=None,
                spectrum=[0.5, 1.0], error0=1.0,
            ),
        ),
    )  # fmt: skip
    for where, call in calls:
        with pytest.raises(kind, match=f"^{where}: .*{message}"):
            call()


@given(L=st.floats(1e-3, 1e3))
def test_the_best_heavy_ball_is_a_schedule(L):
    best = theory.best_heavy_ball(kappa=50.0, R=2.0, zeta2=0.01)
    s = best.schedule(T, L=L)
    assert s == Schedule(best.alpha / L, best.beta, T=T, name="best-heavy-ball")
    rate = theory.certified_rate(s.alpha[0], s.beta[0], 0.01, 2.0 * L, L / 50.0, L)
    assert rate == pytest.approx(best.rate, rel=1e-6)
