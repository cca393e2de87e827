"""Every bound against its formula written out plainly, its conditions and its words."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bocce import theory

e = math.e

# --- Theorem 1 and its two mis-specified forms: T = 50, tau = 2, L = 6, mu = 2, kappa = 3 -------
T, TAU, L, MU, KAPPA = 50, 2.0, 6.0, 2.0, 3.0
GAMMA = (TAU / T) ** (1 / T)
ELL = math.log(T / TAU)
RUN = {"T": T, "L": L, "mu": MU, "tau": TAU, "D": 1.5, "sigma2": 0.3}


def close(x):
    return pytest.approx(x, rel=1e-12, abs=0)


def test_theorem_1_corrected_and_printed_are_the_formulas():
    c_2 = math.exp(TAU / (2 * KAPPA * ELL))
    c_L = (1 - GAMMA / 2) * (1 - math.exp(-TAU * GAMMA / (4 * KAPPA)))
    shrink = math.exp(-T * GAMMA / (4 * KAPPA * ELL))
    bound = theory.bound_exponential(**RUN)
    assert bound.bias == close(c_2 / c_L * 1.5**2 * shrink)
    assert bound.noise == close(c_2 / c_L * 8 * KAPPA**2 * ELL**2 * 0.3 / (L * e**2 * GAMMA**2 * T))
    assert bound.total == bound.bias + bound.noise
    assert bound.quantity == "E||w_{T-1} - w*||^2"

    c_2 = math.exp(TAU / (KAPPA * ELL))
    c_L = 4 * (1 - GAMMA) / MU**2 * (1 - math.exp(-GAMMA / (2 * KAPPA)))
    c_5 = 64 * L * 0.1 * KAPPA**3 * ELL**2 / (e**2 * GAMMA**2)
    printed = theory.bound_exponential(**RUN, zeta2=0.1, which="printed")
    assert printed.bias == close(c_2 / c_L * 1.5**2 * shrink)
    assert printed.noise == close(c_2 / c_L * c_5 * 0.3 / T)
    assert not printed.valid
    assert "as printed this is no guarantee" in printed.why


def batch_share(kappa, zeta2):
    """c_B zeta0^2, c_B = (2 kappa - 1)/(2 kappa - 1 - zeta0^2 (kappa - 1))."""
    return zeta2 * (2 * kappa - 1) / (2 * kappa - 1 - zeta2 * (kappa - 1))


def test_the_noise_of_a_batch_is_the_least_of_three():
    """sigma^2, c_B zeta0^2 sigma^2, c_B zeta0^2 chi^2/(2L); as printed it is what is printed."""
    tenth = batch_share(KAPPA, 0.1)
    assert 0.1 < tenth < 0.2
    whole = theory.bound_exponential(**RUN).noise
    for zeta2, chi2, share in (
        (1.0, None, 1.0),
        (0.9, None, 1.0),
        (0.1, None, tenth),
        (0.1, 0.5 * L, tenth * 0.25 / 0.3),
        (0.1, 100.0 * L, tenth),
        (0.0, 1.0, 0.0),
    ):
        for bound in (theory.bound_exponential, theory.bound_misestimated_L):
            more = {"nu": 1.0} if bound is theory.bound_misestimated_L else {}
            assert bound(**RUN, **more, zeta2=zeta2, chi2=chi2).noise == close(share * whole)
    mu = theory.bound_misestimated_mu(**RUN, nu=0.5, zeta2=0.1)
    assert mu.noise == close(tenth * theory.bound_misestimated_mu(**RUN, nu=0.5).noise)
    printed = [
        theory.bound_exponential(**RUN, chi2=chi2, which="printed").noise for chi2 in (None, 1e-9)
    ]
    assert printed[0] == printed[1]
    with pytest.raises(ValueError, match="chi2=-1"):
        theory.bound_exponential(**RUN, chi2=-1.0)


def test_the_printed_noise_term_of_theorem_1_rises_with_T():
    """c_L has 1 - gamma = O(ln T/T) where 1 - gamma/2 belongs, so that C_4 grows as T/ln T."""
    terms = {
        which: [
            theory.bound_exponential(10**k, 10.0, 1.0, sigma2=1.0, zeta2=0.1, which=which).noise
            for k in (2, 3, 4, 8)
        ]
        for which in ("printed", "corrected")
    }
    rounded = [float(f"{term:.2g}") for term in terms["printed"]]
    assert rounded == [2.5e5, 3.2e5, 4.1e5, 8.2e5]
    assert sorted(terms["corrected"], reverse=True) == terms["corrected"]
    assert terms["corrected"][-1] < 1e-3 * terms["corrected"][0]


@pytest.mark.parametrize("nu", [0.4, 1.0, 2.5])
def test_misestimated_L_is_the_formula(nu):
    c_2 = math.exp(nu * TAU / (2 * KAPPA * ELL))
    c_L = (1 - GAMMA / 2) * (1 - math.exp(-nu * TAU * GAMMA / (4 * KAPPA)))
    k_0 = max(0, math.ceil(T * math.log(nu) / ELL))
    extra = 2 * 0.7 * (nu - 1) / nu * k_0 * ELL**2 / T if nu > 1 else 0.0
    bound = theory.bound_misestimated_L(**RUN, nu=nu, delta_f=0.7)
    assert bound.bias == close(c_2 / c_L * 1.5**2 * math.exp(-nu * T * GAMMA / (4 * KAPPA * ELL)))
    assert bound.noise == close(
        c_2 / c_L * 8 * KAPPA**2 / (L * e**2 * GAMMA**2 * T) * (ELL**2 * 0.3 + extra)
    )
    assert bound.valid

    c_2 = math.exp(TAU / (KAPPA * ELL))
    c_L = 4 * (1 - GAMMA) / MU**2 * (1 - math.exp(-GAMMA / (2 * KAPPA)))
    inside = max(1, nu**2 / (4 * L)) * ELL * 0.3
    inside += max(0, math.log(nu)) * (0.3 + 2 * 0.7 * (nu - 1) / (nu * KAPPA))
    printed = theory.bound_misestimated_L(**RUN, nu=nu, delta_f=0.7, zeta2=0.1, which="printed")
    shrink = math.exp(-min(nu, 1) * T * GAMMA / (2 * KAPPA * ELL))
    assert printed.bias == close(c_2 / c_L * 1.5**2 * shrink)
    assert printed.noise == close(
        c_2 / c_L * 32 * L * KAPPA**3 * 0.1 * ELL / (e**2 * GAMMA**2 * T) * inside
    )


def test_misestimated_L_conditions():
    with pytest.raises(ValueError, match=r"bound_misestimated_L: delta_f=None must be given"):
        theory.bound_misestimated_L(**RUN, nu=2.0)
    too_long = theory.bound_misestimated_L(**RUN, nu=20.0, delta_f=1.0)
    assert not too_long.valid
    assert "nu gamma/(4 kappa)" in too_long.why


@pytest.mark.parametrize("nu", [0.2, 1.0])
def test_misestimated_mu_is_the_formula(nu):
    c_2 = math.exp(nu * TAU / (2 * KAPPA * ELL))
    c_mu = (1 - GAMMA / 2) / nu * (1 - math.exp(-nu * TAU * GAMMA / (4 * KAPPA)))
    bound = theory.bound_misestimated_mu(**RUN, nu=nu)
    assert bound.bias == close(c_2 / c_mu * 1.5**2 * math.exp(-nu * T * GAMMA / (4 * KAPPA * ELL)))
    assert bound.noise == close(
        c_2 / c_mu * 8 * KAPPA**2 * ELL**2 * 0.3 / (nu**2 * L * e**2 * GAMMA**2 * T)
    )
    c_2 = math.exp(TAU / (KAPPA * ELL))
    c_mu = 4 * (1 - GAMMA) / (nu * MU) ** 2 * (1 - math.exp(-nu * GAMMA / (2 * KAPPA)))
    printed = theory.bound_misestimated_mu(**RUN, nu=nu, zeta2=0.1, which="printed")
    shrink = math.exp(-nu * T * GAMMA / (2 * KAPPA * ELL))
    assert printed.bias == close(c_2 / c_mu * 1.5**2 * shrink)
    assert printed.noise == close(
        32 * L * 0.1 * c_2 * KAPPA**3 / (nu**2 * e**2 * GAMMA**2 * c_mu) * ELL**2 / T * 0.3
    )


def test_an_exact_estimate_is_theorem_1():
    exact = theory.bound_exponential(**RUN)
    for bound in (
        theory.bound_misestimated_L(**RUN, nu=1.0),
        theory.bound_misestimated_mu(**RUN, nu=1.0),
    ):
        assert (bound.bias, bound.noise) == (close(exact.bias), close(exact.noise))


@given(
    st.integers(2, 10**7), st.floats(0, 1), st.floats(1, 1e8), st.floats(0, 10), st.floats(0, 10)
)
def test_theorem_1_never_returns_nan(steps, share, kappa, D, sigma2):
    tau = min(1 + share * (steps - 1), steps * (1 - 1e-15))
    if not 1 <= tau < steps:
        return
    for which in ("corrected", "printed"):
        bound = theory.bound_exponential(steps, kappa, 1.0, tau, D, sigma2, which=which)
        assert bound.bias >= 0  # false for NaN
        assert bound.noise >= 0
        # the noise term may underflow where sigma2 is near the smallest double, nowhere else
        assert bound.noise > 0 or sigma2 < 1e-280


def test_the_full_batch_has_no_noise_term():
    assert theory.bound_exponential(100, 2.0, 1.0, sigma2=5.0, zeta2=0.0).noise == 0.0
    assert theory.bound_shb(100, 2.0, 1.0, 50, 50, chi=5.0).noise == 0.0
    assert theory.bound_bounded_noise(100, 2.0, 1.0, 50, 50, sigma=5.0).noise == 0.0
    two_phase = theory.bound_two_phase(100, 2.0, 1.0, 50, 50, chi=5.0, sigma2=5.0)
    assert two_phase.noise == 0.0


# --- Theorem 2 ------------------------------------------------------------------------------------


def test_theorem_2_is_the_formula():
    n, b, a, kappa = 10_000, 9_990, 0.3, 5.0
    zeta = math.sqrt(3 * (n - b) / ((n - 1) * b))
    run = {"T": 40, "L": 10.0, "mu": 2.0, "n": n, "b": b, "a": a, "D": 1.5, "chi": 0.7}
    bound = theory.bound_shb(**run, L_max=10.0)
    rate = math.sqrt(a) / (2 * math.sqrt(kappa)) * 40
    expected = 6 * math.sqrt(2) * math.sqrt(kappa / a) * 1.5
    assert bound.bias == close(expected * math.exp(-rate * (1 - 2 * math.sqrt(kappa * zeta))))
    assert bound.noise == close(12 * zeta * 0.7 / 2)
    assert (bound.valid, bound.why) == (True, "all conditions hold")
    assert bound.quantity == "E||w_T - w*||"

    printed = theory.bound_shb(**run, which="printed")
    assert (printed.bias, printed.noise) == (close(bound.bias), close(bound.noise))

    x = 6 * math.sqrt(2) * kappa * zeta
    gronwall = theory.bound_shb(**run, which="gronwall")
    assert gronwall.bias == close(expected / 2 * math.exp(-rate * (1 - x)))
    assert gronwall.noise == close(6 * zeta * 0.7 / (2 * (1 - x)))


@given(st.integers(100, 10**6), st.floats(1, 100), st.floats(1e-3, 1), st.floats(0, 1))
def test_above_b_star_the_printed_maximum_and_minimum_never_act(n, kappa, a, share):
    threshold = theory.batch_threshold(n, kappa, a)
    b = min(n, math.ceil(threshold + share * (n - threshold)))
    run = {"T": 10, "L": kappa, "mu": 1.0, "n": n, "b": b, "a": a, "chi": 1.0}
    corrected, printed = theory.bound_shb(**run), theory.bound_shb(**run, which="printed")
    assert corrected.valid
    assert printed.valid
    assert printed.bias == close(corrected.bias)
    assert printed.noise == pytest.approx(corrected.noise, rel=1e-9, abs=1e-15)
    assert 1 - 2 * math.sqrt(kappa * math.sqrt(3 * theory.zeta2(n, b))) >= 0.764


def test_theorem_2_says_which_condition_fails():
    run = {"T": 10, "L": 10.0, "mu": 1.0, "n": 1000, "b": 500, "chi": 1.0}
    small = theory.bound_shb(**run, L_max=10.0)
    assert not small.valid
    assert small.why.startswith("b=500 is below b*=999.")
    both = theory.bound_shb(**run, L_max=50.0)
    assert "L=10 is below L_max=50" in both.why
    assert "; b=500" in both.why
    trusted = theory.bound_shb(**{**run, "b": 1000})
    assert trusted.valid
    assert "taken on trust: L >= L_max" in trusted.why
    hopeless = theory.bound_shb(**run, which="gronwall")
    assert (hopeless.bias, hopeless.noise, hopeless.valid) == (math.inf, math.inf, False)
    # interpolation: the second part of b*, n/(1 + (n-1) a/3), is not asked for
    tiny = {"T": 10, "L": 1.0, "mu": 1.0, "n": 10**6, "b": 20_000, "a": 1e-5}
    assert theory.bound_shb(**tiny, which="printed").valid
    assert not theory.bound_shb(**tiny, chi=1.0, which="printed").valid
    assert theory.bound_shb(**tiny, chi=1.0).valid


def test_the_noise_of_theorem_2_ignores_the_step():
    floors = {
        theory.bound_shb(10, 10.0, 1.0, 10**6, 999_999, a=a, chi=1.0).noise for a in (1.0, 0.1)
    }
    assert len(floors) == 1


@given(st.floats(1, 1e4), st.floats(1e-3, 1), st.floats(0, 1))
def test_C_0_bounds_the_powers_of_H(kappa, a, share):
    """||H^k|| <= 3 sqrt(kappa/a) rho^k, which every accelerated bound rests on."""
    import numpy as np

    beta = (1 - 0.5 * math.sqrt(a / kappa)) ** 2
    lam = kappa ** (share - 1)  # an eigenvalue between mu/L and 1
    H = np.array([[1 + beta - a * lam, -beta], [1.0, 0.0]]) / math.sqrt(beta)
    power, worst = np.eye(2), 1.0
    for _ in range(200):
        power = H @ power
        worst = max(worst, np.linalg.norm(power, 2))
    assert worst <= 3 * math.sqrt(kappa / a) * (1 + 1e-9)


# --- bounded noise, Theorem 4, two phases -----------------------------------------------------


def test_bounded_noise_is_the_formula():
    run = {"T": 30, "L": 8.0, "mu": 2.0, "n": 20, "b": 5, "a": 0.5, "D": 1.5, "sigma": 0.7}
    zeta0 = math.sqrt(15 / (19 * 5))
    bias = 3 * math.sqrt(2) * math.sqrt(4 / 0.5) * math.exp(-math.sqrt(0.5) * 30 / (2 * 2)) * 1.5
    corrected = theory.bound_bounded_noise(**run)
    assert (corrected.bias, corrected.noise) == (close(bias), close(6 * zeta0 * 0.7 / 2))
    printed = theory.bound_bounded_noise(**run, which="printed")
    assert printed.noise == close(6 * math.sqrt(15 / (20 * 5)) * 0.7 / 2)
    assert not printed.valid
    rho = 1 - math.sqrt(0.5 / 4) / 2
    root = theory.bound_bounded_noise(**run, which="sqrt")
    assert root.quantity == "E||w_T - w*||^2"
    assert root.bias == close(18 * 4 / 0.5 * rho**60 * 1.5**2)
    assert root.noise == close(9 * 4 * 0.5 * zeta0**2 * 0.7**2 / (64 * (1 - rho**2)))


def test_the_new_bounded_noise_floor_falls_with_root_a():
    def floor(a):
        return theory.bound_bounded_noise(10, 1e4, 1.0, 100, 50, a=a, sigma=1.0, which="sqrt").noise

    assert floor(1.0) / floor(1 / 16) == pytest.approx(4.0, rel=0.01)


def test_theorem_4_is_the_formula():
    run = {"T": 20_000, "L": 200.0, "mu": 2.0, "n": 10**12, "b": 10**12 - 10, "D": 1.5, "chi": 0.7}
    stages = theory.stage_count(20_000, 100.0, "fit")
    assert stages >= 3
    start = 6 * math.sqrt(2) * 10 * math.exp(-20_000 / 80) * 1.5
    fit = theory.bound_multistage(**run, stages="fit", L_max=200.0)
    assert fit.bias == close(2 ** (-stages / 4) * start)
    assert fit.noise == close(2 ** (-stages / 4) * 24 * 0.7 * 100 / (2 * 99))
    assert fit.valid

    x = 20_000 * math.log(math.sqrt(2)) / (384 * 10)
    c_1 = 2**9 * 3 * math.sqrt(100 * (1 + 2 * math.log(x) ** 2)) / math.log(2)
    printed = theory.bound_multistage(**run, which="printed")
    assert printed.bias == close(
        6 * (1 + 2 * math.log(x) ** 2) ** 0.25 * math.exp(-20_000 / 80) * 1.5
    )
    assert printed.noise == close(24 * 100 * math.sqrt(c_1) / (2 * 99) * 0.7 / math.sqrt(20_000))
    assert not printed.valid
    assert "T=20000 is below T_bar=" in printed.why


def test_theorem_4_never_improves_on_theorem_2():
    kappa, n = 2.0, 10**9
    T = math.ceil(theory.multistage_horizon(kappa))
    stages = theory.stage_count(T, kappa)
    assert stages > 0
    b = math.ceil(theory.batch_threshold(n, kappa, 2.0**-stages))
    run = {"T": T, "L": kappa, "mu": 1.0, "n": n, "b": b, "chi": 1.0}
    printed = theory.bound_multistage(**run, which="printed")
    posterior = theory.bound_multistage(**run)
    constant = theory.bound_shb(**run)
    assert printed.valid
    assert posterior.valid
    assert constant.noise < posterior.noise <= printed.noise
    assert constant.bias <= posterior.bias <= printed.bias


def test_theorem_4_conditions():
    with pytest.raises(ValueError, match=r"bound_multistage: L / mu=1.0 .*use bound_shb"):
        theory.bound_multistage(100, 1.0, 1.0, 10, 10)
    with pytest.raises(ValueError, match=r"stages='fit' must be one of 'theorem'"):
        theory.bound_multistage(100, 2.0, 1.0, 10, 10, stages="fit", which="printed")
    below = theory.bound_multistage(20_000, 100.0, 1.0, 10**6, 990_000, chi=1.0, stages="fit")
    assert not below.valid


def test_two_phase_is_the_formula():
    run = {"T": 301, "L": 20.0, "mu": 4.0, "n": 10_000, "b": 9_990, "c": 0.3, "D": 1.5}
    kappa, T_0, T_1 = 5.0, 91, 210
    gamma, ell = (1 / T_1) ** (1 / T_1), math.log(T_1)
    zeta = math.sqrt(3 * 10 / (9_999 * 9_990))
    c_2 = math.exp(1 / (2 * kappa * ell))
    c_L = (1 - gamma / 2) * (1 - math.exp(-gamma / (4 * kappa)))
    forget = math.exp(-T_1 * gamma / (8 * kappa * ell))
    bound = theory.bound_two_phase(**run, chi=0.7, sigma2=0.3)
    root = math.sqrt(c_2 / c_L)
    assert bound.bias == close(
        root * forget * 6 * math.sqrt(2 * kappa) * math.exp(-3 * T_0 / (8 * math.sqrt(kappa))) * 1.5
    )
    share = batch_share(kappa, zeta**2 / 3)
    energy = share * 0.7**2 / 40  # c_B zeta0^2 chi^2/(2L), below c_B zeta0^2 sigma^2 and sigma^2
    assert energy < share * 0.3 < 0.3
    tail = math.sqrt(8 / 20) * kappa * ell * math.sqrt(energy) / (e * gamma * math.sqrt(T_1))
    assert bound.noise == close(root * (forget * 12 * zeta * 0.7 / 4 + tail))
    assert bound.quantity == "E||w_{T-1} - w*||"
    assert bound.valid


def test_two_phase_as_printed():
    bound = theory.bound_two_phase(
        300, 20.0, 4.0, 10_000, 9_990, c=0.5, D=1.5, sigma2=0.09, which="printed"
    )
    kappa, gamma = 5.0, (1 / 150) ** (1 / 150)
    zeta0 = math.sqrt(10 / (9_999 * 9_990))
    c_2 = math.exp(1 / (kappa * math.log(150)))
    c_L = 4 * (1 - gamma) / 16 * (1 - math.exp(-gamma / (2 * kappa)))
    q = 1 - math.log(0.5 * math.sqrt(kappa) + 0.5) / math.log(kappa)
    assert bound.bias == close(
        6
        * math.sqrt(2 * c_2 * kappa / c_L)
        * math.exp(-300 / kappa**q * gamma / (8 * math.log(150)))
        * 1.5
    )
    first = 12 * math.sqrt(6 * 20 * c_2) * zeta0 * 0.3 / (math.sqrt(c_L) * 4)
    first *= math.exp(-150 * gamma / (8 * kappa * math.log(300)))
    second = 8 * math.sqrt(20 * c_2) * math.log(300) * zeta0 * kappa**1.5
    second *= 0.3 / (e * gamma * math.sqrt(c_L) * math.sqrt(150))
    assert bound.noise == close(first + second)
    assert not bound.valid


def test_two_phase_conditions():
    with pytest.raises(ValueError, match=r"leaves 1 steps for the second phase \(c=0.5\)"):
        theory.bound_two_phase(2, 2.0, 1.0, 10, 10)
    with pytest.raises(ValueError, match=r"must be > 4"):
        theory.bound_two_phase(100, 4.0, 1.0, 10, 10, which="printed")
    with pytest.raises(ValueError, match=r"must be > 4 and tau=2.0 must be 1"):
        theory.bound_two_phase(100, 8.0, 1.0, 10, 10, tau=2.0, which="printed")
    assert not theory.bound_two_phase(100, 8.0, 1.0, 1000, 10).valid


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.bound_exponential(0, 2.0, 1.0), "bound_exponential: T=0"),
        (lambda: theory.bound_exponential(10, 2.0, 1.0, tau=10.0), "tau=10.0 .*raise T"),
        (lambda: theory.bound_exponential(10, 1.0, 2.0), "were they swapped"),
        (lambda: theory.bound_exponential(10, 2.0, 1.0, zeta2=1.5), r"zeta2\(n, b\)"),
        (lambda: theory.bound_exponential(10, 2.0, 1.0, D=-1.0), "D is the distance"),
        (lambda: theory.bound_exponential(10, 2.0, 1.0, sigma2=float("nan")), "sigma2=nan"),
        (lambda: theory.bound_exponential(10, 2.0, 1.0, which="correct"), "mean 'corrected'"),
        (lambda: theory.bound_misestimated_mu(10, 2.0, 1.0, nu=1.5), "nu=1.5"),
        (lambda: theory.bound_misestimated_L(10, 2.0, 1.0, nu=0.0), "nu=0.0"),
        (lambda: theory.bound_shb(10, 2.0, 1.0, 10, 11), "b=11 .* from 1 to 10"),
        (lambda: theory.bound_shb(10, 2.0, 1.0, 10, 5, a=2.0), "a=2.0"),
        (lambda: theory.bound_shb(10, 2.0, 1.0, 10, 5, L_max=0.0), "L_max=0.0"),
        (lambda: theory.bound_bounded_noise(10, 2.0, 1.0, 10, 5, sigma=-1.0), "sigma=-1.0"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
