"""auto: certified at every step, what its search minimises, and what it knows."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import exact, schedules, theory
from bocce.schedules.moments import at_rest, compiled, moments, moments_backward, with_batches
from bocce.schedules.search import SamplingNoise, Search, Twin, between, longest_steps
from bocce.schedules.twin import assumed, possible_starts, reduced, to_digits

logs = st.floats(0.0, 1.0)


@st.composite
def worlds(draw):
    """L, mu, L_max, kappa~ and zeta0^2; kappa~ may be any number."""
    kappa = 10 ** (6 * draw(logs))
    R = 10 ** (4 * draw(logs))
    tilde = draw(st.sampled_from([1.0, R, R * kappa])) * 10 ** draw(logs)
    return 7.0, 7.0 / kappa, 7.0 * R, tilde, 10 ** (-7 * draw(logs))


def noise_of(L, L_max, tilde, zeta2):
    return SamplingNoise(zeta2 * L_max / L, zeta2 * tilde, tilde * L / L_max)


# -- the certificate ------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(worlds(), st.floats(1e-6, 1.0), st.floats(-3.0, 4.0), st.booleans())
def test_the_longest_step_is_certified(world, slack, size, ahead):
    """At every momentum and lookahead that a search may take."""
    L, mu, L_max, tilde, zeta2 = world
    theta = 10.0**size if ahead else 0.0
    noise = noise_of(L, L_max, tilde, zeta2)
    longest = longest_steps(np.array([slack]), np.array([theta]), *noise)[0, 0]
    three = (1.0 - 1e-9) * float(longest) / L, 1.0 - slack, theta
    assert theory.lookahead_certificate(*three, L_max, tilde, mu, L) >= zeta2


def test_the_longest_step_on_all_rows_is_polyaks():
    slack = np.array([0.3, 0.01])
    longest = longest_steps(slack, np.zeros(2), 0.0, 0.0, 5.0)[0]
    np.testing.assert_allclose(longest, (1.0 + np.sqrt(1.0 - slack)) ** 2, rtol=1e-12)


def test_the_longest_step_at_full_memory():
    """In the limit beta -> 1 the best lookahead has alpha L = 4/(1 + p) (sqrt(1+q) - sqrt(q))^2."""
    theta = np.linspace(0.01, 5.0, 2000)
    longest = longest_steps(np.full(2000, 1e-9), theta, 0.12, 0.8, 0.8 / 0.12)[0]
    assert longest.max() == pytest.approx(
        4 / 1.8 * (math.sqrt(1.12) - math.sqrt(0.12)) ** 2, rel=1e-5
    )


@settings(max_examples=12, deadline=None)
@given(worlds(), st.integers(1, 60), st.sampled_from([None, 0.0, 0.3]), st.integers(2, 10**5))
def test_every_step_is_certified(world, T, noise, n):
    L, mu, L_max, tilde, share = world
    b = max(1, round(share * n))
    s = schedules.auto(T, L, mu, L_max, n, b, tilde, noise=noise)
    some = sorted({0, T // 3, T - 2, T - 1} & set(range(T)))
    for three in zip((1.0 - 1e-9) * s.alpha[some], s.beta[some], s.theta[some]):
        certified = theory.lookahead_certificate(*three, L_max, tilde, mu, L)
        assert certified >= theory.zeta2(n, b)


@settings(max_examples=8, deadline=None)
@given(worlds(), st.integers(1, 60), st.integers(2, 10**5))
def test_heavy_ball_has_no_lookahead_and_is_certified(world, T, n):
    L, mu, L_max, tilde, share = world
    b = max(1, round(share * n))
    s = schedules.auto(T, L, mu, L_max, n, b, tilde, family="shb")
    assert s.name == "auto-shb"
    assert not s.theta.any()
    for alpha, beta in zip((1.0 - 1e-9) * s.alpha, s.beta):
        assert theory.certificate(alpha, beta, L_max, mu, L) >= theory.zeta2(n, b)


# -- what is minimised ----------------------------------------------------------------------------


def twin(levels=(0.0, 0.1)):
    nodes = np.geomspace(0.01, 1.0, 5)
    count = np.array([3.0, 2.0, 1.0, 4.0, 1.0])
    return Twin(nodes, count, possible_starts(nodes, [count]), 0.02, np.array(levels))


def knots_of(search, seed=0):
    rng = np.random.default_rng(seed)
    m = search.knots.size
    return np.concatenate([rng.normal(size=m), -1.0 - rng.random(m), rng.random(m)])


def test_the_objective_is_the_mean_log_gap_over_starts_and_noises():
    """The twin's nodes with multiplicities are the Gaussian with repeated eigenvalues."""
    data = twin()
    search = Search(data, 30, 1.0, SamplingNoise(0.1, 0.2, 2.0), lookahead=True)
    u = knots_of(search)
    table = schedules.Schedule(*search.table(u))
    copies = data.times.astype(int)
    lam = np.repeat(data.nodes, copies)
    logs = []
    for start, level in itertools.product(data.starts, data.levels):
        each = np.repeat(start / copies, copies)
        model = exact.Gaussian(lam, noise=level, start=each)
        assert 0.5 * lam @ each == pytest.approx(1.0)
        logs.append(math.log(exact.expected(model, table, 50).gap[-1]))
    assert search(u)[0] == pytest.approx(np.mean(logs), rel=1e-12)


@pytest.mark.parametrize("T", [3, 60, 200])
def test_the_gradient_is_the_difference_quotient(T):
    search = Search(twin(), T, 1.0, SamplingNoise(0.1, 0.2, 2.0), lookahead=True)
    u = knots_of(search, T)
    _, gradient = search(u)
    along = np.random.default_rng(1).normal(size=u.size)
    ahead = search(u + 1e-5 * along)[0]
    behind = search(u - 1e-5 * along)[0]
    assert gradient @ along == pytest.approx((ahead - behind) / 2e-5, rel=2e-3)


def test_the_adjoint_gives_the_gap_of_every_start_and_noise():
    """Linear in start and noise: one pass backwards is worth a curve for each."""
    data = twin()
    rng = np.random.default_rng(0)
    table = (0.3 * rng.random(20), 0.9 * rng.random(20), rng.random(20))
    known = (with_batches(table, data.zeta2), data.nodes, data.times)
    first = at_rest(0.5 * data.nodes)
    nothing = np.empty((0, 3, 0))
    _, by_noise = compiled(moments_backward)(*known, 0.0, nothing, first)
    for start, level in itertools.product(data.starts, (0.0, 0.7)):
        gap = compiled(moments)(*known, level, at_rest(start), nothing)[-1, 2]
        assert first[0] @ start + level * by_noise == pytest.approx(gap, rel=1e-12)


@pytest.mark.parametrize("b", [3, 100, 990])
def test_no_closed_form_ends_lower_on_the_twin(b):
    """Of those that are inside the certificate; the mean log gap over the three starts."""
    lam = np.geomspace(1e-3, 1.0, 12)
    models = [exact.Gaussian(lam, noise=0.01, start=p, n=1000) for p in possible_starts(lam, [1.0])]
    known = models[0].schedule_arguments(b)

    def mean_log(schedule):
        return np.mean([math.log(exact.expected(m, schedule, b).gap[-1]) for m in models])

    found = mean_log(schedules.auto(200, **known, spectrum=lam, noise=0.01))
    for name in ("mass-avg", "mass", "sgd-safe"):
        assert found < mean_log(schedules.REGISTRY[name].build(200, known))


def test_the_more_is_known_the_lower_it_ends():
    lam = np.arange(1.0, 41.0) ** -2.0
    model = exact.Gaussian(lam, noise=0.3, start=2.0 / lam / lam.size, n=10_000)
    known = model.schedule_arguments(20)

    def gap(**more):
        return exact.expected(model, schedules.auto(300, **known, **more), 20).gap[-1]

    whole = gap(spectrum=lam, noise=0.3)
    assert whole < gap(noise=0.3)
    assert whole < gap(spectrum=lam)
    assert whole == pytest.approx(exact.expected(model, "auto", 20, T=300).gap[-1], rel=1e-3)


# -- smooth, and cached ---------------------------------------------------------------------------


@pytest.mark.parametrize("T", [20, 49, 250, 1000])
def test_one_more_step_changes_little(T):
    """At T = 1000 longer runs begin at the table of a shorter one."""
    lam = np.geomspace(1e-3, 1.0, 12)
    model = exact.Gaussian(lam, noise=0.01, n=1000)
    gaps = [exact.expected(model, "auto", 300, T=T + more).gap[-1] for more in (0, 1)]
    assert 1 / 1.3 <= gaps[1] / gaps[0] <= 1.05


def test_the_last_row_of_the_batch_never_costs():
    lam = np.geomspace(1e-3, 1.0, 12)
    model = exact.Gaussian(lam, noise=0.01, n=1000)
    gaps = [exact.expected(model, "auto", b, T=45).gap[-1] for b in (998, 999, 1000)]
    assert gaps[1] / gaps[0] == pytest.approx(1.0, abs=0.3)
    assert gaps[2] / gaps[1] == pytest.approx(1.0, abs=0.3)


SPECTRA = {
    "geometric": np.geomspace(1e-3, 1.0, 24),
    "power": np.arange(1.0, 25.0) ** -2.0,
    "linear": np.linspace(1e-3, 1.0, 24),
    "clusters": np.repeat([1e-3, 1.0], 12),
    "spiked": np.concatenate([[1.0, 0.5, 0.2], np.full(21, 1e-4)]),
}


@pytest.mark.parametrize(("b", "T"), [(30, 60), pytest.param(700, 150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("power", [0, -1, 1])
@pytest.mark.parametrize("kind", SPECTRA)
def test_one_more_step_or_row_never_costs(kind, power, b, T):
    """A step more, a row more, and the last row of all: each by a factor of 1.3 at most."""
    lam = SPECTRA[kind]
    start = lam**power * 2.0 / (lam @ lam**power)
    model = exact.Gaussian(lam, noise=0.03, start=start, n=1000)

    def gap(b, T):
        return max(1e-12, exact.expected(model, "auto", b, T=T).gap[-1])

    assert gap(b, T + 1) <= 1.3 * gap(b, T)
    assert gap(b + 1, T) <= 1.3 * gap(b, T)
    assert gap(1000, T) <= 1.3 * gap(999, T)


def test_a_gap_near_rounding_does_not_stop_the_search():
    """On all rows the adjoint may leave a gap of -1e-17; the search went no further there."""
    lam = np.concatenate([[1.0, 0.5, 0.2], np.full(37, 1.0 / 12630)])
    model = exact.Gaussian(lam, noise=0.238, start=2.0 / lam / lam.size, n=10_000)
    gaps = [exact.expected(model, "auto", b, T=143).gap[-1] for b in (9_999, 10_000)]
    assert gaps[1] <= gaps[0]


def test_the_same_arguments_give_the_same_table_object():
    known = {"L": 4.0, "mu": 1.0, "L_max": 9.0, "n": 10, "b": 5, "kappa_tilde": 4.0}
    first = schedules.auto(20, **known, spectrum=[4.0, 2.0, 1.0], noise=0.1)
    assert schedules.auto(20, **known, spectrum=np.array([4.0, 2.0, 1.0]), noise=0.1) is first
    assert schedules.auto(20, **known, spectrum=[4.0, 2.0, 1.0], noise=0.2) is not first


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_rounding_of_the_data_does_not_choose_the_table(seed):
    """The last digits of sums over the rows differ between machines, and on a cluster of them."""
    rng = np.random.default_rng(seed)
    lam = np.round(rng.uniform(0.1, 1.0, 4), 2)
    known = {"L": lam.max(), "mu": lam.min(), "L_max": 3.0, "kappa_tilde": 7.0}
    noisy = {name: value * (1.0 + rng.uniform(-1e-14, 1e-14)) for name, value in known.items()}
    noisy["mu"] = min(noisy["mu"], noisy["L"])
    spectrum = lam * (1.0 + rng.uniform(-1e-14, 1e-14, 4))
    one = schedules.auto(6, **known, n=100, b=30, spectrum=lam, noise=0.1)
    other = schedules.auto(6, **noisy, n=100, b=30, spectrum=spectrum, noise=0.1)
    assert other is one


@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=5))
def test_rounded_up_a_constant_still_bounds(values):
    exact_values = np.array(values)
    up = to_digits(exact_values, up=True)
    assert (up > exact_values).all()
    assert (up <= exact_values * (1.0 + 1.3e-7)).all()
    np.testing.assert_allclose(to_digits(exact_values), exact_values, rtol=1e-7)


# -- what is known --------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=100))
def test_a_reduced_spectrum_keeps_ends_count_and_trace(lam):
    nodes, count = reduced(np.array(lam), np.ones(len(lam)))
    assert nodes.size <= 32
    assert count.sum() == pytest.approx(len(lam))
    assert nodes @ count == pytest.approx(sum(lam), rel=1e-12)
    assert nodes.min() == pytest.approx(min(lam), rel=1e-12)
    assert nodes.max() == pytest.approx(max(lam), rel=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.floats(1.01, 1e6), st.floats(1.5, 300.0), logs)
def test_assumed_spectra_have_the_trace_of_gaussian_rows(kappa, d, share):
    """R2 = 2 L + tr A and R2~ = d + 2, for traces that d eigenvalues with these ends may have."""
    d = max(d, 3.0)
    least, most = 1.0 + (d - 1.0) / kappa, (d - 1.0) + 1.0 / kappa
    trace = least + share * (most - least)
    nodes, counts = assumed(1.0, 1.0 / kappa, 2.0 + trace, d + 2.0)
    for count in counts:
        assert count.min() >= 0.0
    assert counts[1] @ nodes == pytest.approx(trace, rel=0.35)
    assert counts[2] @ nodes == pytest.approx(trace, rel=1e-9)
    assert len(assumed(1.0, 1.0 / kappa, 2.0 + trace, None)[1]) == 1


def test_nodes_with_counts_are_eigenvalues():
    known = {"L": 4.0, "mu": 1.0, "L_max": 20.0, "n": 100, "b": 5, "kappa_tilde": 9.0}
    a = schedules.auto(20, **known, spectrum=[4.0, 2.0, 2.0, 2.0, 1.0], noise=0.1)
    b = schedules.auto(20, **known, spectrum=([4.0, 2.0, 1.0], [1.0, 3.0, 1.0]), noise=0.1)
    np.testing.assert_allclose(a.alpha, b.alpha, rtol=3e-2)  # as far as the search goes


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"spectrum": [1.0, -1.0]}, "auto: spectrum=.*eigenvalues >= 0"),
        ({"spectrum": [[1.0, 2.0]]}, "must be eigenvalues >= 0 in one dimension"),
        ({"spectrum": ([1.0, 2.0], [1.0])}, "must be eigenvalues >= 0 in one dimension"),
        ({"spectrum": ([1.0, 2.0], [1.0, 0.0])}, "spectrum has the count 0, each must be > 0"),
        ({"spectrum": []}, "must be eigenvalues"),
        ({"noise": -1.0}, "auto: noise=-1.0 must be a finite number >= 0"),
        ({"family": "sgd"}, "auto: family='sgd' must be"),
    ],
)
def test_bad_arguments(given, message):
    with pytest.raises(ValueError, match=message):
        schedules.auto(5, 2.0, 1.0, 4.0, 10, 3, 5.0, **given)


def test_fewer_rows_than_columns_have_the_curvature_of_the_row_space():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 60))
    p = bocce.LeastSquares(X, X @ np.ones(60), l2=1e-5)
    lam = np.linalg.eigvalsh(X @ X.T / 30) + 1e-5
    c = p.constants()
    assert c.mu == pytest.approx(lam[0], rel=1e-9)
    nodes, count = np.array(c.spectrum)
    assert count.sum() == pytest.approx(30)
    assert nodes @ count == pytest.approx(lam.sum(), rel=1e-9)
    gap = exact.expected(p, "auto", 30, T=200).gap
    assert gap[-1] <= 1e-16 * gap[0]


def test_lanczos_nodes_count_all_eigenvalues():
    from bocce.problems import curvature

    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 80)) * np.geomspace(1.0, 0.1, 80)
    p = bocce.LeastSquares(X, np.zeros(300), l2=0.01)
    values, count, _ = curvature.lanczos(p)
    assert count.sum() == pytest.approx(80)
    assert values @ count == pytest.approx(np.trace(X.T @ X / 300), rel=0.3)


def test_the_pilot_finds_the_noise():
    X, y, _ = bocce.data.regression(4000, 10, 20.0, noise_var=0.5, design="gaussian", seed=3)
    p = bocce.LeastSquares(X, y)
    gap = p.value(np.zeros(10)) - p.value(p.minimiser())
    assert p.pilot().noise == pytest.approx(0.5 / gap, rel=0.2)
    clean = bocce.LeastSquares(X, X @ np.ones(10))
    assert clean.pilot().noise == pytest.approx(0.0, abs=1e-12)
    assert clean.pilot(clean.minimiser()).noise is None


def test_minimize_and_expected_take_the_same_table():
    X, y, _ = bocce.data.regression(500, 6, 50.0, noise_var=0.1)
    p = bocce.LeastSquares(X, y)
    c = p.constants()
    told = {"spectrum": c.spectrum, "noise": p.pilot().noise}
    table = schedules.auto(60, c.L, c.mu, c.R2, p.n, 50, c.R2_tilde, **told)
    assert bocce.minimize(p, "auto", T=60, batch_size=50).schedule == table
    mine = exact.expected(p, table, 50).gap
    np.testing.assert_array_equal(exact.expected(p, "auto", 50, T=60).gap, mine)


@settings(max_examples=200, deadline=None)
@given(
    T=st.integers(2, 5000),
    m=st.integers(2, 40),
    last=st.sampled_from([0.0, 1e-9, 1.0]),
    seed=st.integers(0, 1000),
)
def test_between_two_knots_no_value_lies_outside_theirs(T, m, last, seed):
    """But for rounding, in Python and compiled; and nothing is below 0, where no knot is."""
    turns = np.pi * np.linspace(0.0, 1.0, min(T, m))
    knots = np.unique(np.round((T - 1) * (1.0 - np.cos(turns)) / 2.0))
    values = np.random.default_rng(seed).random((3, knots.size))
    values[:, -1] = last
    steps = np.arange(T)
    low, high = np.minimum(values[:, :-1], values[:, 1:]), np.maximum(values[:, :-1], values[:, 1:])
    at = np.clip(np.searchsorted(knots, steps, side="right") - 1, 0, knots.size - 2)
    for walk in (between, compiled(between)):
        found = walk(knots, values, T)
        assert found.min() >= 0.0
        rounding = 1e-15 * high[:, at]
        assert (found >= low[:, at] - rounding).all()
        assert (found <= high[:, at] + rounding).all()
