"""Every corrected bound holds on exact expected dynamics; the printed ones fail where they should.

The bounds on E||w_T - w*|| are checked against the root of E||w_T - w*||^2, which is larger: their
proofs hold for it too (Minkowski's inequality in place of the triangle inequality).
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bocce import data, exact, schedules, theory
from bocce.problems import LeastSquares, Logistic


def small_problem(scale=1.0, l2=0.0, seed=0, n=12, d=3, noise=0.1):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((n, d)) * np.geomspace(1, 2, d)
    y = X @ rng.standard_normal(d) + scale * noise * rng.standard_normal(n)
    return LeastSquares(X, y, l2=l2)


def circle(n, noise=0.5, d=2, seed=0):
    """Rows of norm 1: kappa = L_max/mu is about d, as small as rows allow."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return LeastSquares(X, X @ np.ones(d) + noise * rng.standard_normal(n))


@pytest.fixture(scope="module")
def large():
    """Enough rows for b* to lie well below n."""
    return circle(200_000)


def start(p):
    return float(np.linalg.norm(p.minimiser()))  # w0 = 0


# --- Theorem 1 ------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.0, 0.5])
@pytest.mark.parametrize("tau", [1.0, 7.0])
@pytest.mark.parametrize("T", [10, 100, 1000])
def test_theorem_1_corrected_holds(T, tau, l2):
    for scale in (0.03, 1.0, 30.0):
        p = small_problem(scale, l2 * scale**2)
        c, noise = p.constants(), p.noise()
        schedule = schedules.shb_exponential(T, c.L_max, c.mu, tau)
        for b in (1, 6, 11, 12):
            truth = exact.expected(p, schedule, b).error2[T - 1]
            run = (T, c.L_max, c.mu, tau, start(p), noise.sigma2, theory.zeta2(12, b))
            for chi2 in (None, noise.chi2):
                bound = theory.bound_exponential(*run, L_max=c.L_max, chi2=chi2)
                assert bound.valid
                assert truth <= bound.total


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 5),
    st.integers(2, 300),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(["squared", "logistic"]),
)
def test_one_step_of_the_better_theorem_1(seed, b, T, share, l2, loss):
    """E[E_{k+1}] <= (1 - eta_k mu) E_k + c_B eta_k^2 zeta0^2 chi^2, over all batches of 5 rows.

    And eq:shb_con as printed, with 2 L kappa zeta0^2 eta_k^2 sigma^2, which is larger.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((5, 2)), rng.standard_normal(5)
    l2 = l2 if loss == "squared" else l2 + 0.1
    p = LeastSquares(X, y, l2=l2) if loss == "squared" else Logistic(X, y > np.median(y), l2=l2)
    best = p.minimiser()
    L = p.constants().L_max
    mu = p.constants().mu
    k = min(T - 1, int(share * T))
    gamma = T ** (-1.0 / T)
    eta, later = (gamma ** (j + 1) / (4 * L) for j in (k, k + 1))
    lam, ahead = (
        (1 - gamma / 2) / (e * mu) * (1 - (1 - e * mu) ** j) for e, j in ((eta, k), (later, k + 1))
    )
    w, before = best + rng.standard_normal(2), best + rng.standard_normal(2)
    before = before if k else w

    def energy(now, past, step, weight):
        moved = now - best + weight * (now - past)
        return moved @ moved + 2 * step * weight * (p.value(past) - p.value(best))

    batches = [np.array(rows) for rows in itertools.combinations(range(5), b)]
    after = [
        w
        - eta / (1 + ahead) * p.gradient(w, rows=rows)
        + lam * (1 - eta * mu) / (1 + ahead) * (w - before)
        for rows in batches
    ]
    chi2 = np.mean([np.sum(p.gradient(best, rows=np.array([i])) ** 2) for i in range(5)])
    left = np.mean([energy(new, w, later, ahead) for new in after])
    right = (1 - eta * mu) * energy(w, before, eta, lam)
    kappa, zeta2 = L / mu, theory.zeta2(5, b)
    c_B = (2 * kappa - 1) / (2 * kappa - 1 - zeta2 * (kappa - 1))
    assert 1 <= c_B <= min(2, kappa) * (1 + 1e-12)
    assert left <= (right + c_B * eta**2 * zeta2 * chi2) * (1 + 1e-9) + 1e-12


def test_the_noise_of_theorem_1_falls_with_the_batch():
    """At b = 0.9 n the better bound is 90,000 times smaller than sigma_B^2 <= sigma^2 gives."""
    run = {"T": 1000, "L": 10.0, "mu": 1.0, "sigma2": 1.0}
    single = theory.bound_exponential(**run).noise
    nearly = theory.bound_exponential(**run, zeta2=theory.zeta2(10_000, 9000)).noise
    assert single / nearly == pytest.approx(90_000, rel=1e-3)


def test_theorem_1_as_printed_fails_and_scales_with_mu_squared():
    """Data in other units (X times s) leave w, T and kappa alone; the printed C_4 is times s^4."""
    ratios = []
    for scale in (1e-2, 0.1, 1.0):
        p = small_problem(scale)
        c = p.constants()
        truth = exact.expected(p, schedules.shb_exponential(100, c.L_max, c.mu), 12).error2[99]
        printed = theory.bound_exponential(
            100, c.L_max, c.mu, D=start(p), sigma2=p.noise().sigma2, zeta2=0.0, which="printed"
        )
        ratios.append(truth / printed.total)
    assert ratios[0] > 1e4  # violated
    assert ratios[1] > 100
    assert ratios[2] < 1
    assert ratios[0] / ratios[1] == pytest.approx(1e4, rel=1e-6)


@pytest.mark.parametrize("nu", [0.3, 1.5, 6.0])
def test_misestimated_L_corrected_holds(nu):
    p = small_problem()
    c, sigma2 = p.constants(), p.noise().sigma2
    for T in (20, 300):
        schedule = schedules.shb_exponential(T, c.L_max / nu, c.mu)
        early = max(1, math.ceil(T * max(0.0, math.log(nu)) / math.log(T)))
        for b in (1, 6, 11, 12):
            curve = exact.expected(p, schedule, b)
            bound = theory.bound_misestimated_L(
                T,
                c.L_max,
                c.mu,
                nu,
                D=start(p),
                sigma2=sigma2,
                delta_f=float(curve.gap[:early].max()),
                zeta2=theory.zeta2(12, b),
                L_max=c.L_max,
                chi2=p.noise().chi2,
            )
            assert bound.valid
            assert curve.error2[T - 1] <= bound.total


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_misestimated_mu_corrected_holds(nu):
    p = small_problem()
    c, sigma2 = p.constants(), p.noise().sigma2
    for T in (20, 300, 3000):
        schedule = schedules.shb_exponential(T, c.L_max, nu * c.mu)
        for b in (1, 6, 12):
            truth = exact.expected(p, schedule, b).error2[T - 1]
            run = {"D": start(p), "sigma2": sigma2, "zeta2": theory.zeta2(12, b)}
            for chi2 in (None, p.noise().chi2):
                bound = theory.bound_misestimated_mu(T, c.L_max, c.mu, nu, **run, chi2=chi2)
                assert truth <= bound.total


def worst_growth(form, T, curvature, L=3.0, mu=1.0):
    """max over k of (E_{k+1} - (1 - eta_k mu) E_k)/E_k for f = curvature w^2/2, b = n."""
    gamma = T ** (-1 / T)
    eta = gamma ** np.arange(1, T + 2) / (4 * L)
    lam = (1 - gamma / 2) / (eta * mu) * (1 - (1 - eta * mu) ** np.arange(T + 1))
    schedule = schedules.shb_exponential(T, L, mu, form=form)
    before, now, worst = 1.0, 1.0, -math.inf
    for k in range(T):
        after = now - schedule.alpha[k] * curvature * now + schedule.beta[k] * (now - before)
        energy = (now + lam[k] * (now - before)) ** 2 + eta[k] * lam[k] * curvature * before**2
        later = (after + lam[k + 1] * (after - now)) ** 2
        later += eta[k + 1] * lam[k + 1] * curvature * now**2
        worst = max(worst, (later - (1 - eta[k] * mu) * energy) / energy)
        before, now = now, after
    return worst


def test_the_one_step_inequality_is_false_for_the_averaging_form():
    """One dimension, kappa = 3, full batch: violated by more than 5 % of E_k."""
    assert worst_growth("average", T=1000, curvature=1.2) > 0.05
    for T in (5, 30, 300):
        for curvature in (1.0, 1.2, 2.0, 3.0):
            assert worst_growth("proof", T, curvature) <= 1e-12


# --- Theorem 2 ------------------------------------------------------------------------------------


def test_theorem_2_corrected_holds(large):
    c, noise = large.constants(), large.noise()
    kappa, n = c.L_max / c.mu, large.n
    for a in (1.0, 0.1):
        schedule = schedules.shb(300, c.L_max, c.mu, a)
        for b in (math.ceil(theory.batch_threshold(n, kappa, interpolation=True)), 150_000, n):
            curve = exact.expected(large, schedule, b)
            for T in (1, 3, 10, 40, 300):
                bound = theory.bound_shb(
                    T, c.L_max, c.mu, n, b, a, start(large), math.sqrt(noise.chi2), c.L_max
                )
                assert bound.valid
                assert math.sqrt(curve.error2[T]) <= bound.total


def test_theorem_2_by_gronwall_holds_at_much_smaller_batches(large):
    c, noise = large.constants(), large.noise()
    kappa, n = c.L_max / c.mu, large.n
    least = math.ceil(theory.batch_threshold(n, kappa, which="gronwall"))
    assert least < theory.batch_threshold(n, kappa, interpolation=True) / 40
    for b in (least + 10, 2 * least, 20_000):
        curve = exact.expected(large, schedules.shb(300, c.L_max, c.mu), b)
        for T in (1, 10, 300):
            bound = theory.bound_shb(
                T,
                c.L_max,
                c.mu,
                n,
                b,
                D=start(large),
                chi=math.sqrt(noise.chi2),
                L_max=c.L_max,
                which="gronwall",
            )
            assert bound.valid
            assert math.sqrt(curve.error2[T]) <= bound.total


def test_theorem_2_is_false_with_L_lambda_max():
    """The diagonal problem, n = 20000, kappa = 1: b = 9000 >= b*, and the run diverges."""
    n, b, kappa = 20_000, 9_000, 1.0
    assert b >= theory.batch_threshold(n, kappa)
    assert b < theory.lower_bound_threshold(n, kappa)
    spread, beta = (n - b) / b, 0.25
    operator = [[spread + beta**2, 2 * beta, 1], [-(beta**2), -beta, 0], [beta**2, 0, 0]]
    assert np.abs(np.linalg.eigvals(operator)).max() == pytest.approx(1.31, abs=0.005)
    bound = theory.bound_shb(100, 1.0, 1.0, n, b, L_max=float(n))
    assert not bound.valid
    assert "L=1 is below L_max=20000" in bound.why


def test_bounded_noise_holds():
    """On rows of norm 1, E_i||grad f_i - grad f||^2 = 2 f - ||grad f||^2: its largest value along
    the run is the sigma^2 that the theorem assumes."""
    p = circle(500, noise=0.5)
    c = p.constants()
    best = p.value(p.minimiser())
    for a in (1.0, 0.05):
        schedule = schedules.shb(400, c.L, c.mu, a)  # L = lambda_max is enough here
        for b in (100, 400, 500):
            curve = exact.expected(p, schedule, b)
            sigma = math.sqrt((2 * (curve.gap + best) - curve.grad2).max())
            for T in (1, 20, 400):
                run = (T, c.L, c.mu, 500, b, a, start(p), sigma)
                assert math.sqrt(curve.error2[T]) <= theory.bound_bounded_noise(*run).total
                assert curve.error2[T] <= theory.bound_bounded_noise(*run, which="sqrt").total


# --- Theorem 4 and the two phases -----------------------------------------------------------------


@pytest.mark.parametrize("T", [3, 130, 700, 3000])
def test_theorem_4_a_posteriori_holds(large, T):
    c, chi = large.constants(), math.sqrt(large.noise().chi2)
    kappa, n = c.L_max / c.mu, large.n
    stages = theory.stage_count(T, kappa, "fit")
    b = min(n, math.ceil(theory.batch_threshold(n, kappa, 2.0**-stages)))
    schedule = schedules.multistage(T, c.L_max, c.mu, stages="fit")
    truth = exact.expected(large, schedule, b).error2[T]
    bound = theory.bound_multistage(
        T, c.L_max, c.mu, n, b, start(large), chi, stages="fit", L_max=c.L_max
    )
    assert bound.valid
    assert math.sqrt(truth) <= bound.total


@pytest.mark.parametrize("c_share", [0.2, 0.5, 0.9])
def test_two_phase_corrected_holds(large, c_share):
    c, noise = large.constants(), large.noise()
    kappa, n = c.L_max / c.mu, large.n
    least = math.ceil(theory.batch_threshold(n, kappa, interpolation=True))
    for T in (40, 400):
        schedule = schedules.two_phase(T, c.L_max, c.mu, c=c_share)
        for b in (least, 150_000, n):
            truth = exact.expected(large, schedule, b).error2[T - 1]
            bound = theory.bound_two_phase(
                T,
                c.L_max,
                c.mu,
                n,
                b,
                c_share,
                D=start(large),
                chi=math.sqrt(noise.chi2),
                sigma2=noise.sigma2,
                L_max=c.L_max,
            )
            assert bound.valid
            assert math.sqrt(truth) <= bound.total


# --- Theorem S ------------------------------------------------------------------------------------


def spectrum(p):
    c = p.constants()
    return {"L_max": c.L_max, "mu": c.mu, "lam_max": c.L}


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 1.5), st.floats(0.0, 0.95), st.booleans())
def test_theorem_S_never_claims_more_than_the_truth(seed, a, beta, ridge):
    p = small_problem(seed=seed, n=9, l2=0.2 if ridge else 0.0)
    alpha = a / p.constants().L
    certified = theory.certified_batch_size(p.n, alpha, beta, **spectrum(p))
    assert exact.critical_batch_size(p, alpha, beta) <= certified * (1 + 1e-9)
    for b in range(max(1, math.ceil(certified)), p.n + 1):
        rate = theory.certified_rate(alpha, beta, theory.zeta2(p.n, b), **spectrum(p))
        assert exact.mean_square_rate(p, alpha, beta, b) <= rate * (1 + 1e-9)
        floor = theory.bound_stationary(
            alpha, beta, theory.zeta2(p.n, b), **spectrum(p), chi2=p.noise().chi2
        )
        if floor.valid:
            assert exact.stationary(p, alpha, beta, b).error2 <= floor.noise * (1 + 1e-9)


@pytest.mark.parametrize("kappa", [1.5, 10.0, 100.0])
def test_theorem_S_is_attained_by_the_diagonal_problem(kappa):
    X, y, _ = data.diagonal(10, kappa)
    p = LeastSquares(X.toarray(), y)
    c = p.constants()
    schedule = schedules.shb(1, c.L, c.mu)
    alpha, beta = float(schedule.alpha[0]), float(schedule.beta[0])
    truth = exact.critical_batch_size(p, alpha, beta)
    assert theory.certified_batch_size(10, alpha, beta, **spectrum(p)) == pytest.approx(
        truth, rel=1e-9
    )
    assert theory.lower_bound_threshold(10, kappa) == pytest.approx(truth, rel=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 1.2), st.floats(0.0, 0.9), st.floats(0, 1.2))
def test_the_lookahead_certificate_never_claims_more_than_the_truth(seed, a, beta, look):
    p = small_problem(seed=seed, n=9)
    alpha, theta = a / p.constants().L, look * beta
    for b in (1, 4, 8, 9):
        rate = theory.lookahead_rate(
            alpha,
            beta,
            theta,
            theory.zeta2(9, b),
            kappa_tilde=p.constants().kappa_tilde,
            **spectrum(p),
        )
        assert exact.mean_square_rate(p, alpha, beta, b, theta) <= rate * (1 + 1e-9)


@pytest.mark.parametrize(
    ("design", "spectrum_of", "kappa", "critical", "certified"),
    [
        ("haar", "sqrt", 10.0, 22, 73),
        ("haar", "sqrt", 100.0, 51, 193),
        ("haar", "sqrt", 1000.0, 146, 558),
        ("haar", "sqrt", 2000.0, 202, 766),
        ("gaussian", "linear", 10.0, 25, None),
        ("gaussian", "linear", 100.0, 68, None),
        ("gaussian", "linear", 1000.0, 204, None),
        ("gaussian", "linear", 2000.0, 285, None),
        ("heavy", "sqrt", 10.0, 5035, 5849),
        ("heavy", "sqrt", 100.0, 6850, 7669),
        ("heavy", "sqrt", 1000.0, 8604, 9056),
        ("heavy", "sqrt", 2000.0, 8959, 9307),
    ],
)
def test_which_batch_size_heavy_ball_needs(design, spectrum_of, kappa, critical, certified):
    """n = 10000, d = 20, a = 1, L = lambda_max: the reference table; it moves by a per cent or two
    from one draw of the rows to the next."""
    X, y, _ = data.regression(10_000, 20, kappa, design=design, spectrum=spectrum_of, mu=10.0)
    p = LeastSquares(X, y)
    schedule = schedules.shb(1, p.constants().L, p.constants().mu)
    step = float(schedule.alpha[0]), float(schedule.beta[0])
    assert exact.critical_batch_size(p, *step) == pytest.approx(critical, rel=0.03)
    if certified is not None:
        size = theory.certified_batch_size(p.n, *step, **spectrum(p))
        assert size == pytest.approx(certified, rel=0.03)


def test_the_lemma_on_batch_noise_is_false_for_rows_of_rank_one():
    """lemma:mb-sigma claims sigma_B^2 <= kappa zeta0^2 sigma^2; here it is 1.48 times that, even
    with kappa = L_max/mu. (n = 4, d = 2, b = 3: all four batches.)"""
    rng = np.random.default_rng(1573)
    X = rng.standard_normal((4, 2)) * np.exp(rng.uniform(-1, 1, (4, 1)))
    p = LeastSquares(X, rng.standard_normal(4))
    sigma_B2 = 0.0
    for left_out in range(4):
        rows = np.delete(np.arange(4), left_out)
        batch = LeastSquares(p.X[rows], p.y[rows])
        sigma_B2 += (batch.value(p.minimiser()) - batch.value(batch.minimiser())) / 4
    c, sigma2 = p.constants(), p.noise().sigma2
    claimed = c.L_max / c.mu * theory.zeta2(4, 3) * sigma2
    assert sigma_B2 / claimed == pytest.approx(1.48, abs=0.005)
    assert sigma_B2 <= sigma2
