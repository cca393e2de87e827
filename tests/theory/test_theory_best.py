"""The minimax heavy ball: certified, not to be beaten, and attained."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

import bocce
from bocce import exact, theory

TABLE = {  # 1 - rate and, where given, 1 - rate of the best SGD: found by another program
    (100, 2): [(0.182, 0.0198), (0.173, None), (0.154, 0.0197), (0.102, 0.0192), (0.0238, 0.0147),
               (0.0025, 0.0025)],
    (100, 30): [(0.182, None), (0.144, 0.0196), (0.0832, 0.0187), (0.0161, 0.0118),
                (0.00166, 0.00166), (1.67e-4, None)],
    (1e4, 2): [(0.0198, 1.99e-4), (0.0166, None), (0.0107, 1.99e-4), (0.0024, 1.93e-4),
               (2.5e-4, 1.48e-4), (2.5e-5, 2.5e-5)],
    (1e4, 30): [(0.0198, None), (0.00865, 1.98e-4), (0.00162, 1.88e-4), (1.67e-4, 1.19e-4),
                (1.67e-5, 1.67e-5), (1.67e-6, None)],
}  # fmt: skip
NOISES = (0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
settings = st.tuples(st.floats(1.0, 1e5), st.floats(1.0, 1e3), st.floats(-6.0, 0.0))


@pytest.mark.parametrize(("kappa", "R"), TABLE)
def test_the_table(kappa, R):
    for zeta2, (heavy, plain) in zip(NOISES, TABLE[kappa, R]):
        best = theory.best_heavy_ball(kappa, R, zeta2)
        assert 1 - best.rate == pytest.approx(heavy, rel=0.01)
        assert plain is None or 1 - best.sgd_rate == pytest.approx(plain, rel=0.01)


@limits(max_examples=60)
@given(settings)
def test_the_rate_is_certified(setting):
    kappa, R, power = setting
    best = theory.best_heavy_ball(kappa, R, 10**power)
    certified = theory.certified_rate(best.alpha, best.beta, 10**power, R, 1 / kappa, 1.0)
    assert 1 - certified == pytest.approx(1 - best.rate, rel=1e-6)
    assert best.rate <= best.sgd_rate


@limits(max_examples=60)
@given(settings, st.floats(0.0, 0.9999), st.floats(0.01, 1.0))
def test_no_other_step_and_momentum_is_certified_faster(setting, beta, share):
    kappa, R, power = setting
    best = theory.best_heavy_ball(kappa, R, 10**power)
    alpha = share * 2 * (1 + beta)
    for a, m in [(alpha, beta), (best.alpha * (0.5 + share), best.beta)]:
        other = theory.certified_rate(a, m, 10**power, R, 1 / kappa, 1.0)
        assert 1 - other <= (1 - best.rate) * (1 + 2e-5)


@limits(max_examples=60, deadline=None)
@given(settings)
def test_it_is_proved_that_none_is_better(setting):
    """By 1e-4 of 1 - rate; by 1e-6 in the cases of the table."""
    kappa, R, power = setting
    best = theory.best_heavy_ball(max(kappa, 2.0), R, 10**power)
    assert best.lowest <= best.rate
    assert 1 - best.lowest <= (1 - best.rate) * (1 + 1.01e-4) + 1e-15


@pytest.mark.parametrize(("kappa", "R"), TABLE)
def test_the_table_is_proved_to_a_millionth(kappa, R):
    for zeta2 in NOISES[1:]:
        best = theory.best_heavy_ball(kappa, R, zeta2)
        assert 1 - best.lowest == pytest.approx((1 - best.rate) * (1 + 1e-6), rel=1e-8)


@limits(max_examples=80, deadline=None)
@given(settings, st.floats(0.0, 0.9999), st.floats(0.01, 1.0))
def test_nothing_false_is_proved(setting, beta, share):
    """A rate that some step and momentum has cannot be proved impossible."""
    kappa, R, power = setting
    rate = theory.certified_rate(share * 2 * (1 + beta), beta, 10**power, R, 1 / kappa, 1.0)
    if rate < 1.0 - 1e-12:
        assert not theory.none_better(min(rate + 1e-12, 1 - 1e-13), kappa, R, 10**power)


def test_without_noise_polyak_is_proved_the_best():
    assert theory.none_better(9 / 11 - 1e-12, 100.0, 2.0, 0.0)
    assert not theory.none_better(9 / 11 + 1e-12, 100.0, 2.0, 0.0)
    assert 1 - theory.best_heavy_ball(100.0, 2.0, 0.0).lowest == pytest.approx(2 / 11, rel=2e-5)


@limits(max_examples=80)
@given(settings)
def test_the_envelope(setting):
    """1 - rate* is at most the smaller of Polyak's and one coordinate's, at least half of it."""
    kappa, R, power = setting
    zeta2 = 10**power
    nu = zeta2 * (kappa * R - 1)
    one = 1 - math.sqrt(nu / (1 + nu))
    envelope = min(2 / (math.sqrt(kappa) + 1), one)
    best = theory.best_heavy_ball(kappa, R, zeta2)
    assert 1 - best.rate <= envelope * (1 + 1e-9) + 1e-15  # the rounding of 1 - rate
    assert 1 - best.rate >= 0.5 * envelope


@limits(max_examples=80)
@given(st.floats(2.0, 1e5), st.floats(1.0, 1e3), st.floats(0.9, 1.1))
def test_where_momentum_is_worth_nothing(kappa, R, near):
    """The threshold is exact: beta = 0 above it, beta > 0 below it."""
    mu = 1 / kappa
    # 1 + z (R-1) = (2-mu)(mu + z (R-mu)), solved for z
    threshold = (1 - mu * (2 - mu)) / ((2 - mu) * (R - mu) - (R - 1))
    zeta2 = near * threshold
    if abs(near - 1) < 0.01 or zeta2 > 1.0:
        return
    best = theory.best_heavy_ball(kappa, R, zeta2)
    if near > 1:
        assert best.beta == 0.0
        nu = zeta2 * (kappa * R - 1)
        assert best.rate**2 == pytest.approx(nu / (1 + nu), rel=1e-9)
        assert best.gain == 1.0
    else:
        assert best.beta > 0.0
        assert best.gain > 1.0


def test_without_noise_it_is_polyaks():
    for kappa in (1.0, 4.0, 1e3):
        best = theory.best_heavy_ball(kappa, 2.0, 0.0)
        polyak = bocce.schedules.polyak(1, 1.0, 1 / kappa)
        assert best.alpha == pytest.approx(polyak.alpha[0], rel=1e-3)
        assert best.rate == pytest.approx(math.sqrt(polyak.beta[0]), abs=1e-5)


@limits(max_examples=40)
@given(
    st.sampled_from([(1, 3.0, 2), (10, 2.0, 1), (10, 1.1, 1), (2.5, 3.0, 4), (50, 4.0, 1)]),
    st.floats(0.05, 1.0),
    st.floats(0.0, 0.98),
    st.floats(0.0, 1.0),
)
def test_theorem_s_is_attained_on_the_extremal_rows(constants, share, beta, where):
    """The exact mean-square rate is the certified one for every stable (alpha, beta, b)."""
    kappa, R, copies = constants
    X, y, _ = bocce.data.extremal(kappa, R, copies)
    p = bocce.LeastSquares(X, y)
    b = max(1, round(where * p.n))
    alpha = share * 2 * (1 + beta)
    certified = theory.certified_rate(alpha, beta, theory.zeta2(p.n, b), R, 1 / kappa, 1.0)
    truth = exact.mean_square_rate(p, alpha, beta, b)
    if math.isinf(certified):
        assert truth >= 1.0 - 1e-9
    else:
        assert truth == pytest.approx(certified, rel=1e-7)


def test_the_instance_is_data():
    best = theory.best_heavy_ball(kappa=12.5, R=2.4, zeta2=0.05)
    X, y, w = bocce.data.extremal(**best.instance)
    c = bocce.LeastSquares(X, y).constants()
    assert (c.mu, c.L, c.L_max) == pytest.approx((1 / 12.5, 1.0, 2.4))
    assert not y.any()
    assert not w.any()
    assert theory.best_heavy_ball(math.pi, 2.0, 0.1).instance is None
    assert theory.best_heavy_ball(10.0, 1.05, 0.1).instance is None, "the rows do not fit"


def test_nothing_is_faster_on_the_instance():
    """Truth, not certificate: other steps and momenta on the extremal rows."""
    X, y, _ = bocce.data.extremal(20, 3.0)
    p = bocce.LeastSquares(X, y)
    b = 10
    best = theory.best_heavy_ball(20.0, 3.0, theory.zeta2(p.n, b))
    assert exact.mean_square_rate(p, best.alpha, best.beta, b) == pytest.approx(best.rate, rel=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(60):
        beta = rng.uniform(0.0, 0.95)
        alpha = rng.uniform(0.05, 1.9) * (1 + beta)
        assert exact.mean_square_rate(p, alpha, beta, b) >= best.rate * (1 - 1e-6)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"kappa": 2.5, "R": 2.0}, "copies kappa=2.5 must be an integer"),
        ({"kappa": 2.0, "R": 2.25}, "copies kappa R=4.5 must be an integer"),
        ({"kappa": 2.0, "R": 1.0}, "R=1.0 must be"),
        ({"kappa": 10.0, "R": 1.05, "copies": 2}, r"R=1.05 must be >= 1 \+ 1/kappa=1.1"),
    ],
)
def test_rows_that_cannot_be_are_refused(given_, message):
    with pytest.raises(ValueError, match=message):
        bocce.data.extremal(**given_)
    with pytest.raises(ValueError, match=r"R=0\.5 must be"):
        theory.best_heavy_ball(10.0, 0.5, 0.1)


@given(st.floats(1.0, 1e8), st.floats(1.0, 1e3))
def test_on_all_rows_it_is_polyak_s_closed_form(kappa, R):
    """A search for the rate has half of the digits: 0.9386937 for 0.9386931 at kappa = 1000."""
    best = theory.best_heavy_ball(kappa, R, 0.0)
    rate = (math.sqrt(kappa) - 1.0) / (math.sqrt(kappa) + 1.0)
    assert best.rate == pytest.approx(rate, rel=1e-12, abs=1e-15)
    assert best.beta == pytest.approx(rate**2, rel=1e-12, abs=1e-15)
    assert best.alpha == pytest.approx(4.0 / (1.0 + kappa**-0.5) ** 2, rel=1e-12)
