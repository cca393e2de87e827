"""Stage tables: multi-stage, Pan's, two-phase."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import lambertw

from bocce import schedules
from bocce.schedules import stage_count
from bocce.schedules.stages import RULES, stage_lengths

FEW = settings(max_examples=80, deadline=None)
KAPPAS = [1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 1e4, 1e5]
HORIZONS = [1, 2, 3, 10, 100, 543, 1000, 4000, 7000, 12_144, 20_000, 70_000, 10**6, 10**7]
horizons = st.integers(1, 10**5)
kappas = st.floats(1.0, 1e6)


def printed_length(i, kappa):
    root = math.sqrt(kappa)
    return math.ceil(
        4 / (2 - math.sqrt(2)) * 2 ** (i / 2) * root
        * ((i / 2 + 5) * math.log(2) + math.log(root))
    )  # fmt: skip


# -- how many stages ---------------------------------------------------------------------


@pytest.mark.parametrize(("kappa", "T"), [(200, 7680), (500, 12_144), (1000, 17_174)])
def test_theorem_needs_384_roots_of_two_kappa(kappa, T):
    assert math.ceil(384 * math.sqrt(2 * kappa)) == T
    assert [stage_count(T - 1, kappa), stage_count(T, kappa)] == [0, 1]


@pytest.mark.parametrize("m", [1, 7, 33, 1103, 1947])
def test_thresholds_that_are_integers_are_not_lost_to_rounding(m):
    """One stage from 384 sqrt(2 kappa), two from 1536 sqrt(kappa)."""
    assert [stage_count(T, 2.0 * m**2) for T in (768 * m - 1, 768 * m)] == [0, 1]
    assert [stage_count(T, float(m**2)) for T in (1536 * m - 1, 1536 * m)] == [1, 2]


@FEW
@given(st.integers(1, 10**9), kappas)
def test_counts_are_the_printed_lambert_formulas(T, kappa):
    root2 = math.log(math.sqrt(2))
    arguments = {
        "theorem": T * root2 / (384 * math.sqrt(kappa)),
        "authors": T * math.log(2) / (2 * math.sqrt(kappa)),
    }
    for rule, x in arguments.items():
        exact = lambertw(x).real / root2
        assert exact - 1 - 1e-9 < stage_count(T, kappa, rule) <= exact + 1e-9


@pytest.mark.parametrize("kappa", [200.0, 500.0, 1000.0])
def test_no_stage_in_the_papers_main_experiments(kappa):
    assert stage_count(7000, kappa) == 0
    assert stage_count(7000, 100.0) == 1


@FEW
@given(horizons, kappas)
def test_fit_is_the_largest_count_that_fits_into_half(T, kappa):
    I = stage_count(T, kappa, "fit")
    used = sum(printed_length(i, kappa) for i in range(1, I + 1))
    assert used <= T / 2 < used + printed_length(I + 1, kappa)
    assert stage_count(T, kappa, "theorem") <= I


def test_theorem_stages_use_at_most_half_over_a_grid():
    counted = 0
    for T in HORIZONS:
        for kappa in KAPPAS:
            I = stage_count(T, kappa)
            assert sum(printed_length(i, kappa) for i in range(1, I + 1)) <= T / 2
            counted += I
    assert counted > 100, "the grid has stages"


# -- how long they are -------------------------------------------------------------------


@FEW
@given(horizons, kappas, st.sampled_from(RULES))
def test_lengths_sum_to_T(T, kappa, rule):
    lengths = stage_lengths(T, kappa, rule)
    assert sum(lengths) == T
    assert len(lengths) == stage_count(T, kappa, rule) + 1
    assert min(lengths) >= 0


@pytest.mark.parametrize(("T", "kappa"), [(30_000, 100.0), (200_001, 500.0), (10**6, 30.0)])
@pytest.mark.parametrize("rule", ["theorem", "fit"])
def test_the_last_stage_absorbs_what_is_left(T, kappa, rule):
    lengths = stage_lengths(T, kappa, rule)
    I = len(lengths) - 1
    assert I >= 2
    assert lengths[0] == T // 2
    assert lengths[1:-1] == [printed_length(i, kappa) for i in range(1, I)]
    assert lengths[-1] >= printed_length(I, kappa)


def test_the_authors_stages():
    T, kappa = 7000, 1000.0
    lengths = stage_lengths(T, kappa, "authors")
    assert lengths[0] == 2800
    weights = 2.0 ** (np.arange(1, len(lengths)) / 2)
    share = 4200 * weights / weights.sum()
    assert lengths[1:-1] == np.ceil(share[:-1]).astype(int).tolist()
    assert share[-1] - len(lengths) < lengths[-1] <= share[-1]


@FEW
@given(horizons, kappas)
def test_the_authors_stages_round_up_and_end_at_T(T, kappa):
    lengths = stage_lengths(T, kappa, "authors")
    if len(lengths) == 1:
        return
    first = math.floor(0.4 * T)
    weights = [2 ** (i / 2) for i in range(1, len(lengths))]
    ends = np.cumsum([first, *(math.ceil((T - first) / sum(weights) * w) for w in weights)])
    expected = np.minimum(ends, T)
    expected[-1] = T
    assert np.cumsum(lengths).tolist() == expected.tolist()


# -- the tables --------------------------------------------------------------------------


def multistage_loop(T, L, mu, lengths, constant):
    """spec: restart at each stage, halve the step."""
    alpha, beta, k = np.zeros(T), np.zeros(T), 0
    for i, length in enumerate(lengths):
        for j in range(length):
            alpha[k] = 2.0**-i / L
            a = 1 / L if constant else 2.0**-i / L
            beta[k] = 0 if j == 0 else (1 - 0.5 * math.sqrt(a * mu)) ** 2
            k += 1
    return alpha, beta


@pytest.mark.parametrize("momentum", ["stage", "constant"])
@pytest.mark.parametrize(
    ("T", "kappa", "rule"),
    [
        (30_000, 100.0, "theorem"),
        (7000, 200.0, "fit"),
        (7000, 1000.0, "authors"),
        (2, 1.0, "authors"),
    ],
)
def test_multistage_by_a_literal_loop(T, kappa, rule, momentum):
    L, mu = 5.0, 5.0 / kappa
    s = schedules.multistage(T, L, mu, stages=rule, momentum=momentum)
    lengths = stage_lengths(T, kappa, rule)
    alpha, beta = multistage_loop(T, L, mu, lengths, momentum == "constant")
    assert s.alpha == pytest.approx(alpha, rel=1e-12)
    assert s.beta == pytest.approx(beta, rel=1e-12)
    assert not s.theta.any()
    starts = {sum(lengths[:i]) for i in range(len(lengths))}
    assert set(np.flatnonzero(s.beta == 0)) == starts


def test_constant_momentum_is_the_first_stages():
    s = schedules.multistage(7000, L=1000.0, mu=1.0, stages="fit", momentum="constant")
    moving = s.beta[s.beta > 0]
    assert moving == pytest.approx((1 - 1 / (2 * math.sqrt(1000))) ** 2)
    assert s.name == "multi-shb-cnst"


def test_no_stage_after_stage_0_is_said_with_a_remedy():
    with pytest.warns(UserWarning, match="leaves no stage after stage 0") as caught:
        s = schedules.multistage(7000, L=1000.0, mu=1.0)
    text = str(caught[0].message)
    assert text.startswith("multistage: T=7000 ")
    assert "kappa=1000" in text
    assert "raise T to 17174 or more" in text
    assert 'stages="fit"' in text
    assert caught[0].filename == __file__, "the warning points at the caller"
    shb = schedules.shb(7000, L=1000.0, mu=1.0)
    assert np.array_equal(s.alpha, shb.alpha)
    assert np.array_equal(s.beta[1:], shb.beta[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedules.multistage(17_174, L=1000.0, mu=1.0)


# -- Pan et al. --------------------------------------------------------------------------


@FEW
@given(st.integers(2, 3000), st.floats(1.0, 1e5), st.floats(1.01, 2.0))
def test_pan_by_a_literal_loop(T, kappa, C):
    L = 3.0
    s = schedules.pan(T, L, L / kappa, C=C)
    K = math.ceil(T / math.log(T * math.sqrt(L / (L / kappa)), C) * (1 - 1e-13))
    assert s.alpha == pytest.approx([C ** -(k // K) / L for k in range(T)], rel=1e-9)
    assert s.beta == pytest.approx(np.full(T, (1 - 1 / math.sqrt(kappa)) ** 2), abs=1e-12)
    assert not s.theta.any()


def test_pans_stages_by_hand():
    """T = 64, kappa = 16: log2(256) = 8, so K = 8 and steps 1, 1/2, .. 1/128; no restart."""
    s = schedules.pan(64, L=1.0, mu=1 / 16)
    assert s.alpha.reshape(8, 8).tolist() == [[2.0**-i] * 8 for i in range(8)]
    assert s.beta == pytest.approx(np.full(64, 0.5625))


def test_pan_with_the_largest_C_is_constant():
    s = schedules.pan(100, L=4.0, mu=1.0, C=200.0)
    assert set(s.alpha) == {0.25}


# -- two-phase ---------------------------------------------------------------------------


@FEW
@given(
    st.integers(8, 500),
    st.sampled_from([0.125, 0.25, 0.5, 0.75]),
    st.sampled_from(["proof", "average"]),
)
def test_two_phase_is_shb_then_its_own_clock(T, c, form):
    L, mu = 6.0, 0.25
    T_0 = math.ceil(c * T)
    s = schedules.two_phase(T, L, mu, c=c, form=form)
    first = schedules.shb(T_0, L, mu)
    second = schedules.shb_exponential(T - T_0, L, mu, form=form)
    assert s.T == T
    assert np.array_equal(s.alpha, np.concatenate([first.alpha, second.alpha]))
    assert np.array_equal(s.beta, np.concatenate([first.beta, second.beta]))
    assert s.beta[T_0] == 0, "lambda_0 = 0 restarts"
    assert s.name == "2p-shb"


def test_two_phase_passes_tau_to_the_second_phase():
    s = schedules.two_phase(20, L=4.0, mu=1.0, tau=3.0)
    assert np.array_equal(s.alpha[10:], schedules.shb_exponential(10, 4.0, 1.0, tau=3.0).alpha)
