"""minimize without T: to the tolerance, or as far as the budget goes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import bocce
from bocce.control import Doubling, Limits, PlaneSteps, Recipe, RunVerdict, StageReport
from bocce.engines import State
from bocce.engines.numba import CompiledEngine
from bocce.engines.reference import ReferenceEngine
from bocce.problems import Look
from helpers import constants, design, misjudged, problem, recorder, schedule, without_gram


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


@pytest.mark.parametrize("b", [1, 20, 300, 540])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_least_squares_ends_on_all_rows_after_one_stage_of_batches(b, noise):
    """A step or two on all rows reach the tolerance: a second stage would only read more rows."""
    p = bocce.LeastSquares(*regression(noise=noise))
    stage = max(16, -(-p.n // b))
    r = bocce.minimize(p, "auto", tol=1e-8, batch_size=b)
    assert r.status == "converged"
    assert r.history["gradient_evaluations"][-1] <= stage * b + 3 * p.n


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("b", [None, 20])
def test_batches_first_then_all_rows(monkeypatch, gram, b):
    """Where a Gram matrix is out of reach: Lanczos; noise makes way for the plane."""
    if not gram:
        monkeypatch.setattr("bocce.run.controllers.batches_pay", lambda p: True)
    X, y = regression(noise=1.0)
    p = bocce.LeastSquares(X, y, l2=0.1)
    if not gram:
        p = without_gram(p)
    seen = []
    r = bocce.minimize(p, "auto", tol=1e-6, batch_size=b, callback=seen.append)
    assert r.status == "converged"
    assert r.stages[-1].method == "plane"
    assert r.stages[-1].batch == p.n
    assert (len(r.stages) > 1) == (b is not None or not gram)
    assert sum(stage.steps for stage in r.stages) == r.n_iter
    assert [now.k for now in seen] == r.history["k"].tolist()


def test_no_noise_needs_no_full_batch():
    """Where no sums over all rows are known."""
    X, y = regression(noise=0.0)
    p = without_gram(bocce.LeastSquares(X, y))
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
    lam = np.linalg.eigvalsh(X.T @ X / 300)
    least = {"squared": lam[1], "logistic": 0.0}[loss]  # lam[0] is 0, and w never moves there
    assert p.constants().mu == pytest.approx(least, rel=1e-9)
    best = p.value(p.minimiser())
    for tol in (0.0, 1e-7):
        r = bocce.minimize(p, "auto", tol=tol, record_every="auto")
        limit = 1e-3 if tol == 0.0 else 1e-9
        assert p.value(r.w) - best <= limit * (p.value(np.zeros(5)) - best)
    separable = bocce.Logistic(A, A[:, 0] > 0)
    r = bocce.minimize(separable, "auto", record_every="auto")
    assert separable.value(r.w) < 0.05


def test_the_budget_is_kept_and_said():
    X, y = regression(noise=1.0)
    p = bocce.LeastSquares(X, y)
    r = bocce.minimize(p, "auto", batch_size=60, record_every="auto")
    assert r.status == "finished"
    assert r.n_iter == 1000  # 100 passes of 10 steps
    assert "all allowed passes are used: 1000 steps, 100 passes" in r.message
    q = bocce.Logistic(X, y > 0.0, l2=1e-6)
    r = bocce.minimize(q, "auto", batch_size=60, tol=1e-12, passes=3)
    assert r.status == "finished"
    assert r.history["gradient_evaluations"][-1] <= 3 * p.n
    assert "not tol=1e-12: raise passes, tol or l2" in r.message


@pytest.mark.parametrize("b", [10, 60, 300])
def test_within_three_times_the_fixed_schedule_on_average(b):
    """The same budget of steps, noise in the targets: f at the end, over seeds. The ratio is 2.8 at
    b = 10 in the mean of 30 seeds; of six seeds the mean is uncertain by a quarter.
    """
    X, y = regression(kappa=100.0, noise=1.0)
    p = bocce.LeastSquares(X, y)
    best = p.value(p.minimiser())
    T = max(1000, 100 * p.n // b)
    free = [bocce.minimize(p, "auto", batch_size=b, seed=s, record_every="auto") for s in range(6)]
    fixed = [bocce.minimize(p, "auto", T, batch_size=b, seed=s, record_every=T) for s in range(6)]
    assert {r.n_iter for r in free} == {T}
    gaps = np.array([[p.value(r.w) - best for r in runs] for runs in (free, fixed)])
    mean = gaps.mean(axis=1)
    error = gaps.std(axis=1, ddof=1) / np.sqrt(gaps.shape[1])
    assert mean[0] - 2.0 * error[0] <= 3.0 * (mean[1] + 2.0 * error[1])


@pytest.mark.parametrize("factor", [2, 10, 100])
@pytest.mark.parametrize("b", [30, 600, None])
def test_wrong_constants_are_survived(factor, b):
    """By the guard; steps on all rows need no constants at all."""
    X, y = regression(noise=0.1)
    p = misjudged(bocce.LeastSquares(X, y), factor)
    r = bocce.minimize(p, "auto", tol=1e-6, batch_size=b, record_every="auto")
    assert r.status == "converged"
    retreats = "The guard returned to the best point" in r.message
    assert retreats if b == 30 and factor > 2 else not retreats or b == 30


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
    r = bocce.minimize(p, "auto", batch_size=5, callback=lambda now: now.k >= 50)
    assert r.status == "finished"
    assert r.n_iter >= 50
    assert f"stopped by the callback after {r.n_iter} steps" in r.message
    assert p.value(r.w) == pytest.approx(r.history["value"][-1])


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


def deciding(*, wants_tol=False, brief=False, budget=10**6):
    """A run of 1,000 rows in batches of 20 whose noise is always measured as 0.3."""
    known = {"L": 1.0, "mu": 0.01, "L_max": 9.0, "kappa_tilde": 20.0, "n": 1000, "b": 20}
    run = Doubling(
        Recipe(bocce.schedules.REGISTRY["auto"], known),
        np.zeros(1),
        n=1000,
        first_batch=20,
        brief=brief,
        wants_tol=wants_tol,
        budget=budget,
        plane=PlaneSteps(),
        limits=Limits(),
        measure=lambda w: 0.3,
    )
    run.begin(np.zeros(1), Look(1.0, np.ones(1)))
    return run


def ended(run, *, value, norm, spent, verdict=RunVerdict.RUNNING):
    """The stage under way ends at a point of this value and gradient norm."""
    look = Look(value, np.array([norm]))
    return StageReport(np.ones(1), 0, None, lambda w: look, np.zeros(0), verdict, spent)


def test_each_stage_has_twice_the_steps_and_the_noise_that_was_measured():
    run = deciding()
    first = run.next(None)
    assert (first.count, first.batch) == (50, 20)  # a pass
    told = dict(run.recipe.constants, noise=0.3)
    assert first.steps == bocce.schedules.auto(50, **told)
    second = run.next(ended(run, value=0.5, norm=0.9, spent=1000))
    assert second.count == 100
    np.testing.assert_array_equal(second.start, run.best.w)
    third = run.next(ended(run, value=0.7, norm=0.9, spent=3000))
    assert third.count == 200
    assert run.best.value == 0.5


def test_a_tolerance_that_noise_keeps_away_takes_all_rows():
    run = deciding(wants_tol=True)
    run.next(None)
    falls = run.next(ended(run, value=0.1, norm=0.05, spent=1000))
    assert falls.batch == 20
    stays = run.next(ended(run, value=0.09, norm=0.04, spent=3000))
    assert (stays.name, stays.batch) == ("plane", 1000)


def test_a_chosen_batch_takes_one_stage():
    run = deciding(brief=True)
    assert run.next(None).count == 50
    assert run.next(ended(run, value=0.1, norm=1e-3, spent=1000)).name == "plane"


def test_a_stage_that_rises_is_taken_back_with_shorter_steps():
    run = deciding()
    first = run.next(None)
    again = run.next(ended(run, value=9.0, norm=9.0, spent=1000))
    assert run.retreats == 1
    assert again.count == first.count
    assert again.steps.alpha.max() < first.steps.alpha.max()
    np.testing.assert_array_equal(again.start, np.zeros(1))


def test_the_last_stage_takes_what_is_left():
    run = deciding(budget=8000)
    assert run.next(None).count == 50
    assert run.next(ended(run, value=0.5, norm=0.9, spent=1000)).count == 350  # not 100 and 250
    end = run.next(ended(run, value=0.4, norm=0.9, spent=8000))
    assert end == RunVerdict.BUDGET


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


@pytest.mark.parametrize("loss", ["huber", "squared_hinge"])
def test_other_losses(loss):
    X, y = regression(noise=1.0)
    p = bocce.Problem(X, y > 0 if loss == "squared_hinge" else y, loss, l2=0.01)
    r = bocce.minimize(p, "auto", tol=1e-6, record_every="auto")
    assert r.status == "converged"
    assert np.linalg.norm(p.gradient(r.w)) <= 1.001e-6 * np.linalg.norm(p.gradient(np.zeros(p.d)))
