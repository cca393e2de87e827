"""minimize without T: to the tolerance, or as far as the budget goes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from test_auto_guard import misjudged

import bocce
import bocce.course
from bocce.engines import State
from bocce.engines.compiled import CompiledEngine
from bocce.engines.reference import ReferenceEngine
from bocce.engines.whole import WholeEngine
from bocce.policies.anytime import Course, accelerating_batch
from helpers import constants, design, problem, recorder, schedule


def regression(kappa=50.0, noise=0.1, design_="haar", n=600, d=6):
    X, y, _ = bocce.data.regression(n, d, kappa, noise_var=noise, design=design_)
    return X, y


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-9])
@pytest.mark.parametrize("mode", ["independent", "reshuffle"])
@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_tolerance_is_reached(loss, kind, mode, tol):
    X, y = regression()
    X = sp.csr_array(X) if kind == "csr" else X
    p = bocce.LeastSquares(X, y) if loss == "squared" else bocce.Logistic(X, y > 0, l2=0.05)
    r = bocce.minimize(p, "auto", tol=tol, sampling=mode, record_every="auto", seed=2)
    assert r.status == "converged"
    norm = np.linalg.norm(p.gradient(r.w))
    assert norm <= 1.0001 * tol * np.linalg.norm(p.gradient(np.zeros(p.d)))
    assert r.history["grad_norm"][-1] == pytest.approx(norm, rel=1e-3)
    assert (np.diff(r.history["k"]) > 0).all()
    assert (np.diff(r.history["gradient_evaluations"]) > 0).all()
    assert r.n_iter == r.history["k"][-1]
    assert "gradient norm at most" in r.message


@pytest.mark.parametrize("kappa_tilde", [True, False])
def test_without_the_gram_matrix(monkeypatch, kappa_tilde):
    """What large d takes: Lanczos, rule 1, batches that grow by 4, all rows at the end."""
    if not kappa_tilde:
        monkeypatch.setattr("bocce.problems.linear.GRAM_COLUMNS", 0)
    X, y = regression(noise=1.0)
    p = bocce.LeastSquares(X, y, l2=0.1)
    seen = []
    r = bocce.minimize(p, "auto", tol=1e-6, record_every="auto", callback=seen.append)
    assert r.status == "converged"
    assert f"to {p.n} of n={p.n}" in r.message or r.batch_size == p.n
    assert [now.k for now in seen] == r.history["k"].tolist()


def test_no_noise_needs_no_full_batch():
    X, y = regression(noise=0.0)
    p = bocce.LeastSquares(X, y)
    r = bocce.minimize(p, "auto", tol=1e-8, batch_size=40, record_every="auto")
    assert r.status == "converged"
    assert r.history["gradient_evaluations"][-1] == 40 * r.n_iter


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_without_strong_convexity_f_converges(loss):
    """Two equal columns and a constant one; separable labels have no minimiser at all."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 3))
    X = np.hstack([A, A[:, :1], np.ones((300, 1))])
    y = X @ rng.standard_normal(5) + rng.standard_normal(300)
    p = bocce.LeastSquares(X, y) if loss == "squared" else bocce.Logistic(X, y > 0)
    assert p.constants().mu == 0.0
    best = p.value(p.minimiser())
    for tol in (0.0, 1e-7):
        r = bocce.minimize(p, "auto", tol=tol, record_every="auto")
        limit = 1e-3 if tol == 0.0 else 1e-9
        assert p.value(r.w) - best <= limit * (p.value(np.zeros(5)) - best)
    separable = bocce.Logistic(A, A[:, 0] > 0)
    r = bocce.minimize(separable, "auto", record_every="auto")
    assert separable.value(r.w) < 0.05


def test_the_budget_is_kept_and_said(monkeypatch):
    X, y = regression(noise=1.0)
    p = bocce.LeastSquares(X, y)
    r = bocce.minimize(p, "auto", batch_size=60, record_every="auto")
    assert r.status == "finished"
    assert r.n_iter == 1000  # 100 passes of 10 steps
    assert "the budget of 100 passes is used" in r.message
    monkeypatch.setattr(bocce.course, "PASSES_TO_TOL", 3)
    monkeypatch.setattr(bocce.course, "LEAST_STEPS", 1)
    r = bocce.minimize(p, "auto", batch_size=60, tol=1e-12, record_every="auto")
    assert r.status == "finished"
    assert r.history["gradient_evaluations"][-1] <= 3 * p.n
    assert "not tol=1e-12: raise tol or l2" in r.message


def test_within_twice_the_fixed_schedule_on_average():
    """The same budget of steps, noise in the targets: f at the end, over seeds."""
    X, y = regression(kappa=100.0, noise=1.0)
    p = bocce.LeastSquares(X, y)
    best = p.value(p.minimiser())
    for b in (10, 60, 300):
        T = max(1000, 100 * p.n // b)
        free = [
            bocce.minimize(p, "auto", batch_size=b, seed=s, record_every="auto") for s in range(6)
        ]
        fixed = [
            bocce.minimize(p, "auto", T, batch_size=b, seed=s, record_every=T) for s in range(6)
        ]
        assert {r.n_iter for r in free} == {T}
        gaps = [np.mean([p.value(r.w) - best for r in runs]) for runs in (free, fixed)]
        assert gaps[0] <= 2 * gaps[1]


@pytest.mark.parametrize("factor", [2, 10, 100])
@pytest.mark.parametrize("b", [30, 600, None])
@pytest.mark.parametrize("whitened", [True, False])
def test_wrong_constants_are_survived(monkeypatch, factor, b, whitened):
    """By the guard; where the finish measures the Hessian it needs no constants at all."""
    if not whitened:
        monkeypatch.setattr("bocce.course.GRAM_COLUMNS", 0)
    X, y = regression(noise=0.1)
    p = misjudged(bocce.LeastSquares(X, y), factor)
    r = bocce.minimize(p, "auto", tol=1e-6, batch_size=b, record_every="auto")
    assert r.status == "converged"
    trusted = factor == 2 or (whitened and b != 30)
    assert trusted or "The guard went back to the best point" in r.message


def test_degenerate_problems():
    zero = bocce.LeastSquares(np.zeros((5, 2)), np.ones(5))
    assert bocce.minimize(zero).status == "converged"
    assert bocce.minimize(zero).n_iter == 0
    one = bocce.LeastSquares(np.array([[2.0]]), np.array([4.0]))
    assert bocce.minimize(one, tol=1e-12).w == pytest.approx([2.0])
    X, y = regression()
    p = bocce.LeastSquares(X, y)
    done = bocce.minimize(p, tol=1e-6, w0=p.minimiser(), record_every="auto")
    assert done.status in ("converged", "finished")
    assert p.value(done.w) <= p.value(p.minimiser()) * (1 + 1e-12)


@pytest.mark.parametrize("every", [1, 7, "auto"])
@pytest.mark.parametrize(
    ("loss", "kind", "engine"),
    [
        ("squared", "dense", "compiled"),
        ("squared", "dense", "reference"),
        ("logistic", "csr", "compiled"),
        ("logistic", "wide", "compiled"),
    ],
)
def test_resume_and_watching_change_no_bit(tmp_path, loss, kind, engine, every):
    if kind == "wide":  # the engine that never touches the columns a batch leaves alone
        X = sp.random_array((80, 400), density=0.01, format="csr", rng=np.random.default_rng(0))
    else:
        X = design(kind, n=80, d=4)
    p = problem(loss, X, l2=0.05)
    given = {"tol": 1e-7, "engine": engine, "record_every": every, "seed": 5, "batch_size": 2}
    given["sampling"] = "reshuffle"
    whole = bocce.minimize(p, "auto", **given)
    path = tmp_path / "run.npz"
    for stop in (1, 30, 30, 200, 900):

        def leave(progress, stop=stop):
            if progress.k >= stop:
                raise KeyboardInterrupt

        try:
            bocce.minimize(p, "auto", checkpoint=path, callback=leave, **given)
        except KeyboardInterrupt:
            continue
    parts = bocce.minimize(p, "auto", checkpoint=path, **given)
    assert np.array_equal(whole.w, parts.w)
    assert whole.message == parts.message
    for key in whole.history:
        assert np.array_equal(whole.history[key], parts.history[key]), key
    assert bocce.minimize(p, "auto", checkpoint=path, **given).n_iter == whole.n_iter
    with pytest.raises(ValueError, match="is of another tol"):
        bocce.minimize(p, "auto", checkpoint=path, **given | {"tol": 1e-3})


def test_a_callback_stops_the_run():
    X, y = regression()
    p = bocce.LeastSquares(X, y)
    r = bocce.minimize(p, "auto", record_every=10, callback=lambda now: now.k >= 50)
    assert r.status == "finished"
    assert r.n_iter == 50
    assert "stopped by the callback after 50 steps" in r.message


# -- the pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["shb", "sgd", "nesterov", "2p-shb", "auto"])
@pytest.mark.parametrize("kind", ["dense", "csr", "wide"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_engines_gather_the_same_sum_of_iterates(loss, kind, name):
    X = design(kind) if kind != "wide" else sp.random_array(
        (40, 600), density=0.01, format="csr", rng=np.random.default_rng(0)
    )  # fmt: skip
    p = problem(loss, X, l2=0.2)
    table = schedule(name, 60, constants(p, 2))
    sums = []
    for make in (ReferenceEngine, CompiledEngine):
        engine = make(p, 2, 3, "reshuffle")
        state = State(np.zeros(p.d), np.zeros(p.d), tally=np.zeros(p.d))
        looks = recorder(60, 25)
        for stop in (17, 40, 60):
            engine.advance(state, table, stop, looks)
        sums.append(state.tally)
    np.testing.assert_allclose(sums[1], sums[0], rtol=0, atol=1e-11 * np.abs(sums[0]).max())


def test_time_constant_is_the_slow_direction_s():
    """Against the powers of the step matrix."""
    for tilde, b, mu in ((None, 10, 1.0), (20.0, 10, 1.0), (20.0, 1, 0.3), (None, 1000, 0.1)):
        course = Course(1000, 100.0, 900.0, tilde, 0.1, True, 1.0, True, False, mu, b)
        alpha, beta, theta = course.parameters()
        x = alpha * mu
        step = [[1 + beta - x * (1 + theta), x * theta - beta], [1, 0]]
        radius = np.abs(np.linalg.eigvals(step)).max()
        assert course.time_constant() == pytest.approx(-1 / np.log(radius), rel=0.05)


def test_decisions():
    course = Course(1000, 100.0, 900.0, None, 0.01, True, 1000.0, False, True, 100 / 30, 20)
    course.proceed(noisy=True, left=10**9)
    assert (course.b, course.mu) == (accelerating_batch(1000, 100.0, 100 / 120, 900.0), 100 / 120)
    course = Course(1000, 100.0, 900.0, 20.0, 0.01, True, 1000.0, True, True, 100 / 30, 20)
    course.proceed(noisy=True, left=10**9)
    assert (course.b, course.cuts) == (80, 0)
    course.proceed(noisy=False, left=10)  # no budget for a longer memory
    assert (course.b, course.mu) == (80, 100 / 120)
    course.proceed(noisy=True, left=10)
    assert course.full
    budget = Course(1000, 100.0, 900.0, 20.0, 0.01, True, 6.0, True, False, 1.0, 20)
    for cuts in (1, 2, 2):
        budget.proceed(noisy=True, left=10)
        assert (budget.b, budget.cuts) == (20, cuts)
    ramp = course.ramp()
    assert ramp.beta[0] == 0.0
    assert (np.diff(ramp.beta) >= 0).all()
    assert ramp.beta[-1] == pytest.approx((1 - 0.01) / (1 + 0.01))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("compiled", [True, False])
def test_the_finish_is_the_one_update_in_whitened_variables(loss, compiled):
    """w = P^(-1/2) u: the reference engine on the rows x P^(-1/2) takes the same steps."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3)) @ np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.1]])
    y = X @ np.ones(3) + rng.standard_normal(40)
    kind = bocce.LeastSquares if loss == "squared" else bocce.Logistic
    targets = y if loss == "squared" else y > 0
    p = kind(X, targets)
    P = p.hessian(np.full(3, 0.1)) + 0.01 * np.eye(3)
    engine = WholeEngine(p, compiled)
    engine.set_metric(P)
    values, vectors = np.linalg.eigh(P)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    q = kind(X @ root, targets)
    table = bocce.Schedule(np.full(8, 0.8), np.full(8, 0.4), np.full(8, 0.4))
    state, nobody = State(np.zeros(3), np.zeros(3)), recorder(8)
    reference = ReferenceEngine(q, 40, 0, "independent")
    w, v = np.zeros(3), np.zeros(3)
    for k in range(8):
        at = w + 0.4 * v
        value, g = engine.look(at)
        assert value == pytest.approx(p.value(at), rel=1e-12)
        np.testing.assert_allclose(g, p.gradient(at), atol=1e-12)
        v = engine.step(v, g, 0.8, 0.4)
        w = w + v
        reference.advance(state, table, k + 1, nobody)
        np.testing.assert_allclose(w, root @ state.w, rtol=1e-7, atol=1e-9)


def test_ill_conditioned_data_take_few_passes():
    """Without whitened variables this takes thousands of passes."""
    X, y = regression(kappa=1e6, n=2000)
    p = bocce.Logistic(X, y > 0, l2=1e-6)
    r = bocce.minimize(p, "auto", tol=1e-8, record_every="auto")
    assert r.status == "converged"
    assert r.history["gradient_evaluations"][-1] < 60 * p.n


def test_a_first_stage_that_leads_nowhere_is_forgotten():
    """Constants from a sample that misses the heavy rows: the run ends where it should."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30_000, 40))
    X[::5000] *= 1e4
    p = bocce.Logistic(X, X[:, 0] + rng.standard_normal(30_000) > 0, l2=1e-3)
    r = bocce.minimize(p, "auto", tol=1e-7, record_every="auto")
    assert r.status == "converged"


def test_other_losses_take_the_reference_engine():
    class Huber(bocce.problems.LinearProblem):
        strongly_convex_loss = False

        def _targets(self, y):
            return np.array(y, dtype=np.float64)

        def loss(self, z, y):
            r = np.abs(z - y)
            return np.where(r <= 1.0, 0.5 * r**2, r - 0.5)

        def slope(self, z, y):
            return np.clip(z - y, -1.0, 1.0)

    X, y = regression(noise=1.0)
    p = Huber(X, y, l2=0.01)
    r = bocce.minimize(p, "auto", tol=1e-6, record_every="auto")
    assert r.status == "converged"
    assert np.linalg.norm(p.gradient(r.w)) <= 1.001e-6 * np.linalg.norm(p.gradient(np.zeros(p.d)))
