"""The tables of every method: printed values, closed forms, and literal loops."""

import copy
import dataclasses
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bocce import schedules
from bocce.schedules import REGISTRY, Schedule
from schedule_tables import FEW, batch_constants, curvatures, is_constant


def heavy_ball_iterates(schedule, gradient, w0):
    """The one update, step by step: w_0 .. w_T."""
    w, before, iterates = w0, w0, [w0]
    for alpha, beta, theta in zip(schedule.alpha, schedule.beta, schedule.theta):
        g = gradient(w + theta * (w - before))
        w, before = w + beta * (w - before) - alpha * g, w
        iterates.append(w)
    return np.array(iterates)


# -- figure 1 ----------------------------------------------------------------------------

FIGURE_1 = {"T": 100, "L": 10.0, "mu": 1.0, "tau": 1.0}


def test_figure_1_steps():
    s = schedules.shb_exponential(**FIGURE_1, form="average")
    assert s.alpha[[0, 1, 99]] == pytest.approx([1.568129e-2, 1.121161e-2, 4.749451e-6], rel=4e-7)


@pytest.mark.parametrize(
    ("form", "printed"),
    [("average", [0, 0.256932, 0.769068, 0.941567, 0.970774]),
     ("proof", [0, 0.251073, 0.757482, 0.939319, 0.970532])],
)  # fmt: skip
def test_figure_1_momenta(form, printed):
    s = schedules.shb_exponential(**FIGURE_1, form=form)
    assert s.beta[[0, 1, 10, 50, 99]] == pytest.approx(printed, abs=5.1e-7)
    assert not s.theta.any()


def test_both_forms_share_their_steps_and_proof_is_the_default():
    proof, average = (schedules.shb_exponential(**FIGURE_1, form=f) for f in ("proof", "average"))
    assert np.array_equal(proof.alpha, average.alpha)
    assert schedules.shb_exponential(**FIGURE_1) == proof


# -- averaging form and heavy-ball form --------------------------------------------------


def averaging_iterates(eta, omega, mu, form, gradient, w0):
    """The recursion in Z, as printed: Z_0 = w_0."""
    w, Z, iterates = w0, w0, [w0]
    for k in range(len(eta) - 1):
        g = gradient(w)
        if form == "proof":
            Z = (1 - eta[k] * mu) * Z + eta[k] * mu * w - eta[k] * g
        else:
            Z = Z - eta[k] * g
        coming = eta[k + 1] * mu
        lam = omega / coming * (1 - (1 - coming) ** (k + 1))
        w = (lam * w + Z) / (1 + lam)
        iterates.append(w)
    return np.array(iterates)


def random_quadratic(seed, L, mu, d=4):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    A = (Q * np.linspace(mu, L, d)) @ Q.T
    c = rng.standard_normal(d)
    return lambda w: A @ w - c, rng.standard_normal(d)


@pytest.mark.parametrize("form", ["proof", "average"])
@pytest.mark.parametrize(("T", "tau"), [(2, 1.0), (100, 1.0), (300, 7.5)])
def test_averaging_equals_heavy_ball_with_exponential_steps(form, T, tau):
    L, mu = 10.0, 0.5
    gradient, w0 = random_quadratic(T, L, mu)
    gamma = (tau / T) ** (1 / T)
    eta = [gamma ** (k + 1) / (4 * L) for k in range(T + 1)]
    expected = averaging_iterates(eta, 1 - 2 * eta[0] * L, mu, form, gradient, w0)
    s = schedules.shb_exponential(T, L, mu, tau=tau, form=form)
    assert heavy_ball_iterates(s, gradient, w0) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", ["proof", "average"])
@pytest.mark.parametrize("share", [None, 0.25, 0.4])
def test_averaging_equals_heavy_ball_with_constant_steps(form, share):
    T, L, mu = 150, 8.0, 0.5
    eta = None if share is None else share / L
    gradient, w0 = random_quadratic(3, L, mu)
    step = 0.25 / L if share is None else share / L
    expected = averaging_iterates([step] * (T + 1), 1 - 2 * step * L, mu, form, gradient, w0)
    s = schedules.shb_averaged(T, L, mu, eta=eta, form=form)
    assert heavy_ball_iterates(s, gradient, w0) == pytest.approx(expected, abs=1e-12)


@FEW
@given(curvatures(), st.integers(1, 50))
def test_averaging_with_half_the_inverse_smoothness_is_sgd(constants, T):
    L, mu = constants
    s = schedules.shb_averaged(T, L, mu, eta=0.5 / L)
    assert s.alpha == pytest.approx(np.full(T, 0.5 / L), rel=1e-12)
    assert s.beta == pytest.approx(np.zeros(T), abs=1e-12)


# -- constant and exponential tables -----------------------------------------------------


@FEW
@given(curvatures(), st.integers(1, 50), st.floats(1e-6, 1.0))
def test_constant_tables_are_their_formulas(constants, T, a):
    L, mu = constants
    root = math.sqrt(L / mu)
    g = (root - 1) / (root + 1)
    assert is_constant(schedules.sgd(T, L, a), T, a / L, 0, 0)
    heavy_ball = (1 - 0.5 * math.sqrt(a) / root) ** 2
    assert is_constant(schedules.shb(T, L, mu, a), T, a / L, heavy_ball, 0)
    polyak_step = 4 / (math.sqrt(L) + math.sqrt(mu)) ** 2
    assert is_constant(schedules.polyak(T, L, mu), T, polyak_step, g**2, 0)
    assert is_constant(schedules.nesterov(T, L, mu), T, 1 / L, g, g)


def test_hand_computed_constants():
    assert schedules.shb(1, L=100.0, mu=1.0).beta[0] == pytest.approx(0.9025)
    assert schedules.shb(1, L=100.0, mu=1.0, a=0.25).beta[0] == pytest.approx(0.950625)
    polyak = schedules.polyak(1, L=9.0, mu=1.0)
    assert (polyak.alpha[0], polyak.beta[0]) == pytest.approx((0.25, 0.25))
    nesterov = schedules.nesterov(1, L=9.0, mu=1.0)
    assert (nesterov.alpha[0], nesterov.beta[0], nesterov.theta[0]) == (1 / 9, 0.5, 0.5)


@FEW
@given(curvatures(), st.integers(2, 400), st.data())
def test_exponential_steps_decay_from_gamma_to_tau_over_T(constants, T, data):
    L, mu = constants
    tau = data.draw(st.floats(1.0, T, exclude_max=True))
    s = schedules.sgd_exponential(T, L, tau)
    assert s.alpha * L == pytest.approx([(tau / T) ** ((k + 1) / T) for k in range(T)])
    assert s.alpha[-1] == pytest.approx(tau / T / L)
    assert not s.beta.any()
    # every step of shb-exp is below eta_k = gamma^(k+1)/(4L), and momentum starts from rest
    noise_adaptive = schedules.shb_exponential(T, L, mu, tau)
    assert (noise_adaptive.alpha <= s.alpha / 4 * (1 + 1e-12)).all()
    assert noise_adaptive.beta[0] == 0


def nesterov_exponential_loop(T, L, mu, rho, tau):
    gamma = (tau / T) ** (1 / T)
    rows = []
    for k in range(T):
        r, r_next = (math.sqrt(mu / (rho * L)) * gamma ** (j / 2) for j in (k, k + 1))
        momentum = (1 - r) * r * gamma / (r_next + gamma * r**2)
        rows.append((gamma ** (k + 1) / (rho * L), momentum, momentum))
    return np.array(rows).T


@FEW
@given(curvatures(), st.integers(2, 60), st.floats(1.0, 10.0), st.data())
def test_nesterov_exponential_by_a_literal_loop(constants, T, rho, data):
    L, mu = constants
    tau = data.draw(st.floats(1.0, T, exclude_max=True))
    s = schedules.nesterov_exponential(T, L, mu, rho=rho, tau=tau)
    expected = nesterov_exponential_loop(T, L, mu, rho, tau)
    assert np.array([s.alpha, s.beta, s.theta]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_nesterov_exponential_tends_to_nesterov_when_gamma_tends_to_one():
    s = schedules.nesterov_exponential(50, L=9.0, mu=1.0, tau=50 * (1 - 1e-12))
    assert is_constant(s, 50, 1 / 9, 0.5, 0.5)


# -- a schedule is data ------------------------------------------------------------------


def test_then_restarts_the_second_part():
    first = schedules.nesterov(3, L=9.0, mu=1.0)
    second = schedules.nesterov(2, L=4.0, mu=1.0)
    joined = first.then(second)
    assert joined.T == len(joined) == 5
    assert joined.alpha.tolist() == [*first.alpha, *second.alpha]
    assert joined.beta.tolist() == [0.5, 0.5, 0.5, 0.0, second.beta[1]]
    assert joined.theta.tolist() == [0.5, 0.5, 0.5, 0.0, second.theta[1]]
    assert second.beta[0] > 0, "the parts stay what they were"
    assert joined.name == "nesterov + nesterov"
    assert first.then(second, name="mine").name == "mine"


def test_a_schedule_cannot_be_changed():
    alpha = np.full(3, 0.1)
    s = Schedule(alpha, np.zeros(3), np.zeros(3), "mine")
    alpha[0] = 5.0
    assert s.alpha[0] == 0.1, "the caller's array is copied"
    for name in ("alpha", "beta", "theta"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(s, name)[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        s.alpha = alpha


def test_equality_compares_tables_and_names():
    s = schedules.shb(4, L=4.0, mu=1.0)
    assert s == schedules.shb(4, L=4.0, mu=1.0) == copy.deepcopy(s)
    assert s != schedules.shb(5, L=4.0, mu=1.0)
    assert s != schedules.shb(4, L=4.0, mu=1.0, a=0.5)
    assert s != Schedule(s.alpha, s.beta, s.theta, "other")
    assert s != Schedule(s.alpha, s.beta, s.beta, s.name)
    assert s != "shb"
    with pytest.raises(TypeError, match="unhashable"):
        hash(s)


def test_copies_are_read_only_too():
    original = schedules.shb(5, L=10.0, mu=1.0)
    twin = copy.deepcopy(original)  # by the same protocol as sending it to a worker
    assert twin == original
    with pytest.raises(ValueError, match="read-only"):
        twin.alpha[0] = 1.0


# -- the registry ------------------------------------------------------------------------


@FEW
@given(batch_constants(), st.integers(4, 300), st.floats(1e-3, 1e5))
def test_every_method_builds_from_one_dict_of_constants(constants, T, kappa_tilde):
    constants = constants | {"kappa_tilde": kappa_tilde, "something_else": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = {  # a search takes longer: few steps are enough to see its columns
            name: method.build(T if method.needs_T else min(T, 6), constants)
            for name, method in REGISTRY.items()
        }
    for name, s in built.items():
        assert s.name == name
        for column in (s.alpha, s.beta, s.theta):
            assert column.shape == (T if REGISTRY[name].needs_T else min(T, 6),)
            assert column.dtype == np.float64
            assert not column.flags.writeable
        assert (s.alpha > 0).all()
        assert (s.alpha <= 4 / constants["L"]).all()
    assert not any(built[name].theta.any() for name in HEAVY_BALL)


HEAVY_BALL = {
    "sgd", "sgd-exp", "shb", "shb-avg", "shb-exp", "multi-shb", "multi-shb-cnst", "2p-shb",
    "multi-shb-pan", "hb", "auto-shb",
}  # fmt: skip


def test_registry_has_the_names_of_the_contract():
    assert HEAVY_BALL | {"nesterov-exp", "nesterov", "mass", "auto"} <= set(REGISTRY)
    assert [method.name for method in REGISTRY.values()] == list(REGISTRY)


def test_methods_say_what_they_need():
    assert REGISTRY["sgd"].needs == ("L",)
    assert REGISTRY["shb"].needs == ("L", "mu")
    assert REGISTRY["mass"].needs == ("L", "mu", "L_max", "kappa_tilde", "n", "b")
    assert REGISTRY["auto"].needs == ("L", "mu", "L_max", "n", "b")


def test_presets_can_be_called_and_overridden():
    constants = {"L": 4.0, "mu": 1.0, "L_max": 8.0, "n": 20, "b": 15, "kappa_tilde": 5.0}
    assert not REGISTRY["auto-shb"](10, **constants).theta.any()
    assert REGISTRY["auto-shb"](10, **constants, family=None).theta.any()
