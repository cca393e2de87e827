"""Thresholds: b*, the range of T, the epsilon target, the two-phase exponent, stage counts."""

import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bocce import theory

sizes = st.integers(2, 10**7).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(sizes)
def test_zeta2_is_the_variance_factor_of_sampling_without_replacement(size):
    n, b = size
    assert theory.zeta2(n, b) == pytest.approx(
        float(Fraction(n - b, (n - 1) * b)), rel=1e-15, abs=0
    )


def test_zeta2_of_a_single_row_and_outside_its_domain():
    assert theory.zeta2(1, 1) == 0.0
    for n, b in ((10, 0), (10, 11), (0, 1)):
        with pytest.raises(ValueError, match=r"zeta2: [nb]=\d+ must be an integer"):
            theory.zeta2(n, b)
    with pytest.raises(TypeError, match=r"b=2\.5"):
        theory.zeta2(10, 2.5)


@pytest.mark.parametrize(
    ("kappa", "printed"),
    [(10.0, 9936.1), (100.0, 9999.4)],
)
def test_b_star_reference_values(kappa, printed):
    assert round(theory.batch_threshold(10_000, kappa), 1) == printed


def test_b_star_means_the_full_batch_once_kappa_passes_n_over_root_C():
    n, root_C = 10_000, math.sqrt(15552)
    limit = (n - 1) / root_C
    assert round(limit) == 80
    assert theory.batch_threshold(n, 1.01 * limit) > n - 1
    assert theory.batch_threshold(n, 0.99 * limit) < n - 1
    assert theory.batch_threshold(n, 2.4) <= 0.9 * n < theory.batch_threshold(n, 2.5)


@given(st.integers(2, 10**6), st.floats(1, 1e4), st.floats(1e-6, 1))
def test_b_star_is_where_zeta_meets_its_two_limits(n, kappa, a):
    """zeta <= 1/(72 kappa) and zeta <= sqrt(a), by the definition zeta^2 = 3 (n-b)/((n-1) b)."""

    def zeta2_of(b):
        return 3 * (n - b) / ((n - 1) * b)

    first = theory.batch_threshold(n, kappa, interpolation=True)
    assert zeta2_of(first) == pytest.approx(1 / (72 * kappa) ** 2, rel=1e-6, abs=1e-12)
    both = theory.batch_threshold(n, kappa, a)
    assert zeta2_of(both) == pytest.approx(min(1 / (72 * kappa) ** 2, a), rel=1e-6, abs=1e-12)
    gronwall = theory.batch_threshold(n, kappa, which="gronwall")
    assert zeta2_of(gronwall) == pytest.approx(1 / (72 * kappa**2), rel=1e-6, abs=1e-12)
    assert gronwall <= first <= both <= n


def test_b_star_errors_name_the_parameter_and_the_remedy():
    with pytest.raises(ValueError, match=r"batch_threshold: kappa=0.5 .*>= 1; kappa is L/mu"):
        theory.batch_threshold(10, 0.5)
    with pytest.raises(ValueError, match=r"batch_threshold: a=1.5"):
        theory.batch_threshold(10, 2.0, a=1.5)
    with pytest.raises(ValueError, match=r"did you mean 'printed'"):
        theory.batch_threshold(10, 2.0, which="print")


def test_epsilon_target_brings_the_bound_to_the_root_of_epsilon():
    for epsilon, chi in ((1e-4, 1e-3), (1e-2, 0.0), (1e-6, 1e-4)):
        target = theory.epsilon_target(epsilon, L=10.0, mu=1.0, n=10_000, b=9_999, chi=chi, D=3.0)
        assert target.valid, target.why
        scale = 1.0 if chi == 0 else min(1.0, epsilon / (24 * chi) ** 2)
        assert target.a == pytest.approx(scale, rel=1e-12)
        bound = theory.bound_shb(
            int(target.T), 10.0, 1.0, 10_000, 9_999, a=target.a, D=3.0, chi=chi, which="printed"
        )
        assert bound.valid
        assert bound.bias <= math.sqrt(epsilon) / 2 * (1 + 1e-12)
        assert bound.noise <= math.sqrt(epsilon) / 2 * (1 + 1e-12)
        if target.T > 1:
            earlier = theory.bound_shb(
                int(target.T) - 1, 10.0, 1.0, 10_000, 9_999, a=target.a, D=3.0, chi=chi
            )
            assert earlier.bias > math.sqrt(epsilon) / 2


def test_epsilon_target_says_when_the_batch_is_too_small():
    target = theory.epsilon_target(1e-8, L=10.0, mu=1.0, n=10_000, b=9_950, chi=1.0)
    assert not target.valid
    assert "b=9950 is below b*=" in target.why
    hopeless = theory.epsilon_target(1e-2, L=100.0, mu=1.0, n=10_000, b=10)
    assert math.isinf(hopeless.T)
    assert not hopeless.valid
    with pytest.raises(ValueError, match="raise epsilon"):
        theory.epsilon_target(5e-324, L=1.0, mu=1.0, n=10, b=10, chi=1e3)


@pytest.mark.parametrize(("kappa", "horizon"), [(200.0, "1.25e+07"), (1000.0, "1.40e+08")])
def test_the_horizon_of_theorem_4(kappa, horizon):
    assert f"{theory.multistage_horizon(kappa):.2e}" == horizon
    small = theory.multistage_horizon(1.0)  # here e^2 > 4 kappa
    assert small == pytest.approx(768 * math.e**2 / math.log(2), rel=1e-14)


@pytest.mark.parametrize(("kappa", "first"), [(200.0, 7680), (500.0, 12144), (1000.0, 17174)])
def test_no_stage_follows_stage_0_before_384_root_2_kappa(kappa, first):
    assert first == math.ceil(384 * math.sqrt(2 * kappa))
    # at kappa = 200 the limit is exactly 7680: either side of rounding is right there
    assert theory.stage_count(first - 1, kappa) == 0
    assert theory.stage_count(first + 1, kappa) == 1
    assert theory.stage_count(7000, kappa) == 0


def test_the_printed_range_of_T_leaves_the_batch_condition():
    n, b, kappa = 10**6, 999_000, 10.0
    printed = theory.multistage_range(n, b, kappa, which="printed")
    assert round(printed.high / 1e9, 1) == 2.4
    assert not printed.valid
    assert "below b*" in printed.why
    stages = theory.stage_count(int(printed.high), kappa)
    assert b < theory.batch_threshold(n, kappa, 2.0**-stages)


@example(10, 0.625, 3.0)  # zeta^2 is 1/2 exactly
@given(st.integers(10, 10**9), st.floats(1e-6, 0.9), st.floats(1.01, 50.0))
def test_the_corrected_range_ends_where_the_batch_condition_fails(n, left_out, kappa):
    b = max(1, n - max(1, int(left_out * n)))
    zeta_squared = 3 * theory.zeta2(n, b)
    exact = theory.multistage_range(n, b, kappa)
    sufficient = theory.multistage_range(n, b, kappa, which="sufficient")
    assert sufficient.high <= exact.high * (1 + 1e-12)
    if exact.high > 0:
        assert 2.0 ** -theory.stage_count(int(exact.high) - 1, kappa) >= zeta_squared
        assert 2.0 ** -theory.stage_count(int(exact.high) + 2, kappa) < zeta_squared
    else:
        assert zeta_squared > 1
    if exact.valid:
        assert exact.low <= exact.high
        assert b >= theory.batch_threshold(n, kappa, interpolation=True)


def test_the_range_at_full_batch_has_no_end():
    for which in ("printed", "corrected", "sufficient"):
        covered = theory.multistage_range(100, 100, 5.0, which)
        assert covered.valid
        assert covered.high == math.inf


def test_the_two_phase_exponent():
    assert round(theory.two_phase_exponent(4.0), 4) == 0.7075
    values = [theory.two_phase_exponent(10.0**j) for j in range(1, 200, 10)]
    assert values == sorted(values, reverse=True)
    assert 0.5 < values[-1] < 0.502
    with pytest.raises(ValueError, match=r"two_phase_exponent: kappa=1\.0"):
        theory.two_phase_exponent(1.0)
    with pytest.raises(ValueError, match="c is the share of the first phase"):
        theory.two_phase_exponent(4.0, c=1.0)


def test_importing_theory_is_light():
    heavy = "{'numba', 'sympy', 'matplotlib', 'scipy.optimize', 'torch', 'sklearn'}"
    code = f"import sys, bocce.theory; sys.exit(sorted({heavy} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
