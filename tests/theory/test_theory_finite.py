"""The certificate of any schedule: never below exact moments, and near them where it matters."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bocce
from bocce import exact, theory
from bocce.schedules import REGISTRY
from bocce.theory import _sweep
from bocce.theory.finite import leverage_excess
from mean_square import random_rows

ROUNDING = 1 - 1e-9
METHODS = sorted(REGISTRY)


def table(p, method, T, b):
    c = p.constants()
    known = {"L": c.L, "mu": c.mu, "L_max": c.L_max, "kappa_tilde": c.kappa_tilde or 5.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # multistage says when there is one stage only
        return REGISTRY[method].build(T, {**known, "n": p.n, "b": b})


@st.composite
def runs(draw):
    """A problem (rows near or far from one another, l2, noise), a schedule and a batch."""
    n, d = draw(st.integers(3, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = random_rows(draw(st.integers(0, 10**6)), n, d, draw(st.floats(0.0, 1.5)))
    noise = draw(st.sampled_from([0.0, 0.1, 10.0]))
    y = X @ rng.standard_normal(d) + noise * rng.standard_normal(n)
    p = bocce.LeastSquares(X, y, l2=draw(st.sampled_from([0.0, 0.01, 1.0, 100.0])))
    T, b = draw(st.integers(5, 60)), draw(st.integers(1, n))
    return p, table(p, draw(st.sampled_from(METHODS)), T, b), b, rng.standard_normal(d)


def truth(p, schedule, b, w0, of):
    curve = exact.expected(p, schedule, b, w0)
    return (curve.error2 if of == "error" else curve.gap)[-1]


def numbers(p, w0, sharp):
    """What ``certify`` asks for, row by row."""
    w, c = p.minimiser(), p.constants()
    A = p.X.T @ p.X / p.n + p.l2 * np.eye(p.d)
    lam, V = np.linalg.eigh(A)
    gradients = (p.X @ w - p.y)[:, None] * p.X + p.l2 * w
    whitened = gradients @ V / np.sqrt(lam)
    L_max, tilde = c.sharpest if sharp else (c.L_max, c.kappa_tilde)
    return {
        "lam": lam,
        "parts": (V.T @ (w0 - w)) ** 2,
        "L_max": max(L_max, lam[-1]),
        "kappa_tilde": tilde,
        "chi2": float((gradients**2).sum(axis=1).mean()),
        "chi_tilde2": float((whitened**2).sum(axis=1).mean()),
    }


@settings(max_examples=250)
@given(runs(), st.sampled_from(["error", "gap"]))
def test_never_below_the_exact_moments(run, of):
    p, schedule, b, w0 = run
    bound = theory.certify_run(p, schedule, b, w0, of)
    assert bound.total >= ROUNDING * truth(p, schedule, b, w0, of)


def second_moment(p, schedule, b, w0, of):
    """E||w_T - w*||^2 or E f(w_T) - f* of a tiny problem, over every batch; any weights and
    penalty. The state (e, e before, 1) of a step is a matrix times the one before."""
    X = np.column_stack([p.X, np.ones(p.n)]) if p.intercept else p.X
    c = np.ones(p.n) if p.weight is None else p.weight
    d, best, eye = p.width, p.minimiser(), np.eye(p.width)
    gradients = X * (c * (X @ best - p.y))[:, None] + p.ridges * best
    A = (X * c[:, None]).T @ X / p.n + np.diag(p.ridges)
    state = np.concatenate([w0 - best, w0 - best, [1.0]])
    moment = np.outer(state, state)
    for alpha, beta, theta in zip(schedule.alpha, schedule.beta, schedule.theta):
        after = np.zeros_like(moment)
        for B in map(list, combinations(range(p.n), b)):
            H = (X[B] * c[B, None]).T @ X[B] / b + np.diag(p.ridges)
            step = np.zeros_like(moment)
            step[:d, :d] = (1 + beta) * eye - alpha * (1 + theta) * H
            step[:d, d : 2 * d] = -beta * eye + alpha * theta * H
            step[:d, -1] = -alpha * gradients[B].mean(axis=0)
            step[d : 2 * d, :d], step[-1, -1] = eye, 1.0
            after += step @ moment @ step.T / math.comb(p.n, b)
        moment = after
    error = moment[:d, :d]
    return np.trace(error) if of == "error" else 0.5 * np.trace(A @ error)


@settings(max_examples=80)
@given(st.data(), st.sampled_from(["error", "gap"]), st.booleans())
def test_weights_a_penalty_by_column_and_an_intercept_are_part_of_it(data, of, intercept):
    n, d = data.draw(st.integers(3, 6)), data.draw(st.integers(1, 2))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    X = random_rows(data.draw(st.integers(0, 10**6)), n, d, data.draw(st.floats(0.0, 1.5)))
    parts = st.lists(st.sampled_from([0.0, 0.3, 1.0, 50.0]), min_size=d, max_size=d)
    p = bocce.Problem(
        X,
        X @ rng.standard_normal(d) + rng.standard_normal(n),
        "squared",
        data.draw(st.sampled_from([0.0, 0.01, 1.0])),
        sample_weight=rng.uniform(0.1, 3.0, n),
        penalty=data.draw(st.none() | parts),
        intercept=intercept,
    )
    b = data.draw(st.integers(1, n))
    schedule = table(p, data.draw(st.sampled_from(METHODS)), data.draw(st.integers(5, 25)), b)
    w0 = rng.standard_normal(p.width)
    bound = theory.certify_run(p, schedule, b, w0, of)
    rounding = 1e-20 * float(((w0 - p.minimiser()) ** 2).sum())
    assert bound.total >= ROUNDING * second_moment(p, schedule, b, w0, of) - rounding


@settings(max_examples=120)
@given(runs(), st.sampled_from(["error", "gap"]), st.booleans(), st.booleans())
def test_every_way_to_give_the_numbers_is_a_bound(run, of, sharp, tilde):
    """By eigenvalue, as one number, from the ends alone; with and without kappa~ and chi~."""
    p, schedule, b, w0 = run
    found = numbers(p, w0, sharp)
    lam, parts = found.pop("lam"), found.pop("parts")
    if not tilde:
        found["kappa_tilde"] = None
        found["chi_tilde2"] = 0.0
    exactly = ROUNDING * truth(p, schedule, b, w0, of)
    known = {**found, "n": p.n, "b": b, "of": of}
    whole = float(parts.sum())
    by_part = theory.certify(schedule, spectrum=lam, error0=parts, **known).total
    at_once = theory.certify(schedule, spectrum=lam, error0=whole, **known).total
    ends = {"mu": float(lam[0]), "lam_max": float(lam[-1])}
    between = theory.certify(schedule, **ends, error0=whole, **known).total
    assert min(by_part, at_once, between) >= exactly


@settings(max_examples=40)
@given(runs())
def test_the_full_batch_is_exact(run):
    p, schedule, _, w0 = run
    bound = theory.certify_run(p, schedule, p.n, w0)
    exactly = truth(p, schedule, p.n, w0, "error")
    if not math.isfinite(exactly):
        return
    assert bound.noise == 0.0
    start = float(((w0 - p.minimiser()) ** 2).sum())
    assert bound.bias == pytest.approx(exactly, rel=1e-6, abs=1e-20 * start)


@settings(max_examples=40)
@given(runs())
def test_noise_at_the_minimiser_is_all_of_noise(run):
    """The same rows with targets that fit: the bias stays, the noise is none."""
    p, schedule, b, _ = run
    w = np.ones(p.d)
    clean = bocce.LeastSquares(p.X, p.X @ w)
    if np.linalg.eigvalsh(clean.gram)[0] < 1e-9 * np.linalg.eigvalsh(clean.gram)[-1]:
        return
    bound = theory.certify_run(clean, schedule, b)
    assert bound.noise <= 1e-9 * bound.bias or math.isinf(bound.bias)


@pytest.mark.parametrize("method", ["shb", "shb-exp", "multi-shb", "2p-shb", "auto", "auto-shb"])
@pytest.mark.parametrize(("design", "kappa"), [("haar", 100.0), ("heavy", 20.0)])
def test_near_the_truth_where_the_method_is_comfortably_stable(design, kappa, method):
    X, y, _ = bocce.data.regression(1000, 6, kappa, noise_var=0.01, design=design)
    p = bocce.LeastSquares(X, y)
    schedule = table(p, method, 1500, 900)
    exactly = truth(p, schedule, 900, None, "error")
    bound = theory.certify_run(p, schedule, 900)
    assert 1.0 <= math.sqrt(bound.total / exactly) / ROUNDING <= 3.5


def test_from_the_ends_alone_it_is_nearly_as_near():
    X, y, _ = bocce.data.regression(1000, 6, 100.0, noise_var=0.01)
    p = bocce.LeastSquares(X, y)
    schedule = table(p, "auto", 800, 500)
    found = numbers(p, np.zeros(p.d), sharp=True)
    lam, parts = found.pop("lam"), found.pop("parts")
    known = {**found, "n": p.n, "b": 500}
    ends = {"mu": float(lam[0]), "lam_max": float(lam[-1])}
    whole = theory.certify(schedule, spectrum=lam, error0=parts, **known).total
    between = theory.certify(schedule, **ends, error0=float(parts.sum()), **known).total
    assert whole <= between <= 2.0 * whole


def test_a_diverging_run_has_no_certificate_and_it_says_so():
    X, y, _ = bocce.data.regression(400, 4, 100.0, noise_var=0.01, design="heavy")
    p = bocce.LeastSquares(X, y)
    bound = theory.certify_run(p, table(p, "shb", 3000, 4), 4)
    assert math.isinf(bound.total)
    assert not bound.valid
    assert "at b=4: raise the batch" in bound.why


def test_directions_without_curvature_keep_their_error():
    p = bocce.LeastSquares(np.array([[1.0, 0.0], [2.0, 0.0], [1.5, 0.0]]), np.zeros(3))
    schedule = bocce.schedules.sgd(20, 4.0)
    w0 = np.array([1.0, 3.0])
    bound = theory.certify_run(p, schedule, 2, w0)
    assert bound.total >= ROUNDING * truth(p, schedule, 2, w0, "error") > 8.99
    gap = theory.certify_run(p, schedule, 2, w0, of="gap")
    assert gap.total >= ROUNDING * truth(p, schedule, 2, w0, "gap")
    assert gap.total < 1e-3


def test_the_words_say_what_is_bounded():
    good = theory.Bound("E||w_T - w*||^2", 1.0e-4, 4.4e-5, True, "all conditions hold")
    assert theory.certify_words(good, T=2000, b=300) == (
        "After 2,000 steps at b = 300 the error ||w - w*|| is at most 0.012 in root mean square."
    )
    gap = theory.Bound("E f(w_T) - f*", 0.0, 0.25, True, "all conditions hold")
    assert (
        theory.certify_words(gap, T=5, b=1)
        == "After 5 steps at b = 1 f - f* is at most 0.25 in mean."
    )
    none = theory.Bound("E f(w_T) - f*", math.inf, math.inf, False, "the weights grow")
    assert (
        theory.certify_words(none, T=5, b=1)
        == "Nothing is certified for 5 steps at b = 1: the weights grow."
    )


def test_no_row_moves_anything():
    p = bocce.LeastSquares(np.zeros((3, 2)), np.ones(3))
    sgd = bocce.schedules.sgd(5, 1.0)
    assert theory.certify_run(p, sgd, 1, [3.0, 4.0]).total == 25.0
    gap = theory.certify_run(p, sgd, 1, [3.0, 4.0], "gap")  # f is the same everywhere
    assert (gap.quantity, gap.total) == ("E f(w_T) - f*", 0.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("d", [1, 3, 20])
@pytest.mark.parametrize("l2", [0.0, 1e-3, 1.0])
def test_rows_that_are_all_the_same_leave_noise_at_rounding_level(scale, d, l2):
    """chi^2 and chi~^2 are rounding errors then, and need not fit together."""
    row = scale * np.random.default_rng(d).standard_normal(d)
    for target in (3.3, -0.7, 1e-3):
        p = bocce.LeastSquares(np.tile(row, (50, 1)), np.full(50, target), l2=l2)
        s = bocce.schedules.sgd(30, p.constants().L)
        for b in (1, 10, 50):
            bound = theory.certify_run(p, s, b)
            assert bound.valid
            error2 = exact.expected(p, s, b).error2
            assert error2[-1] <= bound.total * (1 + 1e-6) + 1e-15 * error2[0]  # its own rounding


def test_noise_of_one_kind_stands_in_for_the_other():
    s = bocce.schedules.shb(50, 10.0, 1.0)
    known = {"n": 100, "b": 50, "L_max": 30.0, "kappa_tilde": 9.0, "error0": 1.0}
    known["spectrum"] = [1.0, 10.0]
    full = theory.certify(s, chi2=2.0, chi_tilde2=0.5, **known).total
    assert theory.certify(s, chi2=2.0, **known).total >= full
    assert theory.certify(s, chi_tilde2=0.5, **known).total >= full


@pytest.mark.parametrize(("tilde", "share"), [(0.3, 0.15), (1.0, 0.5), (2.0, 1.0), (7.0, 1.0)])
def test_the_excess_is_a_maximum_over_the_share_of_l2(tilde, share):
    grid = np.linspace(0.0, 1.0, 1001)
    assert leverage_excess(tilde) == pytest.approx((grid * (tilde - grid)).max(), rel=1e-5)
    assert leverage_excess(tilde) == pytest.approx(share * (tilde - share))


def test_compiled_and_plain_python_agree():
    rng = np.random.default_rng(0)
    columns = (np.full(9, 0.05), rng.random(9) * 0.9, rng.random(9))
    lam, start = np.array([7.0, 3.0, 1.0]), rng.random(3)
    for apart in (True, False):
        given_ = (columns, lam, start, apart, 20.0, 4.0)
        for ours, theirs in zip(_sweep.means(*given_), _sweep.compiled(_sweep.means)(*given_)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    _, fed = _sweep.means(columns, lam, start, True, 20.0, 4.0)
    for reach in (np.empty((0, 2)), 1.0 + rng.random((9, 2))):
        for aim in (np.full(9, 0.2), np.full(9, np.inf), rng.random(9) * 2):
            given_ = (columns, lam, np.ones(3), fed, aim, reach, 20.0, 4.0, 0.1, 1.0, 0.3)
            np.testing.assert_allclose(
                _sweep.weights(*given_), _sweep.compiled(_sweep.weights)(*given_), rtol=1e-12
            )


def test_the_lines_are_the_best_of_a_linear_programme():
    """One step, so that the sum is the programme's value: against scipy."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(1)
    for _ in range(20):
        lam = np.sort(rng.uniform(0.5, 9.0, 5))[::-1].copy()
        final, chi2, chi_tilde2 = rng.random(5), *rng.uniform(0.1, 1.0, 2)
        one = np.full(1, 0.1)
        aim = np.array([chi_tilde2 / chi2])
        found = _sweep.weights(
            *((one, one, one), lam, final, np.zeros((1, 2)), aim, np.empty((0, 2))),
            *(10.0, 4.0, 1.0, chi2, chi_tilde2),
        )[1]
        best = linprog([chi2, chi_tilde2], np.column_stack([-np.ones(5), -1 / lam]), -final).fun
        assert found == pytest.approx(0.01 * best, rel=1e-9)


GOOD = {"n": 10, "b": 5, "L_max": 4.0, "kappa_tilde": 3.0, "error0": 1.0, "spectrum": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spectrum": None}, "spectrum=None needs mu=None and lam_max=None"),
        ({"mu": 1.0}, "spectrum decides mu and lam_max"),
        ({"spectrum": [0.0, 1.0]}, "must be finite and > 0"),
        ({"error0": [1.0, 2.0, 3.0]}, r"error0 of shape \(3,\) must be one number >= 0, or 2"),
        ({"error0": -1.0}, "must be one number >= 0"),
        ({"L_max": 1.0}, "L_max=1.0 must be >= lam_max=2.0"),
        ({"chi2": 1.0, "chi_tilde2": 2.0}, "chi_tilde2=2.0 must lie between chi2/lam_max=0.5"),
        ({"of": "distance"}, "of='distance' must be one of"),
        ({"b": 11}, "b=11 must be"),
    ],
)
def test_what_cannot_be_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        theory.certify(bocce.schedules.sgd(3, 2.0), **{**GOOD, **change})


def test_long_runs_without_a_spectrum_are_refused():
    ends = {key: value for key, value in GOOD.items() if key != "spectrum"}
    with pytest.raises(ValueError, match="T=20000 must be <= 10000 without a spectrum"):
        theory.certify(bocce.schedules.sgd(20_000, 2.0), **ends, mu=1.0, lam_max=2.0)


def test_problems_that_are_not_plain_least_squares_are_refused():
    schedule = bocce.schedules.sgd(3, 2.0)
    logistic = bocce.Logistic(np.eye(2), [0, 1], l2=0.1)
    with pytest.raises(TypeError, match="Logistic must be a LeastSquares problem"):
        theory.certify_run(logistic, schedule, 1)
    p = bocce.LeastSquares(np.eye(2), np.ones(2), intercept=True)
    with pytest.raises(ValueError, match=r"w0 of shape \(2,\) must be 3 finite numbers"):
        theory.certify_run(p, schedule, 1, np.zeros(2))
    with pytest.raises(TypeError, match="must be a Schedule or a name"):
        theory.certify_run(bocce.LeastSquares(np.eye(2), np.ones(2)), None, 1)
